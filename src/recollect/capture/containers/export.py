"""Reads a conversation export: one JSON array, of any size, whose elements are documents.

Read in steps, so that memory is bounded by the longest conversation, not by the file.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Iterator
from typing import NamedTuple

from recollect import units
from recollect.capture.decode import decode_record
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from recollect.late import late_pattern
from recollect.model.rows import encode_row, text_cell

MAX_ELEMENT_BYTES = 64 * 1024 * 1024
TABLE = "conversation"
_STEP_BYTES = 1024 * 1024
_MARK_BYTES = 16
_BLANKS = late_pattern(r"[ \t\r\n,]*")
_BEGINNING = late_pattern(r'[\ufeff \t\r\n]*(?:\[|\{\s*"conversations"\s*:\s*\[|(?=\{))')
_raw_decode = json.JSONDecoder(strict=False).raw_decode


class Element(NamedTuple):
    """A conversation in an export: its name, where its bytes are in the file, and a mark of them."""

    document: str
    offset_bytes: int
    length_bytes: int
    mark: bytes


def elements_of(path: str, keys: tuple[str, ...]) -> list[Element]:
    """Return the conversations of an export. Raises SourceRefused for anything else, SourceUnavailable.

    A conversation that occurs twice counts once; another one of the same name is `name#2`.
    """
    found: dict[str, Element] = {}
    marks: set[bytes] = set()
    for offset, raw in _pieces(path):
        mark = hashlib.blake2b(raw, digest_size=_MARK_BYTES).digest()
        if mark in marks:
            continue
        marks.add(mark)
        name = unique = _name(raw, keys) or f"file-{mark.hex()[:16]}"
        number = 1
        while unique in found:
            number += 1
            unique = f"{name}#{number}"
        found[unique] = Element(unique, offset, len(raw), mark)
    return list(found.values())


def lines_of_element(path: str, element: Element) -> Iterator[bytes]:
    """Yield one conversation as a line. Raises SourceChanged when the file has changed."""
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
    value = decode_record(raw).value
    if isinstance(value, dict):
        named = (value.get(key) for key in keys)
        return next((str(name) for name in named if isinstance(name, str | int) and str(name).strip()), "")
    return ""


def _pieces(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of every conversation; bytes that are not UTF-8 as they are.

    An export is a list, or an object `{"conversations": [...]}`; a single conversation, or several one behind the
    other, count as a list of them.
    """
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    try:
        with open(path, "rb") as handle:
            text = decode(handle.read(_STEP_BYTES))
            begin = _BEGINNING.match(text)
            if begin is None:
                raise SourceRefused(f"{path} holds no list of conversations", reason="not an export")
            at, start = len(_bytes(text[: begin.end()])), begin.end()
            is_over = False
            while True:
                blank = _BLANKS.match(text, start)
                past = blank.end() if blank is not None else start
                at, start = at + past - start, past
                if text.startswith("]", start):
                    return
                end = _end_of(text, start, is_over)
                if end:
                    raw = _bytes(text[start:end])
                    yield at, raw
                    at, start = at + len(raw), end
                    continue
                text, start = text[start:], 0
                if is_over:
                    if text:
                        yield at, _bytes(text)
                    return
                if len(text) > MAX_ELEMENT_BYTES:
                    limit = units.size(MAX_ELEMENT_BYTES, binary=True)
                    raise SourceRefused(f"{path} holds a conversation of more than {limit}", reason="too large")
                # Twice as much each time, so that a long conversation is not scanned again and again.
                step = handle.read(max(_STEP_BYTES, len(text)))
                is_over = not step
                text += decode(step, final=is_over)
    except OSError as error:
        raise SourceUnavailable(f"cannot read {path}: {error.strerror}") from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _end_of(text: str, start: int, is_over: bool) -> int:
    """Return where the value at `start` ends, 0 if it is incomplete. A number may continue after the text."""
    if start >= len(text):
        return 0
    try:
        _, end = _raw_decode(text, start)
    except (ValueError, RecursionError):
        return 0
    return end if text[start] in '{["' or end < len(text) or is_over else 0
