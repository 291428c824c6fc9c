"""Tool calls of a thread, their results, and the edits that these state."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.edits import edits_of
from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.payloads import FileEdit, Json, Lifecycle, Part, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_CALL = frozenset(("id", "name", "input", "raw_input", "is_input_complete", "thought_signature"))
_RESULT = frozenset(("tool_use_id", "tool_name", "is_error", "content", "output"))
_EXIT = re.compile(r"(?:failed|exited) with (?:exit )?code:? (-?\d{1,9})\b")
_EXIT_WINDOW_CHARS = 400
"""The terminal tool says how a command failed before its output."""
_CANCELED = "Tool canceled by user"
_EDITS = frozenset(("edit_file", "create_file", "write_file", "streaming_edit_file", "save_file"))
_EDIT_OUTPUT = frozenset(("input_path", "original_path", "new_text", "old_text", "diff", "edit_agent_output"))


def calls_in(content: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the calls among the segments of a message, by id."""
    uses = [mapping(mapping(segment).get("ToolUse")) for segment in content]
    return {text(use.get("id")): use for use in uses if use}


def read_call(reading: Reading[BaseState], use: dict[str, Any], at: str) -> None:
    """Give a tool call. at: its name if it has no id."""
    call_id, name = reading.text(use, "id"), reading.text(use, "name")
    arguments = use.get("input")
    if arguments is None and text(use.get("raw_input")):
        arguments = use["raw_input"]
    payload = ToolCall(call_id, name, canonical_tool(name), arguments)
    reading.add(payload, "assistant", native_id=f"call:{call_id}" if call_id else at)
    reading.extra(use, _CALL, "ToolUse", native_id=f"call:{call_id}" if call_id else at)


def read_results(reading: Reading[BaseState], found: Json, calls: dict[str, dict[str, Any]], at: str) -> None:
    """Give the results of a message: a map by call, a list, or a list of bare ids, which says nothing."""
    if isinstance(found, dict):
        results = [(key, value) for key, value in found.items()]
    else:
        results = [(text(mapping(one).get("tool_use_id")), one) for one in items(found)]
    for n, (key, value) in enumerate(results):
        if isinstance(value, dict):
            call_id = text(value.get("tool_use_id")) or key
            _read_result(reading, value, calls.get(call_id, {}), call_id, f"{at}/result/{n}")
        elif not isinstance(value, str):
            reading.wrong("tool_results")
            reading.kept("tool_result", value, native_id=f"{at}/result/{n}")


def _read_result(
    reading: Reading[BaseState], value: dict[str, Any], use: dict[str, Any], call_id: str, at: str
) -> None:
    name = text(value.get("tool_name")) or text(use.get("name"))
    body, parts = _content(reading, value.get("content"))
    output = value.get("output")
    exit_code = _exit_code(body) if canonical_tool(name) == "shell" else None
    is_error = value.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    ok = is_error is not True and exit_code in (None, 0)
    payload = ToolResult(call_id, name, ok, exit_code, body, _structured(name, output, body), parts=parts)
    reading.add(payload, "tool", native_id=f"result:{call_id}" if call_id else at)
    if is_error is True and body.startswith(_CANCELED):
        reading.add(Lifecycle("interrupted", text=body, call_id=call_id), native_id=f"interrupted:{call_id}")
    if ok:
        for n, edit in enumerate(_edits(name, mapping(use.get("input")), mapping(output))):
            made = msgspec.structs.replace(edit, call_id=call_id)
            reading.add(made, "tool", native_id=f"edit:{call_id}:{n}" if call_id else f"{at}/edit/{n}")
    reading.extra(value, _RESULT, "tool_result", native_id=f"result:{call_id}" if call_id else at)


def _content(reading: Reading[BaseState], content: Json) -> tuple[str, tuple[Part, ...]]:
    """Return the text and the images of a result: one piece or several, tagged, typed or plain."""
    texts: list[str] = []
    parts: list[Part] = []
    for piece in content if isinstance(content, list) else [content]:
        one = mapping(piece)
        said = one.get("Text", one.get("text"))
        image = one.get("Image", one.get("image"))
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(said, str):
            texts.append(said)
        elif image is not None:
            source = image if isinstance(image, str) else mapping(image).get("source")
            part, is_readable = base64_part("image", "image/png", source)
            if not is_readable:
                reading.wrong("tool_result.Image", "bad_base64")
            parts.append(part)
        elif piece is not None:
            texts.append(flatten(without_opaque(piece)))
    return "\n".join(t for t in texts if t), tuple(parts)


def _exit_code(body: str) -> int | None:
    """Return how a command ended; a failure is written into the text, with `is_error: false`."""
    found = _EXIT.search(body[:_EXIT_WINDOW_CHARS]) or _EXIT.search(body[-_EXIT_WINDOW_CHARS:])
    return int(found[1]) if found else None


def _structured(name: str, output: Json, body: str) -> Json:
    """Return what a result states beyond its text and its edits."""
    if isinstance(output, dict):
        known = _EDIT_OUTPUT if name in _EDITS else frozenset[str]()
        output = {k: v for k, v in output.items() if k not in known and not (isinstance(v, str) and v in body)}
    if output in (None, "", [], {}) or (isinstance(output, str) and output in body):
        return None
    return without_opaque(output)


def _edits(name: str, given: dict[str, Any], output: dict[str, Any]) -> tuple[FileEdit, ...]:
    """Return the edits of a call that went well. The output states both texts of the file; its diff says it shorter."""
    if name == "delete_path":
        return (FileEdit(text(given.get("path")), "delete"),)
    if name == "move_path":
        moved = text(given.get("destination_path"))
        return (FileEdit(text(given.get("source_path")), "rename", new_path=moved),)
    if name == "copy_path":
        return (FileEdit(text(given.get("destination_path")), "create"),)
    if name not in _EDITS:
        return ()
    path = text(given.get("path")) or text(output.get("input_path")) or text(output.get("original_path"))
    before, after = output.get("old_text"), output.get("new_text")
    is_new = given.get("mode") == "create" or name == "create_file" or (before == "" and isinstance(after, str))
    diff = text(output.get("diff"))
    if diff and not is_new:
        return (FileEdit(path, diff=diff),)
    if isinstance(after, str):
        old = before if isinstance(before, str) and not is_new else None
        return (FileEdit(path, "create" if is_new else "modify", old, after),)
    return edits_of(given, "create" if is_new else "modify")
