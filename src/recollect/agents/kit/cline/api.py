"""Parses the API log and the SDK's messages: requests, answers, exact calls and results.

In the API log of a task nothing has an id: texts are named by what they say, as in the UI log, so that both are one.
Older versions write no time; the environment details that go with each user message name one, and the task's id is the
time of its start. The SDK's messages have ids of their own.
Evidence: format notes: Cline / Roo / Kilo; recorded sessions of the Cline SDK.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.calls import Operation, arrived, edits_of, expect, give_edits, insertion_of
from recollect.agents.kit.cline.values import (
    MAX_ASKED,
    ClineReading,
    Said,
    cwd_in,
    message_usage,
    pieces,
    record_id,
    result_head,
    see_model,
    tagged,
    taken_apart,
    time_in,
)
from recollect.agents.kit.content import (
    CALL_TYPES,
    MEDIA_TYPES,
    content_parts,
    content_text,
    media_part,
    without_opaque,
)
from recollect.agents.kit.names import content_name, is_storable, name_of, numbered
from recollect.agents.kit.values import Json, decoded_json, instant, items, mapping, text
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What came back from a tool: whether it went well, its text, its exit code, and the edits that it proves.
#
# The harness tells failures in words, in `success` fields inside the content, or in the exit code of a command.
# Evidence: format notes: Cline / Roo / Kilo; recorded sessions of the Cline SDK.

_HEAD_CHARS = 2_000
_EXIT_CODE = re.compile(r"\b[Ee]xit(?:ed with)?(?: code)?[: ]{1,2}(-?\d{1,9})\b")
_COMMANDS = frozenset(("execute_command", "run_commands"))
_FAILURES = (
    "The tool execution failed", "The user denied this operation", "Error executing", "Error reading", "[ERROR]",
    "Command execution was not successful", "<error>", "Tool execution was not",
)  # fmt: skip
_OPERATION = re.compile(r'\boperation"?[>:]\s?"?(created|deleted)\b')
_EDITORS: dict[str, Operation] = {
    "write_to_file": "modify", "replace_in_file": "modify", "apply_diff": "modify", "insert_content": "modify",
    "search_and_replace": "modify", "search_replace": "modify", "edit": "modify", "edit_file": "modify",
    "apply_patch": "modify", "editor": "modify", "new_rule": "create", "delete_file": "delete",
}  # fmt: skip
_SPOKEN = {
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "act_mode_respond": "response",
    "ask_followup_question": "question",
    "ask_question": "question",
}
"""Tools by which the model speaks to the person, and the argument that it says: messages, not calls."""


def give_call(reading: ClineReading, call_id: str, name: str, arguments: Json) -> None:
    """Emit a tool call, and remember it until its result comes."""
    canonical = "mcp" if name.startswith("mcp--") or "0mcp0" in name else canonical_tool(name)
    call = kinds.ToolCall(call_id, name, canonical, arguments, record_id(reading.value))
    reading.add(call, native_id=f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments))
    expect(reading, call_id, name, _asked_edits(name, arguments))


def _asked_edits(name: str, arguments: Json) -> tuple[kinds.FileEdit, ...]:
    operation = _EDITORS.get(name)
    if operation is None:
        return ()
    if name == "insert_content" or mapping(arguments).get("insert_line") is not None:
        return insertion_of(arguments)
    return edits_of(arguments, operation)


def give_result(reading: ClineReading, call_id: str, content: Json, *, is_error: object = None) -> None:
    """Emit a tool's result, the edits that it proves, and what the person wrote into it."""
    call = arrived(reading, call_id)
    body, has_failed = _body(content)
    # Whether what comes back to a tool is words, since its call was given as a message or a compaction.
    if call.name in _SPOKEN or call.name in ("summarize_task", "condense"):
        # Emit the answer to a question or result of the model: the person's words, or the harness's.
        for piece in pieces(body):
            origin: kinds.Origin = "human" if piece.is_tagged else "injected"
            name = name_of(reading, "user" if piece.is_tagged else "injected", piece.text)
            reading.add(kinds.UserMessage(piece.text, origin), native_id=name)
        return
    parts = reading.readable(content_parts(content), "tool_result.content.source.data")
    head = body[:_HEAD_CHARS]
    exit_code = _exit_code(call.name, head)
    ok = is_error is not True and not has_failed and not head.lstrip().startswith(_FAILURES) and not exit_code
    result = kinds.ToolResult(call_id, call.name, ok, exit_code, body, parts=parts)
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", content)
    reading.add(result, native_id=native_id)
    if ok:
        give_edits(reading, _told(call.edits, head), call_id)
    for said in tagged(body):
        reading.add(kinds.UserMessage(said), native_id=name_of(reading, "user", said))


def _told(edits: tuple[kinds.FileEdit, ...], head: str) -> Iterator[kinds.FileEdit]:
    """Yield a call's edits with the operation that the result tells, where it does."""
    found = _OPERATION.search(head)
    is_new = (found and found[1] == "created") or head.startswith(("Created", "File created"))
    for edit in edits:
        if is_new and edit.operation == "modify" and edit.before is None:
            yield msgspec.structs.replace(edit, operation="create")
        else:
            yield edit


def _exit_code(name: str, head: str) -> int | None:
    """Return the exit code that a command's result states before its output."""
    if name not in _COMMANDS:
        return None
    found = _EXIT_CODE.search(head.partition("Output:")[0])
    return int(found[1]) if found else None


def _body(content: Json) -> tuple[str, bool]:
    """Return a result's text, and whether a part of it says that it failed."""
    if isinstance(content, str):
        # The report that a text holds, None where it is any other text.
        value = decoded_json(content) if content.startswith('{"query"') else None
        value = value if isinstance(value, dict) else None
        return (content, False) if value is None else (_report(value), value.get("success") is False)
    if isinstance(content, list):
        found = [_piece(block) for block in content]
        return "\n".join(said for said, _ in found if said), any(failed for _, failed in found)
    if isinstance(content, dict):
        return _piece(content)
    return ("", False) if content is None else (flatten(content), False)


def _piece(block: Any) -> tuple[str, bool]:
    value = mapping(block)
    if "success" in value or "query" in value:
        return _report(value), value.get("success") is False
    kind = value.get("type")
    if kind in ("error-text", "error-json", "error"):
        return flatten(value.get("value") or value.get("error")), True
    if kind in ("json", "content") and "value" in value:
        return flatten(without_opaque(value["value"])), False
    if kind == "text" and "value" in value:
        said = text(value["value"])
        return said, said.lstrip().startswith("[ERROR]")
    return content_text([block]), value.get("is_error") is True


def _report(value: dict[str, Any]) -> str:
    """Return what the SDK's tools report: `{query, result, error, success}`."""
    said = [content_text(value.get(key)) for key in ("result", "error") if value.get(key)]
    known = ("query", "result", "error", "success")
    rest = {k: v for k, v in value.items() if k not in known}
    return "\n".join(filter(None, [*said, flatten(without_opaque(rest))])) or text(value.get("query"))


def reasoning_text(block: dict[str, Any]) -> str:
    """Return the readable text of a reasoning item: its text, else its summaries."""
    said = text(block.get("thinking")) or text(block.get("text"))
    if said:
        return said
    summaries = (text(mapping(piece).get("text")) for piece in items(block.get("summary")))
    return "\n".join(filter(None, summaries))


_KNOWN = known_fields("cline")
_BLOCKS = known_by_type("cline", "blocks")
_SUMMARIES = frozenset(("summarize_task", "condense"))
"""Tools by which the model shortens its context: compactions, not calls."""
_ABORTED = ("[Response interrupted by user]", "[Response interrupted by API Error]")
_NOTICE_TAGS = ("<SYSTEM_NOTICE>", "</SYSTEM_NOTICE>")
_ROLES = frozenset(("user", "assistant", "tool"))
_TASK_TIME = re.compile(r"1\d{12}")


def read_message(reading: ClineReading) -> None:
    message = reading.value
    role = message.get("role")
    is_message = (isinstance(role, str) and role in _ROLES) or message.get("type") == "reasoning"
    if not is_message:
        if message:
            reading.native_id = name_of(reading, "message", message)
            reading.unknown(f"api/{role}" if isinstance(role, str) else "api")
        else:
            read_odd(reading)
        return
    # Take a message's time, else infer it; give the session's start with the first.
    if message.get("ts") is not None:
        reading.date(message["ts"], "ts")
    elif reading.state.role == "api":
        _infer_time(reading, message)
    if reading.state.role == "api" and not reading.now("is_started"):
        reading.set(is_started=True)
        reading.start()
    own_id = record_id(message)
    name = own_id or name_of(reading, "message", message.get("role"), message.get("content"))
    reading.native_id = name
    if message.get("type") == "reasoning":
        _give_thought(reading, message, own_id)
    elif _is_compaction(reading, message):
        pass
    elif role == "assistant":
        _read_assistant(reading, message, own_id)
    else:
        _read_user(reading, message, own_id)
    reading.extra(message, _KNOWN["message"], "message", native_id=name)


def _infer_time(reading: ClineReading, message: dict[str, Any]) -> None:
    if message.get("role") == "user":
        for block in _blocks(reading, message):
            said = mapping(block).get("text")
            found = time_in(said) if isinstance(said, str) and "Current Time" in said else None
            if found:
                reading.infer(instant(found))
                return
    if reading.state.ts is None and _TASK_TIME.fullmatch(reading.state.session):
        reading.infer(instant(int(reading.state.session)))


def _blocks(reading: ClineReading, message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return reading.items(message, "content")


def _is_compaction(reading: ClineReading, message: dict[str, Any]) -> bool:
    """Emit the compaction that a message represents; return whether it is nothing else."""
    metadata = mapping(message.get("metadata"))
    kind = text(metadata.get("kind"))
    if message.get("isSummary") is True or message.get("isTruncationMarker") is True:
        said = content_text(message.get("content"))
        mark = text(message.get("condenseId")) or text(message.get("truncationId")) or content_name(said.strip())
        trigger = "condense" if message.get("isSummary") is True else "truncation"
        reading.add(kinds.Compaction(trigger, said), native_id=f"compaction:{mark}")
        return True
    if kind not in ("compaction", "compaction_summary"):
        return False
    before = mapping(metadata.get("usageBefore"))
    tokens = reading.whole(metadata, "tokensBefore")
    notices = [said for said in map(content_text, _blocks(reading, message)) if said.startswith(_NOTICE_TAGS[0])]
    notice = "\n".join(notices).removeprefix(_NOTICE_TAGS[0]).removesuffix(_NOTICE_TAGS[1]).strip()
    reading.add(
        kinds.Compaction(
            text(metadata.get("reason")) or kind,
            text(metadata.get("summary")) or notice or content_text(message.get("content")),
            tokens if tokens is not None else reading.whole(before, "inputTokens"),
        ),
        native_id=f"{reading.native_id}/compaction",
    )
    return kind == "compaction_summary"


def _read_assistant(reading: ClineReading, message: dict[str, Any], own_id: str) -> None:
    model = mapping(message.get("modelInfo"))
    name = text(model.get("modelId")) or text(model.get("id"))
    if see_model(reading, name):
        detail = {k: v for k, v in model.items() if k not in ("modelId", "id")}
        reading.add(kinds.Lifecycle("model", detail=detail or None, model=name), native_id=f"{reading.native_id}/model")
    blocks = _blocks(reading, message)
    has_calls = any(isinstance(b, dict) and b.get("type") in (*CALL_TYPES, "tool-call") for b in blocks)
    asked: list[str] = []
    for block in blocks:
        value = mapping(block)
        kind = text(value.get("type"))
        if kind == "text":
            calls = _give_text(reading, value, own_id, is_xml=not has_calls and not own_id)
            asked += calls
        elif kind in ("thinking", "reasoning", "redacted_thinking"):
            _give_thought(reading, value, own_id)
        elif kind in CALL_TYPES or kind == "tool-call":
            _give_native_call(reading, value, own_id)
        elif kind in MEDIA_TYPES:
            part, said, is_readable = media_part(value)
            if not is_readable:
                reading.wrong("content.source.data", "bad_base64")
            reading.add(
                kinds.AssistantMessage(said, name, parts=(part,)),
                native_id=name_of(reading, "image", part.sha256, part.url, part.path),
            )
        elif kind in ("tool_result", "tool-result"):
            _read_result(reading, value)
        else:
            reading.unknown(f"assistant/{kind}", without_opaque(block), native_id=name_of(reading, "block", block))
        _see_fields(reading, value)
    reading.set(asked=tuple(asked)[-MAX_ASKED:])
    usage = message_usage(reading, message, own_id, name or reading.now("model"))
    if usage is not None:
        reading.add(usage, "assistant", native_id=f"{reading.native_id}/usage")


def _give_text(reading: ClineReading, block: dict[str, Any], own_id: str, *, is_xml: bool) -> list[str]:
    """Emit what the model said, and the calls that old versions wrote into it; return the ids of these."""
    written = reading.text(block, "text")
    said, calls = taken_apart(written) if is_xml and "<" in written else (written.strip(), [])
    key = said
    for mark in _ABORTED:
        key = key.removesuffix(mark).rstrip()
    if said:
        message = kinds.AssistantMessage(said, reading.now("model"), message_id=own_id)
        name = numbered(reading, own_id) if own_id else name_of(reading, "said", key)
        reading.add(message, native_id=name)
    ids: list[str] = []
    for call in calls:
        call_id = name_of(reading, "xml", call.name, call.arguments)
        _give_call(reading, call_id, call.name, call.arguments, own_id)
        ids.append(call_id)
    return ids


def _give_thought(reading: ClineReading, block: dict[str, Any], own_id: str) -> None:
    thought = reasoning_text(block)
    name = numbered(reading, f"{own_id}/thinking") if own_id else name_of(reading, "thought", thought.strip())
    is_encrypted = not thought
    reading.add(kinds.Thinking(thought, own_id, is_encrypted), native_id=name)


def _give_native_call(reading: ClineReading, block: dict[str, Any], own_id: str) -> None:
    call_id = reading.text(block, "id") or reading.text(block, "toolCallId")
    name = reading.text(block, "name") or reading.text(block, "toolName")
    _give_call(reading, call_id, name, block.get("input"), own_id)


def _give_call(reading: ClineReading, call_id: str, name: str, arguments: Json, own_id: str) -> None:
    """Emit a call, or what the model says to the person by way of one."""
    if name in _SUMMARIES:
        summary = text(mapping(arguments).get("context"))
        name_of_it = f"compaction:{content_name(summary.strip())}"
        reading.add(kinds.Compaction("summary", summary), native_id=name_of_it)
        expect(reading, call_id, name)
        return
    # Whether a tool is a way of speaking to the person.
    if name not in _SPOKEN:
        give_call(reading, call_id, name, arguments)
        return
    # What a call says to the person, and its other arguments.
    key = _SPOKEN.get(name, "")
    given = mapping(arguments)
    spoken, rest = text(given.get(key)), {k: v for k, v in given.items() if k != key and v not in (None, "", [], {})}
    if spoken:
        said = kinds.AssistantMessage(spoken, reading.now("model"), message_id=own_id)
        native_id = f"{own_id}/said:{call_id}" if own_id else name_of(reading, "said", spoken.strip())
        reading.add(said, native_id=native_id)
    if rest:
        event = kinds.Lifecycle("spoken", text=name, detail=rest, call_id=call_id)
        reading.add(event, "assistant", native_id=f"spoken:{call_id}" if call_id else name_of(reading, "spoken", rest))
    expect(reading, call_id, name)


def _read_user(reading: ClineReading, message: dict[str, Any], own_id: str) -> None:
    """Emit a user message: results, what the person said, and what the harness added.

    A result of an old version is a text that names its tool; texts after it belong to it.
    """
    parts: list[kinds.Part] = []
    said: list[Said] = []
    result: list[str] | None = None
    for block in _blocks(reading, message):
        value = mapping(block)
        kind = text(value.get("type"))
        if kind == "text":
            written = reading.text(value, "text")
            head = result_head(written) if not own_id else None
            if head is not None:
                _close_result(reading, result)
                result = [head[0], head[1]]
            elif result is not None and not _is_said(written):
                result.append(written)
            else:
                said += pieces(written)
        elif kind in ("tool_result", "tool-result"):
            _read_result(reading, value)
        elif kind in MEDIA_TYPES:
            part, document, is_readable = media_part(value)
            if not is_readable:
                reading.wrong("content.source.data", "bad_base64")
            parts.append(part)
            said += [Said(document, False)] if document else []
        elif kind == "file":
            path = text(value.get("path")) or text(value.get("filename"))
            parts.append(kinds.Part("file", path=path))
            content = text(value.get("content"))
            said += [Said(content, False)] if content else []
        else:
            reading.unknown(f"user/{kind}", without_opaque(block), native_id=name_of(reading, "block", block))
        _see_fields(reading, value)
    _close_result(reading, result)
    _give_user_text(reading, said, tuple(parts), own_id)


def _is_said(written: str) -> bool:
    """Say whether a text after a result is a thing of its own: tagged human text, or a notice of the harness."""
    found = pieces(written)
    return not found or any(piece.is_tagged for piece in found) or not found[0].is_human


def _give_user_text(reading: ClineReading, said: list[Said], parts: tuple[kinds.Part, ...], own_id: str) -> None:
    """Emit the texts of a user message. Once tags were seen around human text, text without them is not human."""
    if any(piece.is_tagged for piece in said) and not own_id:
        reading.set(is_wrapped=True)
    for piece in said:
        is_human = piece.is_human and (piece.is_tagged or bool(own_id) or not reading.now("is_wrapped"))
        if is_human:
            name = numbered(reading, own_id) if own_id else name_of(reading, "user", piece.text)
            reading.add(kinds.UserMessage(piece.text, parts=parts), native_id=name)
            parts = ()
        else:
            _give_injected(reading, piece.text, own_id)
    if parts:
        name = numbered(reading, f"{own_id}/parts") if own_id else name_of(reading, "user", *(p.sha256 for p in parts))
        reading.add(kinds.UserMessage(parts=parts), native_id=name)


def _give_injected(reading: ClineReading, said: str, own_id: str) -> None:
    name = numbered(reading, f"{own_id}/injected") if own_id else name_of(reading, "injected", said)
    reading.add(kinds.UserMessage(said, "injected"), native_id=name)
    cwd = cwd_in(said)
    if cwd and is_storable(cwd) and cwd != reading.now("cwd"):
        reading.set(cwd=cwd)
        reading.add(kinds.Lifecycle("cwd", cwd=cwd), native_id=f"{name}/cwd")


def _close_result(reading: ClineReading, result: list[str] | None) -> None:
    """Emit the result of an XML call: the oldest call of that tool that still waits."""
    if result is None:
        return
    tool, body = result[0], "\n".join(filter(None, result[1:]))
    asked: tuple[str, ...] = reading.now("asked")
    names = {call.call_id: call.name for call in reading.now("waiting")}
    call_id = next((asked_id for asked_id in asked if names.get(asked_id) == tool), "")
    reading.set(asked=tuple(other for other in asked if other != call_id))
    give_result(reading, call_id, body)


def _read_result(reading: ClineReading, block: dict[str, Any]) -> None:
    call_id = reading.text(block, "tool_use_id") or reading.text(block, "toolCallId")
    content: Json = block.get("content") if "content" in block else block.get("output")
    give_result(reading, call_id, content, is_error=block.get("is_error"))


def _see_fields(reading: ClineReading, block: dict[str, Any]) -> None:
    kind = block.get("type")
    known = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if known is not None and not block.keys() <= known:
        extra = {k: without_opaque(v) for k, v in block.items()}
        reading.extra(extra, known, str(kind), native_id=name_of(reading, "block", block))
