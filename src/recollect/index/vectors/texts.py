"""Which events have vectors, and how a long text is cut for them."""

from __future__ import annotations

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
"""Number of these rules; vectors made by others are made anew."""
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
    found: list[str] = []
    start = 0
    while start < len(text) and len(found) < MAX_CHUNKS:
        stop = start + CHUNK_CHARS
        if stop < len(text):
            stop = _good_end(text, start, stop)
        piece = text[start:stop].strip()
        if len(piece) >= MIN_CHARS:
            found.append(piece)
        start = stop
    return found


def _good_end(text: str, start: int, stop: int) -> int:
    """Return where to cut in the second half of a piece: after a line, else a sentence, else a word, else anywhere."""
    middle = (start + stop) // 2
    for mark in ("\n", ". ", " "):
        at = text.rfind(mark, middle, stop)
        if at >= 0:
            return at + len(mark)
    return stop
