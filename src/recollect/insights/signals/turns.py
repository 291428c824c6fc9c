"""Turns as work: the request, what was done, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from recollect.insights.session_events import SessionEvents
from recollect.insights.signals.calls import TARGET_CHARS, Failure, Tried, endings_of, failures_of
from recollect.insights.signals.people import INTERRUPTS, LEAVING, STOPPED
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Lifecycle,
    SessionEnd,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)

_LEAVES = late_pattern(r"/?(?:exit|quit|bye|q|:q|logout)[.! ]*", re.IGNORECASE)


CLOSING_TOOLS = frozenset(
    "finish attempt_completion task_complete complete_task submit submit_result report_result done".split()
)
"""Tools by which a model says that it is done: a call of one is a reply."""
_SAID_KEYS = ("message", "result", "summary", "answer", "final_answer", "text")


class Turn(msgspec.Struct):
    """What happened from one request to the next, in the main line of a session.

    asked: the message that began it; None for what precedes the first, and where the message is forgotten. reply: the
    newest reply, None where a call came after it. last_call: the newest call, with its end. stop: the interrupt or
    refusal after which nothing was done.
    failure: an error of the model's API, a limit, or an edit that could not be applied, after which nothing came; with
    the words. calls, edits, spent: how many calls, edits, and responses of the model that are known as such.
    """

    asked: Event | None = None
    is_forgotten: bool = False
    """A person asked, but the message is gone."""
    reply: Event | None = None
    last_call: Tried | None = None
    stop: Event | None = None
    failure: tuple[Event, str] | None = None
    end: Event | None = None
    is_closed: bool = False
    """The agent itself says that the turn ended."""
    calls: int = 0
    edits: int = 0
    spent: int = 0
    tried: list[Tried] = []
    last_edit: Event | None = None

    @property
    def has_worked(self) -> bool:
        """Whether a tool was called or a file edited."""
        return bool(self.calls or self.edits)

    @property
    def text(self) -> str:
        """What was asked, in the person's words; "" for none."""
        return getattr(self.asked.payload, "text", "").strip() if self.asked is not None else ""

    @property
    def said(self) -> str:
        """The words of the reply; "" for none."""
        payload = self.reply.payload if self.reply is not None else None
        if isinstance(payload, ToolCall):
            arguments = payload.arguments if isinstance(payload.arguments, dict) else {}
            found = (arguments.get(key) for key in _SAID_KEYS)
            return next((v.strip() for v in found if isinstance(v, str) and 0 < len(v) <= TARGET_CHARS), "")
        return getattr(payload, "text", "").strip()

    @property
    def is_command(self) -> bool:
        """Whether it was begun by a command to the program, or by words that leave it."""
        if self.asked is None:
            return False
        return getattr(self.asked.payload, "origin", "") == "command" or _LEAVES.fullmatch(self.text) is not None

    @property
    def is_request(self) -> bool:
        """Whether a person asked for something, or a command made the model do something."""
        if self.asked is None:  # a reply that nobody asked for answers nothing
            return self.has_worked or self.is_forgotten
        return not self.is_command or self.has_worked or self.spent > 0


def turns_of(session: SessionEvents) -> list[Turn]:
    """Return the turns of the main line in order; the first holds what precedes the first message.

    The main line is everything outside of side chains; it is everything if all talk is in one.
    """
    asked = {event.turn_index for event in session.of(UserMessage) if _is_prompt(event.payload)}
    reader = _Reader(session.once(endings_of), session.once(failures_of), asked)
    take = reader.readers()
    has_main_line = any(not event.is_sidechain for event in session.of(UserMessage, AssistantMessage))
    for event in session.of(*take):
        if not (has_main_line and event.is_sidechain):
            reader.follow(event)
            take[type(event.payload)](event, event.payload)
    return reader.turns


class _Reader:
    """Reads events in order into turns."""

    def __init__(
        self, tried: Mapping[str, Tried], failures: Mapping[tuple[str, int], Failure], asked: Collection[int]
    ) -> None:
        """asked: the turns whose prompt is there."""
        self._tried = tried
        self._failures = failures
        self._asked = asked
        self._turn = Turn()
        self._number = 0
        self.turns = [self._turn]

    def follow(self, event: Event) -> None:
        """Begin a turn where an event is of a later one than those before it and its prompt is forgotten."""
        if event.turn_index > self._number:
            self._number = event.turn_index
            if self._number not in self._asked:
                self._turn = Turn(is_forgotten=True)
                self.turns.append(self._turn)

    def readers(self) -> dict[type, Callable[[Event, Any], None]]:
        """Return what reads events, by the type of their payload."""
        return {
            UserMessage: self._message,
            AssistantMessage: self._reply,
            ToolCall: self._call,
            ToolResult: self._result,
            FileEdit: self._edit,
            Lifecycle: self._lifecycle,
            TokenUsage: self._usage,
            SessionEnd: self._end,
        }

    def _message(self, event: Event, payload: UserMessage) -> None:
        if _is_prompt(payload):
            self._turn = Turn(asked=event)
            self.turns.append(self._turn)

    def _reply(self, event: Event, payload: AssistantMessage) -> None:
        turn = self._turn
        turn.spent += bool(payload.message_id)
        if payload.stop_reason in STOPPED:
            turn.stop = event
        elif payload.text.strip():
            # What is said after a refused call answers the refusal; after an interrupt it is the rest of what was cut.
            if turn.stop is not None and type(turn.stop.payload) is ToolResult:
                turn.stop = None
            turn.reply = event
            turn.failure = None

    def _call(self, event: Event, payload: ToolCall) -> None:
        turn = self._turn
        one = self._tried.get(payload.call_id)
        turn.calls += 1
        turn.last_call = one
        if one is not None:
            turn.tried.append(one)
        turn.reply = turn.stop = turn.failure = None
        if payload.name.lower() in CLOSING_TOOLS:
            turn.reply = event

    def _result(self, event: Event, payload: ToolResult) -> None:
        one = self._tried.get(payload.call_id)
        if one is not None and one.ending in ("denied", "interrupted") and one.call.result is event:
            self._turn.reply, self._turn.stop = None, event

    def _edit(self, event: Event, payload: FileEdit) -> None:
        if payload.operation != "checkpoint":
            self._turn.edits += 1
            self._turn.last_edit = event
            self._turn.failure = None

    def _lifecycle(self, event: Event, payload: Lifecycle) -> None:
        turn = self._turn
        if payload.name in INTERRUPTS:
            is_leaving = turn.reply is not None and LEAVING.search(payload.text) is not None
            if not is_leaving and not turn.is_command and turn.stop is None:
                turn.stop = event
            return
        turn.is_closed = turn.is_closed or payload.name == "turn_ended"
        failure = self._failures.get((event.event_id, event.part))
        if failure is not None and (failure.is_sure or (turn.reply is None and not turn.has_worked)):
            turn.failure = (event, failure.line)

    def _usage(self, _event: Event, _payload: TokenUsage) -> None:
        self._turn.spent += 1

    def _end(self, event: Event, _payload: SessionEnd) -> None:
        self._turn.end = event


def _is_prompt(payload: object) -> bool:
    return isinstance(payload, UserMessage) and payload.origin != "injected"
