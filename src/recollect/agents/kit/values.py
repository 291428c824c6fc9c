"""Reads decoded JSON tolerantly: types, times, file addresses."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from math import isfinite
from typing import Any
from urllib.parse import unquote

import msgspec

from recollect.model.payloads import Json as Json  # noqa: PLC0414 - given on to parsers, which need it with the rest
from recollect.model.time import parse_any

# Tolerant typed access to decoded JSON: a wrong type reads as empty, never as an error.
#
# Each function takes any decoded value and returns exactly the type it names. Whether an odd value deserves a
# defect is for the caller to say.

_MIN_INT64 = -(2**63)
_MAX_INT64 = 2**63 - 1
_MAX_DIGITS = 20
"""More characters than any 64-bit number has; longer text is not converted at all."""


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text: how long lists of field names are written down."""
    return frozenset(words.split())


def decoded_json(written: str | bytes, otherwise: Any = None) -> Any:
    """Return decoded JSON, `otherwise` for what is none, is cut, or is too deep."""
    try:
        return msgspec.json.decode(written)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return otherwise


def head_objects(head: bytes, most: int) -> Iterator[dict[str, Any]]:
    """Emit the JSON objects among the first `most` lines of a file; lines that are none are passed over."""
    for line in head.split(b"\n", most)[:most]:
        value = decoded_json(line)
        if isinstance(value, dict):
            yield value


HEAD_SESSION = re.compile(rb'"sessionId" ?: ?"([^"\\]{1,200})"')
"""Where the beginning of a file, which may be cut, names the session."""


def group_in(pattern: re.Pattern[bytes], head: bytes) -> str:
    """Return the first group of a pattern in the beginning of a file, "" where it is not found."""
    found = pattern.search(head)
    return found[1].decode("utf-8", "replace") if found else ""


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


def _whole_of_float(value: float) -> int | None:
    # NaN and the infinities fail the comparison or is_integer.
    if not _MIN_INT64 <= value < _MAX_INT64 or not value.is_integer():
        return None
    return int(value)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_S = 86_400
_COMMON_LENGTH = len("2026-08-01T09:00:00.000Z")


def instant(value: object) -> int | None:
    """Return UTC microseconds of an ISO 8601 text or an epoch number, or None; equal to `timestamps.parse_any`.

    Every message of a transcript has a time: `2026-08-01T09:00:00.000Z` takes a third of the general way.
    """
    if (
        isinstance(value, str)
        and len(value) == _COMMON_LENGTH
        and value[10] == "T"
        and value[23] == "Z"
        and value[7] == "-"
        and value[19] == "."
    ):
        try:
            since = datetime.fromisoformat(value) - _EPOCH
        except ValueError:
            return parse_any(value)
        return (since.days * _DAY_S + since.seconds) * 1_000_000 + since.microseconds
    return parse_any(value)


_SCHEME = "file://"
_DRIVE = re.compile(r"/[A-Za-z]:")


def path_of_address(address: str) -> str:
    """Return the path of a `file://` address (`file:///c%3A/x` is `c:/x`); anything else unchanged."""
    if not address.startswith(_SCHEME):
        return address
    path = unquote(address.removeprefix(_SCHEME))
    return path[1:] if _DRIVE.match(path) else path
