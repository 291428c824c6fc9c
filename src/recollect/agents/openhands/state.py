"""What the parser of an OpenHands source remembers."""

from __future__ import annotations

from recollect.agents.kit.naming import numbered
from recollect.agents.kit.reading import BaseState, Reading


class OpenHandsState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """State after a record.

    spent: the running totals of the old generation (prompt, completion, cache read, cache write), and its cost.
    marks: names already used in a log of a request (see `kit.naming`).
    """

    spent: tuple[int, ...] = ()
    cost: float = 0.0
    marks: tuple[bytes, ...] = ()


OpenHandsReading = Reading[OpenHandsState]


def named(reading: OpenHandsReading, name: str) -> str:
    """Return a name for a message of a log, numbered among equal ones."""
    found, marks = numbered(reading.now("marks"), name)
    reading.set(marks=marks)
    return found
