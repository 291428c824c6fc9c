"""A conversation of an export as its record holds it, and the times and branches in it."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from recollect.agents.kit.exports.tree import Left, Step
from recollect.agents.kit.instants import instant
from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.payloads import Rewind, UserMessage
from recollect.model.records import SourceInfo

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
    """Take the time of one of the things in a record; without one the last stands, inferred."""
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
        """End a branch: the conversation went on otherwise behind the event that stood before it."""
        events, turns, before = self._begun.pop(left.begin, (len(self._reading.events), 0, ""))
        self._reading.is_sidechain = left.is_branch
        if len(self._reading.events) > events:
            dropped = self._turns_so_far() - turns
            self._reading.infer(self._reading.last_ts)
            rewind = Rewind(to_event=before, turns_dropped=dropped or None)
            self._reading.add(rewind, native_id=f"rewind:{left.begin}")

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
