"""Reads conversation exports: the first conversation, its record, its times and branches."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading
from recollect.agents.kit.values import instant
from recollect.model.payloads import Rewind, UserMessage
from recollect.model.records import SourceInfo

# The first conversation of an export, as far as the head of the file holds it: enough to tell whose export it is.

_BLANK = " \t\r\n"
_WRAPPED = re.compile(r'\{\s*"conversations"\s*:\s*\[')
_MAX_DEPTH = 6
_raw_decode = json.JSONDecoder(strict=False).raw_decode


def first_element(head: bytes) -> dict[str, Any] | None:
    """Return the first object of a list, of `{"conversations": [...]}`, or the object that the file is.

    Members that the head cuts off keep their existing part; None without an object.
    """
    text = head.decode("utf-8", "ignore").lstrip(_BLANK + "\ufeff")
    wrapper = _WRAPPED.match(text)
    if wrapper is not None or text.startswith("["):
        text = text[wrapper.end() if wrapper is not None else 1 :].lstrip(_BLANK)
    if not text.startswith("{"):
        return None
    try:
        return _members(text, 0)
    except RecursionError:
        return None


def _members(text: str, depth: int) -> dict[str, Any]:
    """Return the members of an object that may be cut off; the text begins with its brace."""
    found: dict[str, Any] = {}
    at = _skip(text, 1, _BLANK)
    while at < len(text) and text[at] == '"':
        try:
            key, at = _raw_decode(text, at)
        except ValueError:
            break
        at = _skip(text, at, _BLANK + ":")
        try:
            value, at = _raw_decode(text, at)
        except (ValueError, StopIteration):
            found[key] = _cut(text[at:], depth + 1)
            break
        found[key] = value
        at = _skip(text, at, _BLANK + ",")
    return found


def _cut(text: str, depth: int) -> Any:
    """Return the existing part of a cut value."""
    if depth < _MAX_DEPTH and text.startswith("{"):
        return _members(text, depth)
    if depth < _MAX_DEPTH and text.startswith("["):
        inside = text[1:].lstrip(_BLANK)
        try:
            return [_raw_decode(inside)[0]]
        except (ValueError, StopIteration):
            first = _cut(inside, depth + 1)
            return [] if first is None else [first]
    return None


def _skip(text: str, at: int, skipped: str) -> int:
    while at < len(text) and text[at] in skipped:
        at += 1
    return at


# The tree of a conversation: the messages that led to the newest one, and those left behind by an edit or a retry.

ROOT = ""
"""Stands above every message whose parent is not there."""


class Step(NamedTuple):
    """A message. is_branch: it does not lead to where the conversation is now."""

    key: str
    is_branch: bool


class Left(NamedTuple):
    """An abandoned branch: its first message, and the message after which the conversation continued otherwise."""

    begin: str
    parent: str
    is_branch: bool = False
    """What continued otherwise is itself part of a branch."""


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
        """Yield a message and those that led to it, newest first; each at most once."""
        seen: set[str] = set()
        while key in self._parents and key not in seen and len(seen) < limit:
            seen.add(key)
            yield key
            key = self._parents[key]

    def walk(self) -> Iterator[Step | Left]:
        """Yield every message once, parents before children: a branch comes before the line that replaced it."""
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


S = TypeVar("S", bound=BaseState)
_SURROGATE = re.compile("[\ud800-\udfff]")
_AGAIN = re.compile(r"#\d+$")


def session_of(info: SourceInfo) -> str:
    """Return the conversation's id. A second one of the same id in a file (`id#2`) belongs to the same session."""
    return _AGAIN.sub("", info.document) or info.document or info.stem


def conversation_of(reading: Reading[S]) -> dict[str, Any] | None:
    """Return the conversation that a record holds, None if it is none.

    Text with half a surrogate pair, as a title cut in the middle of an emoji has, is read here: strict readers refuse
    the whole document.
    """
    value = reading.value
    content = value.get("content") if "document" in value else reading.record.value
    if isinstance(content, str):
        try:
            content = _clean(json.loads(content.removeprefix("\ufeff"), strict=False))
        except (ValueError, RecursionError):
            return None
        reading.wrong("content", "bent_json")
    return content if isinstance(content, dict) else None


def stamp(reading: Reading[S], written: object, field: str) -> None:
    """Set the time from one of the fields of a record; without one the last time holds, inferred."""
    is_exact = instant(written) is not None
    reading.date(written, field)
    if not is_exact:
        reading.ts = reading.last_ts
        reading.ts_quality = "missing" if reading.last_ts is None else "inferred"


class Branches:
    """Follows a walk over a tree: marks the events of branches, and gives the rewind behind each that said anything."""

    def __init__(self, reading: Reading[S]) -> None:
        self._reading: Reading[Any] = reading
        self._begun: dict[str, tuple[int, int, str]] = {}
        self._turns = 0
        self._counted = 0

    def enter(self, step: Step) -> None:
        """Begin a message."""
        self._reading.is_sidechain = step.is_branch
        if step.is_branch:
            begun = (len(self._reading.events), self._turns_so_far(), self._reading.newest())
            self._begun.setdefault(step.key, begun)

    def leave(self, left: Left) -> None:
        """End a branch: the conversation continued otherwise after the event before it."""
        events, turns, before = self._begun.pop(left.begin, (len(self._reading.events), 0, ""))
        self._reading.is_sidechain = left.is_branch
        if len(self._reading.events) > events:
            dropped = self._turns_so_far() - turns
            self._reading.infer(self._reading.last_ts)
            self._reading.add(Rewind(to_event=before, turns_dropped=dropped or None), native_id=f"rewind:{left.begin}")

    def _turns_so_far(self) -> int:
        for draft in self._reading.events[self._counted :]:
            said = draft.payload
            self._turns += isinstance(said, UserMessage) and said.origin == "human"
        self._counted = len(self._reading.events)
        return self._turns


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value) if _SURROGATE.search(value) else value
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def read_tree(
    reading: Reading[BaseState],
    tree: Tree,
    given: dict[str, str],
    above: Callable[[str], str | None],
    read: Callable[[str], None],
) -> None:
    """Emit the messages of a conversation and the branches left behind.

    given: is filled with the first event of each message by its key. above: the event that a message hangs on.
    read: gives the events of one message.
    """
    branches = Branches(reading)
    for step in tree.walk():
        if isinstance(step, Left):
            branches.leave(step)
            continue
        branches.enter(step)
        reading.parent_id = above(step.key)
        before = len(reading.events)
        read(step.key)
        reading.parent_id = None
        if len(reading.events) > before:
            given[step.key] = reading.events[before].native_id or ""


class ExportAdapter(KitAdapter[BaseState]):
    """An adapter of exports whose records are whole conversations."""

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: the conversation, in whichever file of an export it is."""
        return f"{info.role}/{info.document}" if info.document else info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        return session_of(info) or super().identify(info, head)
