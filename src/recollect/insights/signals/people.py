"""Interventions of people: interrupts, denied permissions, messages to a working agent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.signals.calls import ANSWERS, endings_of, is_refusal, is_stop, note_of
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.insights.signals import HumanIntervention
from recollect.model.payloads import AssistantMessage, Lifecycle, ToolCall, ToolResult, UserMessage

INTERRUPTS = ("interrupted", "turn_aborted")
"""Lifecycle names that say that a person stopped the agent."""
LEAVING = late_pattern(r"again to exit|KeyboardInterrupt|to quit|press .{0,20} to exit", re.IGNORECASE)
"""What is shown where the same key would end the program: it stops nothing once the reply is there."""
STOPPED = ("aborted", "cancelled", "canceled", "interrupted")
"""Stop reasons of a reply that a person cut off."""

_TASK_BEGINS, _TASK_ENDS = "turn_started", ("turn_ended", *INTERRUPTS)
"""Lifecycle names of agents that say when they are at work."""
_QUEUE = "queue"
"""Lifecycle name under which messages to an agent at work are set aside."""
_ENQUEUES = ("enqueue", "push", "add")

Reason = Literal["interrupt", "denied", "message"]


class People:
    """Reads the events of a session in order and collects in `found` what people did to the work.

    One act is written down several times (a refused call, its answer, a mark): what follows it without anything said or
    called in between is the same act. Where no result was written down yet, a call without one tells nothing.
    """

    def __init__(self, session: SessionEvents) -> None:
        self.found: list[HumanIntervention] = []
        self._session = session
        self._tried = session.once(endings_of)
        self._open: dict[str, Event] = {}
        self._has_replied = True
        self._knows_results = False
        self._last: Reason | None = None
        self._waiting: set[str] = set()
        self._asked_in_task: int | None = None
        """How many messages the task under way was given; None where no agent says that it is at work."""

    def readers(self) -> dict[type, Callable[[Event, Any], None]]:
        """Return what reads events, by the type of their payload."""
        return {
            ToolCall: self._call,
            ToolResult: self._result,
            AssistantMessage: self._reply,
            Lifecycle: self._lifecycle,
            UserMessage: self._message,
        }

    def _call(self, event: Event, payload: ToolCall) -> None:
        if payload.call_id:
            self._open[payload.call_id] = event
        self._last = None

    def _reply(self, _event: Event, payload: AssistantMessage) -> None:
        self._has_replied = bool(payload.text) and payload.stop_reason not in STOPPED
        self._last = None

    def _result(self, event: Event, payload: ToolResult) -> None:
        self._knows_results = True
        self._open.pop(payload.call_id, None)
        one = self._tried.get(payload.call_id)
        if one is None or one.call.result is not event:
            return
        if one.ending == "denied":
            self._act(event, "denied", one.call.event)
        elif one.ending == "interrupted":
            self._act(event, "interrupt", one.call.event)
        else:
            self._last = None

    def _lifecycle(self, event: Event, payload: Lifecycle) -> None:
        if payload.name == _TASK_BEGINS:
            self._asked_in_task = 0
        elif payload.name in _TASK_ENDS:
            self._asked_in_task = None
        if payload.name in ANSWERS:
            note = note_of(self._session, event)
            if is_stop(note) or is_refusal(note):
                self._act(event, "interrupt" if is_stop(note) else "denied")
        elif payload.name == _QUEUE:
            self._queued(event, payload)
        elif payload.name in INTERRUPTS and not (self._has_replied and not self._open and LEAVING.search(payload.text)):
            self._act(event, "interrupt")

    def _queued(self, event: Event, payload: Lifecycle) -> None:
        """Record a message that waits until the agent has time. The work continues; then it may appear again."""
        if not isinstance(payload.detail, dict) or payload.detail.get("operation") not in _ENQUEUES:
            return
        text = note_of(self._session, event).text.strip()
        if text and not text.startswith("<"):  # what the program itself queues is a tag
            self._waiting.add(text)
            self._add(event, "message", next(reversed(self._open.values()), None))

    def _message(self, event: Event, payload: UserMessage) -> None:
        if payload.origin not in ("human", "queued"):
            return
        open_call = next(reversed(self._open.values()), None)
        is_told = payload.text.strip() in self._waiting
        is_at_work = bool(self._asked_in_task) or (open_call is not None and self._knows_results)
        if not is_told and (payload.origin == "queued" or is_at_work):
            self._act(event, "message", open_call)
        if self._asked_in_task is not None:
            self._asked_in_task += 1
        self._open.clear()
        self._has_replied = False
        self._last = None

    def _act(self, event: Event, reason: Reason, because_of: Event | None = None) -> None:
        self._open.clear()
        before, self._last = self._last, reason
        if before is None:
            self._add(event, reason, because_of)

    def _add(self, event: Event, reason: Reason, because_of: Event | None) -> None:
        evidence = [evidence_of(event, "context")]
        if because_of is not None:
            evidence.append(evidence_of(because_of, "command"))
        self.found.append(HumanIntervention.at(event, *evidence, reason=reason))
