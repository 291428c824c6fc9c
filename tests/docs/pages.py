"""The Markdown pages of the repository: their links, headings and fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=fence)\s*$", re.M | re.S)
_LINK = re.compile(r"\[[^\]\n]*\]\(\s*<?(?P<target>[^)\s>]+)>?[^)\n]*\)")
_HEADING = re.compile(r"^#{1,6}\s+(?P<text>.+?)\s*#*$", re.M)
_INLINE_CODE = re.compile(r"`[^`\n]*`")


class Block(NamedTuple):
    """A fenced block: its language ("" without one), its text, and the line where its text starts (1-based)."""

    language: str
    text: str
    line: int


def pages(repository: Path) -> list[Path]:
    """Return every Markdown page that we write, in order of path."""
    folders = ("docs", "benchmarks", "tests", "src")
    return sorted([*repository.glob("*.md"), *(p for folder in folders for p in (repository / folder).rglob("*.md"))])


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for match in _FENCE.finditer(text):
        yield Block(match["language"], match["body"], text.count("\n", 0, match.start("body")) + 1)


def prose(text: str) -> str:
    """Return the page without its fenced blocks and inline code."""
    return _INLINE_CODE.sub("", _FENCE.sub("", text))


def without_code(text: str) -> str:
    """Return the page with its code left out and its lines where they were."""
    return _INLINE_CODE.sub("", _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text))


def links(text: str) -> list[str]:
    """Return the targets of all links outside code."""
    return [match["target"] for match in _LINK.finditer(prose(text))]


def headings(text: str) -> list[str]:
    """Return the headings outside code, as written."""
    return [match["text"] for match in _HEADING.finditer(_FENCE.sub("", text))]


def anchor(heading: str) -> str:
    """Return the anchor that code hosts derive from a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
