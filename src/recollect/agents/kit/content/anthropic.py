"""Content blocks of the Anthropic Messages API, as several agents write them into their transcripts.

Tolerant: every function takes any decoded JSON. Opaque bytes (base64, signatures, encrypted content) never become text.
Evidence: format notes: Claude Code, "content blocks".
"""

from __future__ import annotations

import binascii
import hashlib
from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.model.payloads import Json, Part
from recollect.model.text import flatten

OPAQUE_KEYS = frozenset(("signature", "encrypted_content", "encrypted_index", "base64", "data"))
"""Keys that may hold bytes that nobody reads; see `is_opaque`."""

CALL_TYPES = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
MEDIA_TYPES = frozenset(("image", "document"))
_MAX_DEPTH = 32
_OPAQUE_CHARS = 64
"""Shorter values of these keys are words."""


def media_part(block: dict[str, Any]) -> tuple[Part, str, bool]:
    """Return an image or document block as (part, text, is_readable).

    The text is that of a document given as plain text, else "". is_readable is False where the block says base64 and
    its data is not.
    """
    kind = text(block.get("type"))
    source = mapping(block.get("source"))
    title = text(block.get("title"))
    media_type = text(source.get("media_type"))
    how = source.get("type")
    data = source.get("data")
    if how == "text":
        return Part(type=kind, media_type=media_type, path=title), text(data), True
    if how == "url":
        return Part(type=kind, media_type=media_type, path=title, url=text(source.get("url"))), "", True
    if how == "file":
        return Part(type=kind, media_type=media_type, path=text(source.get("file_id")) or title), "", True
    part, is_readable = base64_part(kind, media_type, data, path=title)
    return part, "", is_readable


def base64_part(kind: str, media_type: str, data: object, *, path: str = "") -> tuple[Part, bool]:
    """Return a part with hash and size of base64 `data`; (part without them, False) where it can't be decoded."""
    if not isinstance(data, str):
        return Part(type=kind, media_type=media_type, path=path), False
    try:
        decoded = binascii.a2b_base64(data)
    except ValueError:
        return Part(type=kind, media_type=media_type, path=path), False
    sha256 = hashlib.sha256(decoded).hexdigest()
    return Part(type=kind, sha256=sha256, media_type=media_type, bytes=len(decoded), path=path), True


def is_opaque(key: str, value: Json) -> bool:
    """Say whether a field holds encoded bytes: one of the keys above with a long value that has no spaces."""
    return (
        key in OPAQUE_KEYS
        and isinstance(value, str)
        and len(value) >= _OPAQUE_CHARS
        and not any(c.isspace() for c in value[:_OPAQUE_CHARS])
    )


def without_opaque(value: Json, depth: int = 0) -> Json:
    """Return decoded JSON without the fields that hold opaque bytes; below 32 levels everything stays."""
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {k: without_opaque(v, depth + 1) for k, v in value.items() if not is_opaque(k, v)}
    if isinstance(value, list):
        return [without_opaque(v, depth + 1) for v in value]
    return value


def block_text(block: Json) -> str:
    """Return all readable text of one content block: said, thought, asked of a tool or given back by it."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return flatten(block)
    kind = block.get("type")
    if kind == "text":
        said = block.get("text")
        return said if isinstance(said, str) else flatten(said)
    if kind == "thinking":
        return flatten(block.get("thinking"))
    if isinstance(kind, str) and kind in CALL_TYPES:
        return f"{text(block.get('name'))}\n{flatten(block.get('input'))}"
    if kind == "tool_result":
        return content_text(block.get("content"))
    if isinstance(kind, str) and kind in MEDIA_TYPES:
        return media_part(block)[1] if mapping(block.get("source")).get("type") == "text" else ""
    rest = {k: v for k, v in block.items() if k != "type"}
    return flatten(without_opaque(rest))


def content_text(content: Json) -> str:
    """Return the readable text of a message's or a tool result's content: text, or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(block_text, content)))
    return block_text(content) if content is not None else ""


def content_parts(content: Json) -> tuple[tuple[Part, ...], bool]:
    """Return the images and documents of a list of blocks, and whether all could be read."""
    parts: list[Part] = []
    are_readable = True
    for block in items(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in MEDIA_TYPES:
            part, _, is_readable = media_part(block)
            parts.append(part)
            are_readable = are_readable and is_readable
    return tuple(parts), are_readable
