"""How long work waits that failed: full jitter, so that many that failed together don't come back together. Pure."""

from __future__ import annotations

FIRST_S = 1.0
LONGEST_S = 60.0
LONGEST_STATED_S = 3_600.0
"""A server that asks for more patience than this is asked again after it."""
_MOST_DOUBLINGS = 16


def wait_us(failures: int, chance: float, *, retry_after_s: float | None = None) -> int:
    """Return how long to wait after so many failures in a row, in microseconds.

    Between 1 s and a bound that doubles with every failure from 2 s to 60 s; never less than the server asked for.

    Args:
        failures: 1 for the first.
        chance: a random number in [0, 1).
        retry_after_s: what the server said, None for nothing.
    """
    bound = min(LONGEST_S, FIRST_S * 2.0 ** min(max(1, failures), _MOST_DOUBLINGS))
    wait = FIRST_S + chance * (bound - FIRST_S)
    if retry_after_s is not None:
        wait = max(wait, min(retry_after_s, LONGEST_STATED_S))
    return round(wait * 1_000_000)
