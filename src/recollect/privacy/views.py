r"""A text as a reader sees it: without colours and decoded, with a way back to the places it came from.

Tool output is full of secrets behind a colour (`\x1b[32mghp_…`), in JSON inside a string (`\"token\": \"…\"`), in an
address (`%22token%22%3A…`) or in HTML (`&quot;`). A view removes one layer of these; a view of a view removes the next.
Views only serve to confirm secrets: candidates come from the original text, and so does the span that is replaced.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

MAX_LEVELS: Final = 3
"""Layers of encoding that are removed one after the other."""

# What one layer encodes, in the order of the groups: colours and other terminal controls (also where only their text
# is left: `^[[32m`, `[32m`); a backslash escape; a percent code; an HTML entity.
_ENCODED: Final = re.compile(
    r"(?P<colour>(?:\x1b|\^\[)(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,2048}(?:\x07|\x1b\\)|[()][0-9A-Z])"
    r"|\x9b[0-?]{0,40}[@-~]|\[[0-9]{1,3}(?:;[0-9]{1,3}){0,8}m|\x1b)"
    r"|(?P<escape>\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|033|[nrtbfe\"'\\/]))"
    r"|(?P<percent>%[0-7][0-9A-Fa-f])"
    r"|(?P<entity>&(?:quot|amp|lt|gt|apos|nbsp|#[0-9]{1,3}|#[xX][0-9a-fA-F]{1,2});)",
    re.ASCII,
)
_TRIGGERS: Final = re.compile(r"[\x1b\x9b\\]|%[0-7][0-9A-Fa-f]|&[a-z#][a-z0-9A-Fx]{1,4};|\[[0-9]{1,3}[;m]", re.ASCII)
_SIMPLE: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "e": "\x1b", "0": "\x1b"}
SEAM: Final = "\0"
"""Stands for colours in the view where words do not join over them."""


class View:
    """One decoded form of a text."""

    __slots__ = ("_at", "_copied", "_from", "_parent", "_to", "text")

    def __init__(self, text: str, pieces: list[tuple[int, int, int, bool]], parent: View | None) -> None:
        self.text = text
        self._parent = parent
        self._at = [piece[0] for piece in pieces]
        self._from = [piece[1] for piece in pieces]
        self._to = [piece[2] for piece in pieces]
        self._copied = [piece[3] for piece in pieces]

    def position(self, start: int) -> int:
        """Return where the character stands that stands at `start` in the original, -1 if it was removed."""
        if self._parent is not None:
            start = self._parent.position(start)
            if start < 0:
                return -1
        i = bisect_right(self._from, start) - 1
        if self._copied[i]:
            return self._at[i] + start - self._from[i]
        stays = self._at[i] < (self._at[i + 1] if i + 1 < len(self._at) else len(self.text))
        return self._at[i] if stays and start == self._from[i] else -1

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the span of the original text that became `text[first:last]`, which is not empty."""
        a, b = self._piece(first), self._piece(last - 1)
        start = self._from[a] + (first - self._at[a] if self._copied[a] else 0)
        end = self._from[b] + last - self._at[b] if self._copied[b] else self._to[b]
        return self._parent.span(start, end) if self._parent is not None else (start, end)

    def _piece(self, position: int) -> int:
        return bisect_right(self._at, position) - 1


def views_of(text: str) -> Iterator[View]:
    """Yield the views of a text in which something was decoded, the least decoded first; none for most texts."""
    pending: list[tuple[str, View | None]] = [(text, None)]
    for _ in range(MAX_LEVELS):
        found = [view for source, parent in pending for view in _decoded(source, parent)]
        yield from found
        pending = [(view.text, view) for view in found]


def _decoded(text: str, parent: View | None) -> Iterator[View]:
    """Yield the text without one layer; where it has colours twice: with the words beside them joined, and apart."""
    if _TRIGGERS.search(text) is None:
        return
    matches = list(_ENCODED.finditer(text))
    if not matches:
        return
    yield _view(text, matches, "", parent)
    if any(match.lastgroup == "colour" for match in matches):
        yield _view(text, matches, SEAM, parent)


def _view(text: str, matches: list[re.Match[str]], seam: str, parent: View | None) -> View:
    pieces: list[tuple[int, int, int, bool]] = []
    said: list[str] = []
    done = length = 0
    for match in matches:
        start, end = match.span()
        if start > done:
            pieces.append((length, done, start, True))
            said.append(text[done:start])
            length += start - done
        plain = seam if match.lastgroup == "colour" else _plain(match)
        pieces.append((length, start, end, False))
        said.append(plain)
        length += len(plain)
        done = end
    pieces.append((length, done, len(text), True))
    said.append(text[done:])
    return View("".join(said), pieces, parent)


def _plain(match: re.Match[str]) -> str:
    """Return the one character that a code stands for."""
    code = match[0]
    if match.lastgroup == "percent":
        return chr(int(code[1:], 16))
    if match.lastgroup == "entity":
        return html.unescape(code)
    if code[1] in "ux":
        return chr(int(code[2:], 16))
    return _SIMPLE.get(code[1], code[1])
