"""How subjects, predicates, objects and tags are compared: case, white space and ways of writing don't count."""

from __future__ import annotations

import re
import unicodedata

_NOT_WORD = re.compile(r"[^\w]+")


def normal_name(text: str) -> str:
    """Return a subject or object as it is compared: NFKC, case folded, white space as single blanks, no final stop."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".;, ")


def normal_predicate(text: str) -> str:
    """Return a predicate as it is kept and compared: words in lower case, joined by `_` (`works on` is `works_on`).

    "" where nothing is left.
    """
    return _NOT_WORD.sub("_", unicodedata.normalize("NFKC", text).casefold()).strip("_")


def tag_name(text: str) -> str:
    """Return a tag as it is kept: lower case, words joined by `-` (`Release 2.0` is `release-2.0`); "" for none."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("_", "-")
    return re.sub(r"[^\w./+]+", "-", folded).strip("-")
