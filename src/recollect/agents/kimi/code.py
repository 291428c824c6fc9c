"""The wire of Kimi Code and Kimi Work: records with a top-level `type`, and the agent's loop inside one of them.

Evidence: format notes: Kimi CLI, "wire.jsonl v2"; fixtures of protocol 1.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.kimi.content import (
    add_call,
    add_result,
    add_system_prompt,
    content_of,
    media_of,
    origin_of,
)
from recollect.agents.kimi.state import MAX_PENDING, KimiReading, Spent, named, named_text
from recollect.agents.kimi.wire import start
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.naming import content_sha256, is_storable
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Lifecycle,
    Origin,
    SessionStart,
    Thinking,
    TokenUsage,
    UserMessage,
)
from recollect.model.text import flatten

_ENVELOPE = frozenset(("type", "time", "timestamp", "created_at", "agentId"))
_CONFIG = _ENVELOPE | {
    "profileName", "systemPrompt", "subagentNames", "modelAlias", "thinkingEffort", "cwd", "environmentDisclosure",
    "agentsMdPaths", "activeToolNames", "disallowedTools", "subagents",
}  # fmt: skip
_TURN = _ENVELOPE | {"input", "origin"}
_LOOP = frozenset(("uuid", "parentUuid", "turnId", "step", "stepUuid", "type"))
_CALL = _LOOP | {"toolCallId", "name", "args", "description", "display"}
_USAGE = frozenset(("inputOther", "output", "inputCacheRead", "inputCacheCreation"))
_USAGE_RECORD = _ENVELOPE | {"model", "usage", "usageScope"}
_COMPACTION = _ENVELOPE | {
    "summary", "contextSummary", "compactedCount", "tokensBefore", "tokensAfter", "keptUserMessageCount",
}  # fmt: skip
_ORIGINS = frozenset(("user", "system_trigger", "injection"))
_SCOPES = frozenset(("turn", "session"))
_ASIDES = {
    "turn.cancel": "interrupted",
    "turn.ended": "turn_ended",
    "plan_mode.enter": "mode",
    "plan_mode.exit": "mode",
    "permission.set_mode": "permission",
    "tools.set_active_tools": "tools",
    "llm.tools_snapshot": "tools",
    "llm.request": "llm_request",
    "full_compaction.complete": "compaction_ended",
    "full_compaction.cancel": "compaction_ended",
    "plugin.session_start": "plugin",
    "runtime.set_binding": "runtime",
    "token_counting.measured": "context_size",
    "token_counting.turn_recorded": "context_size",
}
"""Records that say only that something happened, and the lifecycle events they become."""


def read_code(reading: KimiReading) -> None:
    """Give the events of one record of the second generation's wire."""
    value = reading.value
    reading.date(value.get("timestamp") or value.get("time") or value.get("created_at"), "time")
    start(reading)
    kind = text(value.get("type"))
    reader = _READERS.get(kind)
    if reader is not None:
        reader(reading)
    elif kind in _ASIDES:
        rest = {k: v for k, v in value.items() if k not in _ENVELOPE and v not in (None, "", [], {})}
        said = kind if _ASIDES[kind] in ("mode", "compaction_ended") else ""
        reading.add(Lifecycle(_ASIDES[kind], text=said, detail=without_opaque(rest) or None))
    else:
        reading.unknown(kind, without_opaque({k: v for k, v in value.items() if k not in _ENVELOPE}))


def _metadata(reading: KimiReading) -> None:
    reading.extra(reading.value, _ENVELOPE | {"protocol_version"}, "metadata")


def _config(reading: KimiReading) -> None:
    """Give what a configuration record sets: instructions, model, folder, and the profile of a subagent."""
    value, state = reading.value, reading.state
    add_system_prompt(reading, value.get("systemPrompt"))
    model = reading.text(value, "modelAlias")
    if model and model != state.model:
        reading.add(Lifecycle("model", model=model))
        if is_storable(model):
            reading.set(model=model)
    cwd = text(value.get("cwd")) or text(mapping(value.get("environmentDisclosure")).get("cwd"))
    if cwd:
        reading.add(Lifecycle("cwd", cwd=cwd))
    effort = flatten(value.get("thinkingEffort"))
    if effort:
        reading.add(Lifecycle("mode", text=f"thinking {effort}"))
    profile = text(value.get("profileName"))
    if profile and state.parent_session:
        about = SessionStart(parent_session=state.parent_session, agent_name=profile)
        reading.add(about, native_id=f"start:{content_sha256(profile)}")
    names = ("subagentNames", "subagents", "agentsMdPaths", "activeToolNames", "disallowedTools")
    rest = {k: value[k] for k in names if value.get(k)}
    if rest:
        reading.add(Lifecycle("configuration", detail=rest))
    reading.extra(value, _CONFIG, "config.update")


def _prompt(reading: KimiReading) -> None:
    """Give a prompt. Its copy in the context comes later and is left out then; without input, the copy is all."""
    value = reading.value
    said, parts = content_of(reading, value.get("input"))
    if said or parts:
        is_steer = value.get("type") == "turn.steer"
        origin = "queued" if is_steer else _origin(reading, value.get("origin"), said)
        reading.add(UserMessage(said, origin, parts), "user", native_id=named_text(reading, "user", said))
        reading.set(pending=(*reading.state.pending, content_sha256(said))[-MAX_PENDING:])
    reading.extra(value, _TURN, text(value.get("type")))


def _origin(reading: KimiReading, written: Any, said: str) -> Origin:
    kind = text(mapping(written).get("kind"))
    reading.odd_value("origin.kind", kind, _ORIGINS)
    if kind == "system_trigger" and reading.state.parent_session:
        return "human"  # the task that a subagent was given opens its session
    if kind not in ("", "user"):
        return "injected"
    return origin_of(said)


def _message(reading: KimiReading) -> None:
    """Give a message that was put into the context, unless it is the copy of a prompt."""
    message = reading.mapping(reading.value, "message")
    role = text(message.get("role"))
    said, parts = content_of(reading, message.get("content"))
    said_sha256 = content_sha256(said)
    pending = reading.state.pending
    if role == "user" and said_sha256 in pending:
        at = pending.index(said_sha256)
        reading.set(pending=pending[:at] + pending[at + 1 :])
        return
    if role == "user":
        origin = _origin(reading, message.get("origin"), said)
        reading.add(UserMessage(said, origin, parts), "user", native_id=named_text(reading, "user", said))
    elif role == "assistant":
        reading.add(AssistantMessage(said, parts=parts), "assistant", native_id=named_text(reading, "said", said))
    elif role in ("system", "developer"):
        reading.add(Instructions(said, role), native_id=f"system:{said_sha256}")
    else:
        reading.unknown(f"context.append_message/{role}", without_opaque(message))


def _loop(reading: KimiReading) -> None:
    """Give the event of the agent's loop."""
    event = reading.mapping(reading.value, "event")
    kind = text(event.get("type"))
    uuid = text(event.get("uuid"))
    if kind == "content.part":
        _part(reading, event, uuid)
    elif kind == "tool.call":
        call_id = reading.text(event, "toolCallId") or uuid
        add_call(reading, call_id, reading.text(event, "name"), event.get("args"))
        reading.extra(event, _CALL, kind)
    elif kind == "tool.result":
        result = reading.mapping(event, "result")
        call_id = reading.text(event, "toolCallId") or text(event.get("parentUuid"))
        # Only failures are marked: a result without the mark is a success.
        add_result(reading, call_id, result, ok=result.get("isError") is not True)
        reading.extra(event, _LOOP | {"toolCallId", "result"}, kind)
    elif kind == "step.end":
        _step_end(reading, event, uuid)
    elif kind in ("step.begin", "llm.request"):
        rest = {k: v for k, v in event.items() if k not in ("type", "uuid")}
        name = "step_started" if kind == "step.begin" else "llm_request"
        reading.add(Lifecycle(name, detail=without_opaque(rest) or None), native_id=f"{kind}:{uuid}" if uuid else None)
    else:
        reading.unknown(f"loop/{kind}", without_opaque(event))


def _part(reading: KimiReading, event: dict[str, Any], uuid: str) -> None:
    part = reading.mapping(event, "part")
    kind = text(part.get("type"))
    name = named(reading, "part", uuid) if uuid else None
    if kind == "text":
        said = AssistantMessage(reading.text(part, "text"), reading.state.model, message_id=text(event.get("stepUuid")))
        reading.add(said, "assistant", native_id=name)
        reading.extra(part, frozenset(("type", "text")), "part.text")
    elif kind == "think":
        thought = text(part.get("think")) or text(part.get("text"))
        is_sealed = not thought and bool(part.get("encrypted"))
        reading.add(Thinking(thought, text(event.get("stepUuid")), is_sealed), "assistant", native_id=name)
        reading.extra(part, frozenset(("type", "think", "text", "encrypted", "signature")), "part.think")
    elif kind.endswith("_url"):
        reading.add(AssistantMessage(parts=(media_of(reading, part, kind),)), "assistant", native_id=name)
    else:
        reading.unknown(f"part/{kind}", without_opaque(part), native_id=name)
    reading.extra(event, _LOOP | {"part"}, "content.part")


def _step_end(reading: KimiReading, event: dict[str, Any], uuid: str) -> None:
    rest = {k: v for k, v in event.items() if k not in _LOOP and k not in ("usage", "model")}
    name = f"step.end:{uuid}" if uuid else None
    reading.add(Lifecycle("step_ended", detail=without_opaque(rest) or None), native_id=name)
    usage = reading.mapping(event, "usage")
    key = text(event.get("messageId")) or uuid or f"{reading.state.session}:{reading.value.get('time')}"
    model = text(event.get("model")) or reading.state.model
    _spend(reading, usage, Spent(f"usage:{key}", key, model))


def _usage_record(reading: KimiReading) -> None:
    """Give a usage that no step stated: compactions have only this. The copy of a step's usage may add the model."""
    value, last = reading.value, reading.state.spent
    usage = reading.mapping(value, "usage")
    model = reading.text(value, "model")
    scope = text(value.get("usageScope"))
    reading.odd_value("usage.record.usageScope", scope, _SCOPES)
    if last.counts and _counts(reading, usage) == last.counts:
        reading.set(spent=Spent())
        if model and model != last.model:
            _spend(reading, usage, Spent(last.name, last.key, model), is_additive=True)
            reading.set(spent=Spent())
    else:
        counts = "-".join(map(str, _counts(reading, usage)))
        key = f"{reading.state.session}:{flatten(value.get('time'))}:{counts}"
        _spend(reading, usage, Spent(f"usage:{key}", key, model or reading.state.model), is_additive=scope != "session")
        reading.set(spent=Spent())
    reading.extra(value, _USAGE_RECORD, "usage.record")


def _counts(reading: KimiReading, usage: dict[str, Any]) -> tuple[int, ...]:
    names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
    return tuple(reading.count(usage, name) for name in names)


def _spend(reading: KimiReading, usage: dict[str, Any], spent: Spent, *, is_additive: bool = True) -> None:
    counts = _counts(reading, usage)
    if not any(counts):
        return
    other, output, read, written = counts
    payload = TokenUsage(spent.model, other, output, read, written, dedupe_key=spent.key, is_additive=is_additive)
    reading.add(payload, "assistant", native_id=spent.name)
    if is_storable(spent.key) and is_storable(spent.model):
        reading.set(spent=Spent(spent.name, spent.key, spent.model, counts))
    reading.extra(usage, _USAGE, "usage")


def _permission(reading: KimiReading) -> None:
    value = reading.value
    result = mapping(value.get("result"))
    said = "\n".join(filter(None, (text(value.get("action")), text(result.get("decision")))))
    rest = {k: v for k, v in value.items() if k not in _ENVELOPE and k not in ("action", "toolCallId")}
    call_id = text(value.get("toolCallId"))
    reading.add(Lifecycle("permission", text=said, detail=without_opaque(rest) or None, call_id=call_id))
    feedback = text(result.get("feedback"))
    if feedback:
        reading.add(UserMessage(feedback, "queued"), "user", native_id=named_text(reading, "user", feedback))


def _compaction_started(reading: KimiReading) -> None:
    source = text(reading.value.get("source"))
    if is_storable(source):
        reading.set(trigger=source)
    reading.add(Lifecycle("compaction_started", text=source))
    reading.extra(reading.value, _ENVELOPE | {"source"}, "full_compaction.begin")


def _compacted(reading: KimiReading) -> None:
    value = reading.value
    summary = reading.text(value, "summary")
    before, after = reading.whole(value, "tokensBefore"), reading.whole(value, "tokensAfter")
    reading.add(Compaction(reading.state.trigger, summary, before, after))
    reading.set(trigger="")
    context = text(value.get("contextSummary"))
    if context and context != summary:
        reading.add(UserMessage(context, "injected"), "user", native_id=named_text(reading, "user", context))
    reading.extra(value, _COMPACTION, "context.apply_compaction")


_READERS: dict[str, Callable[[KimiReading], None]] = {
    "metadata": _metadata,
    "config.update": _config,
    "profile.bind": _config,
    "turn.prompt": _prompt,
    "turn.steer": _prompt,
    "context.append_message": _message,
    "context.append_loop_event": _loop,
    "usage.record": _usage_record,
    "permission.record_approval_result": _permission,
    "full_compaction.begin": _compaction_started,
    "context.apply_compaction": _compacted,
}
