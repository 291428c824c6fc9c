"""Normalises subjects, predicates, objects and tags for comparison."""

from __future__ import annotations

import re
import unicodedata

_NOT_WORD = re.compile(r"[^\w]+")


def normal_name(text: str) -> str:
    """Normalise a subject or object for comparison: NFKC, case-folded, single spaces, no final full stop."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".;, ")


def normal_predicate(text: str) -> str:
    """Normalise a predicate: lower-case words joined by `_` (`works on` becomes `works_on`).

    "" if nothing is left.
    """
    return _NOT_WORD.sub("_", unicodedata.normalize("NFKC", text).casefold()).strip("_")


def tag_name(text: str) -> str:
    """Normalise a tag: lower-case words joined by `-` (`Release 2.0` becomes `release-2.0`); "" if nothing is left."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("_", "-")
    return re.sub(r"[^\w./+]+", "-", folded).strip("-")
