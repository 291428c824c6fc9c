"""Renders contents, storage and cost of the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.cli.render.layout import plain_table, print_notes, print_table, stamp
from recollect.cli.terminal import Plain, put, safe_line
from recollect.model.usage import UsageReport, UsageTotals
from recollect.units import count, duration, plural, size, usd

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.memory import EvictReport, Pin, RecallStats, Retro, Stats, StorageLine, StorageReport


_GIVEN_COLUMNS = ("agent", "event", "spoke", "silent", "failed", "tokens", "used", "unused", "?")
_GIVEN_NOTE = (
    "used: opened or cited by the agent, or a name of it repeated (perhaps by chance), each apart with --json; "
    "?: the session is not stored"
)
_USAGE_COLUMNS = ("responses", "input", "cache read", "cache write", "output", "reasoning", "cost")


def print_stats(out: Console, stats: Stats) -> None:
    """Print totals, then a line per agent, then kinds, storage, defects and redactions."""
    put(out, (f"memory in {safe_line(stats.home)}", "bold"))
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
    put(out, f"on disk {size(stored.total_bytes)}{share}: {parts}")
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
        put(out, safe_line(covered + problem + model))
    told = (("events", stats.kind_counts), ("learned and noted", stats.entries))
    for name, counts in (*told, ("defects", stats.defects), ("redacted", stats.redactions)):
        if counts:
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            put(out, safe_line(f"{name}: " + ", ".join(f"{n:,} {k}" for k, n in ordered)))


def print_usage(out: Console | Plain, report: UsageReport) -> None:
    """Print a line per group, the total, the date of the prices, and what has no price."""
    rows = [(row.key or "(unknown)", *_usage_cells(row.totals)) for row in report.rows]
    total = () if report.by == "total" else ("total", *_usage_cells(report.total))
    if rows:
        print_table(out, (report.by, *_USAGE_COLUMNS), rows, total=total)
    else:
        out.print("no usage in this range")
    unpriced = sorted({model for row in report.rows for model in row.unpriced_models})
    if unpriced and not any(model in note for model in unpriced for note in report.notes):
        put(out, (safe_line(f"no price known for: {', '.join(unpriced)}"), "yellow"))
    print_notes(out, report.notes)
    if report.prices_on:
        put(out, (f"prices as of {report.prices_on}", "dim"))


def _usage_cells(t: UsageTotals) -> tuple[str, ...]:
    figures = (
        t.responses, t.input_tokens, t.cache_read_tokens, t.cache_write_tokens, t.output_tokens, t.reasoning_tokens
    )  # fmt: skip
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
        out.print(plain_table(_GIVEN_COLUMNS, rows, words=2))
        out.print(_GIVEN_NOTE, style="dim", soft_wrap=True)
    else:
        put(out, "hooks have not given any context yet; `recollect setup` registers them")
    out.print()
    if stats.asked:
        out.print("searches by agents")
        calls = [(safe_line(a.agent), safe_line(a.tool), count(a.count)) for a in stats.asked]
        out.print(plain_table(("agent", "tool", "calls"), calls))
    else:
        out.print("no agent has searched yet")


SHOWN = 40
_WHY = {
    "age": "too old",
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
        what = f"{plural(len(report.sessions), 'session')} would go" if rows else "nothing would be evicted"
        out.print(f"{what}: raw {size(report.raw_bytes)} → about {size(report.left_bytes)}{_caps(report)}")
    elif report.state == "busy":
        out.print("nothing was done: another process is writing")
    else:
        what = f"{plural(len(report.sessions), 'session')} evicted" if rows else "nothing had to be evicted"
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
        ("1 raw", "text of events", size(t.text_bytes)),
        ("2 distilled", "digests, signals, decisions", size(t.distilled_bytes)),
        ("2 distilled", "what is kept of evicted sessions", size(t.skeleton_bytes)),
        ("derived", "rows of events and sessions", size(t.rows_bytes)),
        ("derived", "search index", size(t.index_bytes)),
        ("derived", "vectors", size(t.vectors_bytes)),
    ]
    out.print(plain_table(("tier", "what", "takes"), rows, words=2, total=("all", "", size(report.total_bytes))))
    if t.free_bytes:
        put(out, (f"of that, free: {size(t.free_bytes)}", "dim"))
    out.print()
    out.print(
        f"counted for the caps: {size(report.raw_bytes)}, of which {size(report.evictable_bytes)} could go now; "
        f"soft cap {size(report.soft_cap_bytes)} ({_room(report.to_soft_cap_bytes)}), "
        f"hard cap {size(report.hard_cap_bytes)} ({_room(report.to_hard_cap_bytes)})"
    )
    swept = f"; last run {stamp(report.swept_at)}" if report.swept_at is not None else ""
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
        put(out, safe_line(f"{stamp(pin.pinned_at)}  {pin.session_uid}{title}"))


_FIGURE_COLUMNS = ("repo", "sessions", "success", "fail", "abandoned", "unknown", "input", "output", "cost")
_OUTCOMES = ("success", "fail", "abandoned", "unknown")


def print_figures(out: Console, retro: Retro) -> None:
    """Print the span, a line for each repository, the total, and what happened in it."""
    put(out, (f"{stamp(retro.since)} to {stamp(retro.until)}", "bold"))
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
    out.print(plain_table(_FIGURE_COLUMNS, rows, total=total))
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
        put(out, safe_line(line))
    print_notes(out, retro.notes)
