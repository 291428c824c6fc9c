"""Full contexts: compactions, and signs that one was near."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.signals.calls import failures_of
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.insights.signals import ContextPressure
from recollect.model.payloads import AssistantMessage, Compaction, Lifecycle, ToolCall, UserMessage

_NAMES = frozenset(
    ("compaction_failed", "context_warning", "context_limit", "context_overflow", "truncated", "truncation")
)
"""Lifecycle names that say that the context was full."""
_TOO_LONG = late_pattern(
    r"prompt is too long|context[ _](?:length|window|limit)[^.\n]{0,60}(?:exceed|full|overflow|reached)|maximum context"
    r"|exceeds? the (?:model'?s )?(?:maximum )?context|context_length_exceeded|input is too long|too many tokens",
    re.IGNORECASE,
)


class Pressure:
    """Reads the events of a session in order and collects in `found` where the context was full.

    One such moment is written down several times (an error, the compaction, its summary): what follows without anything
    said or called in between is the same one.
    """

    def __init__(self, session: SessionEvents) -> None:
        self.found: list[ContextPressure] = []
        self._failures = session.once(failures_of)
        self._is_pressed = False

    def readers(self) -> dict[type, Callable[[Event, Any], None]]:
        """Return what reads events, by the type of their payload."""
        return {
            ToolCall: self._other,
            UserMessage: self._other,
            AssistantMessage: self._other,
            Compaction: self._compaction,
            Lifecycle: self._lifecycle,
        }

    def _other(self, _event: Event, _payload: object) -> None:
        self._is_pressed = False

    def _compaction(self, event: Event, payload: Compaction) -> None:
        self._add(event, payload.trigger, payload.tokens_before)

    def _lifecycle(self, event: Event, payload: Lifecycle) -> None:
        if payload.name in _NAMES:
            self._add(event, payload.name, None)
            return
        failure = self._failures.get((event.event_id, event.part))
        if failure is not None and _TOO_LONG.search(failure.line):
            self._add(event, payload.name, None)

    def _add(self, event: Event, trigger: str, tokens_before: int | None) -> None:
        if not self._is_pressed:
            place = evidence_of(event, "context")
            self.found.append(ContextPressure.at(event, place, trigger=trigger, tokens_before=tokens_before))
        self._is_pressed = True
