"""The settings file beside a transcript: the session's running total of tokens, rewritten as it grows.

`inclusiveTokenUsage` holds the subagents' too, which have their own files; `lastCallTokenUsage` is part of the total.
`inputTokens` is without cached tokens: captured totals have far fewer of the former than of the latter.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.droid.state import Reading
from recollect.agents.kit.access import mapping
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.instants import instant
from recollect.model.payloads import Lifecycle, TokenUsage

_FIELDS = frozenset((
    "model", "reasoningEffort", "autonomyMode", "interactionMode", "autonomyLevel", "providerLock",
    "providerLockTimestamp", "assistantActiveTimeMs", "tokenUsage", "inclusiveTokenUsage", "lastCallTokenUsage",
    "childInclusiveTokenUsageBySessionId", "specModeModel", "specModeReasoningEffort", "archivedAt", "tags",
    "enabledToolIds", "disabledToolIds",
))  # fmt: skip
_USAGE_FIELDS = frozenset((
    "inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "thinkingTokens", "factoryCredits",
))  # fmt: skip
_TOTALS = frozenset(("tokenUsage", "inclusiveTokenUsage", "lastCallTokenUsage", "childInclusiveTokenUsageBySessionId"))


def is_settings(value: Any) -> bool:
    """Say whether a document is a settings file of Droid."""
    facts = mapping(value)
    return "inputTokens" in mapping(facts.get("tokenUsage")) and bool(
        facts.keys() & {"assistantActiveTimeMs", "autonomyMode", "providerLock"}
    )


def read_settings(reading: Reading) -> None:
    """Give the session's settings and its tokens. The only time in it is that of the first request."""
    value = reading.value
    reading.infer(instant(value.get("providerLockTimestamp")))
    model = reading.text(value, "model")
    rest = {k: v for k, v in value.items() if k in _FIELDS and k not in _TOTALS and v not in (None, "")}
    if rest:
        reading.add(Lifecycle("settings", detail=without_opaque(rest), model=model), native_id="settings")
    usage = reading.mapping(value, "tokenUsage")
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens", "thinkingTokens")
    put, got, read, written, thought = (reading.count(usage, name) for name in names)
    if put or got or read or written:
        payload = TokenUsage(
            model=model,
            input_tokens=put,
            output_tokens=got,
            cache_read_tokens=read,
            cache_write_5m_tokens=written,
            reasoning_tokens=min(thought, got),
            dedupe_key=f"droid:{reading.state.session}",
        )
        reading.add(payload, native_id="usage")
    reading.extra(usage, _USAGE_FIELDS, "settings.tokenUsage", native_id="usage")
    reading.extra(value, _FIELDS, "settings", native_id="settings")
