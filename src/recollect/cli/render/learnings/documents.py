"""How the terminal shows collections of documents, and what a pass over their folders did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp
from recollect.cli.render.notes import print_notes
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe_line
from recollect.units import count, duration, plural, size

if TYPE_CHECKING:
    from recollect.memory import CollectionFiles, CollectionRemoved, CollectionReport, CollectionView, DocumentProgress

SHOWN = 20
"""Files named one by one; the rest is counted. `--json` has more, `docs show` all."""
_STATES = {
    "interrupted": "interrupted; what was taken stays, again goes on",
    "partly": "not all of it was taken; the next pass goes on",
    "failed": "some files could not be read; the next pass tries again",
}


def pass_line(at: DocumentProgress) -> str:
    """Return how far a pass is: `handbook: 12 files seen, 3 taken  docs/guide.md`."""
    return f"{at.collection}: {plural(at.seen, 'file')} seen, {count(at.taken)} taken  {at.path}"


def print_pass(out: Console, reports: Sequence[CollectionReport]) -> None:
    """Print what was taken of each collection, and what was not and why."""
    if not reports:
        out.print("no folder was added; `recollect docs add DIR` adds one")
    for report in reports:
        title = f"{report.name}: {report.folder}"
        out.print(Text(safe_line(title), style="bold"), soft_wrap=True)
        if report.state in _STATES:
            out.print(Text(f"  {_STATES[report.state]}", style="yellow"), soft_wrap=True)
        for path in report.files[:SHOWN]:
            out.print(Text(safe_line(f"  would take {path}")), soft_wrap=True)
        if len(report.files) > SHOWN:
            more = report.new + report.changed - SHOWN
            out.print(Text(f"  would take {count(more)} more; --json names the first thousand", style="dim"))
        for left in report.not_taken[:SHOWN]:
            style = "yellow" if left.is_failure else "dim"
            out.print(Text(safe_line(f"  not taken {left.path}: {left.reason}"), style=style), soft_wrap=True)
        if report.listed + report.failed > SHOWN:
            more = report.listed + report.failed - SHOWN
            out.print(Text(f"  not taken {count(more)} more; `recollect docs show` lists all", style="dim"))
        print_notes(out, report.notes)
        if report.state != "absent":  # nothing was looked at: a sum would say that there is nothing
            out.print(Text(f"  {_sum(report)}", style="dim"), soft_wrap=True)


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
    undo = f"; `recollect undo {report.batch}` takes it out" if report.batch and report.new else ""
    return f"{text}; {duration(report.seconds)}{undo}"


def print_collections(out: Console, views: Sequence[CollectionView]) -> None:
    """Print the collections, one a line."""
    if not views:
        out.print("no folder was added; `recollect docs add DIR` adds one")
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
            text = f"{view.name}: {view.folder} is not there since {stamp(view.absent_since)}; what was taken stays"
            out.print(Text(safe_line(text), style="yellow"), soft_wrap=True)


def print_files(out: Console, files: CollectionFiles) -> None:
    """Print the files of a collection: what can be found first, then the rest with its reason."""
    print_collections(out, [files.collection])
    rows = [(file.path, file.title, count(file.parts), size(file.size)) for file in files.files if file.uid]
    if rows:
        out.print(plain_table(("document", "title", "parts", "bytes"), rows, words=2))
    for file in files.files:
        if file.reason:
            style = "yellow" if file.state == "failed" else "dim"
            out.print(Text(safe_line(f"{file.state} {file.path}: {file.reason}"), style=style), soft_wrap=True)


def print_removed(out: Console, removed: CollectionRemoved) -> None:
    """Print what taking a collection out did."""
    out.print(safe_line(f"{removed.name}: {plural(removed.documents, 'document')} taken out; the folder is as it was"))
    print_notes(out, removed.notes)
