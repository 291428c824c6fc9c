"""Finds the words of the query in a shown text."""

from __future__ import annotations

import re

_FILTER = re.compile(r"-?\b[a-z]+:(?:\"[^\"]*\"|\S+)|(?<!\S)-\S+")
_WORD = re.compile(r"\*?\w+")
_FIRST_UNSPACED = "\u2e80"
"""From here on come the scripts of China, Japan and Korea."""


def matched_words(query: str) -> re.Pattern[str] | None:
    """Return a pattern for the words of a query and what may follow them ("test" in "tests"); filters left out.

    A word begins where a word begins, except after `*` and in scripts that put no space between words.
    """
    words = {w for w in _WORD.findall(_FILTER.sub(" ", query)) if w != "OR"}
    if not words:
        return None
    anywhere = {w.lstrip("*") for w in words if w[0] == "*" or w[0] >= _FIRST_UNSPACED}
    at_start = {w for w in words if w not in anywhere and w[0] != "*"}
    parts = [rf"(?<![^\W_]){re.escape(w)}[^\W_]*" for w in sorted(at_start, key=len, reverse=True)]
    parts += [re.escape(w) for w in sorted(anywhere, key=len, reverse=True)]
    return re.compile(f"(?i)(?:{'|'.join(parts)})")
