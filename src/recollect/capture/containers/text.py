"""A whole file that is one record of text: a spilled tool result, a backup of an edited file."""

from __future__ import annotations

from recollect.capture.containers.jsonl import Line, Lines
from recollect.capture.decode import Decoded


def split_text(data: bytes) -> Lines:
    """Return the file as one record; bytes that are not UTF-8 are replaced and said (invalid_utf8)."""
    if not data:
        return Lines([], 0)
    try:
        decoded = Decoded(data.decode("utf-8"), True)
    except UnicodeDecodeError as error:
        decoded = Decoded(data.decode("utf-8", "replace"), True, "invalid_utf8", str(error))
    return Lines([Line(0, len(data), data, decoded)], len(data))
