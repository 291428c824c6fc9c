"""Results of tools, and the edits that went with the good ones."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from recollect.agents.droid.state import Reading
from recollect.agents.kit.access import mapping
from recollect.agents.kit.calls import arrived, give_edits
from recollect.agents.kit.content.anthropic import content_parts, content_text
from recollect.agents.kit.naming import short
from recollect.model.payloads import ToolResult

_EXIT = re.compile(r"(?:exit(?:ed with)? code|exitCode)\"?:? ?(-?\d{1,9})\b", re.IGNORECASE)
_EXIT_CHARS = 300
"""A command's exit code stands in the first line of its result, or in the last."""
_JSON_CHARS = 65_536


def operation_of(name: str) -> Literal["create", "modify"]:
    """Return what an editing tool does to a file whose text it is given whole."""
    return "create" if name.lower() == "create" else "modify"


def read_result(reading: Reading, block: dict[str, Any]) -> None:
    """Give a tool's result and the edits it stands for."""
    call_id = reading.text(block, "tool_use_id")
    content = block.get("content")
    add_result(reading, call_id, content_text(content), block.get("is_error"), content)


def add_result(reading: Reading, call_id: str, body: str, is_error: object, content: object = None) -> None:
    """Give a result by its text. Old versions mark a failure in the text only: `Error: …`, an exit code, `success`."""
    call = arrived(reading, call_id)
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    success = _said(body).get("success")
    exit_code = _exit_code(body)
    has_failed = body.startswith("Error:") or bool(exit_code) or success is False
    ok = not is_error if isinstance(is_error, bool) else not has_failed
    parts, are_readable = content_parts(content)
    if not are_readable:
        reading.wrong("tool_result.content.source.data", "bad_base64")
    native_id = f"result:{short(call_id)}" if call_id else None
    reading.add(
        ToolResult(call_id, call.name, ok and success is not False, exit_code, body, parts=parts),
        "tool",
        native_id=native_id,
    )
    if ok and success is not False:
        give_edits(reading, call.edits, short(call_id))


def _said(body: str) -> dict[str, Any]:
    """Return what a result that is a JSON object says."""
    if not body.startswith("{") or len(body) > _JSON_CHARS:
        return {}
    try:
        return mapping(msgspec.json.decode(body.encode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return {}


def _exit_code(body: str) -> int | None:
    first, last = body[:_EXIT_CHARS].partition("\n")[0], body[-_EXIT_CHARS:].rstrip().rpartition("\n")[2]
    found = _EXIT.search(first) if first.startswith("Error:") else None
    found = found or (_EXIT.search(last) if last.startswith(("[", "Process", "Error", "Exit")) else None)
    return int(found[1]) if found else None
