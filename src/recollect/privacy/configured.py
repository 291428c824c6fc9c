"""The redactor of a home: the detectors that ship, then what its configuration adds and allows.

The one place that makes one. What is in force has a fingerprint, kept beside what was derived under it.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Final

from recollect.config import PrivacyConfig, SecretPatternConfig
from recollect.privacy.detectors import DEFAULT, DETECTOR_VERSION
from recollect.privacy.redact import Redactor
from recollect.privacy.shapes import Detector, raw_pattern, text_pattern

LEAST_FIXED_CHARS: Final = 3
"""A pattern of one's own that begins with fewer fixed characters is tried on every record."""

STRANGERS_KEY: Final = hashlib.sha256(b"recollect parse").digest()
"""Marks secrets in what belongs to no home: a file that is only parsed, a text that passes through."""

# What JSON always writes as it is, and no expression gives a meaning to.
_FIXED = re.compile(r"(?:\\b|\(\?P<secret>)?((?:[A-Za-z0-9_ :=,;@#&%!~<>-]|\\[.-])*)")
_QUANTIFIERS = "*?{"
_GROUP = "secret"


@lru_cache(maxsize=2)
def redactor_of(marker_key: bytes, privacy: PrivacyConfig | None = None) -> Redactor:
    """Return what finds and replaces secrets in a home whose configuration says so.

    The first takes as long as taking in an append; it never changes, so a process that stays makes it once.
    """
    if privacy is None:
        return Redactor(marker_key, DEFAULT)
    own = tuple(_own_detector(entry) for entry in privacy.patterns)
    return Redactor(marker_key, (*own, *DEFAULT), allow=privacy.allow)


def detectors_in_force(privacy: PrivacyConfig) -> str:
    """Return a fingerprint of everything that decides what is a secret: 32 hex digits.

    Text that was redacted under another one is to be derived anew.
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
