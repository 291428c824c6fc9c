"""Rules that tell a secret from a placeholder, a reference to one, or a word: pure functions over the value alone.

A value next to a telling name (`password = …`) is only redacted when it passes; precision comes from here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from math import log2

PASSWORD_MIN_CHARS = 6
TOKEN_MIN_CHARS = 12
VALUE_MAX_CHARS = 2048

_REFERENCE = re.compile(
    r"""\A(?:[$%{\[(<~]|\.{0,2}/[A-Za-z_.-]*(?:/|\Z)|\\|--)  # ${VAR}, %s, {name}, <password>, a path, the next option
      | ://|\$[{(]|\{\{|[A-Za-z0-9_\])][(\[]|\(\)      # a URL, an interpolation, a call, an index
      | ->|=>|==[^=]|!=|\|\||&&|::                          # an expression
      | \A[A-Za-z_]+\d{0,2}(?:\.[A-Za-z_]+\d{0,2})+\Z   # self.token2
      | \A(?:process\.env|os\.environ|import\.meta|secrets\.|vault:|env:|file:|arn:|sha256:|[A-Za-z]:\\)
      | (?:Private|Public|Secret|Access|Api)Key(?:Types?)?\Z|[Kk]eyTypes?\Z   # a type: Ed25519PrivateKey
      | \.(?:py|js|ts|tsx|go|rs|json|ya?ml|md|txt|sh|toml|lock|html|css|pem|key|crt)\b
    """,
    re.ASCII | re.VERBOSE,
)
_PLACEHOLDER = re.compile(
    r"redacted|example|placeholder|change[-_]?(?:me|it|this)|your[-_ ]?(?:\w+[-_])?(?:api|key|token|secret|pass|own)"
    r"|dummy|insert|replace[-_]?(?:me|with)|\*{3}|x{4,}|\.{3}|…|•|0{6,}|12345678|abcdef|(?:-|_|\b)here\b",
    re.IGNORECASE,
)
_COOKIE_PAIR = re.compile(r"[^\s=;,]{1,128}=([^;\s]{8,4096})")
_WORDS = re.compile(r"[A-Za-z]*\d{0,4}\Z", re.ASCII)
_SPLIT = re.compile(r"[-_.:/@+=!#]")
_TURN = re.compile(r"[a-z](?=[A-Z0-9])|[0-9](?=[A-Za-z])|[A-Z](?=[0-9])", re.ASCII)
_COMMON = re.compile(  # atomic: one reading of the text, so that no run of digits or words can make it slow
    r"(?>pass(?:word|wd|phrase)?|passwd|pwd|secret|token|key|api|auth|access|refresh|session|client|bearer|value|hash"
    r"|string|my|our|the|new|old|bad|wrong|good|some|test(?:ing)?|fake|mock|sample|demo|default|super|top|very|is|db"
    r"|user|admin|root|postgres|mysql|redis|guest|login|local|dev|prod|invalid|valid|abc|foo|bar|baz|qux|none|null"
    r"|undefined|true|false|a|[0-9]{1,6}+|[-_.@!#/:])++\Z",
    re.IGNORECASE,
)


def entropy_bits(text: str) -> float:
    """Return Shannon's entropy of the text's characters, in bits a character; 0 for the empty text."""
    length = len(text)
    return -sum(n / length * log2(n / length) for n in Counter(text).values()) if length else 0.0


def has_letter_and_digit(value: str) -> bool:
    """Whether the value mixes letters with ASCII digits."""
    return any("0" <= c <= "9" for c in value) and any(c.isalpha() for c in value)


def jumps(value: str) -> bool:
    """Whether case and kind of characters change as often as in what a machine draws, and in no word."""
    turns = len(_TURN.findall(value))
    return turns >= 4 and turns * 4 >= len(value) >= 10


def is_varied(value: str) -> bool:
    """Whether what follows a telling prefix is rich in characters: a digit among letters, or case that jumps about."""
    return entropy_bits(value) >= 3.0 and (has_letter_and_digit(value) or jumps(value))


def looks_random(value: str) -> bool:
    """Whether the value looks drawn by a machine: not made of words and short numbers, rich in characters."""
    if len(value) < TOKEN_MIN_CHARS or entropy_bits(value) < 3.0:
        return False
    if not has_letter_and_digit(value):  # letters alone: only where the case jumps about
        return value.isascii() and value.isalpha() and len(_TURN.findall(value)) * 5 >= len(value) >= 16
    return any(not _WORDS.match(part) or len(_TURN.findall(part)) * 5 >= len(part) >= 8 for part in _SPLIT.split(value))


def stands_for_itself(value: str) -> bool:
    """Whether the value is a literal: no placeholder, no reference, no expression, no prose, no marker of ours."""
    return (
        len(value) <= VALUE_MAX_CHARS
        and not any(c <= " " for c in value)
        and not _REFERENCE.search(value)
        and not _PLACEHOLDER.search(value)
        and not _COMMON.match(value)
    )


def plausible_token(value: str) -> bool:
    """Whether the value may be a machine-made key or token."""
    return stands_for_itself(value) and looks_random(value)


def plausible_password(value: str) -> bool:
    """Whether the value may be a password, also one that a person chose: six characters with a letter and a digit."""
    if len(value) < PASSWORD_MIN_CHARS or not stands_for_itself(value):
        return False
    return has_letter_and_digit(value) or looks_random(value) or (value.isalpha() and jumps(value))


def holds_session(header: str) -> bool:
    """Whether one of a cookie's values, or the value given, looks drawn by a machine: a language is no secret."""
    if "=" not in header.rstrip("="):
        return looks_random(header.rstrip("="))
    return any(looks_random(found[1][:512].rstrip("=")) for found in _COOKIE_PAIR.finditer(header))


def holds_login(value: str) -> bool:
    """Whether base64 holds `name:password`, as Docker and npm keep it."""
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    name, colon, password = plain.partition(":")
    return bool(colon and name and len(password) >= 4) and plain.isprintable()
