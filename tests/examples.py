"""How many examples a property is tried with: a third by default, all with `RECOLLECT_THOROUGH=1` (`make soak`).

`.ci/run` draws the same examples each time; any other run draws new ones. Each runs every property.
"""

from __future__ import annotations

import os

IS_CI = bool(os.environ.get("CI"))
IS_THOROUGH = bool(os.environ.get("RECOLLECT_THOROUGH"))
USUAL = 100
"""For a property that says nothing of its own: the default of hypothesis."""
FLOOR = 25
"""A property that asks for no more than this gets what it asks for."""
_PART = 3


def tried(examples: int, *, floor: int = FLOOR) -> int:
    """Return how many examples to try of `examples`: all in a thorough run, else a third, but at least `floor`."""
    return examples if IS_THOROUGH else max(min(examples, floor), examples // _PART)
