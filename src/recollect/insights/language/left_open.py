"""Tells whether a sentence leaves work open: it says both that something is unfinished, or is for later, and that
somebody has to do it.

Either alone says nothing: software "still" does things and "has to" do others.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.sentences import Words

_SUPPOSED: Final = re.compile(
    r"\b(?:if|would|could|wish|unless|whether|no longer|not (?:need|have) to|nothing|no (?:further|more)|(?:is|are) no"
    r"|might|don't (?:need|have) to|wenn|falls|würde\w*|nichts|nicht mehr|si|rien|nada|se|ничего|если)\b"
    r"|如果|もし|不需要|'d have to",
    re.IGNORECASE,
)
"""Words of what only might be, or need not be."""


def may_leave_open(low: str) -> bool:
    """Return whether any sentence of a text in lower case can leave work open; of most texts this says no, soon."""
    return any(one.spoken("unfinished").search(low) for one in (words_of("en"), *_heard(low)))


def leaves_open(low: str) -> bool:
    """Return whether a sentence in lower case says in one of its likely languages that work is left, and is real."""
    is_open = any(one.spoken("duty").search(low) and one.spoken("unfinished").search(low) for one in _heard(low))
    return is_open and _SUPPOSED.search(low) is None


def is_for_later(low: str) -> bool:
    """Return whether a sentence in lower case says that something is unfinished or for later."""
    return any(one.spoken("unfinished").search(low) for one in _heard(low))


def _heard(low: str) -> list[Words]:
    return [words_of(code) for code in languages(low)] or [words_of("en")]
