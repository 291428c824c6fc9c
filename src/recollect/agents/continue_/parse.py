"""Continue: parses an item of a session's history into events. Pure; never raises on content."""

import re
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import KitAdapter, Reading, first_line_name, read_odd, remember
from recollect.agents.kit.calls import Operation, Waiting, arrived, edits_of, expect, give_edits
from recollect.agents.kit.content import arguments_of, base64_part, content_text, without_opaque
from recollect.agents.kit.history import folder_of, give_title, message_of, read_entry
from recollect.agents.kit.names import NamingState, content_name, name_of, numbered
from recollect.agents.kit.values import HEAD_SESSION, Json, group_in, items, mapping, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool


class ContinueState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """Names, calls without a result, results that were given, and what the session runs with."""

    waiting: tuple[Waiting, ...] = ()
    answered: tuple[str, ...] = ()
    has_message_usage: bool = False
    model: str = ""


ContinueReading = Reading[ContinueState]


# Calls, and what came back: beside the call itself (`toolCallStates`), in a message of role `tool`, or both.
#
# Evidence: format notes: Continue; a trimmed capture of the CLI.

_KNOWN = known_fields("continue")
_STATUSES = frozenset(("generating", "generated", "calling", "done", "errored", "canceled"))
_OK = {"done": True, "errored": False, "canceled": False}
_EDITORS: dict[str, Operation] = {
    "write": "modify",
    "edit": "modify",
    "multiedit": "modify",
    "edit_existing_file": "modify",
    "create_new_file": "create",
    "single_find_and_replace": "modify",
    "multi_edit": "modify",
}
_EXIT_CODE = re.compile(r"\bexit(?:ed with)? code[: ]{1,2}(-?\d{1,9})\b")
_HEAD_CHARS = 400
_MAX_ANSWERED = 256


def read_calls(reading: ContinueReading, item: dict[str, Any], message: dict[str, Any]) -> None:
    """Emit the calls of an item and the results that its states hold."""
    states = {text(mapping(s).get("toolCallId")): mapping(s) for s in reading.items(item, "toolCallStates")}
    written = reading.items(message, "toolCalls")
    calls = [mapping(call) for call in written] or [mapping(state.get("toolCall")) for state in states.values()]
    for call in calls:
        if call:
            _give_call(reading, call, states.get(text(call.get("id")), {}))
        else:
            reading.wrong("toolCalls")
    for call_id, state in states.items():
        status = text(state.get("status"))
        reading.odd_value("toolCallState.status", status, _STATUSES)
        output = reading.items(state, "output")
        ok = _OK.get(status)
        if ok is not None or output:
            _give_result(reading, call_id, output, ok)
        if status == "canceled":
            name = f"interrupted:{call_id}"
            reading.add(kinds.Lifecycle("interrupted", call_id=call_id), native_id=name)
        reading.extra(state, _KNOWN["state"], "toolCallState", native_id=f"state:{call_id}")


def _give_call(reading: ContinueReading, call: dict[str, Any], state: dict[str, Any]) -> None:
    function = reading.mapping(call, "function")
    call_id, name = reading.text(call, "id"), reading.text(function, "name")
    arguments = _arguments(reading, function.get("arguments"), state)
    native_id = f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments)
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments), native_id=native_id)
    operation = _EDITORS.get(name.lower().removeprefix("builtin_"))
    expect(reading, call_id, name, edits_of(arguments, operation) if operation else ())
    reading.extra(call, _KNOWN["call"], "toolCall", native_id=native_id)


def _arguments(reading: ContinueReading, written: Json, state: dict[str, Any]) -> Json:
    """Return the arguments: a text of JSON, which the state holds parsed; a text that is none stays one."""
    parsed = state.get("parsedArgs")
    if isinstance(parsed, dict):
        return parsed
    return arguments_of(reading, written, empty=None)


def read_tool_message(reading: ContinueReading, message: dict[str, Any]) -> None:
    """Emit the result that a message holds, unless its call's state gave it already."""
    call_id = reading.text(message, "toolCallId")
    if call_id and call_id in reading.now("answered"):
        arrived(reading, call_id)
        return
    _give_result(reading, call_id, message.get("content"), None)


def _give_result(reading: ContinueReading, call_id: str, output: Json, ok: bool | None) -> None:
    body = "\n".join(filter(None, map(_piece, output))) if isinstance(output, list) else content_text(output)
    statuses = " ".join(text(mapping(piece).get("status")) for piece in items(output))
    code = _EXIT_CODE.search(f"{statuses} {body[:_HEAD_CHARS]}") if ok is False or "exit" in statuses else None
    exit_code = int(code[1]) if code else None
    if exit_code or "failed" in statuses.lower():
        ok = False
    call = arrived(reading, call_id)
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", output)
    reading.add(kinds.ToolResult(call_id, call.name, ok, exit_code, body), native_id=native_id)
    if ok is not False:
        give_edits(reading, _with_diff(call.edits, body), call_id)
    reading.set(answered=remember(reading.now("answered"), call_id, _MAX_ANSWERED))


def _with_diff(edits: tuple[kinds.FileEdit, ...], body: str) -> tuple[kinds.FileEdit, ...]:
    """Return the edits; one that has neither text takes the diff that the result shows."""
    _, found, diff = body.partition("\n@@")
    if len(edits) != 1 or not found or edits[0].before is not None or edits[0].after is not None:
        return edits
    return (msgspec.structs.replace(edits[0], diff=f"@@{diff}"),)


def _piece(piece: Json) -> str:
    """Return the text of one piece of output; its name and description are the harness's labels."""
    value = mapping(piece)
    if isinstance(value.get("content"), str):
        return text(value["content"])
    return flatten(without_opaque(piece))


# One item of a session's history: a message, what was put beside it, and what the session says around them.
#
# Evidence: format notes: Continue; a trimmed capture of the CLI.

_MAX_MODEL_CHARS = 200


def read_item(reading: ContinueReading) -> None:
    item = reading.value
    message = message_of(reading)
    if not message:
        return
    role = message.get("role")
    own_id = text(message.get("id"))
    key = content_name(
        role, message.get("content"), [mapping(c).get("id") for c in reading.items(message, "toolCalls")]
    )
    base = numbered(reading, own_id[:4096] if own_id else f"item:{key}")
    reading.native_id = base
    # Emit the reasoning beside an answer; its times are the only ones in a session.
    reasoning = reading.mapping(item, "reasoning")
    reading.date(reasoning.get("startAt"), "reasoning.startAt")
    said = reading.text(reasoning, "text")
    reading.say(kinds.Thinking(said), native_id=f"{base}/thinking")
    reading.date(reasoning.get("endAt"), "reasoning.endAt")
    if role == "user":
        content = message.get("content")
        parts = _parts(reading, content)
        said = _said(content) or _said(item.get("editorState"))
        reading.say(kinds.UserMessage(said, parts=parts))
    elif role == "assistant":
        _read_assistant(reading, item, message, base)
    elif role == "thinking":
        thought = content_text(message.get("content"))
        is_encrypted = not thought and bool(message.get("redactedThinking") or message.get("signature"))
        reading.add(kinds.Thinking(thought, is_encrypted=is_encrypted), native_id=f"{base}/thinking")
        read_calls(reading, item, message)
    elif role == "system":
        reading.add(kinds.Instructions(content_text(message.get("content")), "system"))
    elif role == "tool":
        read_tool_message(reading, message)
    else:
        reading.unknown(f"message/{role}" if isinstance(role, str) else "message", without_opaque(item))
    _read_context(reading, item, base)
    summary = reading.text(item, "conversationSummary")
    if summary:
        reading.add(kinds.Compaction("summary", summary), native_id=f"{base}/compaction")
    reading.extra(item, _KNOWN["item"], "item", native_id=base)
    reading.extra(message, _KNOWN["message"], "message", native_id=base)


def _read_assistant(reading: ContinueReading, item: dict[str, Any], message: dict[str, Any], base: str) -> None:
    content = message.get("content")
    said, parts = _said(content), _parts(reading, content)
    reading.say(kinds.AssistantMessage(said, reading.now("model"), parts=parts))
    read_calls(reading, item, message)
    usage = reading.mapping(message, "usage")
    if usage:
        reading.set(has_message_usage=True)
        key = f"continue:{content_name(message)}"
        reading.add(_usage(reading, usage, key), "assistant", native_id=f"{base}/usage")
    changes = item.get("appliedChanges")
    if changes:
        reading.kept("appliedChanges", changes, native_id=f"{base}/changes")


def _read_context(reading: ContinueReading, item: dict[str, Any], base: str) -> None:
    """Emit what was put beside a message: files, diffs, terminal output. It is the harness's text, not the person's."""
    for number, written in enumerate(reading.items(item, "contextItems")):
        value = mapping(written)
        name = f"{base}/context/{number}"
        if not value:
            reading.wrong("contextItems")
            continue
        said = reading.text(value, "content")
        path = text(mapping(value.get("uri")).get("value")) or text(value.get("description"))
        part = kinds.Part("file", path=path or text(value.get("name")))
        reading.add(kinds.UserMessage(said, "injected", (part,)), native_id=name)


def _said(content: Json) -> str:
    """Return the text of a message's parts; an image has none."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_part_text, content)))
    return content if isinstance(content, str) else ""


def _part_text(part: Json) -> str:
    value = mapping(part)
    kind = value.get("type")
    if kind == "imageUrl":
        return ""
    return text(value.get("text")) if kind == "text" else flatten(without_opaque(part))


def _parts(reading: ContinueReading, content: Json) -> tuple[kinds.Part, ...]:
    """Return the images of a message: data URLs, or addresses."""
    found: list[kinds.Part] = []
    for part in content if isinstance(content, list) else ():
        value = mapping(part)
        if value.get("type") != "imageUrl":
            continue
        url = text(mapping(value.get("imageUrl")).get("url"))
        if url.startswith("data:"):
            media_type, _, data = url[5:].partition(";base64,")
            image = reading.readable(base64_part("image", media_type[:100], data), "imageUrl")
            found.append(image)
        else:
            found.append(kinds.Part("image", url=url[:4096]))
    return tuple(found)


def read_session(reading: ContinueReading) -> None:
    """Emit what stands around the history: the session's start, title, mode and model, and its total."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    if "sessionId" in value or "workspaceDirectory" in value:
        reading.start(cwd=folder_of(reading, value))
    give_title(reading, value)
    reading.note("mode", reading.text(value, "mode"), native_id="mode")
    model = text(value.get("chatModelTitle"))
    if model and len(model) <= _MAX_MODEL_CHARS:
        reading.set(model=model)
        reading.add(kinds.Lifecycle("model", model=model), native_id="model")
    usage = reading.mapping(value, "usage")
    if usage:
        spent = _usage(
            reading, usage, f"continue:{reading.state.session}", is_additive=not reading.now("has_message_usage")
        )
        reading.add(spent, native_id="usage")
    reading.extra(value, _KNOWN["session"], "session", native_id="session")


def _usage(reading: ContinueReading, usage: dict[str, Any], key: str, *, is_additive: bool = True) -> kinds.TokenUsage:
    """Return token usage. The prompt's tokens include the cached ones only where these fit into them."""
    details = reading.mapping(usage, "promptTokensDetails")
    prompt, answer = reading.count(usage, "promptTokens"), reading.count(usage, "completionTokens")
    read, written = reading.count(details, "cachedTokens"), reading.count(details, "cacheWriteTokens")
    reasoning = reading.count(reading.mapping(usage, "completionTokensDetails"), "reasoningTokens")
    return kinds.TokenUsage(
        reading.text(usage, "model") or reading.now("model"),
        prompt - read - written if read + written <= prompt else prompt,
        answer,
        read,
        written,
        reasoning_tokens=reasoning,
        cost_usd=reading.money(usage, "totalCost"),
        dedupe_key=key,
        is_additive=is_additive,
    )


INDEX_SESSION = "sessions"


class ContinueAdapter(KitAdapter[ContinueState], slug="continue"):
    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the file's name in Continue's layout, else the id inside."""
        if info.role == "index":
            return INDEX_SESSION
        named = group_in(HEAD_SESSION, head) if "/" not in info.path else ""
        return named or info.stem or first_line_name(head)

    def read(self, reading: ContinueReading) -> None:
        if reading.state.role == "index":
            read_entry(reading, _KNOWN["index"])
        elif reading.at == "history":
            read_item(reading)
        else:
            read_session(reading)
