"""A conversation export: one JSON array of whole conversations, as large as a life; each element is a document.

Read in steps, so that memory is bounded by the longest conversation, not by the file.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from recollect.model.payloads import Json
from recollect.model.rows import encode_row, text_cell

MAX_ELEMENT_BYTES = 64 * 1024 * 1024
TABLE = "conversation"
_STEP_BYTES = 1024 * 1024
_MARK_BYTES = 16
_BLANK = " \t\r\n,"
_raw_decode = json.JSONDecoder(strict=False).raw_decode


class Element(NamedTuple):
    """A conversation in an export: its name, where its bytes are in the file, and a mark of them."""

    document: str
    offset_bytes: int
    length_bytes: int
    mark: bytes


def elements_of(path: str, keys: tuple[str, ...]) -> list[Element]:
    """Return the conversations of an export. Raises SourceRefused for what is none, SourceUnavailable."""
    found: list[Element] = []
    for offset, raw in _pieces(path):
        mark = hashlib.blake2b(raw, digest_size=_MARK_BYTES).digest()
        found.append(Element(_name(raw, keys) or f"file-{mark.hex()[:16]}", offset, len(raw), mark))
    return found


def lines_of_element(path: str, element: Element) -> Iterator[bytes]:
    """Yield one conversation as a line. Raises SourceChanged when the file is no longer what it was."""
    try:
        with open(path, "rb") as handle:
            handle.seek(element.offset_bytes)
            raw = handle.read(element.length_bytes)
    except OSError as error:
        raise SourceUnavailable(f"cannot read {path}: {error.strerror}") from error
    if hashlib.blake2b(raw, digest_size=_MARK_BYTES).digest() != element.mark:
        raise SourceChanged(f"{path} changed while it was read")
    columns = {"document": element.document, "content": text_cell(raw, is_json=True)}
    yield encode_row(TABLE, columns) + b"\n"


def _name(raw: bytes, keys: tuple[str, ...]) -> str:
    try:
        value: Json = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return ""
    if isinstance(value, dict):
        return next((str(value[key]) for key in keys if isinstance(value.get(key), str | int)), "")
    return ""


def _pieces(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of every element of the top-level array; bytes that are not UTF-8 as they are."""
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    at = 0
    try:
        with open(path, "rb") as handle:
            buffer = decode(handle.read(_STEP_BYTES))
            start = buffer.find("[") + 1
            if not start or buffer[: start - 1].strip(_BLANK + "\ufeff"):
                raise SourceRefused(f"{path} holds no list of conversations", reason="not an export")
            at = len(_bytes(buffer[:start]))
            buffer = buffer[start:]
            is_over = False
            while True:
                stripped = buffer.lstrip(_BLANK)
                at += len(buffer) - len(stripped)
                buffer = stripped
                if buffer.startswith("]"):
                    return
                end = _end_of(buffer, is_over)
                if end:
                    raw = _bytes(buffer[:end])
                    yield at, raw
                    at += len(raw)
                    buffer = buffer[end:]
                    continue
                if is_over:
                    if buffer:
                        yield at, _bytes(buffer)
                    return
                if len(buffer) > MAX_ELEMENT_BYTES:
                    raise SourceRefused(f"{path} holds a conversation of more than 64 MiB", reason="too large")
                # Twice as much each time, so that a long element is not scanned again and again.
                step = handle.read(max(_STEP_BYTES, len(buffer)))
                is_over = not step
                buffer += decode(step, final=is_over)
    except OSError as error:
        raise SourceUnavailable(f"cannot read {path}: {error.strerror}") from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _end_of(buffer: str, is_over: bool) -> int:
    """Return where the first value in the buffer ends, 0 if it is not whole. A number may go on after the buffer."""
    if not buffer:
        return 0
    try:
        _, end = _raw_decode(buffer)
    except (ValueError, RecursionError):
        return 0
    return end if buffer[0] in '{["' or end < len(buffer) or is_over else 0
