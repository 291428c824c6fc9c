"""Actions and their results: commands of a shell, some of which are SWE-agent's own tools.

Evidence: recorded trajectories of 0.7 to 1.0.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.kit.access import text
from recollect.agents.kit.edits import edits_asked
from recollect.agents.sweagent.state import Acting, SweAgentReading
from recollect.model.payloads import FileEdit, ToolResult
from recollect.model.tools import canonical_tool

_REFUSED = re.compile(
    r"Your proposed edit has introduced new syntax error|No replacement was performed|Your edit was not applied"
)
_APPLIED = re.compile(
    r"has been edited|File (?:created|updated)|Text replaced|Replaced \d+ occurrence|\A\[File: .{1,1000}? \(\d+ "
    r"lines total\)\]"
)
_FILE = re.compile(r"\[File: (.{1,1000}?) \(\d+ lines total\)\]")
_OPEN = re.compile(r"\(Open file: (/.{1,1000}?)\)$", re.MULTILINE)
_TAIL_CHARS = 2000
_NEWS = ("replacement_text", "text")
MAX_ARGUMENT_CHARS = 20_000


def tool_of(action: str) -> tuple[str, str]:
    """Return name and canonical name of an action that is a line of a shell: its first word, where that is a tool."""
    words = action.split(None, 1)
    name = words[0] if words else ""
    found = canonical_tool(name)
    return (name, found) if found not in ("other", "mcp") else ("bash", "shell")


def canonical_of(name: str, arguments: Any) -> str:
    """Return the canonical name of a called function; the file editor reads too."""
    found = canonical_tool(name)
    is_view = isinstance(arguments, dict) and arguments.get("command") == "view"
    return "read" if found == "edit" and is_view else found


def add_result(reading: SweAgentReading, acting: Acting, said: str) -> None:
    """Give the result of an action, and the edit it applied. Only of edits it is known that they failed."""
    canonical = canonical_tool(acting.tool)
    is_refused = canonical == "edit" and _REFUSED.search(said) is not None
    is_applied = canonical == "edit" and not is_refused and _APPLIED.search(said) is not None
    ok = False if is_refused else True if is_applied else None
    result = ToolResult(acting.call_id, acting.tool, ok, text=said, duration_ms=acting.duration_ms)
    reading.add(result, "tool", native_id=f"{acting.name}/result")
    if is_applied:
        for i, edit in enumerate(_edits(acting, said)):
            reading.add(edit, "tool", native_id=f"{acting.name}/edit:{i}")


def _edits(acting: Acting, said: str) -> list[FileEdit]:
    """Return what an edit changed, as the call asked for it. Line edits say what was put in, not what stood there."""
    try:
        arguments = msgspec.json.decode(acting.arguments) if acting.arguments else {}
    except (ValueError, RecursionError):
        arguments = {}
    if not isinstance(arguments, dict) or arguments.get("command") == "view":
        return []
    found = _FILE.search(said) or _OPEN.search(said[-_TAIL_CHARS:])
    shown = found[1] if found else acting.path
    is_new = acting.tool == "create" or arguments.get("command") == "create"
    edits = [
        msgspec.structs.replace(
            edit, path=edit.path or shown, operation="create" if is_new else edit.operation, call_id=acting.call_id
        )
        for edit in edits_asked(acting.tool, arguments)
    ]
    if edits:
        return edits
    put = next((text(arguments.get(name)) for name in _NEWS if text(arguments.get(name))), None)
    return [FileEdit(shown, "create" if is_new else "modify", None, put, call_id=acting.call_id)]
