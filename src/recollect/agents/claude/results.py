"""Parses tool results: the result block and the structured `toolUseResult` beside it.

The block is what the model saw; `toolUseResult` adds streams, counts and applied edits. What it repeats of the block or
of the call's own arguments is left out, so that no text is indexed twice.
Evidence: format notes: Claude Code, "how things are represented", trap 9.
"""

import re
from typing import Any, Literal

from recollect.agents.claude.state import Reading
from recollect.agents.kit.adapter import note_type
from recollect.agents.kit.content import base64_part, content_parts, content_text, is_opaque
from recollect.agents.kit.values import items, mapping, text, whole, word_set
from recollect.model.payloads import FileEdit, Json, Part, ToolResult

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (-?\d{1,9})\b")
_EXIT_TAG = re.compile(r"<exit_code>(-?\d{1,9})</exit_code>")
_TAG_WINDOW_CHARS = 400
"""The state of a background command is written at the start of its output."""
_EDIT_KEYS = word_set("filePath oldString newString originalFile originalFileContents structuredPatch edits content")
_NOTEBOOK_KEYS = frozenset(("notebook_path", "new_source", "original_file", "updated_file"))
_CALL_KEYS = frozenset(("prompt", "newTodos", "oldTodos"))
"""Arguments of the call itself, or of an earlier one, said again."""
_RESULT_BLOCKS = frozenset(("text", "image", "document", "search_result", "tool_reference"))
_DURATIONS = {"durationMs": 1, "totalDurationMs": 1, "durationSeconds": 1000}
"""Fields that say how long a tool ran, and their length in milliseconds."""
_NO_DEPTH = 6
_SHORT_CHARS = 100
_MAX_LEAVES = 400
"""Beyond this many values a structured result is kept as it is, without looking for repetitions."""


def read_tool_results(reading: Reading, blocks: list[dict[str, Any]]) -> None:
    """Emit the results of a user record, and the edits that they applied.

    `toolUseResult` belongs to the record; where a record holds several results it is taken for the first.
    """
    extra = reading.record.get("toolUseResult")
    for i, block in enumerate(blocks):
        own = extra if i == 0 else None
        result = _result(reading, block, own)
        reading.add(result)
        if isinstance(own, dict) and result.ok is not False:
            edit = _edit(reading, own, result.call_id)
            if edit is not None:
                reading.add(edit)


def _result(reading: Reading, block: dict[str, Any], extra: Json) -> ToolResult:
    call_id = reading.text(block, "tool_use_id")
    content = block.get("content")
    body = content if isinstance(content, str) else content_text(content)
    parts: tuple[Part, ...] = ()
    if isinstance(content, list):
        _note_blocks(reading, content)
        parts, are_readable = content_parts(content)
        if not are_readable:
            reading.wrong("tool_result.content.source.data", "bad_base64")
    elif content is not None and not isinstance(content, str):
        reading.wrong("tool_result.content")
    structured: Json = None
    duration_ms: int | None = None
    facts: dict[str, Any] = {}
    if isinstance(extra, dict):
        facts = extra
        if not body:
            body = "\n".join(s for s in (text(extra.get("stdout")), text(extra.get("stderr"))) if s)
        if not parts:
            parts = _file_image(extra)
        structured = _beyond(extra, body)
        duration_ms = _duration_ms(extra)
    elif isinstance(extra, str):
        if not body:
            body = extra
        elif extra.removeprefix("Error: ") not in body:
            structured = extra
    elif isinstance(extra, list):
        structured = _prune(extra, body, 0)
    elif extra is not None:
        reading.wrong("toolUseResult")
    is_error = block.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    return ToolResult(
        call_id=call_id,
        name=reading.called(call_id),
        ok=_ok(is_error, extra, facts),
        exit_code=_exit_code(body, facts),
        text=body,
        structured=structured,
        duration_ms=duration_ms,
        parts=parts,
    )


def _note_blocks(reading: Reading, content: list[Any]) -> None:
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind not in _RESULT_BLOCKS:
            note_type(reading.drift, f"tool_result/{kind}")


def _ok(is_error: object, extra: Json, facts: dict[str, Any]) -> bool:
    """A result without `is_error` is a success: that is the API's default, and the agent writes failures out."""
    if is_error is True or facts.get("interrupted") is True or facts.get("success") is False:
        return False
    if is_error is False:
        return True
    return not (isinstance(extra, str) and extra.startswith("Error:")) and facts.get("is_error") is not True


def _exit_code(body: str, facts: dict[str, Any]) -> int | None:
    stated = whole(facts.get("exitCode"))
    if stated is not None:
        return stated
    if body.startswith(("Exit code ", "Error: Exit code ")):
        found = _EXIT_CODE.match(body)
        return int(found[1]) if found else None
    if body.startswith("<"):
        found = _EXIT_TAG.search(body, 0, _TAG_WINDOW_CHARS)
        return int(found[1]) if found else None
    return None


def _duration_ms(extra: dict[str, Any]) -> int | None:
    for key, factor in _DURATIONS.items():
        value = extra.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return whole(float(round(value * factor))) if abs(value) < 1e15 else None
    return None


def _file_image(extra: dict[str, Any]) -> tuple[Part, ...]:
    """Return the image that a Read gave, where only the structured result holds it."""
    if extra.get("type") != "image":
        return ()
    file = mapping(extra.get("file"))
    part, is_readable = base64_part("image", text(file.get("type")), file.get("base64"))
    return (part,) if is_readable else ()


def _beyond(extra: dict[str, Any], body: str) -> Json:
    """Return what a structured result holds beyond the text and the edits; None when nothing."""
    left_out = _CALL_KEYS
    if "filePath" in extra and _is_edit(extra):
        left_out = _CALL_KEYS | _EDIT_KEYS
    elif "new_source" in extra:
        left_out = _CALL_KEYS | _NOTEBOOK_KEYS
    rest: dict[str, Any] = {}
    for key, value in extra.items():
        if not value or key in left_out or (key in _DURATIONS and isinstance(value, int | float)):
            continue
        if key == "stdout" and extra.get("isImage") is True:
            continue
        if key == "file" and isinstance(value, dict):
            kept = _prune(_file(value, body), body, 0)
        else:
            kept = _prune(value, body, 0) if isinstance(value, dict | list | str) else value
        if kept is not None:
            rest[key] = kept
    return rest or None


def _file(file: dict[str, Any], body: str) -> dict[str, Any]:
    """Return a file that was read, without the content that the text repeats with line numbers."""
    content = file.get("content")
    if not isinstance(content, str) or not _is_numbered(content, body):
        return file
    return {k: v for k, v in file.items() if k != "content"}


def _is_numbered(content: str, body: str) -> bool:
    """Say whether `body` shows the content, as it is or with line numbers, by its first and last line."""
    if content == body:
        return True
    end = len(content) - 1 if content.endswith("\n") else len(content)
    first = content[: content.find("\n") + 1 or end].rstrip("\n")
    last = content[content.rfind("\n", 0, end) + 1 : end]
    return len(body) >= end and first in body and body.rfind(last) >= 0


def _prune(value: Json, body: str, depth: int) -> Json:
    """Return decoded JSON without what `body` says too, empty values and opaque bytes; None when nothing is left."""
    if isinstance(value, str):
        return value if value and not _repeats(value, body) else None
    if isinstance(value, dict):
        if depth >= _NO_DEPTH or len(value) > _MAX_LEAVES:
            return value
        kept = {k: _prune(v, body, depth + 1) for k, v in value.items() if not is_opaque(k, v)}
        return {k: v for k, v in kept.items() if v is not None} or None
    if isinstance(value, list):
        if depth >= _NO_DEPTH or len(value) > _MAX_LEAVES:
            return value
        if all(isinstance(v, str) for v in value) and _repeats("\n".join(value), body):
            return None
        return [v for v in (_prune(v, body, depth + 1) for v in value) if v is not None] or None
    return value


def _repeats(value: str, body: str) -> bool:
    """Say whether `body` holds a text. Short ones are not looked for: keeping them is cheaper."""
    return value == body or (len(value) >= _SHORT_CHARS and value.strip() in body)


def _is_edit(extra: dict[str, Any]) -> bool:
    return (
        "structuredPatch" in extra
        or "newString" in extra
        or "edits" in extra
        or (extra.get("type") in ("create", "update") and "content" in extra)
    )


def _edit(reading: Reading, extra: dict[str, Any], call_id: str) -> FileEdit | None:
    if "filePath" in extra and _is_edit(extra):
        path = reading.text(extra, "filePath")
        is_new = extra.get("type") == "create" or ("originalFile" in extra and extra["originalFile"] is None)
        operation: Literal["create", "modify"] = "create" if is_new else "modify"
        diff = _hunks(reading, extra) or _replacements(extra)
        if diff:
            return FileEdit(path, operation, diff=diff, call_id=call_id)
        after = extra.get("content") if isinstance(extra.get("content"), str) else extra.get("newString")
        before = extra.get("oldString")
        return FileEdit(
            path,
            operation,
            before if isinstance(before, str) and not is_new else None,
            after if isinstance(after, str) else None,
            call_id=call_id,
        )
    if "new_source" in extra and not extra.get("error"):
        source = extra.get("new_source")
        path = text(extra.get("notebook_path"))
        return FileEdit(path, after=source if isinstance(source, str) else None, call_id=call_id)
    return None


def _hunks(reading: Reading, extra: dict[str, Any]) -> str:
    """Return `structuredPatch` as unified hunks."""
    lines: list[str] = []
    for hunk in reading.items(extra, "structuredPatch"):
        if not isinstance(hunk, dict):
            reading.wrong("structuredPatch")
            continue
        old = f"{whole(hunk.get('oldStart')) or 0},{whole(hunk.get('oldLines')) or 0}"
        new = f"{whole(hunk.get('newStart')) or 0},{whole(hunk.get('newLines')) or 0}"
        lines.append(f"@@ -{old} +{new} @@")
        lines.extend(line for line in items(hunk.get("lines")) if isinstance(line, str))
    return "\n".join(lines)


def _replacements(extra: dict[str, Any]) -> str:
    """Return the edits of a MultiEdit without a patch as hunks without places."""
    lines: list[str] = []
    for edit in items(extra.get("edits")):
        old, new = text(mapping(edit).get("old_string")), text(mapping(edit).get("new_string"))
        if old or new:
            lines.append("@@")
            lines.extend("-" + line for line in old.split("\n") if old)
            lines.extend("+" + line for line in new.split("\n") if new)
    return "\n".join(lines)
