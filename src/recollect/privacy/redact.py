"""The redactor: which records may hold a secret, told from their bytes; and their text with every secret replaced.

`suspects` is the fast sieve over raw bytes, the other two are exact and work on decoded text. The sieve never misses
what they would find; most of what it lets through holds nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from recollect.privacy.assignments import kind_by_key
from recollect.privacy.detectors import DEFAULT
from recollect.privacy.findings import MARKER, Finding, finding_of
from recollect.privacy.private_spans import PRIVATE_KIND, PRIVATE_LITERALS, PRIVATE_RAW, strip_private
from recollect.privacy.shapes import RAW_REACH_BYTES, Detector, LatePattern

WINDOW_BYTES: Final = 1 << 20
"""Bytes searched at a time: bounds the list of hits whatever the data are."""

NESTED_TRIES: Final = 8
"""Candidates tried that begin inside another candidate of the same detector."""

# ASCII written as an escape hides a literal. Such a record is suspect whatever it says; only control characters other
# than tab, line feed and carriage return (colours in terminal output, mostly) stand in no pattern.
_HIDING_LITERAL: Final = rb"\u00"
_HIDING_ESCAPE: Final = re.compile(rb"\\u00(?:[2-7][0-9A-Fa-f]|09|0[AaDd])")


class _Sieve(NamedTuple):
    """What is searched for, of a list of detectors. Ranks are places in that list."""

    anywhere: tuple[int, ...]
    """Those without a literal, which are looked for in every record."""
    owners: tuple[tuple[int, ...], ...]
    """By literal: whose it is."""
    raw_checks: tuple[tuple[re.Pattern[bytes] | LatePattern[bytes], ...], ...]
    """By literal: what is tried where it stands in undecoded bytes."""
    literals: BytesAhoCorasick
    overlap_bytes: int
    rank_by_kind: dict[str, int]


@lru_cache(maxsize=4)
def _sieve_of(detectors: tuple[Detector, ...]) -> _Sieve:
    """Prepare the search. It takes most of the time of making a redactor, and is the same under every key."""
    owners: dict[bytes, list[int]] = {literal: [] for literal in (_HIDING_LITERAL, *PRIVATE_LITERALS)}
    for rank, detector in enumerate(detectors):
        for literal in detector.literals:
            owners.setdefault(literal, []).append(rank)
    owned = tuple(tuple(dict.fromkeys(ranks)) for ranks in owners.values())
    return _Sieve(
        anywhere=tuple(rank for rank, detector in enumerate(detectors) if not detector.literals),
        owners=owned,
        raw_checks=tuple(
            (PRIVATE_RAW,)
            if literal in PRIVATE_LITERALS
            else tuple(dict.fromkeys(detectors[rank].raw for rank in ranks)) or (_HIDING_ESCAPE,)
            for literal, ranks in zip(owners, owned, strict=True)
        ),
        literals=BytesAhoCorasick(tuple(owners), implementation=Implementation.DFA),
        overlap_bytes=max(map(len, owners)) - 1,
        rank_by_kind={detector.kind: rank for rank, detector in reversed(list(enumerate(detectors)))},
    )


class Redactor:
    """Finds and replaces secrets under one marker key. Immutable after construction; safe from many threads."""

    def __init__(
        self, marker_key: bytes, detectors: Sequence[Detector] = DEFAULT, *, allow: Sequence[str] = ()
    ) -> None:
        """Prepare the search. A home's own is made by `configured.redactor_of`.

        Args:
            marker_key: the home's secret key for fingerprints; same key, same markers.
            detectors: in order of precedence, the most specific first.
            allow: what is no secret, though a detector says so: values, or regular expressions of all of it.
        """
        self._marker_key = marker_key
        self._detectors = tuple(detectors)
        self._allowed_values = frozenset(allow)
        self._allowed = tuple(re.compile(expression, re.ASCII) for expression in allow)
        sieve = _sieve_of(self._detectors)
        self._anywhere, self._owners, self._raw_checks, self._literals, self._overlap_bytes, self._rank_by_kind = sieve

    def suspects(self, data: bytes, ends: Sequence[int]) -> list[int]:
        """Return the ascending ordinals of the records that may hold a secret.

        Never misses a record in which `redact_value` (on the decoded record) or `redact_text` (on its bytes decoded as
        UTF-8 with replacement) finds something; may name records that hold nothing.

        Args:
            data: raw bytes of JSON records, one after the other.
            ends: ascending end offsets in `data`; record i is data[ends[i-1] or 0 : ends[i]]. Bytes after the last
                end belong to no record.
        Cost: about 2.5 ms of CPU per MB.
        """
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

    def redact_text(self, text: str) -> tuple[str, tuple[Finding, ...]]:
        """Return the text with every secret replaced by its marker, and one finding per marker, in order of discovery.

        Idempotent: redacted text comes back unchanged and without findings. The text around secrets is kept exactly.
        """
        return self._redact(text, whole_kind="")

    def redact_value(self, value: Any) -> tuple[Any, tuple[Finding, ...]]:
        """Return decoded JSON with every secret in its strings and keys replaced, and the findings.

        A string under a telling key (`"password": "…"`) is a secret as a whole if it looks like one. Returns the same
        object when nothing was found, else a copy; never changes the argument. Iterative: any depth will do.
        """
        if isinstance(value, str):
            return self._redact(value, whole_kind="")
        if not isinstance(value, dict | list | tuple):
            return value, ()
        findings: list[Finding] = []
        root: list[Any] = []
        pending: list[tuple[Any, Any]] = [((value,), root)]
        while pending:
            source, copy = pending.pop()
            if isinstance(source, dict):
                for key, item in source.items():
                    copy[self._copied(key, "", findings, pending)] = self._copied(item, key, findings, pending)
            else:
                copy.extend([self._copied(item, "", findings, pending) for item in source])
        return (root[0], tuple(findings)) if findings else (value, ())

    def _copied(self, item: Any, key: Any, findings: list[Finding], pending: list[tuple[Any, Any]]) -> Any:
        """Return a string redacted, a container as an empty copy to be filled later, anything else as it is."""
        if isinstance(item, str):
            kind = kind_by_key(key, item) if isinstance(key, str) else ""
            text, found = self._redact(item, whole_kind=kind if kind in self._rank_by_kind else "")
            findings.extend(found)
            return text
        if isinstance(item, dict | list | tuple):
            copy: Any = {} if isinstance(item, dict) else []
            pending.append((item, copy))
            return copy
        return item

    def _redact(self, text: str, *, whole_kind: str) -> tuple[str, tuple[Finding, ...]]:
        """Redact until nothing is found: a marker may lay bare the edge of a secret that stood against the first."""
        text, spans = strip_private(text)
        findings = [Finding(PRIVATE_KIND, "")] * spans
        claims = self._claims(text, whole_kind)
        while claims:
            text, found = self._replaced(text, claims)
            findings.extend(found)
            claims = self._claims(text, "")
        return text, tuple(findings)

    def _claims(self, text: str, whole_kind: str) -> list[tuple[int, int, int]]:
        """Return (start, end, rank) of everything a detector claims, sorted; never inside or across a marker."""
        claims: list[tuple[int, int, int]] = []
        if whole_kind:
            claims.append((0, len(text), self._rank_by_kind[whole_kind]))
        encoded = text.encode("utf-8", "surrogatepass")
        hits = self._literals.find_matches_as_indexes(encoded, overlapping=True)
        if hits:
            starts_by_rank: dict[int, set[int]] = {}
            for literal, start in _in_characters(hits, encoded, text):
                for rank in self._owners[literal]:
                    starts_by_rank.setdefault(rank, set()).add(start)
            for rank, starts in starts_by_rank.items():
                claims.extend(_claims_of(self._detectors[rank], rank, text, sorted(starts)))
        for rank in self._anywhere:
            claims.extend(_claims_of(self._detectors[rank], rank, text, []))
        if claims and self._allowed:
            claims = [claim for claim in claims if not self._allows(text[claim[0] : claim[1]])]
        if claims and "[REDACTED:" in text:
            markers = [match.span() for match in MARKER.finditer(text)]
            claims = [claim for claim in claims if not _touches(claim, markers)]
        return sorted(claims)

    def _allows(self, secret: str) -> bool:
        return secret in self._allowed_values or any(allowed.fullmatch(secret) for allowed in self._allowed)

    def _replaced(self, text: str, claims: list[tuple[int, int, int]]) -> tuple[str, list[Finding]]:
        """Replace claimed text. Overlapping claims become one secret, of the most specific kind among them."""
        pieces: list[str] = []
        findings: list[Finding] = []
        done = 0
        for start, end, rank in _merged(claims):
            finding = finding_of(self._detectors[rank].kind, text[start:end], self._marker_key)
            findings.append(finding)
            pieces += (text[done:start], finding.marker)
            done = end
        pieces.append(text[done:])
        return "".join(pieces), findings


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


def _claims_of(detector: Detector, rank: int, text: str, starts: list[int]) -> Iterator[tuple[int, int, int]]:
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
        first, last = match.span(detector.group if detector.group >= 0 else match.lastindex or 0)
        if first == last:  # a pattern of one's own whose group took no part, or that looks ahead only
            continue
        if first < judged_to:
            nested += 1
            if nested > NESTED_TRIES:
                continue
        else:
            nested, judged_to = 0, last
        if detector.validate is None or detector.validate(text[first:last]):
            yield first, last, rank


def _merged(claims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join overlapping claims, so that no tail of a secret is left standing."""
    merged: list[tuple[int, int, int]] = []
    for start, end, rank in claims:
        if merged and start < merged[-1][1]:
            first, last, best = merged[-1]
            merged[-1] = (first, max(last, end), min(best, rank))
        else:
            merged.append((start, end, rank))
    return merged


def _touches(claim: tuple[int, int, int], markers: list[tuple[int, int]]) -> bool:
    """Whether the claim shares a character with a marker; markers are ascending and do not overlap."""
    after = bisect_right(markers, claim[1] - 1, key=lambda marker: marker[0])
    return after > 0 and markers[after - 1][1] > claim[0]
