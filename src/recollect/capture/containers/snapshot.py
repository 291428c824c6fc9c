"""Reads rewritten JSON files. Records are the elements of their arrays, or the document.

Which arrays are split is declared (`Place.split`). The members around a split array are records too, as many as stand
together: their bytes are `"a": 1, "b": 2`, their value `{"a": 1, "b": 2}`. So a rewrite that changed one message
leaves the records of all others as they were. Nothing overlaps, and the order is that of the file.
"""

from __future__ import annotations

import json

from recollect.capture.containers.jsonl import Line, SplitRecords
from recollect.capture.decode import Decoded, decode_members, decode_record

_raw_decode = json.JSONDecoder(strict=False).raw_decode
_BLANK = " \t\r\n"
_BLANK_BYTES = b" \t\r\n"


def split_snapshot(data: bytes, split: tuple[str, ...] = ()) -> SplitRecords:
    """Return the records of a whole document. An unreadable document is one record that is not JSON.

    split: dotted paths of the arrays to split; without one, or where the document is an array, its elements.
    """
    left = data.lstrip(_BLANK_BYTES)
    left = left.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANK_BYTES)
    begin = len(data) - len(left)
    stripped = left.rstrip(_BLANK_BYTES)
    if not stripped:
        return SplitRecords([], len(data))
    if stripped[:1] == b"[" or (split and stripped[:1] == b"{"):
        found = _split(stripped, split)
        if found is not None:
            return SplitRecords([_line(stripped, begin, *piece) for piece in found], len(data))
    return SplitRecords([Line(begin, begin + len(stripped), stripped, decode_record(stripped))], len(data))


def _line(data: bytes, begin: int, start: int, end: int, at: str, is_member: bool) -> Line:
    raw = data[start:end]
    return Line(begin + start, begin + end, raw, decode_members(raw) if is_member else decode_record(raw), at)


_Piece = tuple[int, int, str, bool]
"""Byte range, where it stands, and whether it is a run of members instead of an element."""


def _split(raw: bytes, split: tuple[str, ...]) -> list[_Piece] | None:
    """Return the pieces of a document, or None if it cannot be read."""
    try:
        walk = _Walk(raw.decode("utf-8", "surrogateescape"), split)
        walk.whole()
    except (ValueError, IndexError, RecursionError):
        return None
    return walk.pieces


class _Walk:
    """Walks the text of a document once. Raises ValueError or IndexError where it is not JSON."""

    def __init__(self, text: str, split: tuple[str, ...]) -> None:
        self._text = text
        self._split = split
        self._is_ascii = text.isascii()
        self._chars = self._bytes = 0
        self._at = 0
        self.pieces: list[_Piece] = []

    def whole(self) -> None:
        """Take the whole document."""
        if self._text[0] == "[":
            self._elements("")
        else:
            self._members("")
        if self._at != len(self._text):
            raise ValueError("something follows the document")

    def _byte_at(self, char: int) -> int:
        """Return the byte offset of a character; asked in ascending order."""
        if self._is_ascii:
            return char
        self._bytes += len(self._text[self._chars : char].encode("utf-8", "surrogateescape"))
        self._chars = char
        return self._bytes

    def _skip(self, more: str = "") -> str:
        """Go to the next character that means something and return it. Raises IndexError at the end."""
        skipped = _BLANK + more
        while self._text[self._at] in skipped:
            self._at += 1
        return self._text[self._at]

    def _elements(self, path: str) -> None:
        self._at += 1
        while self._skip(",") != "]":
            start = self._byte_at(self._at)
            _, self._at = _raw_decode(self._text, self._at)
            self.pieces.append((start, self._byte_at(self._at), path, False))
        self._at += 1

    def _members(self, prefix: str) -> None:
        self._at += 1
        run = end = -1
        while self._skip(",") != "}":
            key_at = self._at
            key, self._at = _raw_decode(self._text, self._at)
            if not isinstance(key, str) or self._skip() != ":":
                raise ValueError("not an object")
            self._at += 1
            opening = self._skip()
            path = f"{prefix}.{key}" if prefix else key
            is_array = opening == "[" and path in self._split
            is_above = opening == "{" and any(s.startswith(f"{path}.") for s in self._split)
            if is_array or is_above:
                self._close_run(run, end, prefix)
                run = -1
                if is_array:
                    self._elements(path)
                else:
                    self._members(path)
                continue
            _, self._at = _raw_decode(self._text, self._at)
            run = key_at if run < 0 else run
            end = self._at
        self._close_run(run, end, prefix)
        self._at += 1

    def _close_run(self, run: int, end: int, prefix: str) -> None:
        if run >= 0:
            start = self._byte_at(run)
            self.pieces.append((start, self._byte_at(end), prefix, True))


def split_text(data: bytes) -> SplitRecords:
    """Return the file as one record; bytes that are not UTF-8 are replaced and said (invalid_utf8)."""
    if not data:
        return SplitRecords([], 0)
    try:
        decoded = Decoded(data.decode("utf-8"), True)
    except UnicodeDecodeError as error:
        decoded = Decoded(data.decode("utf-8", "replace"), True, "invalid_utf8", str(error))
    return SplitRecords([Line(0, len(data), data, decoded)], len(data))
