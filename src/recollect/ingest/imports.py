"""Reads sources without storing anything, to list their sessions, message counts and end times.

Sources are read by the same workers that an import reads them with, so that both see the same; what they made is
dropped. Memory is bounded by a slice and by one row a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from functools import cached_property
from typing import NamedTuple

import msgspec

from recollect.archive.packs import ChunkPlace, Hole
from recollect.capture.replay import is_appended
from recollect.errors import AmbiguousName, UnknownName
from recollect.ingest.plan import Planned
from recollect.ingest.report import ImportedSession, SyncReport
from recollect.ingest.worker.slices import SourceTask, TaskAnswer
from recollect.model.ids import session_uid
from recollect.model.payloads import KINDS
from recollect.model.sessions import Session
from recollect.model.time import minute_of
from recollect.store.reader import Reader
from recollect.store.rows import SessionPart, SourceRow
from recollect.store.session_rows import ShortSession
from recollect.store.writer import Writer

_SAID = frozenset(KINDS.index(kind) for kind in ("user_message", "assistant_message"))
_ASSISTANT = KINDS.index("assistant_message")
_NEAREST = 3


class Seen(msgspec.Struct):
    """One session as the sources tell it. turns: of people; spoken: ids of what the model said."""

    uid: str
    agent: str
    path: str
    parent: str = ""
    turns: int = 0
    spoken: set[tuple[str, int] | int] = set()
    last_at: int | None = None
    mtime_us: int = 0
    is_read_on: bool = False
    """Only what came since the last time was read."""

    @property
    def messages(self) -> int:
        """How many messages people and the model wrote."""
        return self.turns + len(self.spoken)


class Survey:
    """What the sources of one pass hold. Give it the answers of the workers, then ask."""

    def __init__(self, planned: Iterable[Planned]) -> None:
        self._tasks = {item.task.source.source_id: item.task for item in planned}
        self._sessions: dict[str, Seen] = {}
        self._of_source: dict[str, set[str]] = {source_id: set() for source_id in self._tasks}

    def take(self, answer: TaskAnswer) -> None:
        """Take note of what a worker's slices hold."""
        for done in answer.done:
            row = done.slice.source
            task = self._tasks[row.source_id]
            for part in done.slice.sessions:
                seen = self._seen(task, part)
                seen.mtime_us = max(seen.mtime_us, row.mtime_ns // 1000)
                self._of_source[row.source_id].add(seen.uid)
                _count(seen, part, done.slice.records[0].index if done.slice.records else 0)

    def choose(
        self,
        planned: Iterable[Planned],
        wish: ImportOptions,
        stored: Reader,
        *,
        least_of: Callable[[str], int],
    ) -> tuple[list[Planned], list[ImportedSession]]:
        """Return the sources that hold a session that is wanted, and what becomes of every session seen, newest first.

        A session counts together with its subagents' sessions. least_of: how many messages a session of an agent must
        hold to be indexed. Raises UnknownName for a session that is neither found
        nor stored, or a beginning that several have.
        """
        wanted = self._wanted(wish, stored)
        kept = [item for item in planned if self._of_source[item.task.source.source_id] & wanted.keys()]
        told = [self._told(seen, wish, stored) for seen in self._sessions.values() if seen.uid not in wanted]
        told += [self._told_of_wanted(seen, stored, least_of(seen.agent)) for seen in wanted.values()]
        return kept, sorted(told, key=lambda one: (-(one.last_message_at or 0), one.session_uid))

    def _seen(self, task: SourceTask, part: SessionPart) -> Seen:
        row = task.source
        uid = session_uid(row.agent, part.native_id)
        seen = self._sessions.get(uid)
        if seen is None:
            seen = self._sessions[uid] = Seen(uid, row.agent, row.path, spoken=set())
            seen.is_read_on = is_appended(row.container) and not (task.is_first_sight or task.is_new_revision)
        if part.patch.parent_session:
            seen.parent = session_uid(row.agent, part.patch.parent_session)
        return seen

    def _root(self, uid: str) -> str:
        way = {uid}
        while (seen := self._sessions.get(uid)) is not None and seen.parent and seen.parent not in way:
            uid = seen.parent
            way.add(uid)
        return uid

    def _wanted(self, wish: ImportOptions, stored: Reader) -> Mapping[str, Seen]:
        if wish.session:
            named = self._named(wish.session, stored)
            return {uid: seen for uid, seen in self._sessions.items() if named in (uid, self._root(uid))}
        if wish.since_us is None:
            return self._sessions
        newest: dict[str, int] = {}
        for uid, seen in self._sessions.items():
            root = self._root(uid)
            newest[root] = max(newest.get(root, 0), _last_at(seen, stored))
        return {uid: seen for uid, seen in self._sessions.items() if newest[self._root(uid)] >= wish.since_us}

    def _named(self, name: str, stored: Reader) -> str:
        """Return the named uid: of a session found now, else of a stored one."""
        if name in self._sessions:
            return name
        found = sorted(uid for uid in self._sessions if uid.startswith(name) or uid.partition(":")[2].startswith(name))
        known = stored.session(name)
        if known is not None and known.session_uid not in found:
            found.append(known.session_uid)
        if len(found) > 1:
            raise AmbiguousName("session", name, nearest=tuple(found[:_NEAREST]))
        if not found:
            near = stored.nearest_sessions(name, limit=_NEAREST)
            raise UnknownName("session", name, nearest=near, hint="`recollect import --dry-run` lists them")
        return found[0]

    def _told(self, seen: Seen, wish: ImportOptions, stored: Reader) -> ImportedSession:
        told = _state_of(seen, stored)
        reason = "is not the session that was asked for"
        if not wish.session and wish.since_us is not None:
            last = told.last_message_at or 0
            since = minute_of(wish.since_us, wish.zone)
            reason = f"its last message ({minute_of(last, wish.zone)}) is older than {since}"
        return msgspec.structs.replace(told, state="skipped", reason=reason)

    def _told_of_wanted(self, seen: Seen, stored: Reader, least: int) -> ImportedSession:
        told = _state_of(seen, stored)
        if told.messages < least and not seen.parent:
            return msgspec.structs.replace(told, state="skipped", reason=short_reason(least))
        return told


def _state_of(seen: Seen, stored: Reader) -> ImportedSession:
    before = stored.session(seen.uid)
    last = _last_at(seen, stored) or None
    if before is None or before.session_uid != seen.uid:  # else it only begins like that
        return ImportedSession(seen.uid, seen.agent, seen.path, "new", seen.messages, last)
    messages = seen.messages
    if seen.is_read_on:  # its turns continue counting where they were
        messages += before.kind_counts.get("assistant_message", 0) + max(0, before.turn_count - seen.turns)
    return ImportedSession(seen.uid, seen.agent, seen.path, "changed", messages, last)


def short_reason(least: int) -> str:
    """Return why a session is not in the index."""
    return f"fewer than {least} messages: archived, but not indexed"


def _last_at(seen: Seen, stored: Reader) -> int:
    """Return the time of the last message, in UTC microseconds; without times, the file's modification time."""
    before = stored.session(seen.uid)
    ended = before.ended_at if before is not None and before.session_uid == seen.uid else None
    return max(seen.last_at or 0, ended or 0) or seen.mtime_us


def _count(seen: Seen, part: SessionPart, first_record: int) -> None:
    for draft in part.events:
        if draft.kind not in _SAID:
            continue
        seen.turns = max(seen.turns, draft.turn)
        if draft.kind == _ASSISTANT:
            # The lines of one streamed answer bear one id, and count once.
            record = first_record + draft.record
            seen.spoken.add((draft.event_id, draft.part) if draft.event_id is not None else record)
        if draft.ts is not None and (seen.last_at is None or draft.ts > seen.last_at):
            seen.last_at = draft.ts


class ImportOptions(NamedTuple):
    """Empty: everything that was found.

    since_us: only sessions with a message from this time on (UTC microseconds). least_messages: shorter sessions are
    archived and stored, but not indexed; 0: index all; None: as configured. session: only this one, by its uid or
    unique prefix; it is indexed whatever its length. zone: the time zone of shown times.
    """

    since_us: int | None = None
    least_messages: int | None = 0
    session: str = ""
    zone: tzinfo = UTC

    def least(self, usual: int) -> int:
        """Return how many messages it takes to be indexed. usual: as the configuration says."""
        if self.session:
            return 0
        return usual if self.least_messages is None else self.least_messages

    @property
    def chooses(self) -> bool:
        """Whether sources must be read to tell which of them are wanted."""
        return bool(self.session) or self.since_us is not None


class StoredSources:
    """Implements `ingest.plan.KnownSources` over a reader. Rows come without parser state, so a continued source is
    read from its beginning in the archive.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def sources(
        self, agent: str, *, paths: Sequence[str] | None = None, key: str | None = None
    ) -> dict[str, SourceRow]:
        """Return an agent's known sources by source_id: those of a key, else all, whatever their paths."""
        return {row.source_id: row for row in self._reader.sources(agent) if key is None or row.key == key}

    def open_chunks(self, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]:
        """Return the chunks of a revision in order with their place; the flag tells an open delta."""
        return self._reader.chunks(source_id, revision)

    def holes(self, source_id: str, revision: int) -> list[Hole]:
        """Return the deleted parts of a revision, in order."""
        return self._holes.get((source_id, revision), [])

    @cached_property
    def _holes(self) -> dict[tuple[str, int], list[Hole]]:
        return {(row.source_id, row.revision): list(row.holes) for row in self._reader.ledgers() if row.holes}


def lift(
    writer: Writer, reader: Reader, wish: ImportOptions, paths: Sequence[str], *, least_of: Callable[[str], int]
) -> None:
    """Index wanted sessions that were too short for an earlier import. Writes nothing if there are none.

    paths: only sessions with sources there; empty: all. The index follows from the change log.
    """
    if wish.session:
        known = reader.session(wish.session)
        short = [one for one in writer.short.all() if known is not None and one.session_uid == known.session_uid]
    else:
        short = [one for one in writer.short.all() if _is_below(reader.session(one.session_uid), paths)]
    enough = [one.session_uid for one in short if one.messages >= least_of(one.agent)]
    less = [one for one in short if one.messages < least_of(one.agent) < one.least]
    if enough or less:
        with writer.transaction():
            writer.short.lift(enough)
            for one in less:
                writer.short.ask_less(one.session_uid, least_of(one.agent))


def tell_short(report: SyncReport, writer: Writer, reader: Reader, touched: set[str]) -> None:
    """Report which ingested sessions are not indexed, and why."""
    told = {one.session_uid for one in report.imported if one.state == "skipped"}
    report.imported = [one for one in report.imported if one.state == "skipped"]
    for one in writer.short.all():
        if one.session_uid in touched and one.session_uid not in told:
            report.imported.append(_short_session(one, reader.session(one.session_uid)))


def _short_session(one: ShortSession, session: Session | None) -> ImportedSession:
    path = session.sources[0] if session is not None and session.sources else ""
    ended_at = session.ended_at if session is not None else None
    reason = short_reason(one.least)
    return ImportedSession(one.session_uid, one.agent, path, "skipped", one.messages, ended_at, reason)


def _is_below(session: Session | None, paths: Sequence[str]) -> bool:
    if session is None or not paths:
        return session is not None
    return any(source.startswith(path) for source in session.sources for path in paths)
