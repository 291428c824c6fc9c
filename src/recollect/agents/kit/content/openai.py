"""Content of the OpenAI chat API, as several agents write it: a text, or a list of parts with data URLs."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import base64_part, block_text
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Json, Part
from recollect.model.text import flatten

_TEXTS = frozenset(("text", "input_text", "output_text"))
_IMAGES = frozenset(("image_url", "input_image", "image"))
_BASE64 = ";base64"


def data_url_part(kind: str, url: str) -> tuple[Part, bool]:
    """Return a part for a URL and whether it could be read: bytes of a `data:` URL become a hash."""
    if not url.startswith("data:"):
        return Part(type=kind, url=url), True
    head, _, data = url.removeprefix("data:").partition(",")
    if not head.endswith(_BASE64):
        return Part(type=kind, media_type=head), False
    return base64_part(kind, head.removesuffix(_BASE64), data)


def chat_content(content: Json) -> tuple[str, tuple[Part, ...], bool]:
    """Return the text and the images of a message's content, and whether all images could be read."""
    if isinstance(content, str):
        return content, (), True
    if not isinstance(content, list):
        return ("" if content is None else flatten(content)), (), True
    texts: list[str] = []
    parts: list[Part] = []
    is_readable = True
    for block in content:
        kind = text(mapping(block).get("type"))
        if kind in _TEXTS:
            texts.append(text(block.get("text")))
        elif kind in _IMAGES:
            part, is_fine = _image(block)
            parts.append(part)
            is_readable = is_readable and is_fine
        else:
            texts.append(block_text(block))
    return "\n".join(t for t in texts if t), tuple(parts), is_readable


def _image(block: dict[str, Any]) -> tuple[Part, bool]:
    source = block.get("image_url", block.get("source", block.get("url")))
    if isinstance(source, dict):
        if "data" in source:
            return base64_part("image", text(source.get("media_type")), source.get("data"))
        source = source.get("url")
    return data_url_part("image", source) if isinstance(source, str) else (Part(type="image"), False)


def arguments_of(reading: Reading[Any], written: Any) -> Any:
    """Return a call's arguments, which are written as text; a text that is no JSON as it is, with a defect."""
    if not isinstance(written, str):
        return written
    if not written:
        return {}
    try:
        return msgspec.json.decode(written)
    except (ValueError, RecursionError):
        reading.wrong("arguments", "bad_arguments")
        return written
