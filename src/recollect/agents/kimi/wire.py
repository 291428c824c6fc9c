"""Parses kimi-cli's stream: one `{timestamp, message: {type, payload}}` per line.

Evidence: format notes: Kimi CLI, "wire.jsonl v1"; kimi_cli/wire/types.py.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.calls import Waiting, arrived, edits_asked, expect, file_edits
from recollect.agents.kit.content import arguments_of, base64_part, without_opaque
from recollect.agents.kit.names import NamingState, content_sha256, is_encodable, is_storable, numbered
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What the parser of a Kimi file remembers, and how its things are named.

MAX_PENDING = 16
MAX_ARGUMENT_CHARS = 100_000


class OpenCall(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The newest call of the wire, whose arguments may still come in pieces."""

    name: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: str = ""


class Spent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The usage of the last step: where it was given, with which model, and its counts."""

    name: str = ""
    key: str = ""
    model: str = ""
    counts: tuple[int, ...] = ()


class KimiState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record.

    pending: hashes of prompts whose copy in the context is still to
    come. trigger: who asked for the compaction that runs.
    """

    parent_session: str = ""
    agent: str = ""
    model: str = ""
    trigger: str = ""
    waiting: tuple[Waiting, ...] = ()
    pending: tuple[str, ...] = ()
    open_call: OpenCall = OpenCall()
    spent: Spent = Spent()


KimiReading = Reading[KimiState]


class KimiSession(NamedTuple):
    """Where a source belongs: its session, the session whose subagent it is ("" for none), and that agent's name."""

    session: str
    parent: str = ""
    agent: str = ""


def named(reading: KimiReading, kind: str, what: str) -> str:
    """Return a name for a thing of a session that wire and context give alike: `kind:what`, numbered if used again."""
    return numbered(reading, f"{kind}:{what}")


def named_text(reading: KimiReading, kind: str, body: str) -> str:
    """Return a name for a text: a hash of it, numbered among equal ones."""
    return named(reading, kind, content_sha256(body))


# What messages and tool results hold, in the wire of both generations and in the context.
#
# Evidence: format notes: Kimi CLI; kosong/message.py, kosong/tooling.

_DATA_URL = re.compile(r"data:([^;,]{0,100})(?:;[^,]{0,100})?,")
_EXIT_CODE = re.compile(r"exit code:? ?(-?\d{1,9})\b")
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")
_NOTE = re.compile(r"\A<system>(.*?)</system>\s*", re.DOTALL)
_INJECTED = ("<system-reminder>", "<system>", "<git-context>", "<notification")
_TAIL_CHARS = 200
_KNOWN = known_fields("kimi")


def content_of(reading: KimiReading, content: Any) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return text and media of a content: text, or a list of parts."""
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        if content is not None:
            reading.wrong("content")
        return flatten(content) if content is not None else "", ()
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for item in content:
        kind = text(item.get("type")) if isinstance(item, dict) else ""
        if kind.endswith("_url"):
            parts.append(media_of(reading, item, kind))
        elif kind == "text":
            texts.append(text(item.get("text")))
        elif kind == "think":
            continue
        else:
            texts.append(item if isinstance(item, str) else flatten(without_opaque(item)))
    return "\n".join(filter(None, texts)), tuple(parts)


def media_of(reading: KimiReading, item: dict[str, Any], kind: str) -> kinds.Part:
    """Return an `image_url`, `audio_url` or `video_url` part; the bytes of a data URL become a hash."""
    name = kind.removesuffix("_url")
    written = item.get(kind)
    url = text(written) or text(mapping(written).get("url"))
    found = _DATA_URL.match(url)
    if found is None:
        return kinds.Part(type=name, url=url)
    return reading.readable(base64_part(name, found[1], url[found.end() :]), kind)


def thoughts_of(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a content that are thoughts."""
    return [item for item in items(content) if isinstance(item, dict) and item.get("type") == "think"]


def origin_of(said: str) -> kinds.Origin:
    """Say who wrote a text in the user's role, by the forms that Kimi itself puts there."""
    if said.lstrip().startswith(_INJECTED):
        return "injected"
    return "command" if _COMMAND.match(said) else "human"


def add_call(reading: KimiReading, call_id: str, tool: str, arguments: Any, message_id: str = "") -> str:
    """Emit a tool call and remember it until its result comes; return the name it was given under."""
    name = named(reading, "call", call_id)
    expect(reading, call_id, tool, edits_asked(tool, arguments))
    reading.add(kinds.ToolCall(call_id, tool, canonical_tool(tool), arguments, message_id), native_id=name)
    return name


def add_result(reading: KimiReading, call_id: str, told: dict[str, Any], *, ok: bool | None) -> None:
    """Emit a tool result and the edits it applied.

    told: `output` (text or parts), `message` (what the tool says about it), `display` (blocks for people), and others.
    """
    call = arrived(reading, call_id)
    said, parts = content_of(reading, told.get("output"))
    message = text(told.get("message"))
    body = f"{said}\n{message}" if said and message and message not in said else said or message
    blocks = [mapping(block) for block in items(told.get("display"))]
    diffs = [block for block in blocks if block.get("type") == "diff"]
    shown = [block for block in blocks if block.get("type") != "diff" and flatten(block) not in body]
    rest = {k: v for k, v in told.items() if k not in ("output", "message", "display", "is_error", "isError") and v}
    if shown:
        rest["display"] = shown
    tool = call.name if call else ""
    name = named(reading, "result", call_id)
    result = kinds.ToolResult(
        call_id, tool, ok, exit_code(tool, body, ok=ok), body, without_opaque(rest) or None, parts=parts
    )
    reading.add(result, native_id=name)
    if ok is not False:
        for i, edit in enumerate(_edits(reading, call, call_id, diffs)):
            reading.add(edit, native_id=f"{name.replace('result:', 'edit:', 1)}:{i}")


def split_note(content: Any) -> tuple[str, Any]:
    """Return what the agent says of a result in the context, in a leading `<system>` text, and the content itself."""
    if isinstance(content, str):
        found = _NOTE.match(content)
        return (found[1], content[found.end() :]) if found else ("", content)
    parts = items(content)
    first = mapping(parts[0]) if parts else {}
    found = _NOTE.match(text(first.get("text")))
    if found is None:
        return "", content
    rest = text(first.get("text"))[found.end() :]
    return found[1], [*([{**first, "text": rest}] if rest else []), *parts[1:]]


def exit_code(tool: str, body: str, *, ok: bool | None) -> int | None:
    """Return the exit code that a command's result ends with."""
    if canonical_tool(tool) != "shell" and ok is not False:
        return None
    found = _EXIT_CODE.search(body[-_TAIL_CHARS:])
    return int(found[1]) if found else None


def add_system_prompt(reading: KimiReading, prompt: object) -> None:
    """Emit a system prompt; every repetition of the same one is the same event."""
    said = text(prompt)
    reading.say(kinds.Instructions(said, "system"), native_id=f"system:{content_sha256(said)}")


def _edits(
    reading: KimiReading, call: Waiting | None, call_id: str, diffs: list[dict[str, Any]]
) -> list[kinds.FileEdit]:
    """Return the edits that the result shows, else those that the call asked for."""
    for block in diffs:
        reading.extra(block, _KNOWN["display"], "display.diff")
    if not diffs:
        return file_edits(call) if call else []
    paths = {text(block.get("path")) for block in diffs}
    is_whole = call is not None and all(edit.before is not None or edit.after is not None for edit in call.edits)
    if call and call.edits and is_whole and all(whole(block.get("is_summary")) for block in diffs):
        return [edit for edit in file_edits(call) if edit.path in paths or not edit.path]
    return [
        kinds.FileEdit(
            text(block.get("path")),
            "modify" if text(block.get("old_text")) else "create",
            text(block.get("old_text")) or None,
            text(block.get("new_text")),
            call_id=call_id,
        )
        for block in diffs
    ]


_ASIDES = {
    "TurnEnd": "turn_ended",
    "StepBegin": "step_started",
    "StepInterrupted": "interrupted",
    "StepRetry": "retry",
    "CompactionBegin": "compaction_started",
    "HookTriggered": "hook",
    "HookResolved": "hook",
    "MCPLoadingBegin": "mcp",
    "MCPLoadingEnd": "mcp",
    "MCPStatusSnapshot": "mcp",
    "MCPServerSnapshot": "mcp",
    "ToolCallRequest": "tool_request",
    "BtwBegin": "side_question",
    "BtwEnd": "side_question",
}
"""Records that say only that something happened, and the lifecycle events they become."""


def start(reading: KimiReading) -> None:
    """Emit the session's start, once: with the first record of a wire."""
    if reading.now("is_started"):
        return
    state = reading.state
    reading.set(is_started=True)
    version = text(reading.value.get("protocol_version"))
    reading.start(
        tool_version=f"wire {version}" if version else "",
        parent_session=state.parent_session,
        agent_name=state.agent if state.parent_session else "",
    )


def read_wire(reading: KimiReading) -> None:
    value = reading.value
    reading.date(value.get("timestamp"))
    start(reading)
    message = reading.mapping(value, "message")
    kind = text(message.get("type"))
    payload = reading.mapping(message, "payload")
    if kind != "ToolCallPart":
        reading.set(open_call=OpenCall())
    reader = _READERS.get(kind)
    if reader is not None:
        reader(reading, payload)
    elif kind in _ASIDES:
        detail = without_opaque(payload)
        call_id = text(payload.get("tool_call_id"))
        reading.add(kinds.Lifecycle(_ASIDES[kind], text=_words(payload), detail=detail or None, call_id=call_id))
    else:
        reading.unknown(kind or "wire", without_opaque(payload or value))
    reading.extra(value, _KNOWN["record"], "wire")


def _words(payload: dict[str, Any]) -> str:
    return "" if all(not isinstance(v, str) for v in payload.values()) else flatten(without_opaque(payload))


def _turn(reading: KimiReading, payload: dict[str, Any]) -> None:
    said, parts = content_of(reading, payload.get("user_input"))
    name = named_text(reading, "user", said)
    reading.add(kinds.UserMessage(said, origin_of(said), parts), native_id=name)
    reading.extra(payload, frozenset(("user_input",)), "TurnBegin")


def _steer(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Emit what the person typed while the agent worked."""
    said, parts = content_of(reading, payload.get("user_input"))
    reading.add(kinds.UserMessage(said, "queued", parts), native_id=named_text(reading, "user", said))
    reading.extra(payload, frozenset(("user_input",)), "SteerInput")


def _part(reading: KimiReading, payload: dict[str, Any]) -> None:
    kind = text(payload.get("type"))
    if kind == "text":
        said = reading.text(payload, "text")
        reading.add(kinds.AssistantMessage(said), native_id=named_text(reading, "said", said))
        reading.extra(payload, _KNOWN["text"], "ContentPart.text")
    elif kind == "think":
        thought = reading.text(payload, "think")
        is_sealed = not thought and bool(payload.get("encrypted"))
        reading.add(kinds.Thinking(thought, "", is_sealed), native_id=named_text(reading, "thought", thought))
        reading.extra(payload, _KNOWN["think"], "ContentPart.think")
    elif kind.endswith("_url"):
        part = media_of(reading, payload, kind)
        reading.add(kinds.AssistantMessage(parts=(part,)))
    else:
        reading.unknown(f"ContentPart/{kind}", without_opaque(payload))


def _call(reading: KimiReading, payload: dict[str, Any]) -> None:
    call_id = reading.text(payload, "id")
    function = reading.mapping(payload, "function")
    tool = reading.text(function, "name")
    written = function.get("arguments")
    name = add_call(reading, call_id, tool, arguments_of(reading, written))
    raw = written if isinstance(written, str) else ""
    if is_storable(name) and is_storable(tool) and is_storable(call_id) and len(raw) <= MAX_ARGUMENT_CHARS:
        reading.set(open_call=OpenCall(name, call_id, tool, raw if is_encodable(raw) else ""))
    reading.extra(payload, _KNOWN["call"], "ToolCall")


def _call_part(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Emit the last call again with one more piece of its arguments: a longer version of the same event."""
    before = reading.state.open_call
    piece = text(payload.get("arguments_part"))
    raw = before.arguments + piece
    if not before.name or len(raw) > MAX_ARGUMENT_CHARS or not is_encodable(raw):
        reading.kept("ToolCallPart", piece)
        return
    reading.set(open_call=OpenCall(before.name, before.call_id, before.tool, raw))
    arguments = arguments_of(reading, raw)
    reading.add(
        kinds.ToolCall(before.call_id, before.tool, canonical_tool(before.tool), arguments), native_id=before.name
    )


def _result(reading: KimiReading, payload: dict[str, Any]) -> None:
    told = reading.mapping(payload, "return_value") or reading.mapping(payload, "result")
    is_error = told.get("is_error")
    ok = not is_error if isinstance(is_error, bool) else None
    add_result(reading, reading.text(payload, "tool_call_id"), told, ok=ok)
    reading.extra(payload, _KNOWN["result"], "ToolResult")


def _status(reading: KimiReading, payload: dict[str, Any]) -> None:
    usage = reading.mapping(payload, "token_usage")
    message_id = reading.text(payload, "message_id")
    if usage:
        # Without a message id the record's own time and place in the session stand in.
        key = message_id or f"{reading.state.session}:{reading.value.get('timestamp')}"
        names = ("input_other", "output", "input_cache_read", "input_cache_creation")
        reading.spend("", reading.counts(usage, names), key, "assistant", native_id=f"usage:{key}")
        reading.extra(usage, _KNOWN["wire_usage"], "token_usage")
    facts = {
        k: v
        for k, v in payload.items()
        if k in _KNOWN["status"] and k not in ("token_usage", "message_id") and v is not None
    }
    reading.note("status", detail=facts)
    reading.extra(payload, _KNOWN["status"], "StatusUpdate")


def _request(reading: KimiReading, payload: dict[str, Any]) -> None:
    said = "\n".join(filter(None, (text(payload.get("action")), text(payload.get("description")))))
    rest = {k: v for k, v in payload.items() if k not in ("action", "description", "display", "tool_call_id") and v}
    call_id = text(payload.get("tool_call_id"))
    reading.add(kinds.Lifecycle("permission", text=said, detail=without_opaque(rest) or None, call_id=call_id))


def _response(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Emit a decision; what the person told the model with it is a message of theirs."""
    rest = {k: v for k, v in payload.items() if k not in ("response", "feedback") and v}
    reading.add(
        kinds.Lifecycle("permission", text=flatten(payload.get("response")), detail=without_opaque(rest) or None)
    )
    feedback = text(payload.get("feedback"))
    if feedback:
        reading.add(kinds.UserMessage(feedback, "queued"), native_id=named_text(reading, "user", feedback))


def _question(reading: KimiReading, payload: dict[str, Any]) -> None:
    body = flatten(without_opaque(payload.get("questions") or payload.get("answers") or payload))
    name = "answer" if "answers" in payload else "question"
    reading.add(kinds.Lifecycle(name, text=body, call_id=text(payload.get("tool_call_id"))))


def _subagent(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Give nothing but the first sign of a subagent: its own wire says everything that is repeated here."""
    call_id = text(payload.get("parent_tool_call_id")) or text(payload.get("task_tool_call_id"))
    event = mapping(payload.get("event"))
    if text(event.get("type")) != "TurnBegin":
        return
    agent = {k: payload[k] for k in ("agent_id", "subagent_type") if text(payload.get(k))}
    reading.add(kinds.Lifecycle("subagent", detail=agent or None, call_id=call_id))


def _notification(reading: KimiReading, payload: dict[str, Any]) -> None:
    said = "\n".join(filter(None, (text(payload.get("title")), text(payload.get("body")))))
    rest = {k: v for k, v in payload.items() if k not in ("title", "body") and v not in (None, "", {})}
    reading.add(kinds.Lifecycle("notice", text=said, detail=without_opaque(rest) or None))


def _plan(reading: KimiReading, payload: dict[str, Any]) -> None:
    path = text(payload.get("file_path"))
    reading.add(kinds.Lifecycle("plan", text=reading.text(payload, "content"), detail={"path": path} if path else None))


_READERS: dict[str, Callable[[KimiReading, dict[str, Any]], None]] = {
    "TurnBegin": _turn,
    "SteerInput": _steer,
    "ContentPart": _part,
    "ToolCall": _call,
    "ToolCallPart": _call_part,
    "ToolResult": _result,
    "StatusUpdate": _status,
    "ApprovalRequest": _request,
    "ApprovalResponse": _response,
    "ApprovalRequestResolved": _response,
    "QuestionRequest": _question,
    "QuestionResponse": _question,
    "SubagentEvent": _subagent,
    "Notification": _notification,
    "PlanDisplay": _plan,
    "CompactionEnd": lambda reading, payload: reading.add(kinds.Compaction(summary=flatten(without_opaque(payload)))),
}
