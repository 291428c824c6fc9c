"""`memory.upkeep.forgetting`: takes what is meant out of the memory, for good."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.chunks import Hole
from recollect.archive.keys import HomeKeys, load_keys
from recollect.clock import now_us
from recollect.erasure.forget import Opened, Reasons, choosing_of, forget, has_text, resume
from recollect.erasure.records import runs
from recollect.erasure.reports import (
    ForgetReport,
    ForgetSelection,
    ForgottenList,
    NoteToForget,
    SessionToForget,
    TombstoneGroup,
)
from recollect.erasure.repositories import is_of
from recollect.erasure.selection import Archived, Choosing, Chosen, compiled
from recollect.errors import RecollectError, StoreLocked, UnknownName, UsageError
from recollect.ingest.insights.distill import DistillReport
from recollect.ingest.report import SyncReport
from recollect.model.sessions import Session
from recollect.store.audit import add_audit
from recollect.store.erasure.meaning import Leaving
from recollect.store.erasure.selection import SelectionReader, StoredSession
from recollect.store.erasure.written import COUNTED, Written
from recollect.store.home import Home
from recollect.store.reader import Reader
from recollect.store.writer import Writer

if TYPE_CHECKING:
    from recollect.memory.known_names import KnownNames
    from recollect.memory.learnings.facet import LearnFacet

StageProgress = Callable[[str, int, int], None]
"""(what is done now, done, in all)"""
_WAIT_S = 20.0
"""How long another process is waited for that is taking in; a daemon does that for moments."""
_ASK_AGAIN_S = 0.2
_LEARN_FOR_S = 10.0
"""What the sessions that stay teach is read at once for so long; the next sync goes on."""
_STILL_GOING_US = 86_400_000_000
_LOOKING = "looking for it"


class Distils(Protocol):
    """What analyses sessions."""

    def run(self, *, sessions: Sequence[str] | None = None) -> DistillReport: ...


class OpenHome(Protocol):
    """What forgetting needs of an open memory."""

    home: Path
    env: Mapping[str, str]

    @property
    def distilling(self) -> Distils: ...
    @property
    def learn(self) -> LearnFacet: ...
    def reader(self) -> Reader: ...
    def session(self, uid: str) -> Session: ...
    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames: ...
    def writing(self) -> AbstractContextManager[tuple[Writer, Archive, HomeKeys]]: ...
    def take_changes(self, scope: None, *, should_stop: Callable[[], bool]) -> SyncReport: ...
    def make_ready(self) -> None: ...


class ForgettingFacet:
    """Says what a selection means, forgets it, and tells how much was ever forgotten."""

    def __init__(self, memory: OpenHome) -> None:
        self._memory = memory

    def plan(self, selection: ForgetSelection, *, progress: StageProgress | None = None) -> ForgetReport:
        """Return what would be forgotten; nothing is changed but that what is new is taken in first, as any read does.

        Raises UsageError where nothing is meant or a pattern is none, UnknownName for a session that is not there,
        KeyUnavailable, StoreError, ArchiveError.
        """
        started = time.perf_counter()
        notes = self._fresh()
        selection = self._checked(selection)
        if self._is_empty():
            return ForgetReport("nothing", notes=notes)
        home = Home(self._memory.home)
        keys = load_keys(home.keys)
        archive = Archive.open(home.archive, keys, read_only=True)
        reader = self._memory.reader()
        try:
            with SelectionReader(home.folder) as stored:
                archived = Archived(archive, list(reader.ledgers()), reader.chunks)
                choosing = Choosing(stored, archived, keys.forget_key, progress=_looking(progress))
                chosen, written = choosing.run(selection), _written(stored, selection)
                report = self._told(chosen, reader, written)
                report.learned = [NoteToForget(name, stored.text_of(name)) for name in _along(stored, chosen, written)]
                report.files = _files_of(stored, chosen, home)
        finally:
            archive.close()
        report.notes += [*self._unknown(selection, report), *notes]
        report.seconds = time.perf_counter() - started
        return report

    def run(self, selection: ForgetSelection, *, progress: StageProgress | None = None) -> ForgetReport:
        """Forget it; what is new is taken in first, so that nothing of it comes in later. Sessions that lose records
        and stay are analysed and learned from anew.

        Interrupted, the next command that writes goes on. A report of state "busy": another process kept the memory
        locked, and nothing was done. Raises as `plan`; and DiskFull, IndexUnavailable: then it is not finished.
        """
        started = time.perf_counter()
        notes = self._fresh()
        selection = self._checked(selection)
        if self._is_empty():
            return ForgetReport("nothing", notes=notes)
        try:
            with self._opened() as opened:
                report, again = _forget(opened, selection, progress or _untold)
        except StoreLocked as error:
            return ForgetReport("busy", notes=[*notes, str(error)])
        notes += self._unknown(selection, report)
        if report.records:
            notes += self._fresh()  # what is left of those sources is derived anew
        if again:
            done = self._memory.distilling.run(sessions=again)
            report.notes += done.notes
        if report.state == "done":
            report.notes += self._memory.learn.run(max_seconds=_LEARN_FOR_S).notes
        with suppress(RecollectError):  # what is ready is an addition, and made by the next sync
            self._memory.make_ready()
        report.notes += notes
        report.seconds = time.perf_counter() - started
        return report

    def listed(self) -> ForgottenList:
        """Return how much was ever forgotten, and when; nothing tells what it was."""
        counts: dict[tuple[int, str], int] = {}
        self._memory.reader()  # makes an empty memory where there is none
        with SelectionReader(self._memory.home) as stored:
            for kind, at in stored.tombstones():
                counts[at, kind] = counts.get((at, kind), 0) + 1
        groups = (TombstoneGroup(at, kind, n) for (at, kind), n in sorted(counts.items(), reverse=True))
        return ForgottenList(tuple(groups))

    def _is_empty(self) -> bool:
        """Nothing was ever taken in or noted: there is no key either."""
        reader = self._memory.reader()
        return next(reader.ledgers(), None) is None and not reader.entries.counts()

    def _checked(self, selection: ForgetSelection) -> ForgetSelection:
        if selection.is_empty:
            raise UsageError("nothing is named that should be forgotten", hint="name a session, a repository, a time …")
        if selection.pattern:
            compiled(selection.pattern)
        if selection.session:
            selection = msgspec.structs.replace(selection, session=self._memory.session(selection.session).session_uid)
        return selection

    def _unknown(self, selection: ForgetSelection, report: ForgetReport) -> list[str]:
        """Say that nothing was meant because no repository has the name. No error: it may be forgotten already."""
        if report.state != "nothing" or not selection.repo or re.search(r"[/\\*?]", selection.repo):
            return []
        try:
            self._memory.known_names().repository(selection.repo)
        except UnknownName as unknown:
            return [str(unknown)]
        return []

    def _fresh(self) -> list[str]:
        try:
            self._memory.take_changes(None, should_stop=lambda: False)
        except StoreLocked:
            return ["another process is ingesting; what it has not stored yet is not looked at"]
        except RecollectError as error:
            return [f"what is new could not be ingested first: {error}"]
        return []

    @contextmanager
    def _opened(self) -> Iterator[Opened]:
        ends_at = time.monotonic() + _WAIT_S
        with ExitStack() as stack:
            while True:
                try:
                    writer, archive, keys = stack.enter_context(self._memory.writing())
                    break
                except StoreLocked:
                    if time.monotonic() > ends_at:
                        raise
                    time.sleep(_ASK_AGAIN_S)
            yield Opened(Home(self._memory.home), writer, self._memory.reader(), archive, keys)

    def _told(self, chosen: Chosen, reader: Reader, written: Written) -> ForgetReport:
        report = _planned(chosen)
        if written.marks:
            report.state, report.written = "planned", written.count
        for ledger in reader.ledgers():
            records = chosen.records.get((ledger.source_id, ledger.revision), {})
            for start, stop in runs((number, *place) for number, place in records.items()):
                report.bytes += stop - start - sum(_common((start, stop), hole) for hole in ledger.holes)
            report.bytes += ledger.bytes_seen * (ledger.source_id in chosen.sources)
        return report


def _forget(opened: Opened, selection: ForgetSelection, tell: StageProgress) -> tuple[ForgetReport, list[str]]:
    at = now_us()
    resume(opened, at=at, tell=tell)
    with SelectionReader(opened.home.folder) as stored:
        chosen = choosing_of(opened, stored, progress=_looking(tell)).run(selection)
        notes = [f"not searched from a damaged place on: {path}" for path in sorted(chosen.unread)]
        written = _written(stored, selection)
        if chosen.is_empty and not written.marks:
            return ForgetReport("nothing", notes=notes), []
        report = ForgetReport("done", kept_copies=chosen.kept_copies, notes=notes)
        report.learned = [NoteToForget(name) for name in _along(stored, chosen, written)]
        report.files = _files_of(stored, chosen, opened.home)
        pattern = compiled(selection.pattern) if selection.pattern else None
        reasons = Reasons(
            at, pattern=pattern, is_everywhere=_is_only(selection, "pattern"), repos=_repos(stored, selection)
        )
        again = forget(opened, stored, chosen, reasons, report, tell=tell)
    counted = ("whole_sessions", "partial_sessions", "sources", "records", "events", "written", "bytes")
    add_audit(opened.home.folder, "forget", {name: getattr(report, name) for name in counted}, at=at)
    return report, again


def _along(stored: SelectionReader, chosen: Chosen, written: Written) -> list[str]:
    """Return the names of what was learned and noted that goes, with its events or for what it says."""
    whole = {*chosen.whole, *chosen.emptied}
    partial = {uid: keys for uid, keys in chosen.partial.items() if uid not in whole}
    said = (name for name in written.marks if name.partition(":")[0] in COUNTED)
    return sorted({*stored.resting_on(Leaving(whole, partial)), *said})


def _files_of(stored: SelectionReader, chosen: Chosen, home: Home) -> list[str]:
    """Return the agents' own files that hold what goes, as far as they are still there."""
    rows = [
        *chosen.sources.values(),
        *(row for row in stored.sources().values() if chosen.records.get((row.source_id, row.revision))),
    ]
    paths = {row.path for row in rows if not Path(row.path).is_relative_to(home.spool)}
    return sorted(path for path in paths if Path(path).exists())


def _is_only(selection: ForgetSelection, field: str) -> bool:
    """Tell whether a selection is by one thing alone: what no session holds is meant only then."""
    return bool(getattr(selection, field)) and selection == ForgetSelection(**{field: getattr(selection, field)})


def _repos(stored: SelectionReader, selection: ForgetSelection) -> frozenset[str]:
    """Return the names of the repositories of which nothing is to stay."""
    if not _is_only(selection, "repo"):
        return frozenset()
    names = {s.repo for s in stored.sessions() if is_of([selection.repo], **_place_of(s))}
    names |= {repo for repo in stored.repos_of_entries() if is_of([selection.repo], repo=repo, repo_root="", cwd="")}
    return frozenset(names - {""})


def _place_of(session: StoredSession) -> dict[str, str]:
    return {"repo": session.repo, "repo_root": session.repo_root, "cwd": session.cwd}


def _written(stored: SelectionReader, selection: ForgetSelection) -> Written:
    """Return what was learned, noted, documented and decided that is meant whatever session it is of."""
    if _is_only(selection, "pattern"):
        return stored.written_saying(partial(has_text, compiled(selection.pattern)))
    return stored.written_of(_repos(stored, selection))


def _planned(chosen: Chosen) -> ForgetReport:
    if chosen.is_empty:
        return ForgetReport("nothing")
    report = ForgetReport("planned", kept_copies=chosen.kept_copies)
    lost = {uid: len(keys) for uid, keys in chosen.partial.items()}
    for uid in (*chosen.whole, *chosen.partial, *sorted(chosen.retold)):
        s = chosen.sessions[uid]
        is_whole = uid in chosen.whole or uid in chosen.emptied
        events = chosen.events.get(uid, lost.get(uid, 0))
        report.sessions.append(SessionToForget(uid, s.repo, s.started_at, is_whole, events, chosen.whole.get(uid, "")))
        report.events += events
    report.whole_sessions = len(chosen.whole) + len(chosen.emptied)
    report.partial_sessions = len(report.sessions) - report.whole_sessions
    report.sources = len(chosen.sources)
    report.records = sum(map(len, chosen.records.values()))
    newest = max(
        (s.ended_at or 0 for uid in (*chosen.whole, *chosen.emptied) if (s := chosen.sessions[uid])), default=0
    )
    if newest > now_us() - _STILL_GOING_US:
        report.notes.append("a session that goes may still be under way: what its agent adds to it stays out too")
    return report


def _common(span: tuple[int, int], hole: Hole) -> int:
    """Return how many bytes of a span are gone already."""
    return max(0, min(span[1], hole.offset + hole.length) - max(span[0], hole.offset))


def _looking(progress: StageProgress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(_LOOKING, done, total)


def _untold(_doing: str, _done: int, _total: int) -> None:
    """Nobody asked how far it is."""
