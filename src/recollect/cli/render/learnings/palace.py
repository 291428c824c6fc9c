"""A MemPalace directory that is taken over: how far that is, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import error_console, safe_line
from recollect.units import count, plural

if TYPE_CHECKING:
    from rich.status import Status

    from recollect.memory import PalaceReport


class PalaceProgress:
    """Shows on a terminal how much was looked at; to use in a `with`, called with the report as it grows."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def __enter__(self) -> PalaceProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, report: PalaceReport) -> None:
        """Show how far it is."""
        if self._status is None:
            self._status = error_console().status("")
            self._status.start()
        facts = report.facts_taken + report.facts_known + report.facts_ended
        self._status.update(f"taking over {plural(report.drawers, 'drawer')}, {plural(facts, 'fact')}")


def print_palace(out: Console, report: PalaceReport) -> None:
    """Print what was taken, what was there, and what was not taken and why."""
    rows = (
        ("documents", report.documents_taken, report.documents_known),
        ("diary entries", report.diary_taken, report.diary_known),
        ("facts", report.facts_taken, report.facts_known),
    )
    will = "would be taken or are there" if report.is_dry_run else "taken"
    for name, taken, known in rows:
        there = f", {count(known)} known" if known else ""
        linked = report.documents_linked if name == "documents" else 0
        of_sessions = f", {count(linked)} of them linked to sessions of their agents" if linked else ""
        out.print(f"{name}: {count(taken)} {will}{of_sessions}{there}")
    if report.facts_ended:
        out.print(f"{plural(report.facts_ended, 'fact')} ended, as the palace says now")
    if report.again:
        out.print(f"{count(report.again)} of them had been undone, and are taken again")
    for reason, number in sorted(report.skipped.items()):
        out.print(Text(safe_line(f"skipped {count(number)}: {reason}"), style="dim"), soft_wrap=True)
    wings = ", ".join(f"{name} ({number:,})" for name, number in sorted(report.wings.items()))
    batch = f" · batch {report.batch}" if report.batch else ""
    line = f"{plural(report.drawers, 'drawer')} in {safe_line(wings) or 'no wing'}{batch}"
    out.print(Text(line, style="dim"), soft_wrap=True)
    print_notes(out, report.notes)
