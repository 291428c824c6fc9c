"""How the terminal shows what went, what everything takes, and what is spared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp
from recollect.cli.render.notes import print_notes
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe_line
from recollect.units import count, plural, size

if TYPE_CHECKING:
    from recollect.memory import EvictReport, Pin, StorageLine, StorageReport

SHOWN = 40
_WHY = {
    "age": "older than may be",
    "budget": "above the soft cap",
    "overflow": "above the hard cap",
    "data_loss": "data loss: above the hard cap and not analysed",
}
_LARGE = ", large results and images only"


def print_evicted(out: Console, report: EvictReport) -> None:
    """Print what went or would go, one line a session, then the sums."""
    rows = [
        (s.session_uid, _WHY[s.reason] + (_LARGE if s.part == "large" else ""), stamp(s.last_at), size(s.bytes))
        for s in report.sessions[:SHOWN]
    ]
    if rows:
        out.print(plain_table(("session", "why", "last", "about"), rows, words=3))
    if len(report.sessions) > SHOWN:
        out.print(f"… and {count(len(report.sessions) - SHOWN)} more; --json lists all")
    if report.is_dry_run:
        what = f"{plural(len(report.sessions), 'session')} would go" if rows else "nothing would go"
        out.print(f"{what}: raw {size(report.raw_bytes)} → about {size(report.left_bytes)}{_caps(report)}")
    elif report.state == "busy":
        out.print("nothing was done: another process is writing")
    else:
        what = f"{plural(len(report.sessions), 'session')} evicted" if rows else "nothing had to go"
        freed = f", {size(report.freed_bytes)} given back" if rows else ""
        out.print(f"{what}: raw {size(report.raw_bytes)} → {size(report.left_bytes)}{freed}{_caps(report)}")
    print_notes(out, report.notes)


def _caps(report: EvictReport) -> str:
    if not report.hard_cap_bytes:
        return ""
    return f" (soft cap {size(report.soft_cap_bytes)}, hard cap {size(report.hard_cap_bytes)})"


def print_storage(out: Console, report: StorageReport) -> None:
    """Print what each tier, agent and repository takes, and how far the caps are."""
    t = report.tiers
    rows = [
        ("1 raw", "archive: the exact bytes, sealed", size(t.archive_bytes)),
        ("1 raw", "what events say", size(t.text_bytes)),
        ("2 distilled", "digests, signals, decisions", size(t.distilled_bytes)),
        ("2 distilled", "what stays of evicted sessions", size(t.skeleton_bytes)),
        ("derived", "rows of events and sessions", size(t.rows_bytes)),
        ("derived", "search index", size(t.index_bytes)),
        ("derived", "vectors", size(t.vectors_bytes)),
    ]
    out.print(plain_table(("tier", "what", "takes"), rows, words=2, total=("all", "", size(report.total_bytes))))
    if t.free_bytes:
        out.print(Text(f"of that, free for use again: {size(t.free_bytes)}", style="dim"))
    out.print()
    out.print(
        f"counted for the caps: {size(report.raw_bytes)}, of which {size(report.evictable_bytes)} could go now; "
        f"soft cap {size(report.soft_cap_bytes)} ({_room(report.to_soft_cap_bytes)}), "
        f"hard cap {size(report.hard_cap_bytes)} ({_room(report.to_hard_cap_bytes)})"
    )
    swept = f"; last looked after {stamp(report.swept_at)}" if report.swept_at is not None else ""
    out.print(
        f"{plural(report.sessions, 'session')}, {count(report.evicted)} evicted, {count(report.pinned)} pinned{swept}"
    )
    for title, lines in (("agent", report.agents), ("repository", report.repos)):
        if lines:
            out.print()
            _print_lines(out, title, lines)
    print_notes(out, report.notes)


def _room(left: int) -> str:
    return f"{size(left)} left" if left >= 0 else f"{size(-left)} above"


def _print_lines(out: Console, title: str, lines: Sequence[StorageLine]) -> None:
    rows = [
        (
            line.name or "(none)", count(line.sessions), count(line.evicted), size(line.archive_bytes),
            size(line.text_bytes), size(line.index_bytes),
        )
        for line in lines[:SHOWN]
    ]  # fmt: skip
    columns = (title, "sessions", "evicted", "archive", "text", "index (share)")
    out.print(plain_table(columns, rows))
    if len(lines) > SHOWN:
        out.print(f"… and {count(len(lines) - SHOWN)} more; --json lists all")


def print_pins(out: Console, pins: Sequence[Pin]) -> None:
    """Print what is spared."""
    if not pins:
        out.print("no session is pinned")
        return
    for pin in pins:
        title = f"  {pin.title[:80]}" if pin.title else ""
        out.print(Text(safe_line(f"{stamp(pin.pinned_at)}  {pin.session_uid}{title}")), soft_wrap=True)
