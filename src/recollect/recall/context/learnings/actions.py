"""What earlier sessions left to be done here: pending actions, the urgent ones first, worded as suggestions."""

from __future__ import annotations

from recollect.recall.context.learnings.learnings import LearnedHere, line_of
from recollect.recall.context.sources import Asked, Found

MARKS = {"urgent": "[URGENT] ", "high": "[HIGH] ", "": ""}
"""By priority, in order."""
_WORTH = {"urgent": 1.0, "high": 0.8, "": 0.5}
_ORDER = tuple(MARKS)


class PendingActions:
    """Actions that are neither done nor expired."""

    name = "actions"
    heading = "Actions left pending, as suggestions to raise with the person (done: `recollect actions done ID`):"

    def __init__(self, here: LearnedHere) -> None:
        self._here = here

    def candidates(self, asked: Asked) -> Found:
        """Return a line for each of the most urgent actions, the oldest of a priority first."""
        pending = sorted(
            self._here.actions(asked), key=lambda x: (_ORDER.index(_priority(x.priority)), x.first_at, x.id)
        )
        shown = pending[: max(2, asked.room * 3 // 10)]
        lines = [
            line_of(x, _WORTH[_priority(x.priority)], before=f"{MARKS[_priority(x.priority)]}suggested: ")
            for x in shown
        ]
        return Found(lines, len(pending) - len(shown))


def _priority(told: str) -> str:
    """Return a priority that has a mark; one that a later version knows has none."""
    return told if told in MARKS else ""
