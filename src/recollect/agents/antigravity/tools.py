"""Calls and their results, which nothing but their type and order joins."""

from __future__ import annotations

import re

import msgspec

from recollect.agents.antigravity.state import Reading
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.addresses import path_of_address
from recollect.agents.kit.calls import Waiting, arrived, give_edits
from recollect.model.payloads import FileEdit, Json, Lifecycle, ToolResult
from recollect.model.tools import canonical_tool

RESULTS: dict[str, frozenset[str]] = {
    "LIST_DIRECTORY": frozenset(("list_dir", "list_directory")),
    "VIEW_FILE": frozenset(("view_file", "view_file_outline", "view_code_item")),
    "RUN_COMMAND": frozenset(("run_command",)),
    "COMMAND_STATUS": frozenset(("command_status",)),
    "SEND_COMMAND_INPUT": frozenset(("send_command_input",)),
    "CODE_ACTION": frozenset(("write_to_file", "write_file", "replace_file_content", "multi_replace_file_content")),
    "GREP_SEARCH": frozenset(("grep_search",)),
    "FIND": frozenset(("find_by_name",)),
    "SEARCH_WEB": frozenset(("search_web",)),
    "READ_URL_CONTENT": frozenset(("read_url_content", "view_content_chunk")),
    "GENERATE_IMAGE": frozenset(("generate_image",)),
    "BROWSER_SUBAGENT": frozenset(("browser_subagent",)),
    "INVOKE_SUBAGENT": frozenset(("invoke_subagent",)),
    "MCP_TOOL": frozenset(),
    "GENERIC": frozenset(),
}
"""The type of a result's step, and the tools that it may answer; none: any."""
_EXIT = re.compile(r"exit code:? ?(-?\d{1,9})\b", re.IGNORECASE)
_FIRST_CHARS = 400
_FAILURES = ("error", "the command failed", "failed", "encountered error", "the user rejected", "the user denied")
_HIDDEN = frozenset(("ERROR",))


def decoded_arguments(arguments: Json) -> Json:
    """Return a call's arguments. Each value is JSON in a text: `{"TargetFile": "\\"/a.py\\""}`."""
    if not isinstance(arguments, dict):
        return arguments
    return {key: _decoded(value) for key, value in arguments.items()}


def _decoded(value: Json) -> Json:
    if not isinstance(value, str) or not value or (value[0] not in '"[{' and value not in ("true", "false", "null")):
        return value
    try:
        return msgspec.json.decode(value.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return value


def edits_of_call(name: str, arguments: Json) -> tuple[FileEdit, ...]:
    """Return what a call will have changed if it goes well."""
    if canonical_tool(name) != "edit":
        return ()
    given = mapping(arguments)
    path = path_of_address(text(given.get("TargetFile")))
    whole = given.get("CodeContent")
    chunks = [mapping(chunk) for chunk in items(given.get("ReplacementChunks"))] or [given]
    found = [
        FileEdit(path, "modify", text(chunk.get("TargetContent")), text(chunk.get("ReplacementContent")))
        for chunk in chunks
        if "TargetContent" in chunk or "ReplacementContent" in chunk
    ]
    if found or not path:
        return tuple(found)
    return (FileEdit(path, "modify", after=whole if isinstance(whole, str) else None),)


def read_result(reading: Reading, kind: str, said: str) -> None:
    """Give a step that is a tool's result. Failures are told by the step's status, or by how the text begins."""
    call = _answered(reading, kind)
    first = said[:_FIRST_CHARS]
    found = _EXIT.search(first)
    code = int(found[1]) if found is not None else None
    begins_badly = _without_times(first).lower().startswith(_FAILURES)
    ok = not code and not begins_badly and text(reading.value.get("status")) not in _HIDDEN
    payload = ToolResult(call.call_id, call.name or kind.lower(), ok, code, said)
    reading.add(payload, "tool")
    if ok:
        give_edits(reading, call.edits, call.call_id)
    if "user" in first.lower() and begins_badly:
        reading.add(Lifecycle("permission", text=first, call_id=call.call_id), native_id=f"{reading.native_id}/denied")


def _answered(reading: Reading, kind: str) -> Waiting:
    """Return the oldest waiting call that a result of this type may answer; a step that nobody called for has none."""
    names = RESULTS[kind]
    waiting: tuple[Waiting, ...] = reading.now("waiting")
    call = next((call for call in waiting if not names or call.name in names), None)
    return arrived(reading, call.call_id) if call is not None else Waiting("")


def _without_times(said: str) -> str:
    """Return a result without the lines `Created At: …`, `Completed At: …` at its beginning."""
    lines = said.split("\n")
    while lines and (not lines[0] or lines[0].startswith(("Created At:", "Completed At:"))):
        lines.pop(0)
    return "\n".join(lines).lstrip()
