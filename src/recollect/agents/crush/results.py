"""Results of tools, and the edits they made.

The metadata of a result are JSON inside text. A command that failed is no error to Crush: its exit code stands at the
end of the output. Evidence: Crush's published sources of its tools `bash`, `edit`, `multiedit` and `write`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.crush.state import Reading, called
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.content.anthropic import base64_part
from recollect.agents.kit.naming import MAX_PATH_CHARS, short
from recollect.model.payloads import FileEdit, Json, Lifecycle, Part, ToolResult

_RESULT = frozenset(("tool_call_id", "name", "content", "data", "mime_type", "metadata", "is_error"))
_EXIT = re.compile(r"(?:^|\n)Exit code (-?\d{1,9})(?:\n+<cwd>[^\n]*</cwd>)?\s*$")
_TAIL_CHARS = 4000
_ABORTED = "Command was aborted before completion"
_EDITORS = frozenset(("edit", "multiedit", "write", "patch"))
_EDIT_FACTS = frozenset(("old_content", "new_content", "diff"))
_SHELLS = frozenset(("bash", "shell", "job_output"))


def read_result(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Give the result of a call, and what it edited."""
    call_id = reading.text(data, "tool_call_id") or name
    tool, path = called(reading, call_id)
    tool = reading.text(data, "name") or tool
    body = reading.text(data, "content")
    facts = _facts_of(reading, data)
    exit_code = _exit_code(tool, body)
    is_aborted = tool in _SHELLS and _ABORTED in body[-_TAIL_CHARS:]
    is_error = data.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    has_failed = is_error is True or exit_code not in (None, 0) or is_aborted
    start, end = whole(facts.get("start_time")), whole(facts.get("end_time"))
    reading.add(
        ToolResult(
            call_id=call_id,
            name=tool,
            ok=not has_failed,
            exit_code=exit_code,
            text=body,
            structured=_beyond(tool, facts, body),
            duration_ms=end - start if start is not None and end is not None and end >= start else None,
            parts=_media(reading, data),
        ),
        "tool",
        native_id=f"result:{call_id}",
    )
    if not has_failed:
        _give_edit(reading, tool, path, facts, call_id)
    _see_folder(reading, facts, call_id)
    reading.extra(data, _RESULT, "tool_result", native_id=f"result:{call_id}")


def _facts_of(reading: Reading, data: dict[str, Any]) -> dict[str, Any]:
    written = data.get("metadata")
    if isinstance(written, dict):
        return written
    if not isinstance(written, str) or not written:
        return {}
    try:
        decoded = msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        reading.wrong("tool_result.metadata", "not_json")
        return {"metadata": written}
    return decoded if isinstance(decoded, dict) else {"metadata": decoded}


def _exit_code(tool: str, body: str) -> int | None:
    if tool not in _SHELLS:
        return None
    found = _EXIT.search(body[-_TAIL_CHARS:])
    return int(found[1]) if found else None


def _beyond(tool: str, facts: dict[str, Any], body: str) -> Json:
    """Return the metadata without what the output, the duration or an edit already say."""
    skipped = _EDIT_FACTS if tool in _EDITORS else frozenset[str]()
    rest = {}
    for key, value in facts.items():
        if key in skipped or key in ("start_time", "end_time") or value in (None, "", [], {}):
            continue
        if isinstance(value, str) and value.strip() in body:
            continue
        rest[key] = value
    return rest or None


def _media(reading: Reading, data: dict[str, Any]) -> tuple[Part, ...]:
    if not data.get("data"):
        return ()
    media_type = text(data.get("mime_type"))
    kind = "image" if media_type.startswith("image/") else "file"
    part, is_readable = base64_part(kind, media_type, data.get("data"))
    if not is_readable:
        reading.wrong("tool_result.data", "bad_base64")
    return (part,)


def _give_edit(reading: Reading, tool: str, path: str, facts: dict[str, Any], call_id: str) -> None:
    if tool not in _EDITORS:
        return
    path = path or text(facts.get("file_path")) or text(facts.get("path"))
    before, after = facts.get("old_content"), facts.get("new_content")
    if isinstance(before, str) or isinstance(after, str):
        # An empty side is left out by the producer.
        old, new = text(before), text(after)
        edit = FileEdit(path, "modify" if old else "create", old or None, new, call_id=call_id)
    else:
        edit = FileEdit(path, diff=text(facts.get("diff")), call_id=call_id)
    if path:
        reading.add(edit, "tool", native_id=f"edit:{call_id}:{path}")


def _see_folder(reading: Reading, facts: dict[str, Any], call_id: str) -> None:
    """Give the folder that commands run in, when it is another than before."""
    folder = text(mapping(facts).get("working_directory"))
    if folder and short(folder, MAX_PATH_CHARS) != reading.now("cwd"):
        reading.set(cwd=short(folder, MAX_PATH_CHARS))
        reading.add(Lifecycle("cwd", cwd=folder), native_id=f"cwd:{call_id}")
