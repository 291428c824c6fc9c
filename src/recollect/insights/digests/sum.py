"""The digest of a session that went on after its earlier events had been evicted: what it came to, and what came on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from recollect.insights.digests.builder import MAX_SNIPPETS, MAX_TOOLS
from recollect.model.insights.digests import Cost, Digest, ErrorSnippet
from recollect.model.insights.signals import SIGNAL_KINDS


def added(base: Digest, later: Digest) -> Digest:
    """Return one digest of both parts. base: up to where the events are gone; later: of the events since.

    Counts add up; of what is told once, the first prompt and the task are the base's, everything else the later one's
    where it says anything. Times and the wall clock of the later one are the whole session's already.
    """
    signals = Counter(base.signals) + Counter(later.signals)
    has_outcome = later.outcome != "unknown"
    return msgspec.structs.replace(
        later,
        model=later.model or base.model,
        outcome=later.outcome if has_outcome else base.outcome,
        outcome_reasons=later.outcome_reasons if has_outcome else base.outcome_reasons,
        cost=_cost(base.cost, later.cost),
        tool_histogram=_by_count(base.tool_histogram, later.tool_histogram),
        event_count=base.event_count + later.event_count,
        kind_counts=dict(sorted((Counter(base.kind_counts) + Counter(later.kind_counts)).items())),
        markers=dict(sorted((Counter(base.markers) + Counter(later.markers)).items())),
        signals={kind: signals[kind] for kind in SIGNAL_KINDS if signals[kind]},
        first_prompt=base.first_prompt or later.first_prompt,
        last_assistant=later.last_assistant or base.last_assistant,
        error_snippets=_snippets(base, later),
        task_ref=base.task_ref or later.task_ref,
        tool_kinds={**base.tool_kinds, **later.tool_kinds},
    )


def _cost(base: Cost, later: Cost) -> Cost:
    return Cost(
        input_tokens=base.input_tokens + later.input_tokens,
        output_tokens=base.output_tokens + later.output_tokens,
        cache_tokens=base.cache_tokens + later.cache_tokens,
        wall_clock_s=max(base.wall_clock_s, later.wall_clock_s),
        turns=base.turns + later.turns,
        retries=base.retries + later.retries,
        active_s=round(base.active_s + later.active_s, 3),
    )


def _by_count(base: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    both = Counter(base) + Counter(later)
    return dict(sorted(both.items(), key=lambda item: (-item[1], item[0]))[:MAX_TOOLS])


def _snippets(base: Digest, later: Digest) -> tuple[ErrorSnippet, ...]:
    first: dict[str, ErrorSnippet] = {}
    counts: Counter[str] = Counter()
    for snippet in (*base.error_snippets, *later.error_snippets):
        first.setdefault(snippet.fingerprint, snippet)
        counts[snippet.fingerprint] += snippet.count
    chosen = sorted(first, key=lambda fingerprint: -counts[fingerprint])[:MAX_SNIPPETS]
    return tuple(msgspec.structs.replace(first[f], count=counts[f]) for f in chosen)
