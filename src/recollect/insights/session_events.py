"""A session's events as every stage reads them: in order, with calls joined to results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import msgspec

from recollect.model.events import Event
from recollect.model.insights.nodes import Evidence, EvidenceRole, Speaker
from recollect.model.payloads import AssistantMessage, Json, Lifecycle, ToolCall, ToolResult, UserMessage
from recollect.model.undone import marked

TOOL_REPORT = "tool_completed"
"""Lifecycle name of telemetry that says by call id how a call ended (`detail`: `outcome`, `duration_ms`)."""
_IS_OK = {
    "success": True, "error": False, "invalid_tool": False, "hook_denied": False, "permission_rejected": False,
    "permission_cancelled": False, "cancelled": False,
}  # fmt: skip
Load = Callable[[Event], Event]
"""Gives an event with its whole payload, where long strings of tools and edits were left out of it."""


T = TypeVar("T")


class Call(NamedTuple):
    """A tool call and its last result; `result` None: it never came."""

    event: Event
    call: ToolCall
    result: Event | None


class SessionEvents:
    """One session, in the order given (canonical order: design, section 5), replaced events left out.

    A result that doesn't say how it went is given what the agent's telemetry says of its call.

    Events may be light: then long strings in tool inputs, results and edits are empty (prose never is), and `whole`
    gives the event with them. A stage that looks at such a string asks `whole` first, so that light and whole events
    give the same nodes.
    """

    def __init__(self, events: Iterable[Event], *, load: Load | None = None) -> None:
        self._load = load
        self.events: tuple[Event, ...] = self._reported([e for e in events if e.replaced_by is None])
        self._chosen: dict[tuple[type, ...], Sequence[Event]] = {}
        self._made: dict[Callable[[SessionEvents], Any], Any] = {}

    @cached_property
    def kept(self) -> SessionEvents:
        """The session without what rewinds left behind; itself where they left nothing."""
        if not any(event.is_undone for event in self.events):
            return self
        return SessionEvents((event for event in self.events if not event.is_undone), load=self._load)

    @property
    def uid(self) -> str:
        """The session's uid, "" for no events."""
        return self.events[0].session_uid if self.events else ""

    def whole(self, event: Event) -> Event:
        """Return the event with its whole payload."""
        if self._load is None:
            return event
        whole, known = self._load(event), event.payload
        if not isinstance(whole.payload, ToolResult) or not isinstance(known, ToolResult) or whole is event:
            return whole
        return _with(whole, ok=known.ok, duration_ms=known.duration_ms)

    def _reported(self, events: list[Event]) -> tuple[Event, ...]:
        """Return events with what `TOOL_REPORT` says in the last result of each call that says nothing itself."""
        reports = {
            payload.call_id: detail
            for event in events
            if isinstance(payload := event.payload, Lifecycle) and payload.name == TOOL_REPORT and payload.call_id
            if isinstance(detail := _detail(event if payload.detail is not None else self.whole(event)), dict)
        }
        if not reports:
            return tuple(events)
        for number in range(len(events) - 1, -1, -1):
            result = events[number].payload
            if not isinstance(result, ToolResult) or (report := reports.pop(result.call_id, None)) is None:
                continue
            if result.ok is None and result.exit_code is None:
                events[number] = _with(
                    events[number], ok=_IS_OK.get(str(report.get("outcome"))), duration_ms=_whole_ms(report)
                )
        return tuple(events)

    def once(self, make: Callable[[SessionEvents], T]) -> T:
        """Return what a function makes of the session, made once for all stages that ask for it."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    def of(self, *types: type) -> Sequence[Event]:
        """Return the events with payloads of some types, in order.

        They are sorted out once for all stages: a third and more of a session's events are token usage, which few read.
        """
        if len(types) == 1:
            return self._by_type.get(types[0], ())
        if types not in self._chosen:
            wanted = frozenset(types)
            self._chosen[types] = [event for event in self.events if type(event.payload) in wanted]
        return self._chosen[types]

    @cached_property
    def _by_type(self) -> dict[type, list[Event]]:
        found: dict[type, list[Event]] = {}
        for event in self.events:
            of_type = type(event.payload)
            if of_type in found:
                found[of_type].append(event)
            else:
                found[of_type] = [event]
        return found

    @cached_property
    def calls(self) -> dict[str, Call]:
        """Every tool call by call id, in order; calls without an id by `#<number>`, without result."""
        found: dict[str, Call] = {}
        for number, event in enumerate(self.of(ToolCall, ToolResult)):
            payload = event.payload
            if isinstance(payload, ToolCall):
                found.setdefault(payload.call_id or f"#{number}", Call(event, payload, None))
            elif isinstance(payload, ToolResult) and payload.call_id in found:
                call = found[payload.call_id]
                found[payload.call_id] = Call(call.event, call.call, event)
        return found

    def call_of(self, event: Event) -> Call | None:
        """Return the call that a result (or an edit) belongs to; None for an orphan."""
        call_id = getattr(event.payload, "call_id", "")
        return self.calls.get(call_id) if call_id else None

    @cached_property
    def positions(self) -> dict[tuple[str, int], int]:
        """The place of each event in canonical order, by (event_id, part)."""
        return {(event.event_id, event.part): i for i, event in enumerate(self.events)}

    def talk(self) -> Iterator[Event]:
        """Yield what people and the model said: human and queued messages, and replies with text."""
        for event in self.of(UserMessage, AssistantMessage):
            payload = event.payload
            if isinstance(payload, UserMessage):
                if payload.origin in ("human", "queued") and payload.text:
                    yield event
            elif isinstance(payload, AssistantMessage) and payload.text:
                yield event


def speaker_of(event: Event) -> Speaker:
    """Return who says a message."""
    return "human" if isinstance(event.payload, UserMessage) else "assistant"


def words_of_talk(event: Event | None) -> str:
    """Return the words of a message, "" for none."""
    payload = event.payload if event is not None else None
    return payload.text if isinstance(payload, UserMessage | AssistantMessage) else ""


def _detail(event: Event) -> Json:
    return event.payload.detail if isinstance(event.payload, Lifecycle) else None


def _whole_ms(report: dict[str, Json]) -> int | None:
    found = report.get("duration_ms")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _with(event: Event, *, ok: bool | None, duration_ms: int | None) -> Event:
    """Return the event of a result with what it lacks filled in."""
    result = event.payload
    if not isinstance(result, ToolResult):
        raise TypeError(f"no result: {event.kind}")
    filled = msgspec.structs.replace(
        result,
        ok=ok if result.ok is None else result.ok,
        duration_ms=duration_ms if result.duration_ms is None else result.duration_ms,
    )
    return msgspec.structs.replace(event, payload=filled)


def by_session(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Return events by session, in order of each session's first one, with what rewinds left behind marked."""
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.session_uid, []).append(event)
    return {uid: marked(of_session) for uid, of_session in found.items()}


def evidence_of(event: Event, role: EvidenceRole, start: int = 0, end: int = 0) -> Evidence:
    """Return an event, or a range of its text, as evidence."""
    return Evidence(event.session_uid, event.event_id, event.part, role, event.location, event.seq, start, end)


def earliest(events: Sequence[Event]) -> int | None:
    """Return the earliest time of events, UTC microseconds, None without any."""
    return min((e.ts for e in events if e.ts is not None), default=None)
