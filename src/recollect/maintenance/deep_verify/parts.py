"""One part of a deep check: what was looked at, and what is not as it should be."""

from __future__ import annotations

from recollect.maintenance.reports import DeepDifference, DeepPart

MAX_DIFFERENCES = 200
"""Told one by one of each part; the rest is counted."""


class PartCheck:
    """Gathers what one part finds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.checked = 0
        self.skipped = 0
        """What was taken away on purpose, and so has nothing to be held against."""
        self.count = 0
        self.notes: list[str] = []
        self._told: list[DeepDifference] = []

    def differs(self, what: str, detail: str) -> None:
        """Take note of a difference. what: the name of the thing: a uid, a citation, a shard."""
        self.count += 1
        if len(self._told) < MAX_DIFFERENCES:
            self._told.append(DeepDifference(what, detail))

    def part(self) -> DeepPart:
        """Return the part as it stands in the report."""
        return DeepPart(
            name=self.name, ok=not self.count, checked=self.checked, skipped=self.skipped, count=self.count,
            differences=tuple(self._told), notes=tuple(self.notes),
        )  # fmt: skip
