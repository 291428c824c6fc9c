"""Decides which events a rewind undid. Pure.

The contract of `Rewind`: `to_event` names the last event that is kept, and everything after it up to the rewind is
undone. Without a `to_event`, `turns_dropped` counts turns from the end. Without both nobody knows where the session
went back to, and nothing is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from recollect.model.events import Event
from recollect.model.payloads import TURN_ORIGINS, Payload, Rewind, UserMessage

UNDONE = "undone"
"""The word that stands beside what was undone, wherever it is shown."""
_START = -1
"""The place before the first event."""


class Step(NamedTuple):
    """What of an event says whether it is undone."""

    event_id: str
    is_turn: bool = False
    rewind: Rewind | None = None


def step_of(event_id: str, payload: Payload, *, is_sidechain: bool) -> Step:
    """Return an event as a step. The prompts of a subagent are no turns of the session."""
    if isinstance(payload, Rewind):
        return Step(event_id, rewind=payload)
    is_turn = isinstance(payload, UserMessage) and payload.origin in TURN_ORIGINS and not is_sidechain
    return Step(event_id, is_turn=is_turn)


def undone(steps: Iterable[Step]) -> list[bool]:
    """Return for each event of a session, in canonical order, whether a rewind left it behind. Linear.

    A rewind to an event of a branch that was left goes back to that branch: what was said in it up to there holds
    again. Events of the rewind's own record that stand before it belong to the new branch: an earlier parser of Claude
    Code told an edited prompt so, and what was evicted since stays as it told it.
    """
    line = _Line()
    for step in steps:
        if step.rewind is not None:
            line.rewind(step, step.rewind)
        line.add(step)
    return line.undone()


def marked(events: Sequence[Event]) -> list[Event]:
    """Return the events of a session, in canonical order, with `is_undone` as its rewinds say."""
    if not any(isinstance(event.payload, Rewind) for event in events):
        return list(events)
    marks = undone(step_of(e.event_id, e.payload, is_sidechain=e.is_sidechain) for e in events)
    return [
        event if event.is_undone == is_undone else msgspec.structs.replace(event, is_undone=is_undone)
        for event, is_undone in zip(events, marks, strict=True)
    ]


class _Line:
    """The events of a session, each with the one before it in its branch; the newest one is the head."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._before: list[int] = []
        self._places: dict[str, int] = {}
        self._head = _START

    def add(self, step: Step) -> None:
        """Go on behind the head."""
        place = len(self._steps)
        self._steps.append(step)
        self._before.append(self._head)
        self._places[step.event_id] = self._head = place

    def rewind(self, step: Step, rewind: Rewind) -> None:
        """Move the head to where a rewind goes back to; leave it where that is not known."""
        own: list[int] = []
        head = self._head
        while head != _START and self._steps[head].event_id == step.event_id:
            own.append(head)
            head = self._before[head]
        kept = self._places.get(rewind.to_event) if rewind.to_event else None
        if kept is None or kept in own:
            kept = self._before_turns(head, rewind.turns_dropped or 0)
        if kept is None:
            return
        for place in reversed(own):
            self._before[place] = kept
            kept = place
        self._head = kept

    def _before_turns(self, head: int, turns: int) -> int | None:
        """Return what stands before the last turns of the branch, None where that is not known.

        Of more turns than are known, all those that are known were dropped.
        """
        found = None
        while head != _START and turns > 0:
            if self._steps[head].is_turn:
                found = self._before[head]
                turns -= 1
            head = self._before[head]
        return found

    def undone(self) -> list[bool]:
        """Return for each event whether it is off the branch of the head."""
        found = [True] * len(self._steps)
        place = self._head
        while place != _START:
            found[place] = False
            place = self._before[place]
        return found
