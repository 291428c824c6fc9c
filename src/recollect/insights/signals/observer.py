"""Collects all signals of a session in the order in which they first appear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.insights.error_lines import fingerprint_of, sample_of, telling_line
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.signals.calls import endings_of, failures_of, text_of, tool_of
from recollect.insights.signals.endings import abandoned_of, completions_of
from recollect.insights.signals.people import People
from recollect.insights.signals.pressure import Pressure
from recollect.insights.signals.repeats import loops_of, own_retry, retries_of
from recollect.insights.signals.runs import run_of
from recollect.insights.signals.turns import turns_of
from recollect.model.events import Event
from recollect.model.insights.nodes import Evidence
from recollect.model.insights.signals import SIGNAL_KINDS, EditSeen, ErrorSeen, Signal, kind_of_signal
from recollect.model.payloads import FileEdit, Lifecycle, ToolResult
from recollect.model.tools import canonical_tool

_RANK = {kind: rank for rank, kind in enumerate(SIGNAL_KINDS)}


class RuleObserver:
    """Finds signals as docs/development/insight-rules.md defines them. Implements `stages.Observer`."""

    def signals(self, session: SessionEvents) -> list[Signal]:
        """Return the signals of a session in order of the event that each is about, of one event by kind."""
        people, pressure, single = People(session), Pressure(session), _Single(session)
        readers: dict[type, list[Callable[[Event, Any], None]]] = {}
        for part in (people, pressure, single):
            for of_type, read in part.readers().items():
                readers.setdefault(of_type, []).append(read)
        for event in session.of(*readers):
            for read in readers[type(event.payload)]:
                read(event, event.payload)
        tried = list(session.once(endings_of).values())
        turns = session.once(turns_of)
        found: list[Signal] = [*people.found, *pressure.found, *single.found]
        found += [run for run in (run_of(session, one) for one in tried) if run is not None]
        found += retries_of(session, tried)
        found += loops_of(tried)
        found += completions_of(turns)
        found += abandoned_of(session, turns)
        return sorted(found, key=lambda signal: _place(session, signal))


def _place(session: SessionEvents, signal: Signal) -> tuple[int, int]:
    first = signal.evidence[0]
    return session.positions[first.event_id, first.part], _RANK[kind_of_signal(signal)]


class _Single:
    """Collects in `found` the signals that one event is by itself: errors, edits, the agent's own retries."""

    def __init__(self, session: SessionEvents) -> None:
        self.found: list[Signal] = []
        self._session = session
        self._tried = session.once(endings_of)
        self._failures = session.once(failures_of)

    def readers(self) -> dict[type, Callable[[Event, Any], None]]:
        """Return what reads events, by the type of their payload."""
        return {ToolResult: self._result, Lifecycle: self._lifecycle, FileEdit: self._edit}

    def _result(self, event: Event, payload: ToolResult) -> None:
        if payload.ok is not False and not payload.exit_code:
            return
        one = self._tried.get(payload.call_id)
        source, code = "exit" if payload.exit_code else "result", payload.exit_code or None
        if one is None:  # a result without its call
            line = telling_line(text_of(self._session, event))
            tool = canonical_tool(payload.name) if payload.name else ""
            self._error(event, line, tool=tool, source=source, exit_code=code)
        elif one.call.result is event and one.ending == "failed":  # no earlier result of a call that has a later one
            source = "update" if one.call.call.canonical == "edit" else source
            because_of = evidence_of(one.call.event, "command")
            self._error(event, one.line, because_of, tool=tool_of(one.call.call), source=source, exit_code=code)

    def _lifecycle(self, event: Event, payload: Lifecycle) -> None:
        failure = self._failures.get((event.event_id, event.part))
        if failure is not None and failure.is_api:
            self._error(event, failure.line, source="api")
        retried = own_retry(event, payload)
        if retried is not None:
            self.found.append(retried)

    def _error(self, event: Event, line: str, *because_of: Evidence, **said: Any) -> None:
        told = {"fingerprint": fingerprint_of(line), "sample": sample_of(line), **said}
        self.found.append(ErrorSeen.at(event, evidence_of(event, "context"), *because_of, **told))

    def _edit(self, event: Event, payload: FileEdit) -> None:
        if payload.operation == "checkpoint":
            return
        one = self._tried.get(payload.call_id)
        if one is not None and one.ending in ("failed", "denied", "interrupted"):
            return
        place = evidence_of(event, "edit")
        self.found.append(EditSeen.at(event, place, path=payload.path, operation=payload.operation))
