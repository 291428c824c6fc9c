"""An answer within its bytes: as many lines as fit, in the block that marks them as quoted, and how to go on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from recollect.memory import CONTINUED, clean, quoted

_NOTE_BYTES = 240
_NOTES_SHARE = 3
_HEADING_SHARE = 4
"""Of an answer's bytes, what its notes and its heading take at most: one part of so many."""
_CURSOR_BYTES = 90
"""What a cursor and the words around it take at most."""
_MIN_PASSAGE = 40
_MIN_LINE = 180
"""A line that is cut to less than this says too little to be shown."""
NAME_BYTES = 60
_ONE_WORD = re.compile(r"[\w.:/\\@+~-]+")


class Page(NamedTuple):
    """What one answer shows. lines: the first of those that were given, the last one cut to fill what was left."""

    text: str
    lines: tuple[str, ...]

    @property
    def shown(self) -> int:
        """How many of the lines that were given."""
        return len(self.lines)


class Frame(NamedTuple):
    """What stands around the lines. heading: what they are, one line. notes: what else to know, one line each."""

    heading: str
    notes: tuple[str, ...] = ()


def passage(text: str, limit: int) -> str:
    """Return a text on one line, cleaned, of at most `limit` bytes of UTF-8."""
    line = " ".join(clean(text[: limit * 4]).split())
    return cut(line, limit) if len(text) <= limit * 4 else cut(line + " …", limit)


def name(text: str, limit: int = NAME_BYTES) -> str:
    """Return a name out of a transcript (of a model, a branch …) for a line of ours: quoted unless it is one word."""
    shown = passage(text, limit)
    return shown if _ONE_WORD.fullmatch(shown) else '"' + shown.replace('"', "”") + '"' if shown else ""


def cut(text: str, limit: int) -> str:
    """Return a text cut to a number of bytes of UTF-8, with an ellipsis where something was cut off."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    return clean(raw[: max(0, limit - 3)].decode("utf-8", "ignore").rstrip() + "…")


def fit(lines: Sequence[str], frame: Frame, *, max_bytes: int) -> Page:
    """Return the longest page of the first lines that fits, never without one: a line too long for it is cut.

    Bytes are of UTF-8. Room is kept for the words that go on with a cursor.
    """
    room = max_bytes - _CURSOR_BYTES - size(whole((), frame, max_bytes=max_bytes))
    shown: list[str] = []
    for line in lines:
        needed = size(line) + 1 + line.count("\n") * len(CONTINUED)
        if needed > room:
            if not shown or room >= _MIN_LINE:  # the last one fills what is left
                shown.append(cut(line, max(_MIN_PASSAGE, room - 1 - line.count("\n") * len(CONTINUED))))
            break
        room -= needed
        shown.append(line)
    return Page(whole(shown, frame, max_bytes=max_bytes), tuple(shown))


def whole(lines: Sequence[str], frame: Frame, *, max_bytes: int) -> str:
    """Return a page with all of the lines. max_bytes: bounds what stands around them, see `Frame`."""
    room = max_bytes // _NOTES_SHARE
    notes: list[str] = []
    for note in dict.fromkeys(passage(note, _NOTE_BYTES) for note in frame.notes if note):
        room -= size(note) + 3
        if room < 0:
            break
        notes.append(f"({note})")
    return quoted([*lines, *notes], note=passage(frame.heading, max_bytes // _HEADING_SHARE))


def with_cursor(page: str, cursor: str, what: str) -> str:
    """Return a page with how to go on, outside of what is quoted."""
    return f'{page}\n{what}: repeat this call with cursor "{cursor}"' if cursor else page


def size(text: str) -> int:
    """Return bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))


def beginning(text: str, room: int) -> str:
    """Return as much of a text as takes `room` bytes when it is quoted, each further line with its mark."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle]) + 4 * text.count("\n", 0, middle) <= room:
            low = middle
        else:
            high = middle - 1
    return text[: max(1, low)]
