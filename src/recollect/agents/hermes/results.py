"""Results of tools: most are a JSON object in a text, with output, exit code and error apart.

Evidence: format notes: Hermes Agent; the agent's terminal and file tools.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.hermes.state import Reading
from recollect.agents.kit.access import items, text, whole
from recollect.agents.kit.calls import Waiting, arrived, file_edits
from recollect.agents.kit.content.openai import chat_content
from recollect.model.payloads import FileEdit, Json, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_TEXTS = ("output", "content", "result")
"""Fields of a result that hold what the tool printed."""


def read_result(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> None:
    """Give the result of a call, and the edits of files that it says were made."""
    call_id = reading.text(row, "tool_call_id")
    call = arrived(reading, call_id)
    name = text(row.get("tool_name")) or text(row.get("name")) or (call.name if call is not None else "")
    written, parts, is_readable = chat_content(content)
    if not is_readable:
        reading.wrong("content", "bad_base64")
    envelope = _envelope(written)
    body, structured = _split(envelope, written)
    exit_code = whole(envelope.get("exit_code"))
    ok = _ok(envelope, exit_code, reading.text(row, "finish_reason"))
    disposition = text(row.get("effect_disposition"))
    if disposition:
        structured = {**structured, "effect_disposition": disposition}
    reading.add(ToolResult(call_id, name, ok, exit_code, body, structured or None, parts=parts), "tool", native_id=mid)
    if ok is not False:
        for number, edit in enumerate(_edits(call, envelope), 1):
            reading.add(edit, "tool", native_id=f"{mid}/edit/{number}")


def _envelope(written: str) -> dict[str, Any]:
    if not written.startswith("{"):
        return {}
    try:
        found = msgspec.json.decode(written)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _split(envelope: dict[str, Any], written: str) -> tuple[str, dict[str, Any]]:
    """Return what the tool printed, and the rest of its envelope."""
    key = next((k for k in _TEXTS if isinstance(envelope.get(k), str)), None)
    error = envelope.get("error")
    if key is None:
        return (error, _without(envelope, "error")) if isinstance(error, str) and error else (written, {})
    printed = envelope[key]
    if isinstance(error, str) and error and error not in printed:
        printed = f"{printed}\n{error}" if printed else error
    return printed, _without(envelope, key, "error" if isinstance(error, str | None) else key)


def _without(envelope: dict[str, Any], *left_out: str) -> dict[str, Any]:
    names = ("exit_code", *left_out)
    return {k: v for k, v in envelope.items() if k not in names and v not in (None, "", [], {})}


def _ok(envelope: dict[str, Any], exit_code: int | None, finish_reason: str) -> bool | None:
    if finish_reason == "error" or envelope.get("error") or envelope.get("success") is False:
        return False
    if envelope.get("status") == "error" or envelope.get("is_error") is True:
        return False
    if exit_code is not None:
        return exit_code == 0
    return True if envelope.get("success") is True or "error" in envelope else None


def _edits(call: Waiting | None, envelope: dict[str, Any]) -> list[FileEdit]:
    """Return the edits of a call that went well: as the result's diff where it has one, else as the call asked."""
    if call is None or canonical_tool(call.name) != "edit":
        return []
    diff = text(envelope.get("diff"))
    paths = [p for k in ("files_modified", "files_created", "files_deleted") for p in items(envelope.get(k))]
    if not diff:
        return file_edits(call)
    if call.edits and call.edits[0].before is not None:
        return file_edits(call)
    path = call.edits[0].path if call.edits else flatten(paths[0]) if paths else ""
    return [FileEdit(path, diff=diff, call_id=call.call_id)]
