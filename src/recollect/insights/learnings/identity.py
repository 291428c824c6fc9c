"""What a learning is called by, and how sure it is: pure functions of its content and of what it was computed from."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping

from recollect.model.learnings.learnings import LearningKind, Scope

LONGEST_TEXT = 300
"""Characters of a learning's text, and of a quote, at most."""
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.05, 0.99
_CLOSING = " \t\n.!,;:…。！，；："


def normalised(text: str) -> str:
    """Return a text as it is compared: composed, case folded, white space folded, without punctuation at its end."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(_CLOSING)


def learning_id(kind: LearningKind, scope: Scope, repo: str, path: str, text: str) -> str:
    """Return the id of a learning: "l" and 20 hex digits of the hash of its normalised content.

    The same thing heard twice has one id: case, white space and punctuation at the end don't count. repo counts for the
    scopes repo and path, path for the scope path.
    """
    place = {"user": ("", ""), "repo": (repo, ""), "path": (repo, path)}[scope]
    content = "\0".join((kind, scope, *place, normalised(text)))
    return "l" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def id_everywhere(kind: LearningKind, text: str) -> str:
    """Return the id of a learning that holds everywhere: that of most preferences in earlier versions, which took one
    to hold everywhere unless its words named the repository."""
    return learning_id(kind, "user", "", "", text)


def confidence_of(features: Mapping[str, float]) -> float:
    """Return the confidence that features come to: their sum, between 0.05 and 0.99, on three digits.

    Features are named by what they say ("explicit", "passed again") and add up, so that each can be read beside it.
    """
    return round(min(MOST_CONFIDENCE, max(LEAST_CONFIDENCE, sum(features.values()))), 3)


def bounded(text: str, limit: int = LONGEST_TEXT) -> str:
    """Return a text on one line, cut at a word where it is longer than `limit`, with an ellipsis."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    gap = cut.rfind(" ")
    return (cut[:gap] if gap > limit // 2 else cut).rstrip() + "…"
