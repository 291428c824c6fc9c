"""Tokens: every line of a response repeats its usage, so each sighting names the response it belongs to.

The store counts each (message id, request id) once over all files: the sighting with the most output.
Evidence: format notes: Claude Code, traps 1, 3 and 12.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from recollect.agents.claude.state import Reading
from recollect.agents.kit.access import number
from recollect.agents.kit.drift import note_fields
from recollect.model.payloads import TokenUsage

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

_FIELDS = frozenset(
    (
        "input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens cache_creation server_tool_use "
        "service_tier inference_geo iterations speed output_tokens_details"
    ).split()
)
_CACHE_FIELDS = frozenset(("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"))
_STATE_FIELDS = frozenset(
    (
        "inputTokens outputTokens cacheReadInputTokens cacheCreationInputTokens webSearchRequests costUSD "
        "contextWindow maxOutputTokens"
    ).split()
)
SYNTHETIC = "<synthetic>"
"""The "model" of messages that the CLI wrote itself; they cost nothing."""


class CacheWrites(msgspec.Struct, gc=False):
    """`usage.cache_creation`: tokens written to the cache, by how long they are kept."""

    ephemeral_5m_input_tokens: Count = 0
    ephemeral_1h_input_tokens: Count = 0


class Usage(msgspec.Struct, gc=False):
    """`message.usage` as current versions write it. `input_tokens` is what no cache held."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_creation: CacheWrites | None = None


def read_usage(reading: Reading, message: dict[str, Any], message_id: str, model: str) -> None:
    """Give the token usage of an assistant record, if it carries any."""
    written = message.get("usage")
    if written is None or model == SYNTHETIC:
        return
    if not isinstance(written, dict):
        reading.wrong("message.usage")
        return
    try:
        usage = msgspec.convert(written, Usage)
    except msgspec.ValidationError:
        usage = _odd_usage(reading, written)
    note_fields(reading.drift, written, _FIELDS, "usage")
    writes = written.get("cache_creation")
    if isinstance(writes, dict):
        note_fields(reading.drift, writes, _CACHE_FIELDS, "usage.cache_creation")
    request_id = reading.field_text(reading.record, "requestId")
    response = message_id or ("" if request_id else reading.native_id or "")
    split = usage.cache_creation
    short, long = (split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens) if split else (0, 0)
    # What the split doesn't name is kept five minutes, the default.
    short += max(0, usage.cache_creation_input_tokens - short - long)
    reading.add(
        TokenUsage(
            model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            short,
            long,
            dedupe_key=f"{response}:{request_id}" if response or request_id else "",
        ),
        "assistant",
    )


def _odd_usage(reading: Reading, written: dict[str, Any]) -> Usage:
    """Return what can be read of a usage with nulls, numbers as text or wrong types, counting the latter."""
    count = reading.field_count
    split = reading.field_mapping(written, "cache_creation")
    writes = CacheWrites(count(split, "ephemeral_5m_input_tokens"), count(split, "ephemeral_1h_input_tokens"))
    return Usage(
        count(written, "input_tokens"),
        count(written, "output_tokens"),
        count(written, "cache_read_input_tokens"),
        count(written, "cache_creation_input_tokens"),
        writes,
    )


def read_cost_state(reading: Reading) -> None:
    """Give Claude's own totals per model. They hold side calls that no message shows, so they are never added up."""
    for model, spent in reading.field_mapping(reading.record, "modelUsage").items():
        if not isinstance(spent, dict):
            reading.wrong("modelUsage")
            continue
        note_fields(reading.drift, spent, _STATE_FIELDS, "cost-state.modelUsage")
        count = reading.field_count
        reading.add(
            TokenUsage(
                model,
                count(spent, "inputTokens"),
                count(spent, "outputTokens"),
                count(spent, "cacheReadInputTokens"),
                count(spent, "cacheCreationInputTokens"),
                cost_usd=number(spent.get("costUSD")),
                dedupe_key=f"cost-state:{reading.state.session}:{model}",
                is_additive=False,
            )
        )
