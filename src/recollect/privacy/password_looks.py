"""Says by its looks alone how much a word may be a password, a PIN or a token. Pure."""

from __future__ import annotations

import re
from typing import Final

from recollect.late import late_pattern
from recollect.privacy.password_words import PREDICATES, SAID, SOFTWARE
from recollect.privacy.plausibility import is_phrase, looks_random, plausible_password, plausible_word

NOTHING: Final = -1
"""The looks of what is no credential whatever stands beside it."""
WORD: Final = 0
"""An ordinary word: only where a sentence says outright that it is a password."""
ODD: Final = 1
"""Words tied together, or something that is mostly an id or an address."""
CHOSEN: Final = 2
"""A word with a digit or a sign: hunter2-blue, also the name of a program and its version."""
SURE: Final = 3
"""In prose nothing else looks so: Tr0ubadour&3, qT7rB2mZ9wLx."""

_TECHNICAL = late_pattern(
    r"(?:sha|md|base|utf|aes|rsa|argon|bcrypt|scrypt|pbkdf|oauth|k8s|ipv|http|gpio)-?\d|(?:hs|rs|es|ed|v|x|p)-?\d[\d._-]*\w*\Z"
    r"|\d+-?(?:bit|byte|char|digit|stellig|zeichen|day|min|hour|sec|fold|factor|ms|gb|mb|kb|k\b|x\d)"
    r"|(?:get|set|check|is|has|parse|make|read|load|verify|validate|test|hash|compare|new|create)_\w+\Z"
    r"|\w+\(.*\)\Z|[\w.-]*/[\w./-]*\Z|#\w[\w-]*\Z|[@.]\w|\d+(?:[-/.:]\d+)*\w?\Z"
    r"|\w+(?:-\w+)*\.[a-z]{2,4}\d?\Z|[0-9a-f]{7,8}\Z|[^=]*://|\d{4}-\d\d-\d\dT|[\w.-]+:[\w.-]+@|\S*(?:[?&]\w+=|\*\*)|[\w.+-]+@[\w-]+\.[\w.-]+\Z|\w+=[A-Za-z]|[a-z]+:[0-9a-f]{4,}\Z"
    r"|[a-z][\w-]*:(?:[\w.-]+#\d+|[0-9a-f]{8}-[0-9a-f-]{27})\Z",  # a citation
    re.ASCII | re.IGNORECASE,
)
"""How words of software look that have a digit or a sign as a password has one; and a path, an address, an option."""
_NAME = late_pattern(
    r"[a-z]+(?:[A-Z][a-z]+)+\d?\Z|(?:[A-Z][a-z]+){2,}\d?\Z|[A-Za-z]*_[A-Za-z_]*\Z"
    r"|[A-Z]+(?:[-_][A-Z]+)*[-_]?\d{0,5}\Z",
    re.ASCII,
)
"""A name in code: userId, PasswordField, user_id, AUTH."""
_SURE = late_pattern(
    r"(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[A-Za-z]{3,}(?:[-_][A-Za-z]{3,})+[-_]?\d{1,4}\Z"  # saffron-Lantern-66
    r"|(?!(?:[A-Z]+|[A-Z]?[a-z]+)#)(?=(?:[^A-Za-z]*[A-Za-z]){4})(?=[^\d]*\d)[\w-]+(?:[!$^&#][\w-]+)+!?\Z"
    r"|(?=[^\d]*\d)[A-Za-z]{3,}\w*[!$*?+~^&]\d*\Z|(?=\w*[A-Z])[A-Za-z]+\d+[A-Za-z]+\d\w*[!?*]?\Z",
    re.ASCII,
)
_PIN = late_pattern(r"(?!(?:19|20)\d\d\Z)\d{4,8}(?:-\d{3,8}){0,3}#?\Z")
_PIECE = late_pattern(r"[A-Za-z]*\d*\Z", re.ASCII)
_EXAMPLE = late_pattern(r"[-_]example(?=[-_]|\Z)")
_ID = late_pattern(r"[0-9a-f-]{9,}\Z|[\w.+-]+@[a-z][\w-]*\Z", re.ASCII)
_SPLIT = late_pattern(r"[-_.:/@+=#]")
_LETTERS = late_pattern(r"[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_PREDICATE = late_pattern(
    r"(?:ge|ver)\w+t\Z|\w*(?:ed|en|able|ible|al|ful|less|ive|ent|ant|ous|ing|ly|ular|ic|ig|lich|bar|isch|iert|toire|orio|oria|do|da|ado"
    r"|ada|ido|ida|idas|ados|das|dos|ée?s?|cto|cta|rect|ect|ida|ário|ária|ória|ório|ное|ный|ная|но|ен|ена|ена)\Z"
)
"""How words end that say what a password is like, not which it is."""


def looks_of(value: str) -> int:
    """Return how much a word looks like a credential: `NOTHING`, `WORD`, `ODD`, `CHOSEN` or `SURE`."""
    if not any("0" <= c <= "9" for c in value):
        return _looks_of_letters(value)
    plain = _EXAMPLE.sub("", value)  # hunter2-example-key: without the word it must still be no placeholder
    if _TECHNICAL.match(value) or _NAME.match(value) or not plausible_password(plain) or _of_software(plain):
        return NOTHING
    if _ID.match(value):
        return ODD
    return SURE if _SURE.match(value) or looks_random(value) else CHOSEN


def is_pin(value: str) -> bool:
    """Return whether a value is a row of digits as a door or a card asks for."""
    return _PIN.match(value) is not None


def reads_as_phrase(value: str, *, least: int = 4) -> bool:
    """Return whether words are a passphrase rather than what a sentence says of one. least: how many they must be."""
    words = value.split()
    is_said = any(word in SAID or word in PREDICATES or word.endswith("ly") for word in words)
    return is_phrase(value, least=least) and not is_said and not words[0].endswith(("ed", "ing", "able", "al"))


def _looks_of_letters(value: str) -> int:
    if _TECHNICAL.match(value) or not plausible_word(value.lower()):
        return NOTHING
    pieces = value.split("-")
    if any(piece.lower() in PREDICATES for piece in pieces) or _PREDICATE.match(pieces[-1].lower()):
        return NOTHING
    if looks_random(value):
        return SURE
    if value.isalpha():
        return NOTHING if _NAME.match(value) else WORD
    if plausible_password(value):  # a sign
        return CHOSEN
    return ODD if len(pieces) > 2 else WORD if value.replace("-", "").isalpha() else NOTHING


def _of_software(value: str) -> bool:
    """Return whether a word is nothing but words of software, and numbers."""
    pieces = _SPLIT.split(value)
    if not all(_PIECE.match(piece) for piece in pieces):
        return False
    return all(word.lower() in SOFTWARE for piece in pieces for word in _LETTERS.findall(piece))
