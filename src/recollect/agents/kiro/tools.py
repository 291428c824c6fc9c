"""Calls and results, as all three generations of the CLI write them.

A command's failure is often told only by the exit status inside a result that succeeded.
Evidence: format notes: Kiro; types of the CLI's open predecessor.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kiro.state import KiroReading
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.calls import arrived, expect, give_edits
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.edits import edits_of, insertion_of
from recollect.agents.kit.naming import name_of
from recollect.model.payloads import FileEdit, Json, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_EDITORS = frozenset(("fs_write", "write", "fswrite", "fsappend", "strreplace", "fs_append", "str_replace"))
_OK = {"success": True, "error": False}
_EXIT = ("exit_status", "exitStatus", "exit_code", "exitCode")


def give_call(reading: KiroReading, call_id: str, name: str, arguments: Json, message_id: str) -> None:
    """Give a tool call, and remember it until its result comes."""
    call = ToolCall(call_id, name, "mcp" if name.startswith("@") else canonical_tool(name), arguments, message_id)
    reading.add(
        call, "assistant", native_id=f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments)
    )
    expect(reading, call_id, name, _asked_edits(name, arguments))


def _asked_edits(name: str, arguments: Json) -> tuple[FileEdit, ...]:
    key = name.lower()
    if key not in _EDITORS:
        return ()
    command = text(mapping(arguments).get("command")).lower()
    if command in ("insert", "append") or key.endswith("append"):
        return insertion_of(arguments)
    return edits_of(arguments, "create" if command == "create" else "modify")


def give_result(reading: KiroReading, value: dict[str, Any], tool: Json = None) -> None:
    """Give a result: `{toolUseId | tool_use_id, content, status}`; tool: what the agent says of the tool itself."""
    call_id = reading.text(value, "toolUseId") or reading.text(value, "tool_use_id")
    status = reading.text(value, "status").lower()
    reading.odd_value("toolResult.status", status, frozenset(_OK))
    blocks = reading.items(value, "content")
    exit_code = next((code for code in map(_exit_code, blocks) if code is not None), None)
    ok = False if exit_code else _OK.get(status)
    call = arrived(reading, call_id)
    body = "\n".join(filter(None, map(_block_text, blocks)))
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", value)
    structured = {"tool": without_opaque(tool)} if tool else None
    reading.add(ToolResult(call_id, call.name, ok, exit_code, body, structured), "tool", native_id=native_id)
    if ok is not False:
        give_edits(reading, call.edits, call_id)


def _content(block: Json) -> Json:
    """Return what a block of a result holds: `{kind, data}` in lines, `{Text | Json: …}` in the database."""
    value = mapping(block)
    if "kind" in value:
        return value.get("data")
    for key in ("Text", "Json", "text", "json"):
        if key in value:
            return value[key]
    return block


def _exit_code(block: Json) -> int | None:
    facts = mapping(_content(block))
    return next((code for code in (whole(facts.get(key)) for key in _EXIT) if code is not None), None)


def _block_text(block: Json) -> str:
    content = _content(block)
    facts = mapping(content)
    if "stdout" in facts or "stderr" in facts:
        rest = {k: v for k, v in facts.items() if k not in ("stdout", "stderr", *_EXIT)}
        streams = [text(facts.get("stdout")), text(facts.get("stderr")), flatten(without_opaque(rest))]
        return "\n".join(filter(None, streams))
    return content if isinstance(content, str) else flatten(without_opaque(content))
