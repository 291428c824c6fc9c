"""Timestamps as agents write them, read fast: the common form by the standard library, the rest by the model."""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.model.time import parse_any

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
