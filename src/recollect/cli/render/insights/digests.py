"""A digest as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.blocks import print_block
from recollect.cli.render.figures import stamp
from recollect.cli.terminal import safe, safe_line
from recollect.units import count, duration, plural

if TYPE_CHECKING:
    from recollect.model.insights.digests import Digest

_STYLES = {"success": "green", "fail": "red", "abandoned": "yellow"}
SHOWN = 8
"""Tools, rules and errors that are named; the rest is counted, and `--json` has all."""


def print_digest(out: Console, digest: Digest) -> None:
    """Print a session's digest: what it was, how it ended and why, what it took, what went wrong."""
    out.print(Text(safe_line(digest.session_uid), style="cyan"), soft_wrap=True)
    where = [digest.flavor, digest.repo, digest.domain, digest.model]
    facts = [*where, f"{stamp(digest.started_at)} to {stamp(digest.ended_at)}"]
    out.print(Text(" · ".join(safe_line(f) for f in facts if f)), soft_wrap=True)
    if digest.task_ref is not None:
        task = f"task {digest.task_ref.ref} ({digest.task_ref.found_in.replace('_', ' ')}: {digest.task_ref.evidence})"
        out.print(Text(safe_line(task)), soft_wrap=True)
    out.print(Text.assemble("outcome: ", (digest.outcome, _STYLES.get(digest.outcome, "bold"))), soft_wrap=True)
    for reason in digest.outcome_reasons:
        print_block(out, Text(f"- {safe_line(reason)}"))
    out.print(Text(_cost(digest)), soft_wrap=True)
    for name, counts in (("tools", digest.tool_histogram), ("signals", digest.signals), ("rules", digest.markers)):
        if counts:
            out.print(Text(f"{name}: {_counts(counts)}"), soft_wrap=True)
    for error in digest.error_snippets[:SHOWN]:
        tool = f"{safe_line(error.tool)}: " if error.tool else ""
        out.print(Text(f"error, {plural(error.count, 'time')}: {tool}{safe_line(error.sample)}"), soft_wrap=True)
    for name, text in (("first prompt", digest.first_prompt), ("last words", digest.last_assistant)):
        if text:
            out.print(Text(f"{name}:"))
            print_block(out, Text(safe(text).strip()))


def _cost(digest: Digest) -> str:
    cost = digest.cost
    tokens = f"{count(cost.input_tokens)} in, {count(cost.output_tokens)} out, {count(cost.cache_tokens)} cached"
    took = duration(cost.wall_clock_s)
    if 0 < cost.active_s < cost.wall_clock_s:
        took += f" ({duration(cost.active_s)} active)"
    parts = [f"tokens: {tokens}", took, plural(cost.turns, "turn"), plural(digest.event_count, "event")]
    if cost.retries:
        parts.append(plural(cost.retries, "retry", "retries"))
    return " · ".join(parts)


def _counts(counts: dict[str, int]) -> str:
    named = [f"{safe_line(name)} {number:,}" for name, number in list(counts.items())[:SHOWN]]
    more = len(counts) - SHOWN
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
