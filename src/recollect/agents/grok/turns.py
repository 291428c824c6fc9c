"""What the update stream says of turns: their usage, their end, rewinds, compactions and subagents.

Evidence: format notes: Grok Build, section 3 (xAI kinds, usage), traps 2, 6 and 7.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.grok.state import Prompt, Reading, Shrink
from recollect.agents.kit.access import text, whole
from recollect.agents.kit.naming import content_sha256, short
from recollect.agents.kit.reading import MAX_NAME_CHARS
from recollect.model.payloads import Compaction, Lifecycle, Rewind, SessionStart, TokenUsage

_TICKS_PER_USD = 1e10
_TURN_FIELDS = frozenset(("sessionUpdate", "prompt_id", "stop_reason", "agent_result", "usage", "_meta"))
_USAGE_FIELDS = frozenset(
    ("inputTokens", "outputTokens", "totalTokens", "cachedReadTokens", "cacheCreationTokens", "reasoningTokens",
     "modelCalls", "apiDurationMs", "costUsdTicks", "modelUsage", "numTurns", "usageIsIncomplete")
)  # fmt: skip
_SAID = ("modelCalls", "apiDurationMs", "numTurns", "usageIsIncomplete")
STOP_REASONS = frozenset(
    ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "interrupted", "error")
)  # fmt: skip
_ABORTED = frozenset(("cancelled", "interrupted"))


def read_turn_end(reading: Reading, update: dict[str, Any]) -> None:
    """Give the usage and the end of a turn."""
    reading.extra(update, _TURN_FIELDS, "turn_completed")
    reason = reading.text(update, "stop_reason")
    reading.odd_value("turn_completed.stop_reason", reason, STOP_REASONS)
    usage = reading.mapping(update, "usage")
    prompt = reading.text(update, "prompt_id") or content_sha256(reading.ts, usage)
    if usage:
        _read_usage(reading, usage, prompt)
    detail = {"stop_reason": reason} if reason else {}
    detail |= {k: usage[k] for k in _SAID if usage.get(k) not in (None, 0, False)}
    result = update.get("agent_result")
    reading.add(
        Lifecycle(
            "interrupted" if reason in _ABORTED else "turn_ended",
            result if isinstance(result, str) else "",
            detail if isinstance(result, str | None) else {**detail, "agent_result": result},
        ),
        native_id=f"turn:{prompt}",
    )


def _read_usage(reading: Reading, usage: dict[str, Any], prompt: str) -> None:
    """Give one sighting per model. With one model the totals are its own, and say more than its entry does."""
    reading.extra(usage, _USAGE_FIELDS, "usage", native_id=f"turn:{prompt}")
    models = {k: v for k, v in reading.mapping(usage, "modelUsage").items() if isinstance(v, dict)}
    if len(models) <= 1:
        model = next(iter(models), "") or reading.now("model")
        _give_usage(reading, usage, prompt, model)
        return
    for model, own in models.items():
        reading.extra(own, _USAGE_FIELDS, "usage.modelUsage", native_id=f"turn:{prompt}/{model}")
        _give_usage(reading, own, prompt, model)
    if not any("costUsdTicks" in own for own in models.values()) and "costUsdTicks" in usage:
        key = f"{prompt}:cost"
        reading.add(TokenUsage(cost_usd=_cost(usage), dedupe_key=key), native_id=f"usage:{key}")


def _give_usage(reading: Reading, usage: dict[str, Any], prompt: str, model: str) -> None:
    """Input counts are of the whole prompt, with what was read from and written to the cache."""
    cached = reading.count(usage, "cachedReadTokens")
    written = reading.count(usage, "cacheCreationTokens")
    key = f"{prompt}:{model}"
    reading.add(
        TokenUsage(
            model=model,
            input_tokens=max(0, reading.count(usage, "inputTokens") - cached - written),
            output_tokens=reading.count(usage, "outputTokens"),
            cache_read_tokens=cached,
            cache_write_5m_tokens=written,
            reasoning_tokens=reading.count(usage, "reasoningTokens"),
            cost_usd=_cost(usage),
            dedupe_key=key,
        ),
        native_id=f"usage:{key}",
    )


def _cost(usage: dict[str, Any]) -> float | None:
    """Return the stated cost; none where it is absent: unknown is not free."""
    ticks = whole(usage.get("costUsdTicks"))
    return ticks / _TICKS_PER_USD if ticks is not None and ticks >= 0 else None


def read_rewind(reading: Reading, update: dict[str, Any]) -> None:
    """Give a rewind to before a prompt; the stream keeps what it leaves behind."""
    target = whole(update.get("target_prompt_index"))
    if target is None:
        reading.wrong("target_prompt_index")
        reading.kept("rewind_marker", update)
        return
    prompts: tuple[Prompt, ...] = reading.now("prompts")
    kept = tuple(p for p in prompts if p.index < target)
    dropped = prompts[len(kept) :]
    to_event = dropped[0].before if dropped else reading.now("last")
    reading.add(Rewind(to_event, len(dropped) or None))
    reading.set(prompts=kept, last=to_event)


def read_compaction_start(reading: Reading, update: dict[str, Any]) -> None:
    """Give the start of a compaction, and remember its reason."""
    reading.set(shrink=None, trigger=short(text(update.get("reason"))))
    _give_kept(reading, "compaction_started", update)


def read_checkpoint(reading: Reading, update: dict[str, Any]) -> None:
    """Give a compaction by its checkpoint, which says where; the token counts come in the record after it."""
    checkpoint = text(update.get("checkpoint_id"))
    shrink: Shrink | None = reading.now("shrink")
    if shrink is None or shrink.has_checkpoint:
        name = short(f"compaction:{checkpoint or content_sha256(update)}")
        shrink = Shrink(name, has_checkpoint=True, trigger=reading.now("trigger"))
    else:
        shrink = msgspec.structs.replace(shrink, has_checkpoint=True)
    _give_shrink(reading, shrink)
    _give_kept(reading, "checkpoint", update)


def read_compaction_end(reading: Reading, update: dict[str, Any]) -> None:
    """Give a compaction's token counts: of the checkpoint just before, else a compaction of its own."""
    shrink: Shrink | None = reading.now("shrink")
    if shrink is None or shrink.tokens_after is not None:
        name = f"compaction:{content_sha256(reading.ts, update)}"
        shrink = Shrink(name, trigger=reading.now("trigger") or "auto")
    summary = text(update.get("summary_preview"))
    shrink = msgspec.structs.replace(
        shrink,
        trigger=shrink.trigger or "auto",
        summary=summary[:MAX_NAME_CHARS] if len(summary) <= MAX_NAME_CHARS and summary.isascii() else "",
        tokens_before=whole(update.get("tokens_before")),
        tokens_after=whole(update.get("tokens_after")),
    )
    _give_shrink(reading, shrink, summary)
    rest = {k: v for k, v in update.items() if k not in ("tokens_before", "tokens_after", "summary_preview")}
    if len(rest) > 1:
        _give_kept(reading, "compaction_ended", rest)


def _give_shrink(reading: Reading, shrink: Shrink, summary: str = "") -> None:
    reading.add(
        Compaction(
            shrink.trigger, summary or shrink.summary, shrink.tokens_before, shrink.tokens_after, reading.now("last")
        ),
        native_id=shrink.name,
    )
    reading.set(shrink=shrink)


def read_subagent_start(reading: Reading, update: dict[str, Any]) -> None:
    """Give the start of a subagent here, and in its own session whose child it is."""
    child = reading.text(update, "child_session_id") or reading.text(update, "subagent_id")
    parent = reading.text(update, "parent_session_id") or reading.state.session
    reading.add(
        Lifecycle("subagent", reading.text(update, "description"), _rest(update, ("description",)), call_id=""),
        native_id=f"subagent:{child}" if child else None,
    )
    if child and child != parent:
        start = SessionStart(
            model=text(update.get("model")), parent_session=parent, agent_name=reading.text(update, "subagent_type")
        )
        reading.add(start, native_id="start/spawn", session=child)


def read_subagent_end(reading: Reading, update: dict[str, Any]) -> None:
    """Give the end of a subagent with its output."""
    output = update.get("output")
    said = output if isinstance(output, str) else ""
    reading.add(Lifecycle("subagent", said, _rest(update, ("output",) if said else ())))


def _give_kept(reading: Reading, name: str, update: dict[str, Any]) -> None:
    reading.add(Lifecycle(name, detail=_rest(update)))


def _rest(update: dict[str, Any], left_out: tuple[str, ...] = ()) -> dict[str, Any] | None:
    rest = {k: v for k, v in update.items() if k not in ("sessionUpdate", *left_out) and v not in (None, "", [], {})}
    return rest or None
