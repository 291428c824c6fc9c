"""The tree of a conversation: the messages that led to the newest one, and those left behind by an edit or a retry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

ROOT = ""
"""Stands above every message whose parent is not there."""


class Step(NamedTuple):
    """A message. is_branch: it does not lead to where the conversation is now."""

    key: str
    is_branch: bool


class Left(NamedTuple):
    """A branch is over: its first message, and the message at which the conversation went on otherwise."""

    begin: str
    parent: str
    is_branch: bool = False
    """What went on otherwise is itself part of a branch."""


class Tree:
    """Messages by key with their parents. `listed`: the order of a parent's children, where it is written down."""

    def __init__(self, parents: Mapping[str, str], listed: Mapping[str, Sequence[str]], current: str) -> None:
        self._parents = {key: parent if parent in parents else ROOT for key, parent in parents.items()}
        for parent, children in listed.items():
            for child in children:
                if self._parents.get(child) == ROOT and child != parent and parent in parents:
                    self._parents[child] = parent
        self._children: dict[str, list[str]] = {}
        for key, parent in self._parents.items():
            self._children.setdefault(parent, []).append(key)
        for parent, children in listed.items():
            if len(self._children.get(parent, ())) > 1:
                order = {child: n for n, child in reversed(list(enumerate(children)))}
                self._children[parent].sort(key=lambda key: order.get(key, len(order)))
        self._line = tuple(self.ancestry(current))
        self._main = frozenset(self._line)

    def ancestry(self, key: str, limit: int = 1_000_000) -> Iterator[str]:
        """Yield a message and those that led to it, the newest first; each at most once."""
        seen: set[str] = set()
        while key in self._parents and key not in seen and len(seen) < limit:
            seen.add(key)
            yield key
            key = self._parents[key]

    def walk(self) -> Iterator[Step | Left]:
        """Yield every message once, parents before children: a branch stands before the line that replaced it."""
        seen: set[str] = set()
        yield from self._run(self._next(ROOT, seen, is_branch=False), seen)
        # A ring of parents hangs on nothing; the one that the conversation is in begins where its line does.
        for key in (*self._line[-1:], *self._parents):
            if key not in seen:
                yield from self._from(key, seen)

    def _from(self, key: str, seen: set[str]) -> Iterator[Step | Left]:
        is_main = key in self._main
        yield from self._run([Step(key, not is_main)], seen)
        if not is_main:
            yield Left(key, ROOT)

    def _run(self, stack: list[Step | Left], seen: set[str]) -> Iterator[Step | Left]:
        while stack:
            item = stack.pop()
            if isinstance(item, Step):
                if item.key in seen:
                    continue
                seen.add(item.key)
                stack += self._next(item.key, seen, is_branch=item.is_branch)
            yield item

    def _next(self, key: str, seen: set[str], *, is_branch: bool) -> list[Step | Left]:
        """Return what comes after a message, the last first: its branches, each with its end, then the line."""
        children = [child for child in self._children.get(key, ()) if child not in seen]
        if not children:
            return []
        line = next((child for child in children if child in self._main), children[-1])
        out: list[Step | Left] = [Step(line, is_branch)]
        for child in reversed([child for child in children if child != line]):
            out += [Left(child, key, is_branch), Step(child, True)]
        return out
