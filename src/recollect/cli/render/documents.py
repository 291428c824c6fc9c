"""Renders document collections and the import of a MemPalace directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.layout import plain_table, print_notes, stamp
from recollect.cli.terminal import put, safe_line
from recollect.units import count, duration, plural, size

if TYPE_CHECKING:
    from recollect.memory import (
        CollectionFiles,
        CollectionRemoved,
        CollectionReport,
        CollectionView,
        DocumentProgress,
        PalaceReport,
    )


SHOWN = 20
"""Files named one by one; the rest is counted. `--json` has more, `docs show` all."""
_STATES = {
    "interrupted": "interrupted; what was ingested stays; run it again to continue",
    "partly": "not everything was ingested; the next pass continues",
    "failed": "some files could not be read; the next pass tries again",
}


def pass_line(at: DocumentProgress) -> str:
    """Return how far a pass is: `handbook: 12 files seen, 3 taken  docs/guide.md`."""
    return f"{at.collection}: {plural(at.seen, 'file')} seen, {count(at.taken)} taken  {at.path}"


def print_pass(out: Console, reports: Sequence[CollectionReport]) -> None:
    """Print what was taken of each collection, and what was not and why."""
    if not reports:
        out.print("no collections yet; `recollect docs add DIR` adds one")
    for report in reports:
        title = f"{report.name}: {report.folder}"
        put(out, (safe_line(title), "bold"))
        if report.state in _STATES:
            put(out, (f"  {_STATES[report.state]}", "yellow"))
        for path in report.files[:SHOWN]:
            put(out, safe_line(f"  would take {path}"))
        if len(report.files) > SHOWN:
            more = report.new + report.changed - SHOWN
            out.print(Text(f"  would ingest {count(more)} more; --json lists the first thousand", style="dim"))
        for left in report.not_taken[:SHOWN]:
            style = "yellow" if left.is_failure else "dim"
            put(out, (safe_line(f"  not taken {left.path}: {left.reason}"), style))
        if report.listed + report.failed > SHOWN:
            more = report.listed + report.failed - SHOWN
            out.print(Text(f"  not ingested: {count(more)} more; `recollect docs show` lists all", style="dim"))
        print_notes(out, report.notes)
        if report.state != "absent":  # nothing was looked at: a sum would say that there is nothing
            put(out, (f"  {_sum(report)}", "dim"))


def print_one_pass(out: Console, report: CollectionReport) -> None:
    """Print the same of one collection."""
    print_pass(out, [report])


def _sum(report: CollectionReport) -> str:
    figures = [
        f"{count(number)} {word}"
        for number, word in (
            (report.new, "new"), (report.changed, "changed"), (report.unchanged, "unchanged"),
            (report.removed, "removed"), (report.listed, "listed only"), (report.failed, "failed"),
            (report.kept_out, "forgotten"),
        )
        if number
    ]  # fmt: skip
    text = ", ".join(figures) or "no document"
    text += f"; {size(report.bytes)}" if report.bytes else ""
    text += f"; {plural(report.redactions, 'secret')} replaced" if report.redactions else ""
    if report.is_dry_run:
        return f"would be: {text}"
    undo = f"; `recollect undo {report.batch}` removes it" if report.batch and report.new else ""
    return f"{text}; {duration(report.seconds)}{undo}"


def print_collections(out: Console, views: Sequence[CollectionView]) -> None:
    """Print the collections, one a line."""
    if not views:
        out.print("no collections yet; `recollect docs add DIR` adds one")
        return
    rows = [
        (
            view.name, view.folder or "(imported)", count(view.documents), count(view.listed), count(view.failed),
            size(view.bytes), stamp(view.added_at),
        )
        for view in views
    ]  # fmt: skip
    columns = ("collection", "folder", "documents", "listed", "failed", "bytes", "added")
    out.print(plain_table(columns, rows, words=2))
    for view in views:
        if view.absent_since is not None:
            text = f"{view.name}: {view.folder} is missing since {stamp(view.absent_since)}; what was ingested stays"
            put(out, (safe_line(text), "yellow"))


def print_files(out: Console, files: CollectionFiles) -> None:
    """Print the files of a collection: what can be found first, then the rest with its reason."""
    print_collections(out, [files.collection])
    rows = [(file.path, file.title, count(file.parts), size(file.size)) for file in files.files if file.uid]
    if rows:
        out.print(plain_table(("document", "title", "parts", "bytes"), rows, words=2))
    for file in files.files:
        if file.reason:
            style = "yellow" if file.state == "failed" else "dim"
            put(out, (safe_line(f"{file.state} {file.path}: {file.reason}"), style))


def print_removed(out: Console, removed: CollectionRemoved) -> None:
    """Print what taking a collection out did."""
    out.print(
        safe_line(
            f"{removed.name}: {plural(removed.documents, 'document')} removed from the memory; the folder was "
            "not touched"
        )
    )
    print_notes(out, removed.notes)


def palace_line(report: PalaceReport) -> str:
    """Return how far an import of a palace is."""
    facts = report.facts_taken + report.facts_known + report.facts_ended
    return f"taking over {plural(report.drawers, 'drawer')}, {plural(facts, 'fact')}"


def print_palace(out: Console, report: PalaceReport) -> None:
    """Print what was taken, what was there, and what was not taken and why."""
    rows = (
        ("documents", report.documents_taken, report.documents_known),
        ("diary entries", report.diary_taken, report.diary_known),
        ("facts", report.facts_taken, report.facts_known),
    )
    will = "would be imported or already exist" if report.is_dry_run else "taken"
    for name, taken, known in rows:
        there = f", {count(known)} known" if known else ""
        linked = report.documents_linked if name == "documents" else 0
        of_sessions = f", {count(linked)} of them linked to sessions of their agents" if linked else ""
        out.print(f"{name}: {count(taken)} {will}{of_sessions}{there}")
    if report.facts_ended:
        out.print(f"{plural(report.facts_ended, 'fact')} ended, as the palace says now")
    if report.again:
        out.print(f"{count(report.again)} of them had been undone and are imported again")
    for reason, number in sorted(report.skipped.items()):
        put(out, (safe_line(f"skipped {count(number)}: {reason}"), "dim"))
    wings = ", ".join(f"{name} ({number:,})" for name, number in sorted(report.wings.items()))
    batch = f" · batch {report.batch}" if report.batch else ""
    line = f"{plural(report.drawers, 'drawer')} in {safe_line(wings) or 'no wing'}{batch}"
    put(out, (line, "dim"))
    print_notes(out, report.notes)
