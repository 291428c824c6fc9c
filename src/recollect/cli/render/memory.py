"""What the memory holds and what it cost: stats, usage, agents, as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp, usd
from recollect.cli.render.notes import print_notes
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe_line
from recollect.model.usage import UsageReport, UsageTotals
from recollect.units import count, plural, size

if TYPE_CHECKING:
    from recollect.memory import AgentView, RecallStats, Stats

_GIVEN = ("agent", "event", "spoke", "silent", "failed", "tokens", "used", "unused", "?")
_NOTE = (
    "used: opened or cited by the agent, or a name of it repeated (perhaps by chance), each apart with --json; "
    "?: the session is not stored"
)
_USAGE_COLUMNS = ("responses", "input", "cache read", "cache write", "output", "reasoning", "cost")


def print_stats(out: Console, stats: Stats) -> None:
    """Print totals, then a line per agent, then kinds, storage, defects and redactions."""
    out.print(Text(f"memory in {safe_line(stats.home)}", style="bold"), soft_wrap=True)
    out.print(
        f"{plural(stats.sessions, 'session')}, {plural(stats.events, 'event')}, {size(stats.source_bytes)} of sources"
    )
    if stats.first_event is not None:
        out.print(f"from {stamp(stats.first_event)} to {stamp(stats.last_event)}")
    if stats.agents:
        out.print()
        rows = [
            (
                a.agent,
                count(a.sessions),
                count(a.subagent_sessions),
                count(a.events),
                count(a.sources),
                size(a.source_bytes),
            )
            for a in stats.agents
        ]
        out.print(plain_table(("agent", "sessions", "of these subagents", "events", "sources", "bytes"), rows))
    stored = stats.storage
    share = f" ({stored.total_bytes / stats.source_bytes:.0%} of the sources)" if stats.source_bytes else ""
    named = (("database", stored.database_bytes), ("archive", stored.archive_bytes), ("index", stored.index_bytes))
    parts = ", ".join(f"{name} {size(part_bytes)}" for name, part_bytes in named)
    out.print()
    out.print(f"on disk {size(stored.total_bytes)}{share}: {parts}", soft_wrap=True)
    if stats.vectors is not None:
        covered = f"vectors of {stats.vectors.covered:,} of {plural(stats.vectors.total, 'event')}"
        if stats.vectors.entries_total:
            entries = plural(stats.vectors.entries_total, "entry", "entries")
            covered += f" and {stats.vectors.entries_covered:,} of {entries}"
        if stats.vectors.sessions_total:
            sessions = plural(stats.vectors.sessions_total, "session")
            covered += f"; {stats.vectors.sessions_read:,} of {sessions} read by the contextual model"
        problem = f" ({stats.vectors.problem})" if stats.vectors.problem else ""
        model = f", model {stats.vectors.model}, {size(stats.vectors.disk_bytes)}"
        out.print(Text(safe_line(covered + problem + model)), soft_wrap=True)
    told = (("events", stats.kind_counts), ("learned and noted", stats.entries))
    for name, counts in (*told, ("defects", stats.defects), ("redacted", stats.redactions)):
        if counts:
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            out.print(Text(safe_line(f"{name}: " + ", ".join(f"{n:,} {k}" for k, n in ordered))), soft_wrap=True)


def print_agents(out: Console, agents: Sequence[AgentView], *, is_all: bool = False) -> None:
    """Print the agents that are here, with their folders and how much they say; the others by name, or all of them."""
    here = [a for a in agents if is_all or a.sessions or _has_own_root(a)]
    for agent in here:
        what = f"{plural(agent.sessions, 'session')}, {plural(agent.events, 'event')}, {size(agent.source_bytes)}"
        state = what if agent.enabled else f"off in the configuration; {what} stored"
        out.print(Text.assemble((f"{agent.name} ({agent.slug})", "bold"), f": {state}"), soft_wrap=True)
        c = agent.capabilities
        claims = ("timestamps", "usage", "thinking", "edits", "lineage", "session_end")
        says = ", ".join(f"{claim.replace('_', ' ')} {getattr(c, claim)}" for claim in claims)
        out.print(Text(f"  {c.container}; {says}", style="dim"), soft_wrap=True)
        for root in agent.roots:
            out.print(Text(f"  {safe_line(root)}"), soft_wrap=True)
        for root in agent.absent_roots if is_all else ():
            out.print(Text(f"  {safe_line(root)} (not there)", style="dim"), soft_wrap=True)
    others = [a.slug for a in agents if a not in here]
    if others:
        out.print()
        out.print(f"{len(others)} more can be read and are not on this machine: {', '.join(others)}", soft_wrap=True)


def _has_own_root(agent: AgentView) -> bool:
    """Tell whether a folder of the agent is there; that a person has a home says nothing of those that write in it."""
    return any(Path(root) != Path.home() for root in agent.roots)


def print_usage(out: Console, report: UsageReport) -> None:
    """Print a line per group, the total, the date of the prices, and what has no price."""
    rows = [(row.key or "(unknown)", *_usage_cells(row.totals)) for row in report.rows]
    total = () if report.by == "total" else ("total", *_usage_cells(report.total))
    if rows:
        out.print(plain_table((report.by, *_USAGE_COLUMNS), rows, total=total))
    else:
        out.print("no usage in this range")
    unpriced = sorted({model for row in report.rows for model in row.unpriced_models})
    if unpriced and not any(model in note for model in unpriced for note in report.notes):
        out.print(Text(safe_line(f"no price known for: {', '.join(unpriced)}"), style="yellow"), soft_wrap=True)
    print_notes(out, report.notes)
    if report.prices_on:
        out.print(Text(f"prices as of {report.prices_on}", style="dim"))


def _usage_cells(t: UsageTotals) -> tuple[str, ...]:
    written = t.cache_write_5m_tokens + t.cache_write_1h_tokens
    figures = (t.responses, t.input_tokens, t.cache_read_tokens, written, t.output_tokens, t.reasoning_tokens)
    return (*(count(f) for f in figures), usd(t.cost_usd))


def print_recall_stats(out: Console, stats: RecallStats) -> None:
    """Print a line for each agent and event, then how often agents asked by themselves."""
    if stats.given:
        out.print(f"given by hooks since {stamp(stats.since)}")
        rows = [
            (
                safe_line(g.agent), g.event,
                *(count(n) for n in (g.spoke, g.silent, g.failed, g.tokens, g.used, g.unused, g.unknown)),
            )
            for g in stats.given
        ]  # fmt: skip
        out.print(plain_table(_GIVEN, rows, words=2))
        out.print(_NOTE, style="dim", soft_wrap=True)
    else:
        out.print("nothing was given by hooks yet; `recollect setup` registers them", soft_wrap=True)
    out.print()
    if stats.asked:
        out.print("asked by agents themselves")
        calls = [(safe_line(a.agent), safe_line(a.tool), count(a.count)) for a in stats.asked]
        out.print(plain_table(("agent", "tool", "calls"), calls))
    else:
        out.print("no agent has asked by itself yet")
