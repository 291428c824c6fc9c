"""What a detector is, and how a shape in text is told in the bytes of JSON.

Two patterns belong together. `pattern` finds the secret in decoded text. `raw` is tried in the undecoded bytes where
one of the literals begins, and must match there whenever `pattern` would have matched in any string of the decoded
record: it may be loose, never strict. So each piece of a pattern is loosened the same way: no boundaries on the left (a
newline before a token is the letter n in JSON), `/` may be written `\\/`, quotes and backslashes may be doubled by
escaping, a character beyond ASCII may be written `\\uXXXX`. ASCII written as `\\u00XX` is not told here: the redactor
suspects every record that has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import AnyStr, Generic

RAW_REACH_BYTES = 26_000
"""Bytes a raw pattern may look at: 2,048 characters of a value at 12 bytes each (`\\uXXXX` pairs), name and room."""

LINE_END = r"(?:\s|\\{1,4}[nrt]){1,16}+"
"""Blanks between the lines of one secret, also as JSON inside a text writes them."""


class LatePattern(Generic[AnyStr]):
    """A regular expression, compiled when it is first tried: most kinds of secret come up in few processes.

    Compiling all of them takes longer than all else that a short command has to do.
    """

    def __init__(self, source: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._source: AnyStr = source
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        """The pattern itself."""
        return re.compile(self._source, self._flags)

    @cached_property
    def match(self) -> Callable[..., re.Match[AnyStr] | None]:
        """`re.Pattern.match`."""
        return self.compiled.match

    @cached_property
    def search(self) -> Callable[..., re.Match[AnyStr] | None]:
        """`re.Pattern.search`."""
        return self.compiled.search


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of secret, as data. Where two detectors claim the same text, the earlier in the list names it.

    kind: slug, at most 40 of [a-z0-9_]. literals: byte strings of which one is in every text that holds such a secret,
    matched exactly; none: it is looked for in every record, which costs. pattern: finds it in decoded text; linear time
    on any input. group: the group of `pattern` that is the secret; -1: the only one that took part. raw: see the
    module; it sees no more than `RAW_REACH_BYTES`. validate: last word on the secret alone, or None. anchored: every
    match of `pattern` begins where a literal begins, so that it is tried only there.
    """

    kind: str
    literals: tuple[bytes, ...]
    pattern: LatePattern[str]
    group: int
    raw: LatePattern[bytes]
    validate: Callable[[str], bool] | None = None
    anchored: bool = True


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


def prefixed(
    kind: str,
    prefixes: tuple[str, ...],
    body: str,
    *,
    raw_body: str = "",
    closed: bool = True,
    validate: Callable[[str], bool] | None = None,
) -> Detector:
    """Return the detector of a token that begins with one of the prefixes.

    body: regular expression of the rest, over characters that JSON writes as they are (none of `/`, `"`, `\\`); else
    raw_body says how it begins in JSON.
    closed: nothing alphanumeric may follow, for tokens of fixed length.
    """
    heads = "|".join(re.escape(p) for p in sorted(prefixes, key=len, reverse=True))
    end = "(?![A-Za-z0-9])" if closed else ""
    return Detector(
        kind=kind,
        literals=tuple(p.encode("ascii") for p in prefixes),
        pattern=text_pattern(rf"(?<![A-Za-z0-9])((?:{heads}){body}){end}"),
        group=1,
        raw=raw_pattern(rf"(?:{heads}){raw_body or body}"),
        validate=validate,
    )
