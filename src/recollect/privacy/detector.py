"""The contract of a detector, and how it finds its pattern in JSON bytes.

Two patterns belong together. `pattern` finds the secret in decoded text. `raw` is tried in the undecoded bytes where
one of the literals begins, and must match there whenever `pattern` would have matched in any string of the decoded
record or in a view of it (`views`): it may be loose, never strict. A detector whose literals are rare has no `raw`.
ASCII written as `\\u00XX` is not told here: the matcher suspects every record that has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from recollect.late import LatePattern, late_pattern
from recollect.privacy.plausibility import is_filled_in

RAW_REACH_BYTES = 26_000
"""Bytes a raw pattern may look at: 2,048 characters of a value at 12 bytes each (`\\uXXXX` pairs), name and room."""

LINE_END = r"(?:\s|\\{1,4}[nrt]){1,16}+"
"""Blanks between the lines of one secret, also as JSON inside a text writes them."""

ENCODED_RAW = (
    r"(?:\\+[^nrt\"\\]|%(?:[0-7][0-9A-Fa-f]|[\\&\x1b\[^%])|&#|&[a-z]{2,4};|\x1b|\xc2\x9b|\^\[|\[[0-9]{1,3}[;m])"
)
"""Begins in bytes what a view decodes: where one stands inside a token, the token is told from the decoded text."""

_SIGNS_AT_END = late_pattern(r"[^-A-Za-z0-9_.]+\Z", re.ASCII)
_CORE_MIN_CHARS = 3
AFTER_ENCODED = ("\\", "%", "&", "\x1b", "^", "[")
"""What may follow the plain beginning of a literal whose next character is encoded."""


class Detector(NamedTuple):
    """One kind of secret, as data. Where two detectors claim the same text, the earlier in the list names it.

    kind: slug, at most 40 of [a-z0-9_]. literals: byte strings of which one is in every text that holds such a secret,
    matched exactly; none: it is looked for in every record, which costs. pattern: finds it in decoded text; linear time
    on any input. group: the group of `pattern` that is the secret; -1: the only one that took part. raw: see the
    module; it sees no more than `RAW_REACH_BYTES`; None: a literal is enough to suspect. validate: last word on the
    secret alone, or None. judge: instead of `group` and `validate`, returns the span of the secret in a match, or None.
    anchored: every match of `pattern` begins where a literal begins, so that it is tried only there.
    """

    kind: str
    literals: tuple[bytes, ...]
    pattern: LatePattern[str]
    group: int = 1
    raw: LatePattern[bytes] | None = None
    validate: Callable[[str], bool] | None = None
    judge: Callable[[re.Match[str]], tuple[int, int] | None] | None = None
    anchored: bool = True

    def confirm(self, match: re.Match[str]) -> tuple[int, int] | None:
        """Return the span of the secret in a match of `pattern`, None if it is none."""
        if self.judge is not None:
            return self.judge(match)
        first, last = match.span(self.group if self.group >= 0 else match.lastindex or 0)
        if first == last:  # a pattern of one's own whose group took no part, or that looks ahead only
            return None
        return (first, last) if self.validate is None or self.validate(match.string[first:last]) else None


@cache
def text_pattern(source: str) -> LatePattern[str]:
    """Return a pattern over decoded text, the same for the same source.

    ASCII rules, so that text and bytes agree on what a letter is.
    """
    return LatePattern(source, re.ASCII)


@cache
def raw_pattern(source: str) -> LatePattern[bytes]:
    """Return the loose twin of a pattern, over JSON bytes; the same for the same source."""
    return LatePattern(source.encode("ascii"))


def literals(*words: str) -> tuple[bytes, ...]:
    """Return what to look for in text and bytes so that each of the words is found, also where its signs are encoded.

    Letters, digits, `-`, `_` and `.` are never encoded. A word that ends in signs is told by what stands before them
    and by how the first of them may be written; one that has other signs also with all of them as percent codes.
    """
    found: dict[str, None] = {}
    for word in words:
        signs = _SIGNS_AT_END.search(word)
        core = word[: signs.start()] if signs else word
        if signs and len(core) >= _CORE_MIN_CHARS:
            found |= dict.fromkeys(ended((core,), (signs[0][0], *AFTER_ENCODED)))
        else:
            found[word] = None
        found[quote(word, safe="")] = None
    return tuple(word.encode() for word in found)


def ended(words: Iterable[str], endings: Iterable[str]) -> list[str]:
    """Return every word with every ending."""
    endings = tuple(endings)
    return [word + ending for word in words for ending in endings]


def prefixed(
    kind: str,
    prefixes: tuple[str, ...],
    body: str,
    *,
    closed: bool = True,
    validate: Callable[[str], bool] = is_filled_in,
) -> Detector:
    """Return the detector of a token that begins with one of the prefixes.

    body: regular expression of the rest. validate: the last word on the token; unless given, a prefix is
    evidence enough and only what is plainly to be filled in is none.
    closed: nothing alphanumeric may follow, for tokens of fixed length.
    """
    heads = "|".join(re.escape(p) for p in sorted(prefixes, key=len, reverse=True))
    like_base64 = all(p.isalnum() for p in prefixes)
    begin = r"(?<![A-Za-z0-9/])(?<![A-Za-z0-9]\+)" if like_base64 else "(?<![A-Za-z0-9])"
    end = ("(?![A-Za-z0-9+/])" if like_base64 else "(?![A-Za-z0-9])") if closed else ""
    return Detector(
        kind=kind,
        literals=literals(*prefixes),
        pattern=text_pattern(rf"{begin}((?:{heads})(?:{body})){end}"),
        raw=raw_pattern(rf"(?:{heads})(?:{body}|[A-Za-z0-9_.=+/~$!:@-]{{0,300}}+{ENCODED_RAW})"),
        validate=validate,
    )
