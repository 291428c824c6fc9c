"""Renders a sync. Works without rich, which takes as long to load as a sync without changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.render.layout import print_notes, print_table, speed
from recollect.cli.terminal import Plain, put, safe_line
from recollect.units import count, duration, plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from recollect.memory import AgentSync, Skipped, SyncReport

SHOWN = 10
"""Reasons and defects listed one by one; the rest is counted. `--json` has all."""
NAMED = 3
"""Files listed that were left out for one reason; the rest is counted."""
STATES = {
    "busy": "another process is ingesting into this memory; nothing was done",
    "interrupted": "interrupted; what is stored stays, and the next sync continues",
    "degraded": "finished with a part missing; see the notes",
}
"""What is said first of a sync that ended otherwise than done."""


def print_sync(out: Console | Plain, report: SyncReport, *, written: Path | None = None) -> None:
    """Print a line per agent, what was skipped and why, warnings, the sum, and which file was written."""
    if report.state in STATES:
        put(out, (STATES[report.state], "yellow"))
    found = [a for a in report.agents.values() if a.found or a.gone or a.skipped]
    if found:
        rows = [(a.agent, *_sync_figures(a), size(a.bytes)) for a in found]
        columns = (
            "agent",
            "found",
            "new",
            "changed",
            "unchanged",
            "gone",
            "skipped",
            "sessions",
            "events",
            "defects",
            "bytes",
        )
        print_table(out, columns, rows)
    elif report.state != "busy":
        out.print("no agent history found; `recollect agents` shows where Recollect looks")
    for agent in report.agents.values():
        _print_left_out(out, "skipped", agent.skipped, f" of {agent.agent}")
        for warning in agent.warnings:
            put(out, (safe_line(f"warning: {agent.agent}: {warning}"), "yellow"))
    print_untaken(out, report)
    for one in report.documents:
        if not (one.new or one.changed or one.removed):
            continue  # there is a note of what kept it from being looked at
        text = f"documents {one.name}: {one.new} new, {one.changed} changed, {one.removed} removed"
        put(out, safe_line(text))
    print_notes(out, report.notes)
    put(out, (sync_line(report), "dim"))
    if written is not None:
        put(out, f"wrote {written}")


def print_untaken(out: Console | Plain, report: SyncReport) -> None:
    """Print which files in named folders were not taken, and why."""
    _print_left_out(out, "not taken", report.untaken)


def _print_left_out(out: Console | Plain, what: str, files: Sequence[Skipped], whose: str = "") -> None:
    """Print a line for each file that has a reason of its own; of more with one reason, how many and the first few."""
    by_reason: dict[str, list[str]] = {}
    for one in files:
        by_reason.setdefault(one.reason, []).append(one.path)
    for reason, paths in list(by_reason.items())[:SHOWN]:
        if len(paths) == 1:
            put(out, (safe_line(f"{what} {paths[0]}: {reason}"), "dim"))
            continue
        put(out, (safe_line(f"{what} {count(len(paths))}{whose}, each {reason}:"), "dim"))
        for path in paths[:NAMED]:
            put(out, (f"  {safe_line(path)}", "dim"))
        if len(paths) > NAMED:
            put(out, (f"  {count(len(paths) - NAMED)} more; --json lists them", "dim"))
    left = sum(len(paths) for paths in list(by_reason.values())[SHOWN:])
    if left:
        put(out, (f"{what} {count(left)} more{whose}; --json lists them", "dim"))


def _sync_figures(a: AgentSync) -> tuple[str, ...]:
    sources = (a.found, a.new, a.changed, a.unchanged, a.gone, len(a.skipped))
    return tuple(count(n) for n in (*sources, a.sessions, a.events, sum(a.defects.values())))


def sync_line(report: SyncReport) -> str:
    """Return the sum of a sync: `12 new events, 3.1 MB in, 900 kB stored, 400 ms (7.8 MB/s)`."""
    events = plural(report.events, "new event")
    fast = speed(report.bytes, report.seconds)
    stored = size(max(0, report.stored_bytes))  # the home shrinks where what was deleted leaves it meanwhile
    sums = f"{events}, {size(report.bytes)} in, {stored} stored, {duration(report.seconds)}"
    sums += f" ({fast})" if fast else ""
    if report.distilled_sessions:
        sums += f"; {plural(report.distilled_sessions, 'session')} analysed"
    return sums
