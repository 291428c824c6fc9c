"""Patterns of places, asked of single paths: what must be watched for them, and what a path may be to them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

_ANY_DEPTH = "**"
_WILD = frozenset("*?[")


class Pattern:
    """One pattern below a root, "/"-separated; `**` stands for any number of folders, none too."""

    def __init__(self, text: str) -> None:
        self._segments = text.split("/")
        literal = 0
        while literal < len(self._segments) - 1 and not _WILD.intersection(self._segments[literal]):
            literal += 1
        self.base = "/".join(self._segments[:literal])
        """The folder below the root in which the first wildcard, or the file itself, stands; "": the root."""
        self.is_deep = literal < len(self._segments) - 1
        """Whether there may be folders between the base and a file."""

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether a path below the root, by its parts, is meant."""
        return len(self._segments) in self._after(parts)

    def may_lie_below(self, parts: Sequence[str]) -> bool:
        """Tell whether a folder may hold, at any depth, what is meant."""
        return any(at < len(self._segments) for at in self._after(parts))

    def _after(self, parts: Sequence[str]) -> set[int]:
        """Return the places in the pattern that the parts may have led to."""
        states = self._with_skipped({0})
        for part in parts:
            states = self._with_skipped(
                {
                    at if self._segments[at] == _ANY_DEPTH else at + 1
                    for at in states
                    if at < len(self._segments)
                    and (self._segments[at] == _ANY_DEPTH or fnmatchcase(part, self._segments[at]))
                }
            )
        return states

    def _with_skipped(self, states: set[int]) -> set[int]:
        """Add the places after a `**`, which may stand for no folder at all."""
        found, fresh = set(states), states
        while fresh:
            fresh = {at + 1 for at in fresh if at < len(self._segments) and self._segments[at] == _ANY_DEPTH} - found
            found |= fresh
        return found
