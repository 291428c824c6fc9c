"""What came back from a tool: whether it went well, its text, its exit code, and the edits that it proves.

The harness tells failures in words, in `success` fields inside the content, or in the exit code of a command.
Evidence: format notes: Cline / Roo / Kilo; recorded sessions of the Cline SDK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.calls import arrived, expect, give_edits
from recollect.agents.kit.cline.state import ClineReading, record_id
from recollect.agents.kit.cline.tags import pieces, tagged
from recollect.agents.kit.content.anthropic import content_parts, content_text, without_opaque
from recollect.agents.kit.edits import Operation, edits_of, insertion_of
from recollect.agents.kit.naming import name_of
from recollect.model.payloads import FileEdit, Json, Origin, ToolCall, ToolResult, UserMessage
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_HEAD_CHARS = 2_000
_EXIT_CODE = re.compile(r"\b[Ee]xit(?:ed with)?(?: code)?[: ]{1,2}(-?\d{1,9})\b")
_COMMANDS = frozenset(("execute_command", "run_commands"))
_FAILURES = (
    "The tool execution failed",
    "The user denied this operation",
    "Error executing",
    "Error reading",
    "[ERROR]",
    "Command execution was not successful",
    "<error>",
    "Tool execution was not",
)
_OPERATION = re.compile(r'\boperation"?[>:]\s?"?(created|deleted)\b')
_EDITORS: dict[str, Operation] = {
    "write_to_file": "modify",
    "replace_in_file": "modify",
    "apply_diff": "modify",
    "insert_content": "modify",
    "search_and_replace": "modify",
    "search_replace": "modify",
    "edit": "modify",
    "edit_file": "modify",
    "apply_patch": "modify",
    "editor": "modify",
    "new_rule": "create",
    "delete_file": "delete",
}
_SPOKEN = {
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "act_mode_respond": "response",
    "ask_followup_question": "question",
    "ask_question": "question",
}
"""Tools by which the model speaks to the person, and the argument that it says: messages, not calls."""


def is_spoken(name: str) -> bool:
    """Say whether a tool is a way of speaking to the person."""
    return name in _SPOKEN


def _is_no_call(name: str) -> bool:
    """Say whether what comes back to a tool is words, since its call was given as a message or a compaction."""
    return name in _SPOKEN or name in ("summarize_task", "condense")


def spoken_in(name: str, arguments: Json) -> tuple[str, dict[str, Any]]:
    """Return what a call says to the person, and its other arguments."""
    key = _SPOKEN.get(name, "")
    given = mapping(arguments)
    return text(given.get(key)), {k: v for k, v in given.items() if k != key and v not in (None, "", [], {})}


def give_call(reading: ClineReading, call_id: str, name: str, arguments: Json) -> None:
    """Give a tool call, and remember it until its result comes."""
    canonical = "mcp" if name.startswith("mcp--") or "0mcp0" in name else canonical_tool(name)
    call = ToolCall(call_id, name, canonical, arguments, record_id(reading.value))
    reading.add(
        call, "assistant", native_id=f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments)
    )
    expect(reading, call_id, name, _asked_edits(name, arguments))


def _asked_edits(name: str, arguments: Json) -> tuple[FileEdit, ...]:
    operation = _EDITORS.get(name)
    if operation is None:
        return ()
    if name == "insert_content" or mapping(arguments).get("insert_line") is not None:
        return insertion_of(arguments)
    return edits_of(arguments, operation)


def give_result(reading: ClineReading, call_id: str, content: Json, *, is_error: object = None) -> None:
    """Give a tool's result, the edits that it proves, and what the person wrote into it."""
    call = arrived(reading, call_id)
    body, has_failed = _body(content)
    if _is_no_call(call.name):
        _give_answer(reading, body)
        return
    parts, are_readable = content_parts(content)
    if not are_readable:
        reading.wrong("tool_result.content.source.data", "bad_base64")
    head = body[:_HEAD_CHARS]
    exit_code = _exit_code(call.name, head)
    ok = is_error is not True and not has_failed and not head.lstrip().startswith(_FAILURES) and not exit_code
    result = ToolResult(call_id, call.name, ok, exit_code, body, parts=parts)
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", content)
    reading.add(result, "tool", native_id=native_id)
    if ok:
        give_edits(reading, _told(call.edits, head), call_id)
    for said in tagged(body):
        reading.add(UserMessage(said), "user", native_id=name_of(reading, "user", said))


def _give_answer(reading: ClineReading, body: str) -> None:
    """Give what came back to a question or a result of the model: the person's answer, or the harness's words."""
    for piece in pieces(body):
        origin: Origin = "human" if piece.is_tagged else "injected"
        name = name_of(reading, "user" if piece.is_tagged else "injected", piece.text)
        reading.add(UserMessage(piece.text, origin), "user", native_id=name)


def _told(edits: tuple[FileEdit, ...], head: str) -> Iterator[FileEdit]:
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
        value = _json_object(content)
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


def _json_object(written: str) -> dict[str, Any] | None:
    """Return the report that a text holds, None where it is any other text."""
    if not written.startswith('{"query"'):
        return None
    try:
        value = msgspec.json.decode(written)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def reasoning_text(block: dict[str, Any]) -> str:
    """Return the readable text of a reasoning item: its text, else its summaries."""
    said = text(block.get("thinking")) or text(block.get("text"))
    if said:
        return said
    summaries = (text(mapping(piece).get("text")) for piece in items(block.get("summary")))
    return "\n".join(filter(None, summaries))
