"""The redactor: finds records that may hold a secret, and replaces every secret in their text.

`suspects` is the fast sieve over raw bytes, the other two are exact and work on decoded text. The sieve never misses
what they would find; most of what it lets through holds nothing.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import IO, Any, Final

from recollect.config import PrivacyConfig, SecretPatternConfig
from recollect.late import late_pattern
from recollect.model.marker import SECRET_MARKER
from recollect.privacy.assignments import JWK_MEMBERS, VALUE_KEYS, kind_by_key, name_of_pair
from recollect.privacy.detector import Detector, raw_pattern, text_pattern
from recollect.privacy.detectors import DEFAULT, DETECTOR_VERSION
from recollect.privacy.findings import PRIVATE_KIND, Finding, finding_of, strip_private
from recollect.privacy.matcher import Claim, matcher_of


class Redactor:
    """Finds and replaces secrets under one marker key. Immutable after construction; safe from many threads."""

    def __init__(
        self, marker_key: bytes, detectors: Sequence[Detector] = DEFAULT, *, allow: Sequence[str] = ()
    ) -> None:
        """Prepare the search. `redactor_of` makes a home's own.

        Args:
            marker_key: the home's secret key for fingerprints; same key, same markers.
            detectors: in order of precedence, most specific first.
            allow: exceptions: values, or regular expressions for whole values.
        """
        self._marker_key = marker_key
        self._detectors = tuple(detectors)
        self._allowed_values = frozenset(allow)
        self._allowed = tuple(re.compile(expression, re.ASCII) for expression in allow)
        self._matcher = matcher_of(self._detectors)
        self._rank_by_kind = {detector.kind: rank for rank, detector in reversed(list(enumerate(self._detectors)))}

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
        return self._matcher.suspects(data, ends)

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
        pending: list[tuple[Any, Any, str]] = [((value,), root, "")]
        while pending:
            source, copy, name = pending.pop()
            if isinstance(source, dict):
                paired = name_of_pair(source) or name
                for key, item in source.items():
                    named = paired if paired and key in VALUE_KEYS else key
                    if key in JWK_MEMBERS and "kty" in source:
                        named = "private_key"
                    copy[self._copied(key, "", findings, pending)] = self._copied(item, named, findings, pending)
            else:
                before = name
                for item in source:
                    copy.append(self._copied(item, before, findings, pending))
                    before = item if isinstance(item, str) and item.startswith("-") else name
        return (root[0], tuple(findings)) if findings else (value, ())

    def _copied(self, item: Any, key: Any, findings: list[Finding], pending: list[tuple[Any, Any, str]]) -> Any:
        """Return a string redacted, a container as an empty copy to be filled later, anything else unchanged.

        key: the item's name: its key, for an array the array's, for an argument the option before it.
        """
        if isinstance(item, str):
            kind = kind_by_key(key, item) if isinstance(key, str) else ""
            text, found = self._redact(item, whole_kind=kind if kind in self._rank_by_kind else "")
            findings.extend(found)
            return text
        if isinstance(item, dict | list | tuple):
            copy: Any = {} if isinstance(item, dict) else []
            pending.append((item, copy, key if isinstance(key, str) else ""))
            return copy
        return item

    def _redact(self, text: str, *, whole_kind: str) -> tuple[str, tuple[Finding, ...]]:
        """Redact until nothing is found: a marker may expose the edge of an adjacent secret."""
        text, spans = strip_private(text)
        findings = [Finding(PRIVATE_KIND, "")] * spans
        claims = self._claims(text, whole_kind)
        while claims:
            text, found = self._replaced(text, claims)
            findings.extend(found)
            claims = self._claims(text, "")
        return text, tuple(findings)

    def _claims(self, text: str, whole_kind: str) -> list[Claim]:
        """Return everything that is claimed, sorted; never inside or across a marker."""
        claims = self._matcher.claims(text)
        if whole_kind:
            claims.append(Claim(0, len(text), self._rank_by_kind[whole_kind], text))
        if claims and self._allowed:
            claims = [c for c in claims if not self._allows(c.secret) and not self._allows(text[c.start : c.end])]
        if claims and (markers := [match.span() for match in SECRET_MARKER.finditer(text)]):
            claims = [claim for claim in claims if not _touches(claim, markers)]
        return sorted(claims)

    def _allows(self, secret: str) -> bool:
        return secret in self._allowed_values or any(allowed.fullmatch(secret) for allowed in self._allowed)

    def _replaced(self, text: str, claims: list[Claim]) -> tuple[str, list[Finding]]:
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


def _merged(claims: list[Claim]) -> list[tuple[int, int, int]]:
    """Join overlapping claims, so that no tail of a secret is left standing."""
    merged: list[tuple[int, int, int]] = []
    for start, end, rank, _ in claims:
        if merged and start < merged[-1][1]:
            first, last, best = merged[-1]
            merged[-1] = (first, max(last, end), min(best, rank))
        else:
            merged.append((start, end, rank))
    return merged


def _touches(claim: Claim, markers: list[tuple[int, int]]) -> bool:
    """Whether the claim shares a character with a marker; markers are ascending and do not overlap."""
    after = bisect_right(markers, claim.end - 1, key=lambda marker: marker[0])
    return after > 0 and markers[after - 1][1] > claim.start


LEAST_FIXED_CHARS: Final = 3
"""A pattern of one's own that begins with fewer fixed characters is tried on every record."""

STRANGERS_KEY: Final = hashlib.sha256(b"recollect parse").digest()
"""Marks secrets in what belongs to no home: a file that is only parsed, a text that passes through."""

# What JSON always writes as it is, and no expression gives a meaning to.
_FIXED = late_pattern(r"(?:\\b|\(\?P<secret>)?((?:[A-Za-z0-9_ :=,;@#&%!~<>-]|\\[.-])*)")
_QUANTIFIERS = "*?{"
_GROUP = "secret"


@lru_cache(maxsize=2)
def redactor_of(marker_key: bytes, privacy: PrivacyConfig | None = None) -> Redactor:
    """Return the redactor of a home with this configuration.

    Making the first one takes as long as ingesting an append; it never changes, so a long-lived process makes it once.
    """
    if privacy is None:
        return Redactor(marker_key, DEFAULT)
    own = tuple(_own_detector(entry) for entry in privacy.patterns)
    return Redactor(marker_key, (*own, *DEFAULT), allow=privacy.allow)


def detectors_in_force(privacy: PrivacyConfig) -> str:
    """Return a fingerprint of everything that decides what is a secret: 32 hex digits.

    Text redacted under another one must be derived again.
    """
    said = [str(DETECTOR_VERSION), *(f"{p.name}\0{p.pattern}" for p in privacy.patterns), "allow", *privacy.allow]
    return hashlib.sha256("\1".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _own_detector(entry: SecretPatternConfig) -> Detector:
    pattern = text_pattern(entry.pattern)
    literal = _fixed_beginning(entry.pattern)
    return Detector(
        kind=entry.name,
        literals=(literal.encode("ascii"),) if literal else (),
        pattern=pattern,
        group=pattern.compiled.groupindex.get(_GROUP, 0),
        raw=raw_pattern(re.escape(literal)),
        anchored=bool(literal),
    )


def _fixed_beginning(pattern: str) -> str:
    """Return the characters that every match begins with as JSON writes them too, "" if they are too few to look for.

    Careful rather than clever: an alternative anywhere, or a flag, and there are none.
    """
    if "|" in pattern or "(?i" in pattern or "(?a" in pattern or "(?x" in pattern:
        return ""
    found = _FIXED.match(pattern)
    fixed = found[1] if found else ""
    if found and pattern[found.end() : found.end() + 1] in tuple(_QUANTIFIERS):
        fixed = fixed[:-2] if fixed[-2:-1] == "\\" else fixed[:-1]
    literal = fixed.replace("\\", "")
    return literal if len(literal) >= LEAST_FIXED_CHARS else ""


_WINDOW_BYTES = 4 * 1024 * 1024
_CARRIED_BYTES = 128 * 1024
"""How much is kept back for what may go on in the next window: a key of several lines, a line without an end."""
_BEGIN, _END = b"-----BEGIN ", b"-----END "


def without_secrets(text: str, privacy: PrivacyConfig | None = None) -> str:
    """Return a short text with every secret replaced by its marker. Needs and creates no memory."""
    return redactor_of(STRANGERS_KEY, privacy).redact_text(text)[0]


def redact_stream(source: IO[bytes], out: IO[bytes], privacy: PrivacyConfig | None = None) -> dict[str, int]:
    """Copy text with every secret replaced by its marker; return the number of secrets by kind.

    Bytes that are not UTF-8 pass unchanged. Finds secrets across window boundaries unless longer than 128 KiB. privacy:
    your own patterns and exceptions.
    """
    redactor = redactor_of(STRANGERS_KEY, privacy)
    found: Counter[str] = Counter()
    pending = b""
    while piece := source.read(_WINDOW_BYTES):
        pending += piece
        cut = _cut(pending)
        out.write(_redacted(redactor, pending[:cut], found))
        pending = pending[cut:]
    out.write(_redacted(redactor, pending, found))
    out.flush()
    return dict(found)


def _cut(data: bytes) -> int:
    """Return where data may be cut: after a line, before a block that has begun and not ended."""
    least = max(len(data) - _CARRIED_BYTES, 0)
    cut = data.rfind(b"\n") + 1
    begun = data.rfind(_BEGIN, least, cut)
    if begun >= 0 and data.find(_END, begun, cut) < 0:
        cut = data.rfind(b"\n", 0, begun) + 1
    if cut >= least:
        return cut
    while least and data[least] & 0xC0 == 0x80:  # not inside a character
        least -= 1
    return least


def _redacted(redactor: Redactor, data: bytes, found: Counter[str]) -> bytes:
    if not data:
        return b""
    text, findings = redactor.redact_text(data.decode("utf-8", "surrogateescape"))
    found.update(finding.kind for finding in findings)
    return text.encode("utf-8", "surrogateescape") if findings else data
