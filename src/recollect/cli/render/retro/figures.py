"""A retrospective as a short table: a line for each repository, and the total."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp, usd
from recollect.cli.render.notes import print_notes
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe_line
from recollect.units import count, duration, plural

if TYPE_CHECKING:
    from recollect.memory import Retro

_COLUMNS = ("repo", "sessions", "success", "fail", "abandoned", "unknown", "input", "output", "cost")
_OUTCOMES = ("success", "fail", "abandoned", "unknown")


def print_figures(out: Console, retro: Retro) -> None:
    """Print the span, a line for each repository, the total, and what happened in it."""
    out.print(Text(f"{stamp(retro.since)} to {stamp(retro.until)}", style="bold"))
    if retro.is_empty:
        out.print("nothing happened")
        print_notes(out, retro.notes)
        return
    t = retro.totals
    rows = [
        (
            line.repo or "(none)", count(sum(line.sessions.values())),
            *(count(line.sessions.get(name, 0)) for name in _OUTCOMES),
            count(line.totals.input_tokens), count(line.totals.output_tokens), usd(line.totals.cost_usd),
        )
        for line in retro.repositories
    ]  # fmt: skip
    outcomes: dict[str, int] = {line.outcome: line.sessions for line in retro.outcomes}
    spent = retro.spent.total
    total = (
        "total", count(t.sessions), *(count(outcomes.get(name, 0)) for name in _OUTCOMES), count(spent.input_tokens),
        count(spent.output_tokens), usd(spent.cost_usd),
    )  # fmt: skip
    out.print(plain_table(_COLUMNS, rows, total=total))
    if retro.unlisted.get("repositories"):
        out.print(f"{plural(retro.unlisted['repositories'].lines, 'more repo')}", style="dim")
    out.print()
    decided, overhead = retro.decided, retro.overhead
    said = (
        f"{plural(t.sessions, 'session')}, {plural(t.turns, 'turn')}, {duration(t.wall_clock_s)}",
        f"{plural(t.errors, 'error')} ({count(t.errors_fixed)} fixed in the session), "
        f"{plural(t.retries, 'retry', 'retries')}, "
        f"{plural(t.loops, 'loop')}, {plural(t.interventions, 'intervention')}, {plural(t.compactions, 'compaction')}",
        f"{plural(t.edits, 'edit')} in {plural(t.files, 'file')}, {plural(t.test_runs, 'test run')}",
        f"decisions: {count(decided.made)} made, {count(decided.superseded)} superseded, {count(decided.reversed)} "
        f"reversed, {count(decided.contradicted)} contradicted, {count(decided.revoked)} revoked",
        f"infrastructure: {count(overhead.infra_calls)} of {plural(overhead.calls, 'call')} ({overhead.share:.1%})",
    )
    for line in said:
        out.print(Text(safe_line(line)), soft_wrap=True)
    print_notes(out, retro.notes)
