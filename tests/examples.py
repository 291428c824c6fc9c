"""How many examples a property is tried with: all where a person runs it, fewer in `.ci/run`.

A run of `.ci/run` draws the same examples each time, so more of them find nothing new from one run to the next; a run
without `CI` draws anew. Both run every property.
"""

from __future__ import annotations

import os

IS_CI = bool(os.environ.get("CI"))
USUAL = 100
"""For a property that says nothing of its own: what hypothesis takes."""
FLOOR = 25
"""A property that asks for no more than this gets what it asks for."""
_PART = 3


def tried(examples: int, *, floor: int = FLOOR) -> int:
    """Return for how many examples to ask where `examples` are wanted: in `.ci/run` a third, but at least `floor`."""
    return max(min(examples, floor), examples // _PART) if IS_CI else examples
