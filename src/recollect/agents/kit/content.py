"""Parses AI SDK messages (`ModelMessage`): text, reasoning, tool calls and tool results.

Tolerant: any decoded JSON. Evidence: the AI SDK's published types, versions 4 to 6.
"""

import binascii
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.calls import give_call, give_result
from recollect.agents.kit.values import Json, items, mapping, text
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Content blocks of the Anthropic Messages API, as several agents write them into their transcripts.
#
# Tolerant: every function takes any decoded JSON. Opaque bytes (base64, signatures, encrypted content) never become
# text. Evidence: format notes: Claude Code, "content blocks".

OPAQUE_KEYS = frozenset(("signature", "encrypted_content", "encrypted_index", "base64", "data"))
"""Keys that may hold bytes that nobody reads; see `is_opaque`."""

CALL_TYPES = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
MEDIA_TYPES = frozenset(("image", "document"))
_MAX_DEPTH = 32
_OPAQUE_CHARS = 64
"""Shorter values of these keys are words."""


def media_part(block: dict[str, Any]) -> tuple[kinds.Part, str, bool]:
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
        return kinds.Part(type=kind, media_type=media_type, path=title), text(data), True
    if how == "url":
        return kinds.Part(type=kind, media_type=media_type, path=title, url=text(source.get("url"))), "", True
    if how == "file":
        return kinds.Part(type=kind, media_type=media_type, path=text(source.get("file_id")) or title), "", True
    part, is_readable = base64_part(kind, media_type, data, path=title)
    return part, "", is_readable


def base64_part(kind: str, media_type: str, data: object, *, path: str = "") -> tuple[kinds.Part, bool]:
    """Return a part with hash and size of base64 `data`; (part without them, False) where it can't be decoded."""
    if not isinstance(data, str):
        return kinds.Part(type=kind, media_type=media_type, path=path), False
    try:
        decoded = binascii.a2b_base64(data)
    except ValueError:
        return kinds.Part(type=kind, media_type=media_type, path=path), False
    sha256 = hashlib.sha256(decoded).hexdigest()
    return kinds.Part(type=kind, sha256=sha256, media_type=media_type, bytes=len(decoded), path=path), True


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
    """Return all readable text of one content block: text, thoughts, tool arguments and results."""
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


def content_parts(content: Json) -> tuple[tuple[kinds.Part, ...], bool]:
    """Return the images and documents of a list of blocks, and whether all could be read."""
    parts: list[kinds.Part] = []
    are_readable = True
    for block in items(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in MEDIA_TYPES:
            part, _, is_readable = media_part(block)
            parts.append(part)
            are_readable = are_readable and is_readable
    return tuple(parts), are_readable


# Content of the OpenAI chat API, as several agents write it: a text, or a list of parts with data URLs.

_TEXTS = frozenset(("text", "input_text", "output_text"))
_IMAGES = frozenset(("image_url", "input_image", "image"))
_BASE64 = ";base64"


def data_url_part(kind: str, url: str) -> tuple[kinds.Part, bool]:
    """Return a part for a URL and whether it could be read: bytes of a `data:` URL become a hash."""
    if not url.startswith("data:"):
        return kinds.Part(type=kind, url=url), True
    head, _, data = url.removeprefix("data:").partition(",")
    if not head.endswith(_BASE64):
        return kinds.Part(type=kind, media_type=head), False
    return base64_part(kind, head.removesuffix(_BASE64), data)


def chat_content(content: Json) -> tuple[str, tuple[kinds.Part, ...], bool]:
    """Return the text and the images of a message's content, and whether all images could be read."""
    if isinstance(content, str):
        return content, (), True
    if not isinstance(content, list):
        return ("" if content is None else flatten(content)), (), True
    texts: list[str] = []
    parts: list[kinds.Part] = []
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


def _image(block: dict[str, Any]) -> tuple[kinds.Part, bool]:
    source = block.get("image_url", block.get("source", block.get("url")))
    if isinstance(source, dict):
        if "data" in source:
            return base64_part("image", text(source.get("media_type")), source.get("data"))
        source = source.get("url")
    return data_url_part("image", source) if isinstance(source, str) else (kinds.Part(type="image"), False)


_NONE: dict[str, Any] = {}


def arguments_of(
    reading: Reading[Any], written: Any, field: str = "arguments", *, empty: Any = _NONE, errors: str = "strict"
) -> Any:
    """Return a call's arguments, which are written as text; invalid JSON unchanged, with a defect.

    empty: the meaning of no text. errors: how halves of surrogate pairs are encoded.
    """
    if not isinstance(written, str):
        return written
    if not written:
        return empty
    try:
        return msgspec.json.decode(written.encode("utf-8", errors))
    except (ValueError, RecursionError):
        reading.wrong(field, "bad_arguments")
        return written


_ALL = frozenset(("type", "providerOptions", "providerMetadata", "experimental_providerMetadata"))
_FIELDS: dict[str, frozenset[str]] = {
    "text": _ALL | {"text"},
    "reasoning": _ALL | {"text", "signature"},
    "redacted-reasoning": _ALL | {"data"},
    "image": _ALL | {"image", "mediaType", "mimeType"},
    "file": _ALL | {"data", "mediaType", "mimeType", "filename"},
    "tool-call": _ALL | {"toolCallId", "toolName", "input", "args", "providerExecuted", "title"},
    "tool-result": _ALL
    | {"toolCallId", "toolName", "output", "result", "content", "isError", "error", "text", "value"},
}
_SPOKEN = frozenset(("text", "image", "file"))
_FAILED = frozenset(("error-text", "error-json", "execution-denied"))
_OUTPUTS = frozenset(("text", "json", "content", *_FAILED))


class Speaker(NamedTuple):
    """Who wrote a message, and what is known of it beside its content. fields: what the agent adds to blocks."""

    role: str
    name: str | None
    """The message's id, which names what is in it; None: its record's hash does."""
    model: str = ""
    origin: kinds.Origin = "human"
    fields: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    """Types of blocks that the caller reads itself."""


def read_content(reading: Reading[Any], content: Json, speaker: Speaker) -> None:
    """Emit what a message holds: its texts, images and files as one message, the other blocks one by one."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if blocks is None:
        return
    if not isinstance(blocks, list):
        reading.wrong("content")
        reading.kept("content", blocks, native_id=speaker.name)
        return
    is_said = False
    for number, block in enumerate(blocks, 1):
        kind = text(mapping(block).get("type"))
        if kind in _SPOKEN and not is_said:
            is_said = True
            _say(reading, blocks, speaker)
        if kind not in speaker.others:
            _read_block(reading, block, kind, f"{speaker.name}/{number}" if speaker.name else None, speaker)


def output_of(block: dict[str, Any]) -> tuple[str, bool | None, Json]:
    """Return what a tool gave back as (text, whether it went well, structured)."""
    output = block.get("output", block.get("result", block.get("content")))
    is_error = block.get("isError") is True
    kind = text(mapping(output).get("type"))
    if isinstance(output, dict) and kind in _OUTPUTS:
        value = output.get("value", output.get("reason"))
        is_fine = kind not in _FAILED and not is_error
        if isinstance(value, str):
            return value, is_fine, None
        if kind == "content":
            return content_text(value), is_fine, None
        return "", is_fine, without_opaque(value)
    ok = False if is_error else None
    if output is None:
        said = text(block.get("text")) or text(block.get("value"))
        error = text(block.get("error"))
        return said or error, False if error else ok, None
    if isinstance(output, str):
        return output, ok, None
    if isinstance(output, list):
        return content_text(output), ok, None
    return "", ok, without_opaque(output)


def _say(reading: Reading[Any], blocks: list[Any], speaker: Speaker) -> None:
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in map(mapping, blocks):
        kind = block.get("type")
        if kind == "text":
            texts.append(reading.text(block, "text"))
        elif kind in ("image", "file"):
            parts.append(_part(reading, block, kind))
    said = "\n".join(t for t in texts if t)
    if not said and not parts:
        return
    if speaker.role == "user":
        reading.add(kinds.UserMessage(said, speaker.origin, tuple(parts)), native_id=speaker.name)
    elif speaker.role == "assistant":
        message_id = speaker.name or ""
        message = kinds.AssistantMessage(said, speaker.model, message_id=message_id, parts=tuple(parts))
        reading.add(message, native_id=speaker.name)
    elif speaker.role == "system":
        reading.add(kinds.Instructions(said, "system"), native_id=speaker.name)
    else:
        reading.add(kinds.Lifecycle("message", text=said, detail={"role": speaker.role}), native_id=speaker.name)


def _part(reading: Reading[Any], block: dict[str, Any], kind: str) -> kinds.Part:
    data = block.get("image", block.get("data"))
    media_type = text(block.get("mediaType")) or text(block.get("mimeType"))
    path = text(block.get("filename"))
    if isinstance(data, str) and (data.startswith("data:") or "://" in data[:16]):
        part, is_readable = data_url_part(kind, data)
    else:
        part, is_readable = base64_part(kind, media_type, data, path=path)
    if not is_readable:
        reading.wrong(f"{kind}.data", "bad_base64")
    return part


def _read_block(reading: Reading[Any], block: Json, kind: str, where: str | None, speaker: Speaker) -> None:
    known = _FIELDS.get(kind)
    if known is None or not isinstance(block, dict):
        if isinstance(block, str):
            reading.kept("text", block, native_id=where)
        else:
            reading.unknown(kind or "block", block, native_id=where)
        return
    read = _READERS.get(kind)
    if read is not None:
        read(reading, block, where, speaker)
    reading.extra(block, known | speaker.fields, kind, native_id=where)


def _read_reasoning(reading: Reading[Any], block: dict[str, Any], where: str | None, speaker: Speaker) -> None:
    thought = text(block.get("text"))
    is_encrypted = not thought and bool(block.get("signature") or block.get("data"))
    if thought or is_encrypted:
        message_id = speaker.name or ""
        reading.add(kinds.Thinking(thought, message_id, is_encrypted), native_id=where)


def _read_call(reading: Reading[Any], block: dict[str, Any], where: str | None, speaker: Speaker) -> None:
    name = reading.text(block, "toolName")
    call_id = reading.text(block, "toolCallId")
    arguments = block.get("input", block.get("args"))
    give_call(reading, kinds.ToolCall(call_id, name, canonical_tool(name), arguments, speaker.name or ""), where)


def _read_result(reading: Reading[Any], block: dict[str, Any], where: str | None, speaker: Speaker) -> None:
    said, ok, structured = output_of(block)
    parts = tuple(
        _part(reading, item, "image")
        for item in map(mapping, items(mapping(block.get("output")).get("value")))
        if item.get("type") in ("media", "image-data") and isinstance(item.get("data"), str)
    )
    name = reading.text(block, "toolName")
    call_id = reading.text(block, "toolCallId")
    give_result(reading, kinds.ToolResult(call_id, name, ok, text=said, structured=structured, parts=parts), where)


_READERS: dict[str, Callable[[Reading[Any], dict[str, Any], str | None, Speaker], None]] = {
    "reasoning": _read_reasoning,
    "redacted-reasoning": _read_reasoning,
    "tool-call": _read_call,
    "tool-result": _read_result,
}
