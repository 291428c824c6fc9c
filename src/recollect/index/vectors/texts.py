"""Selects the events that get vectors, and splits long texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from recollect.model.payloads import Payload
from recollect.model.text import TextClass, searchable
from recollect.store.entries import EntryPart, StoredEntry

KINDS_BY_CLASS: dict[TextClass, tuple[str, ...]] = {
    "talk": ("user_message", "assistant_message", "compaction"),
    "thinking": ("thinking",),
}
"""Every text class that has vectors, with the kinds of its events. A class takes part by standing here.

Tool input and output stay with the text index: three quarters of the bytes, and what is asked of them are words."""
KINDS: tuple[str, ...] = tuple(kind for kinds in KINDS_BY_CLASS.values() for kind in kinds)
CHUNK_CHARS = 800
"""A longer text is several chunks: the mean of many sentences is near to none of them."""
MAX_CHUNKS = 64
"""Of one event; what is beyond them (51,200 characters) is found by its words only."""
MIN_CHARS = 3
CUTTING = 1
"""Number of these rules; vectors made by others are made again."""
ENTRY_CUTTING = 1
"""The same of what was learned, noted and documented, the places of kinds in marks (`store.entries`) included."""


def chunks_of(payload: Payload) -> list[str]:
    """Return the pieces of an event's text that each get a vector; none for an event of no class that takes part."""
    text_class, text, _paths = searchable(payload)
    return chunks(text) if text_class in KINDS_BY_CLASS else []


def chunks_of_part(entry: StoredEntry, part: EntryPart) -> list[str]:
    """Return the pieces of an entry's part that each get a vector: each below the entry's title and the part's heading,
    unless it says these itself.

    Evidence (benchmark `learning`, part `paraphrased`, tuning half of 20 questions): by meaning alone the page is among
    the first five for 13, with title and heading above the first piece only for 12; together with words 12 and 10.
    """
    return [
        "\n".join((*(line for line in dict.fromkeys((entry.title, part.heading)) if line and line not in piece), piece))
        for piece in chunks(part.text)
    ]


def chunks(text: str) -> list[str]:
    """Cut a text into at most MAX_CHUNKS pieces of at most CHUNK_CHARS, at the ends of lines or sentences."""
    pieces = (text[piece.start : piece.end].strip() for piece in _pieces(text, CHUNK_CHARS, ("\n", ". ", " ")))
    return list(islice((piece for piece in pieces if len(piece) >= MIN_CHARS), MAX_CHUNKS))


def _pieces(text: str, size: int, marks: Sequence[str]) -> Iterator[Passage]:
    """Yield the pieces of a text, each cut after the first of these marks in its second half."""
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            middle = (start + end) // 2
            places = ((text.rfind(mark, middle, end), mark) for mark in marks)
            end = next((at + len(mark) for at, mark in places if at >= 0), end)
        yield Passage(start, end)
        start = end


PASSAGE_CHARS = 800
"""About what the model reads at once (256 tokens of English); a longer passage would lose its end."""
MIN_PASSAGE_CHARS = 12
"""A shorter text ("ok", "done") says nothing that a question could be near to."""
TEXT_CHARS = 65_536
"""So much of a text is cut: what a search reads of it."""
PASSAGE_CUTTING = 2
"""Number of these rules; vectors made by others are made again."""
MOST: dict[TextClass, int] = {"talk": 64, "thinking": 16, "tool_input": 8, "tool_output": 8}
"""Passages of one text that have vectors, by class; a class that is missing has none."""
_ENDS = 2
"""Of a long output, so many passages of its beginning and of its end; between them those that tell."""
_TELLS = re.compile(
    r"\b(?:error|errors|exception|failed|failure|failing|fatal|panic|traceback|warning|denied|refused|cannot|can't"
    r"|unable|not found|no such|undefined|expected|passed|succeeded|success|completed|created|total|result)\b",
    re.IGNORECASE,
)


class Passage(NamedTuple):
    """A piece of a text: where it begins and ends, in characters."""

    start: int
    end: int


def cut(text: str, *, size: int = PASSAGE_CHARS) -> list[Passage]:
    """Cut a text into pieces of at most `size` characters, at the ends of paragraphs, lines, sentences or words."""
    return list(_pieces(text[:TEXT_CHARS], size, ("\n\n", "\n", ". ", " ")))


def passages_of(text_class: TextClass, text: str) -> list[Passage]:
    """Return the passages of a text that have vectors, in order."""
    most = MOST.get(text_class, 0)
    pieces = [piece for piece in cut(text) if len(text[piece.start : piece.end].strip()) >= MIN_PASSAGE_CHARS]
    if len(pieces) <= most:
        return pieces
    if text_class != "tool_output":
        return pieces[:most]
    ends = [*pieces[:_ENDS], *pieces[-_ENDS:]]
    telling = [p for p in pieces[_ENDS:-_ENDS] if _TELLS.search(text, p.start, p.end)]
    return sorted([*ends, *telling[: most - len(ends)]])
