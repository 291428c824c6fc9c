"""Where secrets may stand: candidates from one search for many literals, confirmed by the detectors they belong to.

The redactor knows only `Matcher`: which records of raw bytes to look at, and which spans of a text are claimed. How
candidates are found can change without it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from recollect.privacy.private_spans import PRIVATE_LITERALS, PRIVATE_RAW
from recollect.privacy.shapes import RAW_REACH_BYTES, Detector, LatePattern
from recollect.privacy.views import View, views_of

WINDOW_BYTES: Final = 1 << 20
"""Bytes searched at a time: bounds the list of hits whatever the data are."""

NESTED_TRIES: Final = 8
"""Candidates tried that begin inside another candidate of the same detector."""

# ASCII written as an escape hides a literal. Such a record is suspect whatever it says; only control characters other
# than tab, line feed and carriage return (colours in terminal output, mostly) stand in no pattern.
_HIDING_LITERAL: Final = rb"\u00"
_HIDING_ESCAPE: Final = re.compile(rb"\\u00(?:[2-7][0-9A-Fa-f]|09|0[AaDd])")
_ANYTHING: Final = re.compile(b"")


class Claim(NamedTuple):
    """A span of a text that a detector takes for a secret. rank: the detector's place in the list."""

    start: int
    end: int
    rank: int
    secret: str
    """The words of the secret, decoded where the text has them encoded."""


class Matcher:
    """Finds candidates for a list of detectors and has them confirmed. Immutable; safe from many threads."""

    def __init__(self, detectors: tuple[Detector, ...]) -> None:
        self._detectors = detectors
        owners: dict[bytes, list[int]] = {literal: [] for literal in (_HIDING_LITERAL, *PRIVATE_LITERALS)}
        for rank, detector in enumerate(detectors):
            for literal in detector.literals:
                owners.setdefault(literal, []).append(rank)
        self._owners = tuple(tuple(dict.fromkeys(ranks)) for ranks in owners.values())
        self._anywhere = tuple(rank for rank, detector in enumerate(detectors) if not detector.literals)
        self._raw_checks: tuple[tuple[re.Pattern[bytes] | LatePattern[bytes], ...], ...] = tuple(
            (PRIVATE_RAW,)
            if literal in PRIVATE_LITERALS
            else tuple(dict.fromkeys(detectors[rank].raw or _ANYTHING for rank in ranks)) or (_HIDING_ESCAPE,)
            for literal, ranks in zip(owners, self._owners, strict=True)
        )
        self._literals = BytesAhoCorasick(tuple(owners), implementation=Implementation.DFA)
        self._overlap_bytes = max(map(len, owners)) - 1

    def suspects(self, data: bytes, ends: Sequence[int]) -> list[int]:
        """Return the ascending ordinals of the records in which `claims` may find something: see `Redactor`."""
        found: list[int] = []
        if not ends:
            return found
        if self._anywhere:
            return list(range(len(ends)))
        view = memoryview(data)[: ends[-1]]
        checks_of = self._raw_checks
        clear_from = 0  # the end of the last suspect record: hits before it say nothing new
        for window in range(0, len(view), WINDOW_BYTES):
            piece = view[window : window + WINDOW_BYTES + self._overlap_bytes]
            for literal, start, _ in self._literals.find_matches_as_indexes(piece, overlapping=True):
                at = window + start
                if at < clear_from:
                    continue
                for check in checks_of[literal]:
                    if check.match(data, at, at + RAW_REACH_BYTES):
                        record = bisect_right(ends, at)
                        found.append(record)
                        clear_from = ends[record]
                        break
        return found

    def claims(self, text: str) -> list[Claim]:
        """Return everything that a detector claims in the text, or in a view of it; in no order."""
        candidates = self._candidates(text)
        if not candidates and not self._anywhere:
            return []
        found = list(self._confirmed(text, candidates, None))
        for view in views_of(text):
            found.extend(self._confirmed(view.text, candidates, view))
        return found

    def _candidates(self, text: str) -> dict[int, list[int]]:
        """Return by detector where its literals begin, ascending."""
        encoded = text.encode("utf-8", "surrogatepass")
        hits = self._literals.find_matches_as_indexes(encoded, overlapping=True)
        starts_by_rank: dict[int, set[int]] = {}
        for literal, start in _in_characters(hits, encoded, text) if hits else ():
            for rank in self._owners[literal]:
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


def _in_characters(hits: list[tuple[int, int, int]], encoded: bytes, text: str) -> list[tuple[int, int]]:
    """Return (literal, start) of the hits with starts counted in characters of `text`, not bytes of `encoded`."""
    if len(encoded) == len(text):
        return [(literal, start) for literal, start, _ in hits]
    located: list[tuple[int, int]] = []
    byte_at = character_at = 0
    for literal, start, _ in sorted(hits, key=lambda hit: hit[1]):
        character_at += len(encoded[byte_at:start].decode("utf-8", "surrogatepass"))
        byte_at = start
        located.append((literal, character_at))
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
