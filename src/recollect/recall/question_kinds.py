"""What kind of thing a question asks for, and which texts have one: a number, a place, a command, an error, a reason.

Who asks how many or where is not answered by a passage that has the words of the question and no number or path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.late import late_pattern

_NAMED = r"\b(?:which|what) (?:\w+ ){0,3}"
_KINDS = (
    (
        rf"\bhow (?:many|much|long|often|big|large)\b|\bnumber of|{_NAMED}(?:versions?|release|port|size|date|id|pr"
        r"|count|threshold|limit)\b",
        r"\b\d[\d.,:]*\b",
    ),
    (
        rf"\bwhere\b|{_NAMED}(?:files?|folders?|director(?:y|ies)|path|module|package)\b",
        r"[\w.~-]*/[\w./-]+|\b[\w-]+\.(?:py|go|ts|js|md|json|toml|yml|yaml|sh|html|txt|rs|css)\b",
    ),
    (
        rf"{_NAMED}(?:commands?|script|flags?|options?|switch|invocation)\b"
        r"|\bhow (?:did|do|can) (?:we|i|you|one|a user)\b",
        r"`[^`\n]+`|^\s*\$ |\bcommand:|--\w",
    ),
    (
        r"\b(?:complain|error|fail|crash|reject|refuse|broke|went wrong|exception|blew)",
        r"error|fail|exception|denied|refus|cannot|not found|unable|rejected|warning",
    ),
    (rf"{_NAMED}commit\b", r"\b[0-9a-f]{7,40}\b"),
    (
        r"\bwhy\b|\bhow come\b|\breason\b|\bwhat (?:made|caused|speaks)\b|\bcause\b",
        r"because|since|reason|so that|due to|root cause|the problem|the issue|would|instead",
    ),
)
_ASKS = [(late_pattern(asks, re.I), late_pattern(has, re.I | re.M)) for asks, has in _KINDS]
Sought = Sequence["re.Pattern[str]"]
"""A pattern for each kind of thing that a question asks for."""


def sought_in(question: str) -> Sought:
    """Return what a question asks for; nothing for most."""
    return [has for asks, has in _ASKS if asks.search(question)]


def share_in(text: str, sought: Sought) -> float:
    """Return the share (0 to 1) of what is sought that a text has; 0 where nothing is."""
    return sum(one.search(text) is not None for one in sought) / len(sought) if sought else 0.0
