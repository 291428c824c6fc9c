"""Whole-file JSON that is rewritten: its records are the elements of a top-level array, else the document."""

from __future__ import annotations

import json

from recollect.capture.containers.jsonl import Line, Lines
from recollect.capture.decode import decode_record

_raw_decode = json.JSONDecoder(strict=False).raw_decode


def split_snapshot(data: bytes) -> Lines:
    """Return the records of a whole document. An unreadable document is one record that is not JSON."""
    stripped = data.strip(b" \t\r\n")
    if not stripped:
        return Lines([], len(data))
    begin = data.index(stripped[:1])
    if stripped[:1] == b"[":
        elements = _elements(stripped)
        if elements is not None:
            return Lines(
                [Line(begin + a, begin + b, stripped[a:b], decode_record(stripped[a:b])) for a, b in elements],
                len(data),
            )
    return Lines([Line(begin, begin + len(stripped), stripped, decode_record(stripped))], len(data))


def _elements(raw: bytes) -> list[tuple[int, int]] | None:
    """Return the byte ranges of the elements of a JSON array, or None if it cannot be read."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    found: list[tuple[int, int]] = []
    position, chars, at = 1, 0, 0

    def byte_at(char: int) -> int:
        nonlocal chars, at
        at += len(text[chars:char].encode("utf-8", "surrogatepass"))
        chars = char
        return at

    while True:
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        if position >= len(text):
            return None
        if text[position] == "]":
            return found
        start = byte_at(position)
        try:
            _, position = _raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        found.append((start, byte_at(position)))
