"""Plans and forgets a selection: tombstones, then the archive, then the rows, then every copy.

    1  tombstones in the archive's journal, flushed
    2  one transaction: tombstones, promised cuts, and a note of what is under way
    3  the archive loses the bytes (`erasure.cuts`)
    4  one transaction: every row
    5  spool, index, vectors, packs, ready blocks; the database is written again; the note goes

A crash before 1 is durable has forgotten nothing. Between 1 and 2 the next sync finds tombstones that the database does
not know, and forgets what they mean; after 2, whoever opens the memory for writing next goes on (`resume`). Every step
can be done twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from recollect.agents.registry import adapters
from recollect.archive.archive import Archive
from recollect.archive.journal import JournalTombstone as ArchivedTombstone
from recollect.archive.journal import burying
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import Hole
from recollect.capture.rejected_events import drop_aside
from recollect.clock import now_us
from recollect.erasure.copies import SpoolSelection, clear_derived, clear_spooled, clear_vectors, remake_shards
from recollect.erasure.cuts import WHOLE_SOURCE, compact, make_promised, waiting_cuts
from recollect.erasure.records import has_text, runs, says
from recollect.erasure.reports import ForgetReport, ForgetSelection, NoteToForget, SessionToForget
from recollect.erasure.selection import Chosen, Selector, compiled, is_of
from recollect.erasure.tombstones import Forgotten
from recollect.errors import DiskFull, UsageError
from recollect.index.text.refresh import INDEX
from recollect.model.payloads import AssistantMessage
from recollect.model.sessions import SessionPatch
from recollect.store.audit import add_audit
from recollect.store.documents import path_mark
from recollect.store.entries import DOCUMENT_SHARD, NOTE_SHARD
from recollect.store.erasure.forget_rows import Tombstone
from recollect.store.erasure.holes import WaitingCut
from recollect.store.erasure.insight_rows import Leaving, Overruling
from recollect.store.erasure.note_rows import COUNTED, Keeping, Written
from recollect.store.erasure.select_rows import EventFact, SelectionReader
from recollect.store.home import Home
from recollect.store.reader import Reader
from recollect.store.writer import Writer

StageProgress = Callable[[str, int, int], None]
"""(what is done now, done, in all)"""


class Opened(NamedTuple):
    """A memory open for writing, with the ingest lock held."""

    home: Home
    writer: Writer
    reader: Reader
    archive: Archive
    keys: HomeKeys


class Reasons(NamedTuple):
    """How to forget. kind: of the tombstones of sessions. is_thorough: rewrite packs and database at once, however
    long that takes; else only if it is worthwhile. pattern: the search text, if any. is_everywhere: include notes
    and documents with this text, whatever their session. repos: repositories of which nothing stays.
    """

    at: int
    kind: str = "session"
    is_thorough: bool = True
    pattern: re.Pattern[str] | None = None
    is_everywhere: bool = True
    repos: frozenset[str] = frozenset()

    @property
    def means_written(self) -> bool:
        """Whether notes and documents may be included whatever their session."""
        return self.pattern is not None or bool(self.repos)


def selector_of(
    opened: Opened, stored: SelectionReader, *, progress: Callable[[int, int], None] | None = None
) -> Selector:
    """Return what selects in an open memory."""
    return Selector(stored, opened.archive, opened.reader, opened.keys.forget_key, progress=progress)


def forget(
    opened: Opened, stored: SelectionReader, chosen: Chosen, reasons: Reasons, report: ForgetReport, *,
    tell: StageProgress,
) -> list[str]:  # fmt: skip
    """Forget a selection and complete the report; return the uids of sessions to analyse again.

    Raises StoreError, ArchiveError, IndexUnavailable: `resume` finishes what was begun.
    """
    report.freed_bytes = opened.home.size_bytes()
    rows = _Rows(opened, stored, chosen)
    _clear_spool(opened, chosen, rows, reasons)
    stones = [
        Tombstone(stone, reasons.kind if kind == "session" else kind, reasons.at) for kind, stone in chosen.stones
    ]
    if reasons.kind == "session":  # who excludes a repository may include it again
        opened.archive.record([burying([ArchivedTombstone(*stone) for stone in stones])])
        opened.archive.flush()
    forgetting, holes = opened.writer.removing.forgetting, opened.writer.removing.holes
    with forgetting.overwriting() if reasons.means_written else nullcontext(), opened.writer.transaction():
        forgetting.add_tombstones(stones)
        sessions = {*chosen.whole, *chosen.emptied}
        has_documents = reasons.means_written or forgetting.written.has_records(sessions)
        forgetting.begin((*rows.shards, *_shards_of_entries(opened, has_documents=has_documents)))
        report.written += _forget_written(opened, reasons, sessions)
        holes.wait(_promised(chosen, reasons.at))
        forgetting.drop_states(rows.with_texts_in_state())
    tell("taking bytes out of the archive", 0, 0)
    report.bytes += make_promised(opened.archive, opened.writer, skip_damaged=True) + rows.source_bytes
    if holes.waiting():
        report.notes.append(
            "a part of the archive is damaged, and what was to be cut out beside it still lies there, sealed: it goes "
            "once that part is repaired; run `recollect repair`"
        )
    again = rows.remove(reasons, report, tell)
    _clear_copies(opened, reasons, report, tell=tell)
    report.freed_bytes -= opened.home.size_bytes()
    return again


def resume(opened: Opened, *, at: int, tell: StageProgress = lambda *_: None) -> ForgetReport | None:
    """Finish an interrupted forgetting; None without one. Raises as `forget`.

    State "nothing": there was nothing to finish. After a rebuild that is so, unless its old database was interrupted.
    """
    if not opened.writer.removing.forgetting.is_pending:
        return None
    return apply_tombstones(opened, at=at, tell=tell)


def apply_tombstones(opened: Opened, *, at: int, tell: StageProgress = lambda *_: None) -> ForgetReport:
    """Forget what is stored though it was forgotten: after a crash, or after a restore. Raises as `forget`.

    The tombstones of the archive's journal count too, and are kept in the database from then on.
    """
    report = ForgetReport("done")
    forgetting = opened.writer.removing.forgetting
    archived = [Tombstone(*stone) for stone in opened.archive.tombstones()]
    with opened.writer.transaction():
        forgetting.add_tombstones(archived)
    forgotten = Forgotten.of(opened.keys.forget_key, forgetting.tombstones())

    def has_event(uid: str, fact: EventFact) -> bool:
        return forgotten.has_record(uid, fact.sha) or forgotten.has_event(uid, fact.event_id)

    with SelectionReader(opened.home.folder) as stored:
        chosen = selector_of(opened, stored).of_tombstones(
            forgotten.has_session, has_event, forgotten.has_record if forgotten.records else None
        )
        chosen.stones.clear()  # all of them are there
        if chosen.is_empty and not forgetting.pending():
            with opened.writer.transaction():
                forgetting.finish()
            return ForgetReport("nothing")
        forget(opened, stored, chosen, Reasons(at), report, tell=tell)
    return report


def _promised(chosen: Chosen, at: int) -> Iterator[WaitingCut]:
    for source_id in chosen.sources:
        yield WaitingCut(source_id, WHOLE_SOURCE, 0, 0, "forgotten", at)
    for (source_id, revision), records in chosen.records.items():
        ranges = runs((number, *place) for number, place in records.items())
        yield from waiting_cuts(source_id, revision, ranges, "forgotten", at)


class _Rows:
    """The rows that go, told before anything is changed: what the sessions that stay say of themselves then."""

    def __init__(self, opened: Opened, stored: SelectionReader, chosen: Chosen) -> None:
        self._opened = opened
        self._chosen = chosen
        self.sources = stored.sources()
        self._patches: dict[str, list[SessionPatch]] = {}
        for uid, keys in chosen.partial.items():
            if uid not in chosen.emptied:
                self._patches[uid] = _left(stored, uid, chosen.sessions[uid].number, keys)
        sessions = {chosen.sessions[uid].number for uid in (*chosen.whole, *chosen.partial)}
        self.shards = stored.shards_of(sessions)
        self.source_bytes = sum(
            ledger.bytes_seen for ledger in opened.reader.ledgers() if ledger.source_id in chosen.sources
        )

    def with_texts_in_state(self) -> list[str]:
        """Return the sources whose parser's state may hold text of a record that goes: it is made again when needed."""
        known = adapters()
        return [
            row.source_id
            for row in self.sources.values()
            if (row.source_id, row.revision) in self._chosen.records
            and (row.agent not in known or known[row.agent].facts.carries_text)
        ]

    def remove(self, reasons: Reasons, report: ForgetReport, tell: StageProgress) -> list[str]:
        """Remove them all in one transaction; return the sessions that must be analysed again."""
        chosen, writer = self._chosen, self._opened.writer
        forgetting = writer.removing.forgetting
        tell("removing what is stored of it", 0, 0)
        with forgetting.overwriting(), writer.transaction():
            forgetting.expect({*chosen.whole, *chosen.partial, *chosen.retold})
            for uid in (*chosen.whole, *chosen.emptied):
                report.events += len(forgetting.remove_session(uid))
            for source_id in chosen.sources:
                forgetting.remove_source(source_id)
            for (source_id, revision), records in chosen.records.items():
                report.events += len(forgetting.remove_records(source_id, revision, records.keys()))
            for uid, keys in chosen.partial.items():
                if uid not in chosen.emptied:
                    report.events += len(forgetting.remove_events(keys))
                    forgetting.restate_session(uid, self._patches[uid], domain_of=writer.domain_of)
            for uid in chosen.retold:
                forgetting.forget_meaning(uid)
            forgetting.derive_anew(source_id for source_id, _ in chosen.records)
            forgetting.tidy()
        report.whole_sessions += len(chosen.whole) + len(chosen.emptied)
        report.partial_sessions += len(chosen.partial) - len(chosen.emptied) + len(chosen.retold)
        report.sources += len(chosen.sources)
        report.records += sum(map(len, chosen.records.values()))
        return [uid for uid in (*chosen.partial, *chosen.retold) if uid not in chosen.emptied]


def _left(stored: SelectionReader, uid: str, number: int, gone: Collection[int]) -> list[SessionPatch]:
    """Return what the events of a session that stay say of it, in order. gone: keys of those that do not."""
    patches = []
    for key, event in stored.light(uid, number):
        if key not in gone:
            patch = SessionPatch()
            patch.take(event.payload, None)
            if isinstance(event.payload, AssistantMessage) and event.payload.model:
                patch.saw_model(event.payload.model)
            patches.append(patch)
    return patches


def _forget_written(opened: Opened, reasons: Reasons, sessions: Collection[str]) -> int:
    """Remove what people and agents wrote, and documents, that are meant; return how many. Inside a transaction.

    sessions: those that go as a whole, and with them the documents that are other records of them.

    With the promise, not with the rows: no tombstone tells of them, so that `resume` could not.
    """
    written = opened.writer.removing.forgetting.written
    keeping = Keeping(partial(path_mark, opened.keys.forget_key), reasons.at)
    count = written.remove_records(sessions, keeping)
    count += written.remove_repos(reasons.repos, keeping) if reasons.repos else 0
    if reasons.pattern is not None and reasons.is_everywhere:
        count += written.remove_texts(partial(has_text, reasons.pattern), keeping)
    return count


def _shards_of_entries(opened: Opened, *, has_documents: bool) -> Iterator[str]:
    """Yield the parts of the index that may hold learnings, notes or documents of it."""
    for shard in (DOCUMENT_SHARD, NOTE_SHARD) if has_documents else (NOTE_SHARD,):
        if (opened.home.index / shard).exists():
            yield shard


def _clear_spool(opened: Opened, chosen: Chosen, rows: _Rows, reasons: Reasons) -> None:
    spool = str(opened.home.spool) + os.sep
    by_id = {row.source_id: row for row in rows.sources.values()}
    records: dict[str, list[tuple[int, int]]] = {}
    for (source_id, revision), found in chosen.records.items():
        row = by_id[source_id]
        if row.path.startswith(spool) and row.revision == revision:
            records.setdefault(row.path, []).extend(found.values())
    meant = SpoolSelection(
        [chosen.sessions[uid].native_id for uid in chosen.whole],
        reasons.pattern,
        {row.path for row in chosen.sources.values() if row.path.startswith(spool)},
        records,
    )
    clear_spooled(opened.home.spool, meant)
    drop_aside(str(opened.home.spool))  # nobody can tell whose that is


def _clear_copies(opened: Opened, reasons: Reasons, report: ForgetReport, *, tell: StageProgress) -> None:
    """Take it out of everything that is made of the rows, then let nothing of it stay on the disk."""
    home, writer = opened.home, opened.writer
    forgetting = writer.removing.forgetting
    with SelectionReader(home.folder) as stored:
        shards = forgetting.pending()
        last = opened.reader.last_change()
        tell("making parts of the search index anew", 0, 0)
        remake_shards(home, opened.reader, shards, stored.sessions_in(shards))
        with writer.transaction():
            writer.acknowledge(INDEX, last)
        clear_vectors(home, stored)
    clear_derived(home)
    share = 0.0 if reasons.is_thorough else 0.25
    compact(opened.archive, writer, least_dead_share=share, progress=partial(tell, "writing the archive anew"))
    tell("writing the database anew", 0, 0)
    try:
        is_gone = forgetting.rewrite(is_whole=reasons.is_thorough)
    except DiskFull:
        report.notes.append("no space to write the database anew: pages that rows left before may keep a part of it")
        is_gone = forgetting.rewrite(is_whole=False)
    with writer.transaction():
        forgetting.finish()
    is_gone = forgetting.rewrite(is_whole=False) and is_gone
    if not is_gone:
        report.notes.append("another program reads the memory: the database's log goes when it has ended")


Judging = Callable[[str, Literal["retire", "done"]], None]
_STILL_GOING_US = 86_400_000_000
_LOOKING = "looking for it"


def plan_of(
    selector: Selector, stored: SelectionReader, reader: Reader, home: Home, selection: ForgetSelection, *,
    overruling: Overruling, folders: Collection[str] = (),
) -> ForgetReport:  # fmt: skip
    """Return what would be forgotten. folders: as `forget_selection`. Raises UsageError, ArchiveError, StoreError."""
    chosen, written = selector.run(selection), _written(stored, selection)
    report = _planned(chosen)
    if written.marks:
        report.state, report.written = "planned", written.count
    for ledger in reader.ledgers():
        records = chosen.records.get((ledger.source_id, ledger.revision), {})
        for start, stop in runs((number, *place) for number, place in records.items()):
            report.bytes += stop - start - sum(_common((start, stop), hole) for hole in ledger.holes)
        report.bytes += ledger.bytes_seen * (ledger.source_id in chosen.sources)
    _name_along(report, stored, chosen, written, overruling)
    report.files = _files_of(stored, chosen, home, selection.pattern, folders)
    return report


def forget_selection(
    opened: Opened, selection: ForgetSelection, *, overruling: Overruling, judge: Judging,
    tell: StageProgress, folders: Collection[str] = (),
) -> tuple[ForgetReport, list[str]]:  # fmt: skip
    """Forget a selection; return its report and the uids of sessions to analyse again. Raises as `forget`.

    judge: called, before anything goes, with the ids of learnings that what goes had taken back, and of actions that it
    had shown to be done. folders: of the agents, in which files that nobody ingests may contain it.
    """
    at = now_us()
    resume(opened, at=at, tell=tell)
    with SelectionReader(opened.home.folder) as stored:
        chosen = selector_of(opened, stored, progress=looking(tell)).run(selection)
        notes = [f"not searched after a damaged place: {path}" for path in sorted(chosen.unread)]
        written = _written(stored, selection)
        if chosen.is_empty and not written.marks:
            return ForgetReport("nothing", notes=notes), []
        if chosen.is_everything:
            must_spare(selection, opened.home, len(chosen.sessions))
        report = ForgetReport("done", kept_copies=chosen.kept_copies, notes=notes)
        done = _name_along(report, stored, chosen, written, overruling)
        report.learned = [NoteToForget(one.name) for one in report.learned]
        report.files = _files_of(stored, chosen, opened.home, selection.pattern, folders)
        pattern = compiled(selection.pattern) if selection.pattern else None
        reasons = Reasons(
            at, pattern=pattern, is_everywhere=_is_only(selection, "pattern"), repos=_repos(stored, selection)
        )
        for one in report.taken_back:
            judge(one.name.partition(":")[2], "retire")
        for learning_id in done:
            judge(learning_id, "done")
        again = forget(opened, stored, chosen, reasons, report, tell=tell)
    counted = ("whole_sessions", "partial_sessions", "sources", "records", "events", "written", "bytes")
    add_audit(opened.home.folder, "forget", {name: getattr(report, name) for name in counted}, at=at)
    return report, again


def must_spare(selection: ForgetSelection, home: Home, sessions: int) -> None:
    """Refuse a pattern that leaves nothing of several sessions: nobody means that by a text. Raises UsageError."""
    if selection.pattern and sessions > 1:
        raise UsageError(
            f"{selection.pattern!r} selects all {sessions:,} sessions of the memory, so it would erase everything",
            hint=f"write more of what you mean; to erase the whole memory, delete {home.folder}",
        )


def _name_along(
    report: ForgetReport, stored: SelectionReader, chosen: Chosen, written: Written, overruling: Overruling
) -> list[str]:
    """Name the learnings, decisions and notes that go, with their events or for their text, and what they took back.

    Return the ids of actions that what goes had shown to be done: they stay done.
    """
    whole = {*chosen.whole, *chosen.emptied}
    partial = {uid: keys for uid, keys in chosen.partial.items() if uid not in whole}
    said = (name for name in written.marks if name.partition(":")[0] in COUNTED)
    leaving = Leaving(whole, partial)
    decisions = {one.id: one.statement for one in stored.decisions_leaving(leaving)}
    names = {*stored.resting_on(leaving), *said}
    learnings = {name.removeprefix("learning:") for name in names if name.startswith("learning:")}
    report.learned = [NoteToForget(stored.shown_name(name), stored.text_of(name)) for name in sorted(names)]
    report.learned += [NoteToForget(name, decisions[name]) for name in sorted(decisions)]
    added = {name.removeprefix("decision:") for name in names if name.startswith("decision:")}
    taken_back = stored.taken_back_by(learnings, {*decisions, *added}, overruling)
    report.taken_back = [NoteToForget(f"learning:{one.id}", one.text) for one in taken_back.learnings]
    report.holds_again = [NoteToForget(one.id, one.statement) for one in taken_back.decisions]
    closed = {name.split(":")[1] for name in written.marks if name.startswith("closing:")}
    return sorted(closed.union(stored.done_by(leaving)) - learnings)


def _files_of(stored: SelectionReader, chosen: Chosen, home: Home, pattern: str, folders: Collection[str]) -> list[str]:
    """Return the agents' own files that still exist and hold what goes, and documents that say it.

    Where a text goes, also the Markdown files directly in the folders, and in the repositories: agents read them.
    """
    rows = [
        *chosen.sources.values(),
        *(row for row in stored.sources().values() if chosen.records.get((row.source_id, row.revision))),
    ]
    paths = {row.path for row in rows if not Path(row.path).is_relative_to(home.spool)}
    if pattern:
        meant = compiled(pattern)
        paths |= set(stored.files_of(stored.written_saying(partial(has_text, meant)).marks))
        repos = {s.repo_root or s.cwd for uid in (*chosen.whole, *chosen.partial) if (s := chosen.sessions[uid])}
        for path in (path for folder in {*folders, *repos} - {""} for path in Path(folder).glob("*.md")):
            with suppress(OSError):
                if says(meant, path.read_bytes()):
                    paths.add(str(path))
    return sorted(path for path in paths if Path(path).exists())


def _is_only(selection: ForgetSelection, field: str) -> bool:
    """Return whether a selection has only one criterion: only then it includes what no session holds."""
    return bool(getattr(selection, field)) and selection == ForgetSelection(**{field: getattr(selection, field)})


def _repos(stored: SelectionReader, selection: ForgetSelection) -> frozenset[str]:
    """Return the names of the repositories of which nothing is to stay."""
    if not _is_only(selection, "repo"):
        return frozenset()
    places = {(s.repo, s.repo_root, s.cwd) for s in stored.sessions()}
    places |= {(repo, "", "") for repo in stored.repos_of_entries()}
    names = {repo for repo, root, cwd in places if is_of([selection.repo], repo=repo, repo_root=root, cwd=cwd)}
    return frozenset(names - {""})


def _written(stored: SelectionReader, selection: ForgetSelection) -> Written:
    """Return learnings, notes, documents and decisions in the selection, whatever their session."""
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
        report.notes.append("a session to forget may still be running: what its agent adds later stays out too")
    return report


def _common(span: tuple[int, int], hole: Hole) -> int:
    """Return how many bytes of a span are gone already."""
    return max(0, min(span[1], hole.offset + hole.length) - max(span[0], hole.offset))


def looking(progress: StageProgress | None) -> Callable[[int, int], None] | None:
    """Return the progress callback of the search."""
    return None if progress is None else lambda done, total: progress(_LOOKING, done, total)
