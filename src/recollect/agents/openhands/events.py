"""Parses the events of a conversation, one file each, by `kind`.

Evidence: format notes: OpenHands, "Event"; openhands/sdk/event.
"""

from collections.abc import Callable
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.calls import canonical_editor
from recollect.agents.kit.content import arguments_of, base64_part, without_opaque
from recollect.agents.kit.names import NamingState
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten


class OpenHandsState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record.

    spent: the running totals of the old generation (prompt, completion, cache read, cache write), and its cost.
    """

    spent: tuple[int, ...] = ()
    cost: float = 0.0


OpenHandsReading = Reading[OpenHandsState]


# Content blocks, thoughts, arguments and results, as all generations of OpenHands write them.
#
# Evidence: format notes: OpenHands; openhands/sdk/llm/message.py, openhands/tools/file_editor.

_DATA_URL_CHARS = 200
_EDITS = frozenset(("create", "str_replace", "insert", "undo_edit", "write", "edit"))
_SAID = frozenset(("kind", "content", "output", "old_content", "new_content", "is_error", "exit_code", "error"))


def content_of(reading: OpenHandsReading, content: Any) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return text and images of a content: text, one block, or a list of blocks."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        if not isinstance(block, dict):
            texts.append(flatten(block))
        elif isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif "image_urls" in block or "image_url" in block:
            written = block.get("image_urls", block.get("image_url"))
            parts += [_image(reading, url) for url in (written if isinstance(written, list) else [written])]
        else:
            texts.append(flatten(without_opaque(block)))
    return "\n".join(filter(None, texts)), tuple(parts)


def _image(reading: OpenHandsReading, written: Any) -> kinds.Part:
    url = text(written) or text(mapping(written).get("url"))
    if not url.startswith("data:"):
        return kinds.Part(type="image", url=url)
    head, _, data = url.partition(",")
    media_type = head[len("data:") : _DATA_URL_CHARS].partition(";")[0]
    return reading.readable(base64_part("image", media_type, data), "image_urls")


def thoughts_of(holder: dict[str, Any]) -> tuple[str, bool]:
    """Return the readable reasoning of a message or action, and whether there is only an unreadable one."""
    said = text(holder.get("reasoning_content"))
    blocks = [mapping(block) for block in items(holder.get("thinking_blocks"))]
    shown = "\n".join(text(block.get("thinking")) for block in blocks if text(block.get("thinking")))
    item = mapping(holder.get("responses_reasoning_item"))
    summary = "\n".join(flatten(entry) for entry in (*items(item.get("summary")), *items(item.get("content"))))
    found = [piece for piece in (said, shown, summary) if piece]
    thought = "\n".join(piece for i, piece in enumerate(found) if not any(piece in other for other in found[:i]))
    return thought, not thought and bool(blocks or item)


def result_of(
    reading: OpenHandsReading, observation: dict[str, Any], *, call_id: str, name: str
) -> tuple[kinds.ToolResult, kinds.FileEdit | None]:
    """Return a tool's result and the edit that it shows was applied.

    A command that failed is marked by its exit code only, which may stand in the metadata; -1 means that it still runs.
    """
    said, parts = content_of(reading, observation.get("content"))
    error = text(observation.get("error"))
    body = "\n".join(filter(None, (said or text(observation.get("output")), error if error not in said else "")))
    code = whole(observation.get("exit_code"))
    if code is None:
        code = whole(mapping(observation.get("metadata")).get("exit_code"))
    is_running = code == -1
    flag = observation.get("is_error")
    ok: bool | None = None if is_running or (flag is None and code is None and not error) else True
    if flag is True or error or (code is not None and code not in (0, -1)) or observation.get("timeout") is True:
        ok = False
    rest = {k: v for k, v in observation.items() if k not in _SAID and v not in (None, "", [], {}, False)}
    result = kinds.ToolResult(
        call_id, name, ok, None if is_running else code, body, without_opaque(rest) or None, parts=parts
    )
    return result, None if ok is False else edit_of(observation, call_id)


def edit_of(observation: dict[str, Any], call_id: str) -> kinds.FileEdit | None:
    """Return the edit that an observation of the file editor shows; None where it only looked."""
    before, after = observation.get("old_content"), observation.get("new_content")
    command = text(observation.get("command"))
    if not isinstance(after, str) or (command and command not in _EDITS):
        return None
    is_new = observation.get("prev_exist") is False
    return kinds.FileEdit(
        text(observation.get("path")),
        "create" if is_new else "modify",
        before if isinstance(before, str) else None,
        after,
        call_id=call_id,
    )


_KNOWN = known_fields("openhands")
_REASONING = frozenset(("reasoning_content", "thinking_blocks", "responses_reasoning_item", "reasoning_details"))
_SOURCES = frozenset(("user", "agent", "environment", "hook"))
_ASIDES = {
    "PauseEvent": "interrupted",
    "InterruptEvent": "interrupted",
    "CondensationRequest": "compaction_requested",
    "ConversationErrorEvent": "api_error",
    "HookExecutionEvent": "hook",
}
"""Kinds that say only that something happened, and the lifecycle events they become."""
_BULKY = frozenset(("log_data", "prompt_token_ids", "response_token_ids"))


def read_event(reading: OpenHandsReading) -> None:
    value = reading.value
    reading.native_id = text(value.get("id")) or None
    reading.date(value.get("timestamp"))
    reading.odd_value("event.source", value.get("source"), _SOURCES)
    kind = text(value.get("kind"))
    reader = _READERS.get(kind)
    if reader is not None:
        reader(reading)
        return
    rest = {k: v for k, v in value.items() if k not in _KNOWN["event"] and v not in (None, "", [], {})}
    if kind in _ASIDES:
        reading.add(kinds.Lifecycle(_ASIDES[kind], text=flatten(without_opaque(rest))))
    elif kind in ("LLMCompletionLogEvent", "TokenEvent", "StreamingDeltaEvent"):
        # Their bulk repeats what other events say, or is numbers of tokens.
        detail = {k: len(v) if k in _BULKY and isinstance(v, str | list) else v for k, v in rest.items()}
        reading.add(kinds.Lifecycle("llm_log", detail=without_opaque(detail) or None))
    else:
        reading.unknown(kind, without_opaque(rest))


def _prompt(reading: OpenHandsReading) -> None:
    value = reading.value
    for name in ("system_prompt", "dynamic_context"):
        said, _ = content_of(reading, value.get(name))
        if said:
            where = None if name == "system_prompt" else reading.below(name)
            reading.add(kinds.Instructions(said, "system"), native_id=where)
    tools = [text(mapping(t).get("name") or mapping(mapping(t).get("function")).get("name") or mapping(t).get("title"))
             for t in items(value.get("tools"))]  # fmt: skip
    if any(tools):
        reading.add(kinds.Lifecycle("tools", detail={"names": tools}), native_id=reading.below("tools"))
    reading.extra(value, _KNOWN["prompt"], "SystemPromptEvent")


def _message(reading: OpenHandsReading) -> None:
    """Emit a message; what the agent's own context added to a person's is no words of theirs."""
    value = reading.value
    message = reading.mapping(value, "llm_message")
    said, parts = content_of(reading, message.get("content"))
    response_id = text(value.get("llm_response_id"))
    if value.get("source") == "agent" or message.get("role") == "assistant":
        _think(reading, message, response_id)
        reading.add(kinds.AssistantMessage(said, message_id=response_id, parts=parts))
        for number, call in enumerate(reading.items(message, "tool_calls")):
            reading.kept("tool_calls", without_opaque(call), native_id=reading.below(f"tool_calls/{number}"))
    elif message.get("role") in ("system", "developer"):
        reading.add(kinds.Instructions(said, text(message.get("role"))))
    else:
        origin: kinds.Origin = "human" if value.get("source") == "user" else "injected"
        reading.add(kinds.UserMessage(said, origin, parts))
    added, _ = content_of(reading, value.get("extended_content"))
    reading.say(kinds.UserMessage(added, "injected"), native_id=reading.below("extended"))
    skills = value.get("activated_skills") or value.get("activated_microagents")
    if skills:
        reading.add(kinds.Lifecycle("skills", text=flatten(skills)), native_id=reading.below("skills"))
    _critic(reading)
    reading.extra(message, _KNOWN["llm_message"], "llm_message")
    reading.extra(value, _KNOWN["message_event"], "MessageEvent")


def _critic(reading: OpenHandsReading) -> None:
    found = reading.value.get("critic_result")
    if found:
        reading.kept("critic_result", without_opaque(found), native_id=reading.below("critic"))


def _think(reading: OpenHandsReading, holder: dict[str, Any], response_id: str) -> None:
    thought, is_sealed = thoughts_of(holder)
    reading.say(kinds.Thinking(thought, response_id, is_sealed), native_id=reading.below("thinking"))


def _action(reading: OpenHandsReading) -> None:
    """Emit an action: what the model thought and said with it, and the call itself.

    Calls of one response share `llm_response_id`; the thought stands only in the first.
    """
    value = reading.value
    response_id = text(value.get("llm_response_id"))
    action = reading.mapping(value, "action")
    call = reading.mapping(value, "tool_call")
    name = reading.text(value, "tool_name") or text(call.get("name"))
    call_id = reading.text(value, "tool_call_id") or text(call.get("id"))
    _think(reading, value, response_id)
    said, parts = content_of(reading, value.get("thought"))
    reading.say(kinds.AssistantMessage(said, message_id=response_id, parts=parts))
    written = call.get("arguments", mapping(call.get("function")).get("arguments"))
    arguments = arguments_of(reading, written) if written else {k: v for k, v in action.items() if k != "kind"}
    told = {k: value[k] for k in ("security_risk", "summary") if text(value.get(k)) not in ("", "UNKNOWN")}
    if isinstance(arguments, dict) and told:
        arguments = {**told, **arguments}
    canonical = canonical_editor(name, action if "command" in action else arguments)
    payload = kinds.ToolCall(call_id, name, canonical, without_opaque(arguments), response_id)
    reading.add(payload, native_id=reading.below("call"))
    if action.get("kind") == "FinishAction" or name == "finish":
        # Emit the last message and the end: the model says its answer through a tool.
        said = text(action.get("message")) or text(mapping(arguments).get("message"))
        if said:
            answer = kinds.AssistantMessage(said, stop_reason="finish", message_id=response_id)
            reading.add(answer, native_id=reading.below("answer"))
        reading.add(kinds.SessionEnd("finished"), native_id="end")
    _critic(reading)
    reading.extra(value, _KNOWN["action"], "ActionEvent")


def _observation(reading: OpenHandsReading) -> None:
    value = reading.value
    observation = reading.mapping(value, "observation")
    call_id, name = reading.text(value, "tool_call_id"), reading.text(value, "tool_name")
    result, edit = result_of(reading, observation, call_id=call_id, name=name)
    reading.add(result)
    if edit is not None:
        reading.add(edit, native_id=reading.below("edit"))
    added, _ = content_of(reading, value.get("extended_content"))
    reading.say(kinds.UserMessage(added, "injected"), native_id=reading.below("extended"))
    reading.extra(value, _KNOWN["observation"], "ObservationEvent")


def _error(reading: OpenHandsReading) -> None:
    value = reading.value
    call_id, name = reading.text(value, "tool_call_id"), reading.text(value, "tool_name")
    error = reading.text(value, "error")
    if call_id:
        structured = value.get("classification") or None
        reading.add(kinds.ToolResult(call_id, name, ok=False, text=error, structured=structured))
    else:
        reading.add(kinds.Lifecycle("api_error", text=error))
    reading.extra(value, _KNOWN["error"], "AgentErrorEvent")


def _rejection(reading: OpenHandsReading) -> None:
    value = reading.value
    call_id, name = reading.text(value, "tool_call_id"), reading.text(value, "tool_name")
    reason, who = reading.text(value, "rejection_reason"), text(value.get("rejection_source"))
    reading.add(kinds.ToolResult(call_id, name, ok=False, text=reason))
    told = kinds.Lifecycle("permission", text="rejected", detail={"by": who} if who else None, call_id=call_id)
    reading.add(told, native_id=reading.below("permission"))
    reading.extra(value, _KNOWN["rejection"], "UserRejectObservation")


def _condensation(reading: OpenHandsReading) -> None:
    value = reading.value
    summary = reading.text(value, "summary")
    reading.add(kinds.Compaction(summary=summary))
    forgotten = items(value.get("forgotten_event_ids"))
    if forgotten:
        detail = {"events": len(forgotten), "summary_offset": value.get("summary_offset")}
        reading.add(kinds.Lifecycle("forgotten", detail=detail), native_id=reading.below("forgotten"))
    reading.extra(value, _KNOWN["condensation"], text(value.get("kind")))


def _state_update(reading: OpenHandsReading) -> None:
    """Emit a change of the conversation's state: its name, and its value where that is a word or a number.

    The whole state holds the settings of the model and with them its key.
    """
    value = reading.value
    key, new = reading.text(value, "key"), value.get("value")
    is_plain = isinstance(new, str | int | float)
    if key == "execution_status":
        reading.add(kinds.Lifecycle("status", text=flatten(new)))
        if new == "finished":
            reading.add(kinds.SessionEnd("finished"), native_id="end")
    else:
        reading.add(kinds.Lifecycle("state", text=key, detail={"value": new} if is_plain else None))
    reading.extra(value, _KNOWN["event"] | {"key", "value"}, "ConversationStateUpdateEvent")


def _acp_call(reading: OpenHandsReading) -> None:
    """Emit the call of an agent that OpenHands drives over ACP, and its result once it has one."""
    value = reading.value
    call_id = reading.text(value, "tool_call_id")
    name = text(value.get("tool_kind")) or text(value.get("title"))
    call = kinds.ToolCall(
        call_id, name, canonical_editor(name, None), value.get("raw_input") or {"title": value.get("title")}
    )
    reading.add(call, native_id=f"call:{call_id}" if call_id else None)
    status = text(value.get("status"))
    if status in ("completed", "failed") or value.get("raw_output") or value.get("is_error") is True:
        ok = status != "failed" and value.get("is_error") is not True
        said, parts = content_of(reading, value.get("content"))
        body = said or flatten(without_opaque(value.get("raw_output")))
        result = kinds.ToolResult(call_id, name, ok, text=body, parts=parts)
        reading.add(result, native_id=f"result:{call_id}" if call_id else None)
    known = _KNOWN["event"] | {
        "tool_call_id",
        "title",
        "status",
        "tool_kind",
        "raw_input",
        "raw_output",
        "content",
        "is_error",
    }
    reading.extra(value, known, "ACPToolCallEvent")


_READERS: dict[str, Callable[[OpenHandsReading], None]] = {
    "SystemPromptEvent": _prompt,
    "MessageEvent": _message,
    "ActionEvent": _action,
    "ObservationEvent": _observation,
    "AgentErrorEvent": _error,
    "UserRejectObservation": _rejection,
    "Condensation": _condensation,
    "CondensationSummaryEvent": _condensation,
    "ConversationStateUpdateEvent": _state_update,
    "ACPToolCallEvent": _acp_call,
}
