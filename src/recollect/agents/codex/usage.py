"""Token counts: what is a new response, and how the copies of it in forks are told.

`total_token_usage` is cumulative and falls after some resumes and compactions, so nothing is ever subtracted:
`last_token_usage` is the response. A count whose total did not move is the same response told again (rate-limit
refresh). Evidence: format notes: Codex, traps 1 and 2.

A fork's file begins with its parent's counts under new timestamps, so the key of a response holds no time. Turn ids
are copied unchanged and are unique where they are UUIDs: key = turn id + totals + response. Builds before that get
the owning thread and the number of resets instead: key = owner + turn id + resets + totals + response. The owner is
what the last `session_meta` says: its `forked_from_id`, else its id. A fork's own header names its parent, and the
copied headers follow in the parent's order, so a copied count has the same owner in both files.
"""

from __future__ import annotations

import hashlib
import re

from recollect.agents.codex.step import Step
from recollect.agents.kit.drift import note_fields
from recollect.model.payloads import Json, TokenUsage

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MAX_TOKENS = 2**53
_INFO = frozenset(("total_token_usage", "last_token_usage", "model_context_window"))
_COUNTS = frozenset(
    (
        "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
        "reasoning_output_tokens", "total_tokens",
    )
)  # fmt: skip

Counts = tuple[int, int, int, int, int]
"""Tokens read, read from the cache, put out, of these reasoning, in total."""


def token_count(step: Step, payload: dict[str, Json]) -> None:
    """Give the usage of a response that was not counted yet; a count without `info` says nothing."""
    info = step.mapping(payload.get("info"), "info")
    if not info:
        return
    note_fields(step.drift, info, _INFO, "event_msg/token_count.info")
    last = _counts(step, info.get("last_token_usage"), "last_token_usage")
    total = _counts(step, info.get("total_token_usage"), "total_token_usage")
    state = step.state
    seen = total if total[4] else last
    if seen == state.usage:
        return
    resets = state.resets + 1 if state.usage and seen[4] < state.usage[4] else state.resets
    step.set(usage=seen, resets=resets)
    read, cached, output, reasoning, _ = last
    if not (read or cached or output):  # after a compaction: an estimate of the new context, not a response
        return
    step.emit(
        TokenUsage(
            model=state.model,
            input_tokens=max(0, read - cached),
            output_tokens=output,
            cache_read_tokens=cached,
            reasoning_tokens=reasoning,
            dedupe_key=_dedupe_key(step, total, last),
        )
    )


def _dedupe_key(step: Step, total: Counts, last: Counts) -> str:
    state = step.state
    if _UUID.fullmatch(state.turn_id):
        name = f"{state.turn_id}|{total}|{last}"
    else:
        name = f"{state.owner}|{state.turn_id}|{state.resets}|{total}|{last}"
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12, person=b"codex.usage").hexdigest()


def _counts(step: Step, value: Json, name: str) -> Counts:
    counts = step.mapping(value, name)
    note_fields(step.drift, counts, _COUNTS, f"event_msg/token_count.info.{name}")
    read = _count(step, counts, "input_tokens")
    output = _count(step, counts, "output_tokens")
    return (
        read,
        _count(step, counts, "cached_input_tokens"),
        output,
        _count(step, counts, "reasoning_output_tokens"),
        _count(step, counts, "total_tokens") or read + output,
    )


def _count(step: Step, counts: dict[str, Json], field: str) -> int:
    value = counts.get(field)
    if type(value) is int and 0 <= value < _MAX_TOKENS:
        return value
    number = step.whole(value, field)
    if number is None:
        return 0
    if not 0 <= number < _MAX_TOKENS:
        step.defect("number_out_of_range", f"{field} is {number}")
        return 0
    return number
