"""Edits that changed nothing: what they put in is what they took out. They are no work, and belong to no episode."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from recollect.insights.content import DIVIDER, REPLACE, SEARCH, Lines, is_gone
from recollect.insights.stream import SessionEvents
from recollect.insights.subjects import READ_CHARS, ends_with_path
from recollect.model.events import Event
from recollect.model.payloads import AssistantMessage, FileEdit

_NAME_WITHIN = 3
"""Lines before a block of which one names its file."""
_NAME_CHARS = 1_000
_AROUND_NAME = "`*#: \t"
_FENCES = ("```", "~~~", "<")


class Block(NamedTuple):
    """A SEARCH/REPLACE block: the file that is named before it, as written ("" for none), and whether its sides
    differ."""

    path: str
    is_change: bool


def changes_nothing(edit: FileEdit, lines: Lines) -> bool:
    """Say whether both sides of an edit are the same. lines: what `lines_of` says of it. False where nobody knows."""
    if edit.operation not in ("create", "modify") or edit.new_path not in ("", edit.path):
        return False
    if edit.before is not None and edit.after is not None:
        return bool(edit.before) and edit.before == edit.after and not is_gone(edit.before)
    added, removed = lines
    if not (edit.diff and added and removed) or len(added) != len(removed):
        return False
    blocks = _blocks(edit.diff)
    if blocks:
        return not any(block.is_change for block in blocks)
    told = edit.diff.splitlines()
    first = next((number for number, line in enumerate(told) if line.startswith("@@")), 0)  # behind the files' names
    hunks = told[first:]
    return [line[1:] for line in hunks if line[:1] != "+"] == [line[1:] for line in hunks if line[:1] != "-"]


class Replies:
    """The replies of a session, where an edit without any text of its own has it: as SEARCH/REPLACE blocks."""

    def __init__(self, session: SessionEvents) -> None:
        self._session = session
        self._read: dict[int, list[Block]] = {}

    def change_nothing(self, position: int, event: Event, edit: FileEdit) -> bool:
        """Say whether the reply before an edit, in its turn, repeats of the file only what was there."""
        if edit.call_id or edit.diff or edit.before is not None or edit.after is not None:
            return False
        number = bisect_left(self._places, position) - 1
        if number < 0:
            return False
        reply = self._session.of(AssistantMessage)[number]
        if reply.turn_index != event.turn_index or not isinstance(reply.payload, AssistantMessage):
            return False
        if number not in self._read:
            self._read[number] = _blocks(reply.payload.text[:READ_CHARS])
        blocks = self._read[number]
        if all(block.is_change for block in blocks):
            return False
        of_file = [block.is_change for block in blocks if ends_with_path(edit.path, block.path)]
        return bool(of_file) and not any(of_file)

    @cached_property
    def _places(self) -> list[int]:
        places = self._session.positions
        return [places[event.event_id, event.part] for event in self._session.of(AssistantMessage)]


def _blocks(text: str) -> list[Block]:
    """Return the blocks of a text that are whole. One without a name before it is of the file of the one before."""
    return [
        block for opening, closing in zip(SEARCH, REPLACE, strict=True) for block in _between(text, opening, closing)
    ]


def _between(text: str, opening: str, closing: str) -> Iterator[Block]:
    path = ""
    start = text.find(opening)
    while start >= 0:
        end = text.find("\n" + closing, start)
        if end < 0:
            return
        sides = text[text.find("\n", start) : end + 1]
        before, divider, after = sides.partition(f"\n{DIVIDER}\n")
        if divider:
            path = _name_before(text, start) or path
            yield Block(path, f"{before}\n" != f"\n{after}")
        start = text.find(opening, end)


def _name_before(text: str, start: int) -> str:
    """Return the file that is named right before a place, "" for none: one word in a line that is no fence."""
    for line in reversed(text[max(0, start - _NAME_CHARS) : start].splitlines()[-_NAME_WITHIN:]):
        name = line.strip(_AROUND_NAME)
        if line.startswith(REPLACE):
            return ""
        if name and not line.startswith(_FENCES):
            return name if len(name.split()) == 1 else ""
    return ""
