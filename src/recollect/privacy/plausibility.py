"""Tells secrets from placeholders, references and words, by the value alone. Pure.

A value next to a telling name (`password = …`) is only redacted when it passes; precision comes from here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from itertools import pairwise
from math import log2

from recollect.late import late_pattern

PASSWORD_MIN_CHARS = 6
TOKEN_MIN_CHARS = 12
VALUE_MAX_CHARS = 2048

_REFERENCE = late_pattern(
    r"""\A(?:\$(?:[{(]|[A-Za-z_][A-Za-z0-9_]*\Z|[0-9@*#]\Z)|[%{\[(<~]|\.{0,2}/[A-Za-z_.-]*(?:/|\Z)|\\|--)
      | sha(?:1|256|512)[:-]|://|\$[{(]|\{\{                                 # a URL, an interpolation
      | \A[A-Za-z_]+\d{0,2}(?:\.[A-Za-z_]+\d{0,2})+\Z   # self.token2
      | \A(?:process\.env|os\.environ|import\.meta|secrets\.|vault:|env:|file:|arn:|[A-Za-z]:\\)
      | (?:Private|Public|Secret|Access|Api)Key(?:Types?)?\Z|[Kk]eyTypes?\Z   # a type: Ed25519PrivateKey
      | \.(?:py|js|ts|tsx|go|rs|json|ya?ml|md|txt|sh|toml|lock|html|css|pem|key|crt)\b
    """,
    re.ASCII | re.VERBOSE,
)
_EXPRESSION = late_pattern(  # what code has where no quotes say that the value is a literal
    r"[A-Za-z0-9_\])][(\[]|\(\)|->|=>|==[^=]|!=|\|\||&&|::|\A[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_]|\$[A-Z_]{3}|\?\.|,\s*\Z",
    re.ASCII,
)
_MEASURE = late_pattern(
    r"\A(?:[v^~<>=]{0,2}\d+(?:[.:/-]\d+)+[A-Za-z0-9.+-]{0,16}|\d+(?:\.\d+)?(?:[a-zA-Z]{1,3}|%)|\d+(?:st|nd|rd|th)\b.*)\Z",
    re.ASCII,
)
_PLACEHOLDER = late_pattern(
    r"redacted|example|placeholder|change[-_]?(?:me|it|this)|your[-_ ]?(?:\w+[-_])?(?:api|key|token|secret|pass|own)"
    r"|dummy|insert|replace[-_]?(?:me|with)|\*{3}|x{4,}|\.{3}|…|•|(?:-|_|\b)here\b",
    re.IGNORECASE,
)
_MASK = late_pattern(
    r"([xX*.#])\1{4}|placeholder|your[-_]?(?:api|key|token|secret|own)|(?:[-_]|key|token)here\b|redacted|changeme",
    re.IGNORECASE,
)
_SEQUENCE = late_pattern(r"0{6,}|12345678|abcdef", re.IGNORECASE)
_SEQUENCE_MAX_CHARS = 23
"""Longer values may well hold such a run by chance."""
_LABELS = frozenset(
    """string text number boolean integer object array hidden required optional missing incorrect wrong empty blank
    short long weak strong masked encrypted hashed plain plaintext enabled disabled unknown basic oauth input field
    label forgot forgotten reset update confirm auto prompt never always random generated same different visible
    changed expired locked value values given passed present absent default later data
    info name type email username account credential credentials description title placeholder
    header query body form cookie path digest ldap saml kerberos sha sha1 sha256 bcrypt argon2 scrypt interactive
    manual store stored keyring keychain vault environment variable config settings delete remove create read write
    undefined nullable varchar bytes buffer char function return protected private public static const this self
    super-secret success failed failure error warning denied allowed accepted rejected matches mismatch""".split()
)
_STOP_WORDS = frozenset(
    """the a an is to your must be and or for of not with enter please password passwords in at has have from this that
    are was on it by as if can will should using use no do does did we you they""".split()
)
_SYMBOL = late_pattern(r"[!@#$%^&*+?~]")
_NAMES_ITSELF = late_pattern(r"pass(?:word|wd|phrase|code)|pwd|secret|token|credential|\Akey|key\Z", re.IGNORECASE)
_COOKIE_PAIR = late_pattern(r"[^\s=;,]{1,128}=([^;\s]{8,4096})")
_WORDS = late_pattern(r"[A-Za-z]*\d{0,4}\Z", re.ASCII)
_SPLIT = late_pattern(r"[-_.:/@+=!#]")
_TURN = late_pattern(r"[a-z](?=[A-Z0-9])|[0-9](?=[A-Za-z])|[A-Z](?=[0-9])", re.ASCII)
_COMMON = late_pattern(  # atomic: one reading of the text, so that no run of digits or words can make it slow
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


def _case_jumps(value: str) -> bool:
    """Whether letters alone change their case as often as in what a machine draws; names in code have longer humps."""
    if not (value.isascii() and value.isalpha()):
        return False
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(value))
    return changes >= 5 and changes * 3 >= len(value)


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


def is_filled_in(token: str) -> bool:
    """Whether a token after a vendor's prefix is one, rather than a mask or what a person is to write there."""
    return _MASK.search(token) is None and len(set(token[-16:])) > 2


def is_placeholder(value: str) -> bool:
    """Whether the value is a placeholder that a person is to replace."""
    return (
        _PLACEHOLDER.search(value) is not None
        or _COMMON.match(value) is not None
        or (len(value) <= _SEQUENCE_MAX_CHARS and _SEQUENCE.search(value) is not None)
        or len(set(value)) < 4
    )


def stands_for_itself(value: str, *, quoted: bool = False) -> bool:
    """Whether the value is a literal: no placeholder, reference, prose or marker, and no expression unless quoted."""
    return (
        len(value) <= VALUE_MAX_CHARS
        and not any(c <= " " for c in value)
        and not _REFERENCE.search(value)
        and (quoted or not _EXPRESSION.search(value))
        and not is_placeholder(value)
    )


def plausible_token(value: str, *, quoted: bool = False) -> bool:
    """Whether the value may be a machine-made key or token."""
    return looks_random(value) and stands_for_itself(value, quoted=quoted)


def plausible_secret(value: str, *, quoted: bool = False) -> bool:
    """Whether the value may be a secret, drawn by a machine or chosen: eight characters, a letter and a digit."""
    if plausible_token(value, quoted=quoted):
        return True
    return len(value) >= 8 and plausible_password(value, quoted=quoted)


def plausible_password(value: str, *, quoted: bool = False) -> bool:
    """Whether the value may be a password, also one that a person chose: six characters with a letter and a digit."""
    if len(value) < PASSWORD_MIN_CHARS or _MEASURE.match(value) or not stands_for_itself(value, quoted=quoted):
        return False
    if has_letter_and_digit(value) or looks_random(value):
        return True
    return any(c.isalpha() for c in value) and bool(_SYMBOL.search(value) or _case_jumps(value))


def plausible_word(value: str) -> bool:
    """Whether a literal in a password's place is one: any word, but no label and no name."""
    if len(value) < 4 or _MEASURE.match(value) or not stands_for_itself(value, quoted=True):
        return False
    if has_letter_and_digit(value) or _SYMBOL.search(value):
        return True
    words = re.split(r"[-_. ]", value.lower())
    if any(word in _LABELS for word in words) or _NAMES_ITSELF.search(value):
        return False
    if value.isascii() and value.isalpha():
        return value.islower() or _case_jumps(value)
    return value.islower() and "_" not in value and "." not in value


def is_phrase(value: str, *, least: int = 4) -> bool:
    """Whether the value is a row of small words that make no sentence: a passphrase, the words of a wallet."""
    words = value.split(" ")
    return (
        least <= len(words) <= 25
        and all(2 <= len(word) <= 12 and word.isascii() and word.isalpha() and word.islower() for word in words)
        and not any(word in _STOP_WORDS for word in words)
    )


def holds_session(header: str) -> bool:
    """Whether one of a cookie's values, or the given value, looks random: a language is no secret."""
    if "=" not in header.rstrip("="):
        return looks_random(header.rstrip("=")) and header[0] not in "<[{$"
    values = (found[1][:512].rstrip("=") for found in _COOKIE_PAIR.finditer(header))
    return any(looks_random(value) and value[0] not in "<[{$" for value in values)


def holds_login(value: str) -> bool:
    """Whether base64 holds `name:password`, as Docker and npm keep it."""
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    name, colon, password = plain.partition(":")
    return bool(colon and name and len(password) >= 4) and plain.isprintable()
