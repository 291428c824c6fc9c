"""What backup and restore did, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp
from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe_line
from recollect.units import duration, plural, size

if TYPE_CHECKING:
    from recollect.memory import BackupReport, RestoreReport

SHOWN = 10
_KEYS = {
    "included": "the key is in it: whoever has the backup can open it",
    "left_out": "the wrapping key is not in it",
    "elsewhere": "the wrapping key is not in it: the system's keyring keeps it",
}


def print_backup(out: Console, report: BackupReport) -> None:
    """Print what was copied, that it was read again, and whether it has the key."""
    out.print(
        Text(
            safe_line(
                f"{report.target}: {plural(report.sessions, 'session')}, {plural(report.events, 'event')}, "
                f"{size(report.bytes)} in {plural(report.files, 'file')}; {size(report.copied_bytes)} copied"
            )
        ),
        soft_wrap=True,
    )
    out.print(f"read again: {plural(report.chunks, 'chunk')} opened, every hash as written", soft_wrap=True)
    out.print(_KEYS[report.key], soft_wrap=True)
    print_notes(out, report.notes)
    out.print(Text(f"the memory as of {stamp(report.made_at)}, in {duration(report.seconds)}", style="dim"))


def print_restored(out: Console, report: RestoreReport) -> None:
    """Print what is there now, and what was there before and is not."""
    sums = f"{plural(report.sessions, 'session')}, {plural(report.events, 'event')}"
    out.print(Text(safe_line(f"{report.home}: {sums}, as of {stamp(report.made_at)}")), soft_wrap=True)
    out.print(f"{plural(report.chunks, 'chunk')} opened before anything was touched", soft_wrap=True)
    if report.forgotten:
        out.print(f"{plural(report.forgotten, 'session')} forgotten again", soft_wrap=True)
    if report.lost_sessions:
        lacking = f"{plural(report.lost_sessions, 'session')} ({plural(report.lost_events, 'event')})"
        out.print(Text(f"not, or not wholly, in the backup: {lacking}", style="yellow"), soft_wrap=True)
        for uid in report.lost[:SHOWN]:
            out.print(Text(f"  {safe_line(uid)}", style="dim"), soft_wrap=True)
        if report.lost_sessions > SHOWN:
            out.print(Text(f"  {report.lost_sessions - SHOWN:,} more; --json has the first hundred", style="dim"))
    if report.aside:
        out.print(Text(safe_line(f"the memory of before is kept in {report.aside}")), soft_wrap=True)
    print_notes(out, report.notes)
