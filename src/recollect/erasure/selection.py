"""Resolves a selection to sessions, sources and records: everything that must go, and nothing else.

A record is the smallest unit. A session goes as a whole where all of it is meant, a source where all of its sessions
go; else single records do, wherever the archive has them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.packs import ChunkPlace
from recollect.config import Config
from recollect.erasure.records import ArchivedRecord, RecordParser, in_value, record_says, records_of
from recollect.erasure.reports import ForgetSelection
from recollect.erasure.tombstones import event_stone, is_named, record_stone, session_stone
from recollect.errors import ArchiveCorrupt, UsageError
from recollect.model.events import Event
from recollect.model.ids import session_uid
from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.sessions import repo_name
from recollect.model.text import searchable
from recollect.paths import expand
from recollect.store.erasure.select_rows import EventFact, SelectionReader, StoredSession
from recollect.store.reader import Reader
from recollect.store.rows import LedgerRow, SourceRow


def excluded_repos(config: Config, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the repositories that a configuration excludes, `~` as the user's home."""
    return tuple(with_home(pattern, env) for pattern in config.privacy.exclude_repos)


def with_home(pattern: str, env: Mapping[str, str]) -> str:
    """Return a pattern with the user's home in place of a `~` at its beginning."""
    return str(expand(pattern, env)) if pattern.startswith("~") else pattern


def erasing(patterns: Sequence[str]) -> str:
    """Return the command that erases what is stored of repositories."""
    if len(patterns) == 1:
        return f"`recollect forget --repo {shlex.quote(patterns[0])}`"
    return "`recollect forget --repo PATTERN`, once for each that is excluded"


def is_of(patterns: Sequence[str], *, repo: str, repo_root: str, cwd: str) -> bool:
    """Return whether a session worked in one of the repositories.

    A pattern without a slash is the repository's name, in any case; with one it is a pattern of paths: `*` matches
    anything except a slash, `**` anything, `?` one character, and paths below a matching one match too. A pattern that
    begins with `**/` or a slash (on Windows also a drive) applies to the whole path; others to its end.
    """
    return any(_is_one(pattern, repo, (repo_root, cwd)) for pattern in patterns)


def is_excluded(patterns: Sequence[str], *, repo_root: str, git_remote: str, cwd: str) -> bool:
    """Return whether a session's known facts say that its repository is excluded."""
    return bool(patterns) and is_of(patterns, repo=repo_name(repo_root, git_remote, cwd), repo_root=repo_root, cwd=cwd)


def _is_one(pattern: str, repo: str, places: Iterable[str]) -> bool:
    slashed = pattern.strip().replace("\\", "/").rstrip("/")
    if "/" not in slashed:
        return bool(slashed) and _compiled(slashed, is_path=False).fullmatch(repo) is not None
    matches = _compiled(slashed, is_path=True).fullmatch
    return any(place and matches(place.replace("\\", "/").rstrip("/")) for place in places)


@lru_cache(maxsize=256)
def _compiled(pattern: str, *, is_path: bool) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(part, re.escape(part)) for part in parts)
    if not is_path:
        return re.compile(body, re.IGNORECASE)
    is_rooted = pattern.startswith(("/", "**/")) or pattern[1:2] == ":"
    flags = re.IGNORECASE if pattern[1:2] == ":" else re.NOFLAG
    return re.compile((body if is_rooted else f"(?:.*/)?{body}") + "(?:/.*)?", flags)


Progress = Callable[[int, int], None]
"""(bytes looked through, bytes in all)"""
Place = tuple[str, int]
"""(source_id, revision)"""
_CONTAINER_OF_PATCHES = "patchlog"
"""Its records build on all before them: none can be taken out, so the whole session goes."""


class Chosen(msgspec.Struct):
    """What goes. whole: sessions by uid, with the uid of the one that they belong to ("" for selected ones).

    partial: sessions that lose events, by uid, with the keys of these. emptied: those of them without other events,
    which go. retold: sessions that lose only analyses. events: the number of events of each deleted session, by uid.
    sources: whole ones. records: (offset, length) of single ones, by place and index. stones: (kind, id) of the
    tombstones. kept_copies: sessions that stay although they continue a deleted one. unread: files with a damaged part
    in the archive, not searched from there on.
    """

    whole: dict[str, str]
    partial: dict[str, set[int]]
    emptied: set[str]
    retold: set[str]
    events: dict[str, int]
    sources: dict[str, SourceRow]
    records: dict[Place, dict[int, tuple[int, int]]]
    stones: set[tuple[str, bytes]]
    kept_copies: list[str]
    sessions: dict[str, StoredSession]
    unread: set[str] = msgspec.field(default_factory=set)

    @property
    def is_everything(self) -> bool:
        """No session stays."""
        return len(self.whole.keys() | self.emptied) == len(self.sessions) > 0

    @property
    def is_empty(self) -> bool:
        """Nothing is meant."""
        return not (self.whole or self.partial or self.retold or self.records)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return the expression of a selection. Raises UsageError."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from error


class Selector:
    """One selection carried through. Use once: `run`."""

    def __init__(
        self, stored: SelectionReader, archive: Archive, reader: Reader, key: bytes, *, progress: Progress | None = None
    ) -> None:
        """reader: tells what is in the archive. key: `HomeKeys.forget_key`. No consistent look at the store is needed:
        the caller holds the ingest lock, or only shows what would be done."""
        self._stored = stored
        self._archive = archive
        self._reader = reader
        self._key = key
        self._progress = progress
        sessions = stored.sessions()
        self._by_uid = {s.uid: s for s in sessions}
        self._by_number = {s.number: s for s in sessions}
        self._children: dict[str, list[StoredSession]] = {}
        for s in sessions:
            for above in {s.parent_uid, s.root_uid} - {"", s.uid}:
                self._children.setdefault(above, []).append(s)
        self._sources = stored.sources()
        self._told_by = stored.sessions_of_sources()
        self._sources_of: dict[int, set[int]] = {}
        for source, numbers in self._told_by.items():
            for number in numbers:
                self._sources_of.setdefault(number, set()).add(source)
        self._ledgers: dict[str, list[LedgerRow]] = {}
        for row in reader.ledgers():
            self._ledgers.setdefault(row.source_id, []).append(row)
        self._keys: dict[int, set[int]] = {}
        self._chosen = Chosen({}, {}, set(), set(), {}, {}, {}, set(), [], self._by_uid)
        self._is_text = False
        self._done = self._total = 0

    def run(self, selection: ForgetSelection) -> Chosen:
        """Return the selection. Raises UsageError for an invalid pattern; ArchiveError, StoreError."""
        pattern = compiled(selection.pattern) if selection.pattern else None
        self._is_text = pattern is not None
        scope = self._scope(selection)
        if not selection.has_records:
            for uid, above in scope.items():
                self._chosen.whole[uid] = above
        else:
            self._choose_events(selection, list(scope), pattern)
        return self._completed()

    def of_tombstones(
        self, is_forgotten: Callable[[str], bool], has_event: Callable[[str, EventFact], bool],
        has_record: Callable[[str, bytes], bool] | None = None,
    ) -> Chosen:  # fmt: skip
        """Return what is stored though it is forgotten (after a restore): whole sessions, single events, and records
        that no event tells of. has_record: by session and hash; None: no single record was forgotten."""
        for uid in self._with_children([s.uid for s in self._by_uid.values() if is_forgotten(s.uid)]):
            self._chosen.whole[uid] = ""
        for s in self._by_uid.values():
            if s.uid not in self._chosen.whole:
                keys = {fact.key for fact in self._stored.events(s.number) if has_event(s.uid, fact)}
                if keys:
                    self._keys[s.number] = keys
        if has_record is not None:
            self._choose_silent(has_record)
        return self._completed()

    def _choose_silent(self, has_record: Callable[[str, bytes], bool]) -> None:
        """Take records by their hash, also those that no event tells of."""
        for number, row in self._sources.items():
            uids = [self._by_number[told].uid for told in self._told_by.get(number, ())] or [""]
            for ledger in self._ledgers.get(row.source_id, ()):
                for record in self._records(row, ledger, self._places(ledger)):
                    if found := [uid for uid in uids if has_record(uid, record.sha)]:
                        self._take((row.source_id, ledger.revision), record.number, record.offset, record.length)
                        self._chosen.stones |= {("record", record_stone(self._key, uid, record.sha)) for uid in found}

    def _scope(self, selection: ForgetSelection) -> dict[str, str]:
        meant = [
            s.uid
            for s in self._by_uid.values()
            if (not selection.session or s.uid == selection.session)
            and (not selection.repo or is_of((selection.repo,), repo=s.repo, repo_root=s.repo_root, cwd=s.cwd))
        ]
        return self._with_children(meant)

    def _with_children(self, uids: Iterable[str]) -> dict[str, str]:
        """Return sessions and all below them, each with the one that it belongs to."""
        found = dict.fromkeys(uids, "")
        waiting = list(found)
        while waiting:
            above = waiting.pop()
            for child in self._children.get(above, ()):
                if child.uid not in found:
                    found[child.uid] = found[above] or above
                    waiting.append(child.uid)
        return found

    # Events

    def _choose_events(self, selection: ForgetSelection, scope: list[str], pattern: re.Pattern[str] | None) -> None:
        after, before = selection.after, selection.before
        of_scope = map(self._by_uid.__getitem__, scope)
        candidates = [s for s in of_scope if _overlaps(s.started_at, s.ended_at, after, before)]
        if not (selection.path or pattern):
            for s in candidates:
                if _overlaps(s.ended_at, s.started_at, after, before):  # all of it lies there
                    self._chosen.whole[s.uid] = ""
        wanted = [s for s in candidates if s.uid not in self._chosen.whole]
        is_all = len(wanted) == len(self._by_uid) and after is None and before is None and not selection.path
        in_text = self._in_text(pattern, None if is_all else wanted) if pattern is not None else None
        for s in wanted:
            sources = self._sources_of.get(s.number, set())
            if in_text is None or s.is_evicted or sources & in_text.sources:
                self._choose_of(s, selection, in_text, pattern)
        if in_text is not None and is_all:  # with what no event tells of: repeats in other revisions and sources
            for place, records in in_text.records.items():
                for number, record in records.items():
                    self._take(place, number, record.offset, record.length)
                    self._chosen.stones.add(("record", record_stone(self._key, "", record.sha)))

    def _choose_of(
        self, s: StoredSession, selection: ForgetSelection, in_text: _InText | None, pattern: re.Pattern[str] | None
    ) -> None:
        keys: set[int] = set()
        at_path = _at_path(self._stored.light(s.uid, s.number), selection.path) if selection.path else None
        said = self._said(s, pattern) if pattern is not None and s.is_evicted else set()
        last = s.started_at
        for fact in self._stored.events(s.number):
            last = fact.ts if fact.ts is not None else last
            if not _overlaps(last, last, selection.after, selection.before):
                continue
            if at_path is not None and fact.key not in at_path:
                continue
            if in_text is not None and fact.key not in said:
                place = (self._sources[fact.source].source_id, fact.revision)
                if fact.record not in in_text.records.get(place, {}):
                    continue
            keys.add(fact.key)
        if keys:
            self._keys[s.number] = keys

    def _said(self, s: StoredSession, pattern: re.Pattern[str]) -> set[int]:
        """Return the events of an evicted session with the text: only the store still has them."""
        found = {
            key
            for key, event in self._stored.light(s.uid, s.number)
            if in_value(pattern, msgspec.to_builtins(event.payload))
        }
        if any(in_value(pattern, msgspec.json.decode(text)) for text in self._stored.told(s.uid)):
            self._chosen.retold.add(s.uid)
        return found

    def _in_text(self, pattern: re.Pattern[str], sessions: Sequence[StoredSession] | None) -> _InText:
        """Search the archive; None: all of it, else the sources of these sessions."""
        numbers = (
            set(self._sources)
            if sessions is None
            else {source for s in sessions for source in self._sources_of.get(s.number, ())}
        )
        found = _InText({}, set())
        rows = [self._sources[number] for number in sorted(numbers)]
        self._total = sum(ledger.bytes_seen for row in rows for ledger in self._ledgers.get(row.source_id, ()))
        for row in rows:
            for ledger in self._ledgers.get(row.source_id, ()):
                places = self._places(ledger)
                for record in self._records(row, ledger, places):
                    if record_says(pattern, record, self._archive, places, row.container):
                        place = (row.source_id, ledger.revision)
                        found.records.setdefault(place, {})[record.number] = record
                        found.sources.add(row.number)
        return found

    # From events to everything that has them

    def _completed(self) -> Chosen:
        self._complete_events()
        chosen = self._chosen
        chosen.whole = {**self._with_children(chosen.whole), **chosen.whole}
        for uid in chosen.whole:
            self._keys.pop(self._by_uid[uid].number, None)
            chosen.retold.discard(uid)
            chosen.stones.add(("session", session_stone(self._key, uid)))
            chosen.events[uid] = self._size_of(self._by_uid[uid].number)
        self._choose_sources()
        self._complete_partial()
        whole = chosen.whole
        chosen.kept_copies = sorted(
            s.uid
            for s in self._by_uid.values()
            if s.uid not in whole
            and any(origin and session_uid(s.agent, origin) in whole for origin in (s.forked_from, s.resumed_from))
        )
        return chosen

    def _complete_events(self) -> None:
        """Add to the events of each session those that depend on them."""
        for number in list(self._keys):
            s = self._by_number[number]
            facts = list(self._stored.events(number))
            keys = self._keys[number]
            size = -1
            while size != len(keys):
                size = len(keys)
                records = {(f.source, f.revision, f.record) for f in facts if f.key in keys}
                ids = {f.event_id for f in facts if f.key in keys}
                keys |= {f.key for f in facts if f.event_id in ids or (f.source, f.revision, f.record) in records}
                keys |= self._stored.same_words(number, keys)
            is_folded = any(self._sources[f.source].container == _CONTAINER_OF_PATCHES for f in facts if f.key in keys)
            if is_folded:
                self._chosen.whole[s.uid] = ""
                continue
            for fact in facts:
                if fact.key in keys:
                    self._bury(s.uid, fact)

    def _bury(self, uid: str, fact: EventFact) -> None:
        source = self._sources[fact.source]
        self._take((source.source_id, fact.revision), fact.record, fact.offset, fact.length)
        stones = self._chosen.stones
        stones.add(("record", record_stone(self._key, uid, fact.sha)))
        if self._is_text:
            stones.add(("record", record_stone(self._key, "", fact.sha)))
        if is_named(fact.event_id):
            stones.add(("event", event_stone(self._key, uid, fact.event_id)))

    def _take(self, place: Place, number: int, offset: int, length: int) -> None:
        self._chosen.records.setdefault(place, {})[number] = (offset, length)

    def _choose_sources(self) -> None:
        """Choose whole sources, and of those that others share the records, in every revision."""
        whole = {self._by_uid[uid].number for uid in self._chosen.whole}
        partial = {number: keys for number, keys in self._keys.items() if keys}
        for number, row in self._sources.items():
            told = self._told_by.get(number, set())
            own = session_uid(row.agent, row.session) if row.session else ""
            if (told and told <= whole) or (not told and own in self._chosen.whole):
                self._chosen.sources[row.source_id] = row
                for ledger in self._ledgers.get(row.source_id, ()):
                    self._chosen.records.pop((row.source_id, ledger.revision), None)
            elif told & whole or told & partial.keys():
                self._choose_repeats(row, told & whole, told & partial.keys())

    def _complete_partial(self) -> None:
        """Tell of each session that stays which events its records that go take along, and whether any is left."""
        chosen = self._chosen
        numbers = {row.source_id: number for number, row in self._sources.items()}
        gone = {(numbers[source_id], revision): records for (source_id, revision), records in chosen.records.items()}
        touched = {number for source, _ in gone for number in self._told_by.get(source, ())} | self._keys.keys()
        for number in sorted(touched):
            s = self._by_number[number]
            if s.uid in chosen.whole:
                continue
            keys = self._keys.get(number, set()) | {
                fact.key
                for fact in self._stored.events(number)
                if fact.record in gone.get((fact.source, fact.revision), ())
            }
            if keys:
                chosen.partial[s.uid] = keys
                chosen.retold.discard(s.uid)
                if all(key in keys for key, _ in self._stored.light(s.uid, number)):
                    chosen.emptied.add(s.uid)
                    chosen.events[s.uid] = self._size_of(number)

    def _size_of(self, number: int) -> int:
        return sum(1 for _ in self._stored.events(number))

    def _choose_repeats(self, row: SourceRow, whole: set[int], partial: set[int]) -> None:
        """Take the records of a shared source that are of whole sessions, or that repeat one that is chosen."""
        ledgers = self._ledgers.get(row.source_id, [])
        uids = {self._by_number[number].uid for number in whole}
        shas: set[bytes] = set()
        events: set[tuple[str, str]] = set()
        for number in partial:
            s, keys = self._by_number[number], self._keys[number]
            for fact in self._stored.events(number):
                if fact.key in keys:
                    shas.add(fact.sha)
                    if is_named(fact.event_id):
                        events.add((s.uid, fact.event_id))
        if not uids and len(ledgers) == 1 and not ledgers[0].replays:
            return  # every record is an event's own
        for ledger in ledgers:
            parser = RecordParser(row)
            for record in self._records(row, ledger, self._places(ledger)):
                named = parser.owners(record)
                if record.sha in shas or named.sessions & uids or named.events & events:
                    self._take((row.source_id, ledger.revision), record.number, record.offset, record.length)

    def _places(self, ledger: LedgerRow) -> list[ChunkPlace]:
        return [place for place, _ in self._reader.chunks(ledger.source_id, ledger.revision)]

    def _records(self, row: SourceRow, ledger: LedgerRow, places: list[ChunkPlace]) -> Iterable[ArchivedRecord]:
        end = ledger.committed_bytes
        try:
            yield from records_of(self._archive, places, row.container, holes=ledger.holes, end=end)
        except ArchiveCorrupt:
            self._chosen.unread.add(row.path)
        self._done += ledger.bytes_seen
        if self._progress is not None and self._total:
            self._progress(min(self._done, self._total), self._total)


class _InText(NamedTuple):
    """The records that have a text, by place and index, and the numbers of their sources."""

    records: dict[Place, dict[int, ArchivedRecord]]
    sources: set[int]


def _overlaps(first: int | None, last: int | None, after: int | None, before: int | None) -> bool:
    """Return whether a time from `first` to `last` has a moment in [after, before). Without these, always."""
    if after is None and before is None:
        return True
    if first is None or last is None:
        return False
    return (after is None or last >= after) and (before is None or first < before)


def _at_path(events: Iterable[tuple[int, Event]], path: str) -> set[int]:
    """Return the keys of the events about a path or anything below it, and of the results of calls that name it.

    A relative path matches inside of any absolute one.
    """
    wanted = _comparable(path)
    keys: set[int] = set()
    calls: dict[str, int] = {}
    results: dict[str, list[int]] = {}
    for key, event in events:
        payload = event.payload
        if isinstance(payload, ToolResult) and payload.call_id:
            results.setdefault(payload.call_id, []).append(key)
        _kind, _text, paths = searchable(payload)
        if any(_is_at(_comparable(one), wanted) for one in paths):
            keys.add(key)
            call = getattr(payload, "call_id", "")
            if call:
                calls[call] = key
        elif isinstance(payload, ToolCall) and payload.call_id in calls:
            keys.add(key)
    for call in calls:
        keys.update(results.get(call, ()))
    return keys


def _is_at(path: str, wanted: str) -> bool:
    if wanted.startswith("/") or wanted[1:2] == ":":
        return path == wanted or path.startswith(f"{wanted}/")
    return f"/{path}/".find(f"/{wanted}/") >= 0


def _comparable(path: str) -> str:
    slashed = path.replace("\\", "/").rstrip("/")
    while slashed.startswith("./"):
        slashed = slashed[2:]
    return slashed
