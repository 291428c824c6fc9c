"""The marker that replaces a secret, or text that a person marked as private.

Nothing else knows what a marker looks like. Memories hold markers, so a change of their text needs everything derived
to be redacted again.
"""

from __future__ import annotations

import re
from typing import Final

FINGERPRINT_DIGITS: Final = 8
"""Hexadecimal digits that tell two secrets of one kind apart."""
PRIVATE_MARKER: Final = "[PRIVATE]"
"""Stands for a private span. Two spans look the same: somebody could guess a person's words by a fingerprint."""
MARKER_BEGINNING: Final = "[REDACTED:"
"""What the marker of every secret begins with."""

SECRET_MARKER: Final = re.compile(rf"{re.escape(MARKER_BEGINNING)}[a-z0-9_]{{1,40}}:[0-9a-f]{{{FINGERPRINT_DIGITS}}}\]")
"""The marker of a secret, of whatever kind."""
MARKER: Final = re.compile(rf"{SECRET_MARKER.pattern}|{re.escape(PRIVATE_MARKER)}")
"""Any marker."""

_MARKERS = re.compile(f"(?:{MARKER.pattern})+")


def marker_of(kind: str, fingerprint: str) -> str:
    """Return the marker of a secret, or of a private span, which has no fingerprint."""
    return f"{MARKER_BEGINNING}{kind}:{fingerprint}]" if fingerprint else PRIVATE_MARKER


def parts_of_marker(marker: str) -> tuple[str, str]:
    """Return the kind and the fingerprint that the marker of a secret names."""
    kind, _, fingerprint = marker.removeprefix(MARKER_BEGINNING).removesuffix("]").partition(":")
    return kind, fingerprint


def names_marker(text: str) -> bool:
    """Return whether a text has a marker, also one that is cut off."""
    return MARKER_BEGINNING in text or PRIVATE_MARKER in text


def replaced_by_markers(text: str, redacted: str) -> dict[str, str]:
    """Return which parts of a text were replaced in its redacted spelling, and by which markers.

    Where markers stand next to each other, nothing tells where one secret ends, so they are taken together.
    """
    pattern = "(.+?)".join(map(re.escape, _MARKERS.split(redacted)))
    found = re.fullmatch(pattern, text, re.DOTALL)
    replaced = zip(found.groups(), _MARKERS.findall(redacted), strict=True) if found is not None else ()
    return {part: markers for part, markers in replaced if part != markers}
