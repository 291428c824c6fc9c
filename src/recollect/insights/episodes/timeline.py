"""The events of a session that episodes are made of, in their places, found in one pass."""

from __future__ import annotations

from typing import NamedTuple

from recollect.insights.commands import command_of
from recollect.insights.stream import Call, SessionEvents
from recollect.model.events import Event
from recollect.model.payloads import FileEdit, Lifecycle, Rewind, SessionStart, ToolResult, UserMessage


class ShellCall(NamedTuple):
    """A shell call in its place. result_position: that of its result, None where none came."""

    position: int
    call: Call
    command: str
    result_position: int | None

    @property
    def ok(self) -> bool | None:
        """Whether it ended well, None where nobody said."""
        result = self.call.result.payload if self.call.result else None
        if not isinstance(result, ToolResult) or (result.ok is None and result.exit_code is None):
            return None
        return result.ok is not False and not result.exit_code

    @property
    def is_done(self) -> bool:
        """Whether its result came and tells of no failure."""
        return self.call.result is not None and self.ok is not False


class Timeline(NamedTuple):
    """What a session holds that episodes are made of; every list in canonical order, each item with its place."""

    edits: list[tuple[int, Event, FileEdit]]
    shell: list[ShellCall]
    changes: list[tuple[int, SessionStart | Lifecycle]]
    """Session starts, and what changes directory or branch or names a commit."""
    requests: list[tuple[int, int]]
    """Places of human messages, with their characters."""
    turn_ends: dict[int, int]
    """The place behind the last event of each turn."""
    breaks: list[int]
    """Places where the session went back, or where a branch begins that was left: no episode goes on across one."""


def timeline_of(session: SessionEvents) -> Timeline:
    """Return what episodes are made of. Commands that were left out of light events are asked for."""
    found = Timeline([], [], [], [], {}, [])
    was_undone = False
    for position, event in enumerate(session.events):
        found.turn_ends[event.turn_index] = position + 1
        payload = event.payload
        if type(payload) is Rewind or event.is_undone != was_undone:
            found.breaks.append(position)
        was_undone = event.is_undone
        if type(payload) not in _TYPES:
            continue
        if isinstance(payload, FileEdit):
            if payload.operation != "checkpoint" and (payload.path or payload.new_path):
                found.edits.append((position, event, payload))
        elif isinstance(payload, UserMessage):
            if payload.origin in ("human", "queued"):
                found.requests.append((position, len(payload.text)))
        elif isinstance(payload, SessionStart) or (
            isinstance(payload, Lifecycle) and (payload.cwd or payload.branch or payload.name == "commit")
        ):
            found.changes.append((position, payload))
    places = session.positions
    for call in session.calls.values():
        if call.call.canonical == "shell":
            ended = places[call.result.event_id, call.result.part] if call.result else None
            position = places[call.event.event_id, call.event.part]
            found.shell.append(ShellCall(position, call, command_of(session, call.event), ended))
    return found


_TYPES = frozenset((FileEdit, UserMessage, SessionStart, Lifecycle))
