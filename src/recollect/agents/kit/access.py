"""Tolerant typed access to decoded JSON: a wrong type reads as empty, never as an error.

Each function takes any decoded value and returns exactly the type it names. Whether an odd value deserves a
defect is for the caller to say.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

_MIN_INT64 = -(2**63)
_MAX_INT64 = 2**63 - 1
_MAX_DIGITS = 20
"""More characters than any 64-bit number has; longer text is not converted at all."""


def text(value: object) -> str:
    """Return `value` if it is text, else ""."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """Return `value` itself if it is a JSON object, else an empty dict. Not a copy: don't write to it."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return `value` itself if it is a JSON array, else an empty list. Not a copy: don't write to it."""
    return value if isinstance(value, list) else []


def whole(value: object) -> int | None:
    """Return a whole number within 64 bits, or None.

    Accepts integers, floats without a fraction, and both written as text ("12", "12.0": old transcripts have
    numbers as text). Refuses booleans, NaN, infinities, fractions and everything else.
    """
    if type(value) is int:
        return value if _MIN_INT64 <= value <= _MAX_INT64 else None
    if isinstance(value, str):
        return _whole_of_text(value)
    if isinstance(value, float):
        return _whole_of_float(value)
    return None


def number(value: object) -> float | None:
    """Return a finite number as a float, or None. Refuses booleans and text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if isfinite(converted) else None


def _whole_of_text(value: str) -> int | None:
    stripped = value.strip()
    if not stripped or len(stripped) > _MAX_DIGITS or not stripped.isascii() or "_" in stripped:
        return None
    try:
        number = int(stripped)
    except ValueError:
        try:
            return _whole_of_float(float(stripped))
        except ValueError:
            return None
    return number if _MIN_INT64 <= number <= _MAX_INT64 else None


def _whole_of_float(value: float) -> int | None:
    # NaN and the infinities fail the comparison or is_integer.
    if not _MIN_INT64 <= value < _MAX_INT64 or not value.is_integer():
        return None
    return int(value)
