"""Decodes a text as a reader sees it, without colours, and maps positions back.

Tool output is full of secrets behind a colour (`\x1b[32mghp_…`), in JSON inside a string (`\"token\": \"…\"`), in an
address (`%22token%22%3A…`) or in HTML (`&quot;`). A view removes one layer of these; a view of a view removes the next.
Views only serve to confirm secrets: candidates come from the original text, and so does the span that is replaced.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from recollect.late import late_pattern
from recollect.privacy.detector import RAW_REACH_BYTES, Detector, raw_pattern
from recollect.privacy.findings import PRIVATE_LITERALS, PRIVATE_RAW

MAX_LEVELS: Final = 3
"""Layers of encoding that are removed one after the other."""

# What one layer encodes, in the order of the groups: colours and other terminal controls (also where only their text
# is left: `^[[32m`, `[32m`); a backslash escape; a percent code; an HTML entity. Their first character stands before
# the groups: the search goes from one such to the next, five times faster than it tries every group everywhere.
_ENCODED: Final = late_pattern(
    r"[\x1b\x9b^\[\\%&](?:"
    r"(?P<colour>(?:(?<=\x1b)|(?<=\^)\[)"
    r"(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,2048}(?:\x07|\x1b\\)|[()][0-9A-Z])"
    r"|(?<=\x9b)[0-?]{0,40}[@-~]|(?<=\[)[0-9]{1,3}(?:;[0-9]{1,3}){0,8}m|(?<=\x1b))"
    r"|(?<=\\)(?P<escape>u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|033|[nrtbfe\"'\\/])"
    r"|(?<=%)(?P<percent>[0-7][0-9A-Fa-f])"
    r"|(?<=&)(?P<entity>(?:quot|amp|lt|gt|apos|nbsp|#[0-9]{1,3}|#[xX][0-9a-fA-F]{1,2});))",
    re.ASCII,
)
_SIGNS: Final = ("\\", "\x1b", "\x9b")
"""Of which each begins an encoding whatever follows it. One is looked for at memory speed, a class of them is not."""
_BEGINNINGS: Final = (
    ("%", late_pattern("%[0-7][0-9A-Fa-f]")),
    ("&", late_pattern("&[a-z#][a-z0-9A-Fx]{1,4};")),
    ("[", late_pattern(r"\[[0-9]{1,3}[;m]")),
)
_SIMPLE: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "e": "\x1b", "0": "\x1b"}
SEAM: Final = "\0"
"""Stands for colours in the view where words do not join over them."""


class View:
    """One decoded form of a text."""

    __slots__ = ("_at", "_copied", "_from", "_parent", "_to", "text")

    def __init__(self, text: str, pieces: list[tuple[int, int, int, bool]], parent: View | None) -> None:
        self.text = text
        self._parent = parent
        self._at = [piece[0] for piece in pieces]
        self._from = [piece[1] for piece in pieces]
        self._to = [piece[2] for piece in pieces]
        self._copied = [piece[3] for piece in pieces]

    def position(self, start: int) -> int:
        """Return the position of a character from its position `start` in the original, -1 if it was removed."""
        if self._parent is not None:
            start = self._parent.position(start)
            if start < 0:
                return -1
        i = bisect_right(self._from, start) - 1
        if self._copied[i]:
            return self._at[i] + start - self._from[i]
        stays = self._at[i] < (self._at[i + 1] if i + 1 < len(self._at) else len(self.text))
        return self._at[i] if stays and start == self._from[i] else -1

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the span of the original text that became `text[first:last]`, which is not empty."""
        a, b = self._piece(first), self._piece(last - 1)
        start = self._from[a] + (first - self._at[a] if self._copied[a] else 0)
        end = self._from[b] + last - self._at[b] if self._copied[b] else self._to[b]
        return self._parent.span(start, end) if self._parent is not None else (start, end)

    def _piece(self, position: int) -> int:
        return bisect_right(self._at, position) - 1


def views_of(text: str) -> Iterator[View]:
    """Yield the views of a text in which something was decoded, the least decoded first; none for most texts."""
    pending: list[tuple[str, View | None]] = [(text, None)]
    for _ in range(MAX_LEVELS):
        found = [view for source, parent in pending for view in _decoded(source, parent)]
        yield from found
        pending = [(view.text, view) for view in found]


def _decoded(text: str, parent: View | None) -> Iterator[View]:
    """Yield the text without one layer; where it has colours twice: with the words beside them joined, and apart."""
    if not _may_be_encoded(text):
        return
    matches = list(_ENCODED.finditer(text))
    if not matches:
        return
    yield _view(text, matches, "", parent)
    if any(match.lastgroup == "colour" for match in matches):
        yield _view(text, matches, SEAM, parent)


def _may_be_encoded(text: str) -> bool:
    return any(sign in text for sign in _SIGNS) or any(
        sign in text and pattern.search(text) is not None for sign, pattern in _BEGINNINGS
    )


def _view(text: str, matches: list[re.Match[str]], seam: str, parent: View | None) -> View:
    pieces: list[tuple[int, int, int, bool]] = []
    said: list[str] = []
    done = length = 0
    for match in matches:
        start, end = match.span()
        if start > done:
            pieces.append((length, done, start, True))
            said.append(text[done:start])
            length += start - done
        plain = seam if match.lastgroup == "colour" else _plain(match)
        pieces.append((length, start, end, False))
        said.append(plain)
        length += len(plain)
        done = end
    pieces.append((length, done, len(text), True))
    said.append(text[done:])
    return View("".join(said), pieces, parent)


def _plain(match: re.Match[str]) -> str:
    """Return the one character that a code represents."""
    code = match[0]
    if match.lastgroup == "percent":
        return chr(int(code[1:], 16))
    if match.lastgroup == "entity":
        import html  # brings a table of two thousand names

        return html.unescape(code)
    if code[1] in "ux":
        return chr(int(code[2:], 16))
    return _SIMPLE.get(code[1], code[1])


WINDOW_BYTES: Final = 1 << 20
"""Bytes searched at a time: bounds the list of hits whatever the data are."""

FEW_BYTES: Final = 4 << 20
"""So much of sources is read before it pays to make the fastest search, which takes 12 ms longer and 10 MB."""

NESTED_TRIES: Final = 8
"""Candidates tried that begin inside another candidate of the same detector."""

# ASCII written as an escape hides a literal. Such a record is suspect whatever it says; only control characters other
# than tab, line feed and carriage return (colours in terminal output, mostly) stand in no pattern.
_HIDING_LITERAL: Final = rb"\u00"
_HIDING_ESCAPE: Final = raw_pattern(r"\\u00(?:[2-7][0-9A-Fa-f]|09|0[AaDd])")
_ANYTHING: Final = raw_pattern("")


class Claim(NamedTuple):
    """A span of a text that a detector takes for a secret. rank: the detector's place in the list."""

    start: int
    end: int
    rank: int
    secret: str
    """The words of the secret, decoded where the text has them encoded."""


class _Literals:
    """Finds every place of many literals. What is made fast searches slowly: who reads no sources never needs the
    other."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self._words = words
        self._search = BytesAhoCorasick(words, implementation=Implementation.ContiguousNFA)
        self._left = FEW_BYTES

    def expect(self, size: int) -> None:
        """Be told of bytes of a source that are searched next."""
        if self._left > 0:
            self._left -= size
            if self._left <= 0:
                self._search = BytesAhoCorasick(self._words, implementation=Implementation.DFA)

    def hits(self, data: bytes | memoryview) -> list[tuple[int, int, int]]:
        """Return (number of the literal, start, end) of all hits, overlapping ones too."""
        return self._search.find_matches_as_indexes(data, overlapping=True)


class _RawChecks(dict[int, tuple[Callable[..., Any], ...]]):
    """What is tried in undecoded bytes, by literal, made when it is first asked for: few of the thousands ever are."""

    def __init__(self, make: Callable[[int], tuple[Callable[..., Any], ...]]) -> None:
        self._make = make

    def __missing__(self, literal: int) -> tuple[Callable[..., Any], ...]:
        found = self[literal] = self._make(literal)
        return found


class Matcher:
    """Finds candidates for a list of detectors and has them confirmed. Immutable; safe from many threads."""

    def __init__(self, detectors: tuple[Detector, ...]) -> None:
        self._detectors = detectors
        owners: dict[bytes, list[int]] = {literal: [] for literal in (_HIDING_LITERAL, *PRIVATE_LITERALS)}
        for rank, detector in enumerate(detectors):
            for literal in dict.fromkeys(detector.literals):
                owners.setdefault(literal, []).append(rank)
        self._owners = tuple(owners.values())
        self._anywhere = tuple(rank for rank, detector in enumerate(detectors) if not detector.literals)
        self._words = tuple(owners)
        self._sweeping = frozenset(rank for rank, d in enumerate(detectors) if not d.anchored and d.raw is not None)
        """Those that are tried on a whole text, and so only where one of their literals stands as it must."""
        self._literals = _Literals(self._words)
        self._overlap_bytes = max(map(len, owners)) - 1
        self._raw_checks = _RawChecks(self._raw_checks_of)

    def _raw_checks_of(self, literal: int) -> tuple[Callable[..., Any], ...]:
        """Return what is tried in undecoded bytes where a literal, given by its number, stands: one of it matches
        where a detector may find something. One without such a pattern suspects everything."""
        word = self._words[literal]
        if word == _HIDING_LITERAL:
            return (_HIDING_ESCAPE.match,)
        if word in PRIVATE_LITERALS:
            return (PRIVATE_RAW.match,)
        raws = dict.fromkeys(self._detectors[rank].raw for rank in self._owners[literal])
        return tuple(raw.match if raw is not None else _ANYTHING.match for raw in raws)

    def _may_be(self, literal: int, data: bytes, at: int) -> bool:
        """Return whether a literal stands as it must in a secret. at: where it begins."""
        for match in self._raw_checks[literal]:  # noqa: SIM110 - `any` takes twice as long, for every hit
            if match(data, at, at + RAW_REACH_BYTES):
                return True
        return False

    def suspects(self, data: bytes, ends: Sequence[int]) -> list[int]:
        """Return the ascending ordinals of the records in which `claims` may find something: see `Redactor`."""
        found: list[int] = []
        if not ends:
            return found
        if self._anywhere:
            return list(range(len(ends)))
        view = memoryview(data)[: ends[-1]]
        self._literals.expect(len(view))
        may_be = self._may_be
        clear_from = 0  # the end of the last suspect record: hits before it say nothing new
        for window in range(0, len(view), WINDOW_BYTES):
            piece = view[window : window + WINDOW_BYTES + self._overlap_bytes]
            for literal, start, _ in self._literals.hits(piece):
                at = window + start
                if at >= clear_from and may_be(literal, data, at):
                    record = bisect_right(ends, at)
                    found.append(record)
                    clear_from = ends[record]
        return found

    def claims(self, text: str) -> list[Claim]:
        """Return everything that a detector claims in the text, or in a view of it; in no order."""
        encoded = text.encode("utf-8", "surrogatepass")
        hits = self._literals.hits(encoded)
        standing = (hit for hit in hits if self._may_be(hit[0], encoded, hit[1]))
        first = next(standing, None)
        if first is None:
            hits = []  # as of most texts
        elif not _may_be_encoded(text):  # what is encoded twice does not always stand as it must
            hits = [first, *standing]
        if not hits and not self._anywhere:
            return []
        candidates = self._candidates(hits, encoded, text)
        found = list(self._confirmed(text, candidates, None))
        for view in views_of(text):
            found.extend(self._confirmed(view.text, candidates, view))
        return found

    def _candidates(self, hits: list[tuple[int, int, int]], encoded: bytes, text: str) -> dict[int, list[int]]:
        """Return by detector where its literals begin, ascending."""
        starts_by_rank: dict[int, set[int]] = {}
        for literal, start, at in _in_characters(hits, encoded, text):
            for rank in self._owners[literal]:
                if rank not in self._sweeping or self._may_be(literal, encoded, at):
                    starts_by_rank.setdefault(rank, set()).add(start)
        return {rank: sorted(starts) for rank, starts in starts_by_rank.items()}

    def _confirmed(self, text: str, candidates: dict[int, list[int]], view: View | None) -> Iterator[Claim]:
        for rank in self._anywhere:
            for first, last in _spans_of(self._detectors[rank], text, []):
                yield Claim(*(view.span(first, last) if view else (first, last)), rank, text[first:last])
        for rank, starts in candidates.items():
            here = [at for start in starts if (at := view.position(start)) >= 0] if view else starts
            for first, last in _spans_of(self._detectors[rank], text, here):
                yield Claim(*(view.span(first, last) if view else (first, last)), rank, text[first:last])


@lru_cache(maxsize=4)
def matcher_of(detectors: tuple[Detector, ...]) -> Matcher:
    """Return the matcher of a list of detectors: it takes a while to make, and is the same under every key."""
    return Matcher(detectors)


def _in_characters(hits: list[tuple[int, int, int]], encoded: bytes, text: str) -> list[tuple[int, int, int]]:
    """Return (literal, start, its place in `encoded`) of the hits, with starts counted in characters of `text`."""
    if len(encoded) == len(text):
        return [(literal, start, start) for literal, start, _ in hits]
    located: list[tuple[int, int, int]] = []
    byte_at = character_at = 0
    for literal, start, _ in sorted(hits, key=lambda hit: hit[1]):
        character_at += len(encoded[byte_at:start].decode("utf-8", "surrogatepass"))
        byte_at = start
        located.append((literal, character_at, start))
    return located


def _spans_of(detector: Detector, text: str, starts: list[int]) -> Iterator[tuple[int, int]]:
    """Yield what the detector claims at the ascending `starts`, or anywhere in the text if it is not anchored.

    Candidates that begin inside one just judged are tried a few times only: `password=password=password=…` would ask
    for the same characters again at every name.
    """
    judged_to = nested = 0
    matches = (
        filter(None, (detector.pattern.match(text, start) for start in starts))
        if detector.anchored
        else detector.pattern.compiled.finditer(text)
    )
    for match in matches:
        if match.start() < judged_to:
            nested += 1
            if nested > NESTED_TRIES:
                continue
        else:
            nested = 0
        span = detector.confirm(match)
        judged_to = max(judged_to, match.end(), span[1] if span else 0)
        if span is not None:
            yield span
