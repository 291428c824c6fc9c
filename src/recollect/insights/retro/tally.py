"""Counts with citations: each grows session by session and keeps a few sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from recollect.insights.retro.report import EVIDENCE, Unlisted

_Key = TypeVar("_Key", bound=Hashable)
_Line = TypeVar("_Line")


class Tally:
    """One line while it grows: how often, in which sessions, and where, different sessions first."""

    __slots__ = ("_first", "_more", "count", "sessions", "tags")

    def __init__(self) -> None:
        self.count = 0
        self.sessions: set[str] = set()
        self.tags: Counter[str] = Counter()
        """Occurrences by what they are besides ("worked", "failed" …)."""
        self._first: list[str] = []
        self._more: list[str] = []

    def add(self, session_uid: str, citation: str, *, tag: str = "", count: int = 1) -> None:
        """Count something in a session, seen where `citation` says."""
        is_new = session_uid not in self.sessions
        self.count += count
        self.sessions.add(session_uid)
        if tag:
            self.tags[tag] += count
        kept = self._first if is_new else self._more
        if len(kept) < EVIDENCE:
            kept.append(citation)

    def evidence(self) -> tuple[str, ...]:
        """Return the citations to show."""
        return tuple(dict.fromkeys((*self._first, *self._more)))[:EVIDENCE]


class Tallies(Generic[_Key]):
    """Lines by their key."""

    def __init__(self) -> None:
        self.lines: dict[_Key, Tally] = {}

    def __getitem__(self, key: _Key) -> Tally:
        if key not in self.lines:
            self.lines[key] = Tally()
        return self.lines[key]

    def total(self) -> int:
        """Return what all lines count together."""
        return sum(line.count for line in self.lines.values())

    def ranked(self) -> list[tuple[_Key, Tally]]:
        """Return the lines, those that count most first, then those of more sessions, then by key."""
        return sorted(self.lines.items(), key=lambda item: (-item[1].count, -len(item[1].sessions), str(item[0])))


class Listing:
    """Cuts lists and remembers how much was omitted, by name of the list."""

    def __init__(self) -> None:
        self.unlisted: dict[str, Unlisted] = {}

    def cut(self, name: str, lines: Iterable[tuple[_Line, int]], limit: int) -> list[_Line]:
        """Return the first lines. lines: with what each counts."""
        given = list(lines)
        rest = given[limit:]
        if rest:
            self.unlisted[name] = Unlisted(len(rest), sum(count for _, count in rest))
        return [line for line, _ in given[:limit]]
