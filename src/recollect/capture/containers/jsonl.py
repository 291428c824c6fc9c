"""Reads append-only lines. A record is one JSON value: its exact bytes without the line end.

Two objects glued on one line are two records, so that where a record ends never depends on what follows
(corpus notes: a real writer defect). A last line without its newline is a record as soon as it is a whole
JSON object or array; until then it is the open tail: archived, not yet a record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from recollect.capture.decode import Decoded, decode_record
from recollect.model.records import Changed

_raw_decode = json.JSONDecoder(strict=False).raw_decode
_BLANK = b" \t\r\n"


class Line(msgspec.Struct, frozen=True, gc=False):
    """One record: its place in the data, its bytes and what they decode to. at, changed: see `model.records.Record`."""

    start: int
    end: int
    raw: bytes
    decoded: Decoded
    at: str = ""
    changed: tuple[Changed, ...] = ()


class SplitRecords(NamedTuple):
    """The records of a piece of data. `consumed`: end of the last whole line or record taken."""

    lines: Sequence[Line]
    consumed: int


def split_lines(data: bytes, *, is_end: bool, is_start: bool = False) -> SplitRecords:
    """Return the whole records in data, which begins at a record boundary.

    is_end: the source ends where data ends, so an unterminated but complete last value is a record.
    is_start: data is the beginning of the source; a byte order mark is skipped.
    """
    lines: list[Line] = []
    position = 3 if is_start and data.startswith(b"\xef\xbb\xbf") else 0
    size = len(data)
    find = data.find
    while position < size:
        end = find(b"\n", position)
        if end < 0:
            break
        _take(data, position, end, lines)
        position = end + 1
    consumed = position
    if is_end and position < size:
        consumed = _take_tail(data, position, lines)
    return SplitRecords(lines, consumed)


def _take(data: bytes, start: int, end: int, lines: list[Line]) -> None:
    raw = data[start:end]
    if raw[-1:] in b" \t\r" or raw[:1] in b" \t,":
        stripped = raw.strip(_BLANK).lstrip(b" \t\r,")
        if not stripped:
            return
        start += raw.index(stripped)
        raw = stripped
    decoded = decode_record(raw)
    if decoded.code and not decoded.is_json and raw[:1] in b"{[" and _take_glued(raw, start, lines):
        return
    lines.append(Line(start, start + len(raw), raw, decoded))


def _take_glued(raw: bytes, start: int, lines: list[Line]) -> bool:
    """Split several values on one line. False if the first is not whole; a broken rest is one more record."""
    position = _take_pieces(raw, start, lines)
    if not position:
        return False
    rest = raw[position:].strip(b" \t\r,")
    if rest:
        begin = raw.index(rest, position)
        lines.append(Line(start + begin, start + begin + len(rest), rest, decode_record(rest)))
    return True


def _take_pieces(raw: bytes, start: int, lines: list[Line]) -> int:
    """Take the whole values at the start of raw; return where they end."""
    position = 0
    for end in _glued_ends(raw):
        piece = raw[position:end].lstrip(b" \t\r,")
        lines.append(Line(start + end - len(piece), start + end, piece, decode_record(piece)))
        position = end
    return position


def _glued_ends(raw: bytes) -> list[int]:
    """Return the byte ends of the whole JSON objects or arrays at the start of raw."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return []
    ends: list[int] = []
    position, done_chars, done_bytes = 0, 0, 0
    while position < len(text):
        while position < len(text) and text[position] in " \t\r,":
            position += 1
        if position >= len(text) or text[position] not in "{[":
            break
        try:
            _, position = _raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        done_bytes += len(text[done_chars:position].encode("utf-8", "surrogatepass"))
        done_chars = position
        ends.append(done_bytes)
    return ends


def _take_tail(data: bytes, start: int, lines: list[Line]) -> int:
    """Take whole values from an unterminated last line; return where the open tail begins."""
    raw = data[start:]
    stripped = raw.strip(_BLANK)
    if stripped[:1] not in (b"{", b"["):
        return start
    begin = start + raw.index(stripped[:1])
    decoded = decode_record(stripped)
    if decoded.is_json:
        lines.append(Line(begin, begin + len(stripped), stripped, decoded))
        return begin + len(stripped)
    position = _take_pieces(stripped, begin, lines)
    return begin + position if position else start
