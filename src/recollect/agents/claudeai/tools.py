"""What tools were asked and gave back: shells in a sandbox, files in it, artifacts, and pages."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import base64_part, media_part, without_opaque
from recollect.agents.kit.edits import edits_asked
from recollect.model.payloads import FileEdit, Part
from recollect.model.text import flatten

_ARTIFACTS = "artifacts"
_CREATE = frozenset(("create_file", "create"))
_MEDIA = frozenset(("image", "document"))
_NAMES = ("returncode", "exit_code")


class Asked(NamedTuple):
    """A call that waits for its result."""

    call_id: str
    name: str
    arguments: dict[str, Any]


def result_text(content: Any) -> str:
    """Return the words of a result: texts as they are, pages with title and address, files by their path."""
    if isinstance(content, str):
        return content
    lines: list[str] = []
    for block in items(content):
        one = mapping(block)
        kind = text(one.get("type"))
        if kind == "text":
            lines.append(text(one.get("text")))
        elif kind == "knowledge":
            lines += [text(one.get("title")), text(one.get("url")), text(one.get("text"))]
        elif kind not in _MEDIA:
            body = {k: v for k, v in one.items() if k not in ("type", "uuid")} if one else block
            lines.append(flatten(without_opaque(body)))
    return "\n".join(line for line in lines if line)


def parts_of_result(content: Any) -> tuple[Part, ...]:
    """Return the pictures, documents and files that a result holds."""
    parts: list[Part] = []
    for one in map(mapping, items(content)):
        kind = text(one.get("type"))
        if kind in _MEDIA and isinstance(one.get("source"), dict):
            parts.append(media_part(one)[0])
        elif kind in _MEDIA:
            mime = text(one.get("mime_type")) or text(one.get("mimeType"))
            part = base64_part(kind, mime, one.get("data"))[0] if "data" in one else Part(kind, media_type=mime)
            parts.append(part if part.path else Part(kind, part.sha256, mime, part.bytes, text(one.get("file_uuid"))))
        elif kind == "local_resource":
            parts.append(Part("file", media_type=text(one.get("mime_type")), path=text(one.get("file_path"))))
    return tuple(parts)


def exit_code_of(words: str) -> int | None:
    """Return how a command ended: its result is a JSON text with `returncode`, and is no error for the page."""
    if not words.startswith("{") or not any(f'"{name}"' in words for name in _NAMES):
        return None
    try:
        found = mapping(msgspec.json.decode(words))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return next((whole(found[name]) for name in _NAMES if name in found), None)


def edits_of(call: Asked) -> list[FileEdit]:
    """Return the edits of a call that succeeded: of a file in the sandbox, or of an artifact under its title or id."""
    asked = call.arguments
    if call.name == _ARTIFACTS:
        path = text(asked.get("title")) or text(asked.get("id"))
        if text(asked.get("command")) == "update":
            return [FileEdit(path, "modify", _text(asked, "old_str"), _text(asked, "new_str"))]
        content = _text(asked, "content")
        if content is None:
            return []
        return [FileEdit(path, "create" if text(asked.get("command")) == "create" else "modify", after=content)]
    found = edits_asked(call.name, asked)
    if call.name in _CREATE:
        return [msgspec.structs.replace(edit, operation="create") for edit in found]
    return list(found)


def _text(asked: dict[str, Any], name: str) -> str | None:
    value = asked.get(name)
    return value if isinstance(value, str) else None
