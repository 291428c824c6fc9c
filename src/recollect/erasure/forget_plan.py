"""Turns a selection into a plan, shows it, and carries it out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from recollect.archive.chunks import Hole
from recollect.clock import now_us
from recollect.erasure.forget import Opened, Reasons, StageProgress, forget, resume, selector_of
from recollect.erasure.records import has_text, runs
from recollect.erasure.reports import ForgetReport, ForgetSelection, NoteToForget, SessionToForget
from recollect.erasure.repositories import is_of
from recollect.erasure.selection import Chosen, Selector, compiled
from recollect.store.audit import add_audit
from recollect.store.erasure.insight_rows import Leaving
from recollect.store.erasure.note_rows import COUNTED, Written
from recollect.store.erasure.select_rows import SelectionReader
from recollect.store.erasure.taken_back import Overruling
from recollect.store.home import Home
from recollect.store.reader import Reader

Judging = Callable[[str, Literal["retire", "done"]], None]
_STILL_GOING_US = 86_400_000_000
_LOOKING = "looking for it"


def plan_of(
    selector: Selector, stored: SelectionReader, reader: Reader, home: Home, selection: ForgetSelection, *,
    overruling: Overruling,
) -> ForgetReport:  # fmt: skip
    """Return what would be forgotten. Raises UsageError, ArchiveError, StoreError."""
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
    report.files = _files_of(stored, chosen, home, selection.pattern)
    return report


def forget_selection(
    opened: Opened, selection: ForgetSelection, *, overruling: Overruling, judge: Judging,
    tell: StageProgress,
) -> tuple[ForgetReport, list[str]]:  # fmt: skip
    """Forget a selection; return its report and the uids of sessions to analyse again. Raises as `forget`.

    judge: called, before anything goes, with the ids of learnings that what goes had taken back, and of actions that it
    had shown to be done.
    """
    at = now_us()
    resume(opened, at=at, tell=tell)
    with SelectionReader(opened.home.folder) as stored:
        chosen = selector_of(opened, stored, progress=looking(tell)).run(selection)
        notes = [f"not searched after a damaged place: {path}" for path in sorted(chosen.unread)]
        written = _written(stored, selection)
        if chosen.is_empty and not written.marks:
            return ForgetReport("nothing", notes=notes), []
        report = ForgetReport("done", kept_copies=chosen.kept_copies, notes=notes)
        done = _name_along(report, stored, chosen, written, overruling)
        report.learned = [NoteToForget(one.name) for one in report.learned]
        report.files = _files_of(stored, chosen, opened.home, selection.pattern)
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


def _files_of(stored: SelectionReader, chosen: Chosen, home: Home, pattern: str) -> list[str]:
    """Return the agents' own files that still exist and hold what goes, and documents that say it."""
    rows = [
        *chosen.sources.values(),
        *(row for row in stored.sources().values() if chosen.records.get((row.source_id, row.revision))),
    ]
    paths = {row.path for row in rows if not Path(row.path).is_relative_to(home.spool)}
    if pattern:
        paths |= set(stored.files_of(stored.written_saying(partial(has_text, compiled(pattern))).marks))
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
