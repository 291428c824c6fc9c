"""How a text is cut into passages, and which of them have vectors. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.model.text import TextClass

PASSAGE_CHARS = 800
"""About what the model reads at once (256 tokens of English); a longer passage would lose its end."""
MIN_CHARS = 12
"""A shorter text ("ok", "done") says nothing that a question could be near to."""
TEXT_CHARS = 65_536
"""So much of a text is cut: what a search reads of it."""
CUTTING = 2
"""Number of these rules; vectors made by others are made anew."""
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
    text = text[:TEXT_CHARS]
    found: list[Passage] = []
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            end = _good_end(text, start, end)
        found.append(Passage(start, min(end, len(text))))
        start = end
    return found


def passages_of(text_class: TextClass, text: str) -> list[Passage]:
    """Return the passages of a text that have vectors, in order."""
    most = MOST.get(text_class, 0)
    pieces = [piece for piece in cut(text) if len(text[piece.start : piece.end].strip()) >= MIN_CHARS]
    if len(pieces) <= most:
        return pieces
    if text_class != "tool_output":
        return pieces[:most]
    ends = [*pieces[:_ENDS], *pieces[-_ENDS:]]
    telling = [p for p in pieces[_ENDS:-_ENDS] if _TELLS.search(text, p.start, p.end)]
    return sorted([*ends, *telling[: most - len(ends)]])


def _good_end(text: str, start: int, end: int) -> int:
    middle = (start + end) // 2
    for mark in ("\n\n", "\n", ". ", " "):
        at = text.rfind(mark, middle, end)
        if at >= 0:
            return at + len(mark)
    return end
