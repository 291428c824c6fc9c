"""Sessions told as short stories, in normal form: who said what, what was edited and run, and when."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.model.events import Event, SourceLocation
from recollect.model.insights.nodes import Decision, Evidence, Option, Polarity, Speaker, node_id
from recollect.model.insights.signals import TestRun
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Payload,
    Rewind,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
    kind_of,
)

START_US = 1_785_600_000_000_000
MINUTE_US = 60_000_000


class Story:
    """A session, one event after the other, a second apart; `minutes` lets time pass, `timed=False` leaves it out."""

    def __init__(self, uid: str = "one:1", *, timed: bool = True) -> None:
        self.uid = uid
        self.events: list[Event] = []
        self._at = START_US
        self._timed = timed
        self._turn = 0
        self._calls = 0

    def happens(self, payload: Payload) -> Event:
        """Add an event of any payload."""
        number = len(self.events)
        self._at += 1_000_000
        digest = hashlib.sha256(f"{self.uid}/{number}".encode()).hexdigest()
        location = SourceLocation(f"s-{self.uid}", 1, number * 100, 99, number, digest)
        event = Event(
            self.uid, number, f"e{number}", 0, kind_of(payload), payload, location,
            ts=self._at if self._timed else None, turn_index=self._turn,
        )  # fmt: skip
        self.events.append(event)
        return event

    def goes_on(self, events: Iterable[Event]) -> None:
        """Continue a session: its turns and times go on."""
        self.events = list(events)
        self._turn = max((e.turn_index for e in self.events), default=0)
        self._at = max((e.ts for e in self.events if e.ts is not None), default=self._at)

    def minutes(self, count: float) -> None:
        """Let time pass."""
        self._at += int(count * MINUTE_US)

    def starts(self, **facts: str) -> Event:
        return self.happens(SessionStart(**facts))

    def moves(self, *, cwd: str = "", branch: str = "") -> Event:
        return self.happens(Lifecycle("cwd" if cwd else "branch", cwd=cwd, branch=branch))

    def human(self, text: str) -> Event:
        self._turn += 1
        return self.happens(UserMessage(text))

    def says(self, text: str) -> Event:
        return self.happens(AssistantMessage(text))

    def edits(
        self, path: str, added: str = "x = 1", removed: str = "", *, ok: bool | None = True, **more: Any
    ) -> Event:
        """Add a call that edits, its result and the edit; return the edit's event."""
        self._calls += 1
        call_id = f"c{self._calls}"
        self.happens(ToolCall(call_id, "Edit", "edit", {"file_path": path}))
        fields: dict[str, Any] = {"before": removed, "after": added, **more}
        edit = self.happens(FileEdit(path, call_id=call_id, **fields))
        self.happens(ToolResult(call_id, "Edit", ok, text="done"))
        return edit

    def runs(
        self, command: str, *, ok: bool | None = True, text: str = "", exit_code: int | None = None, **arguments: Any
    ) -> Event:
        """Add a shell call with its result; return the call's event."""
        self._calls += 1
        call = self.happens(ToolCall(f"c{self._calls}", "Bash", "shell", {"command": command, **arguments}))
        self.happens(ToolResult(f"c{self._calls}", "Bash", ok, exit_code, text))
        return call

    def rewinds(self, to: Event, turns: int | None = None) -> Event:
        return self.happens(Rewind(to.event_id, turns))

    def compacts(self) -> Event:
        return self.happens(Compaction("auto", "what was said before"))

    def stream(self) -> SessionEvents:
        return SessionEvents(self.events)


def ran_tests(call: Event, *, ok: bool | None, failed: int | None = None) -> TestRun:
    """Return the signal of a test run that a shell call was."""
    return TestRun(
        session_uid=call.session_uid, ts=call.ts, turn_index=call.turn_index,
        evidence=(evidence_of(call, "test"),), framework="pytest", command="pytest", ok=ok, failed=failed,
    )  # fmt: skip


def decided(
    event: Event,
    *,
    chosen: tuple[str, ...] = (),
    rejected: tuple[str, ...] = (),
    polarity: Polarity = "adopt",
    speaker: Speaker = "human",
    evidence: tuple[Evidence, ...] = (),
    **more: Any,
) -> Decision:
    """Return the decision of a message, as a decider would give it. more: other fields of the node."""
    statement = more.pop("statement", getattr(event.payload, "text", ""))
    return Decision(
        id=node_id("decision", event.session_uid, event.event_id, event.part, *chosen, *rejected),
        session_uid=event.session_uid,
        location=event.location,
        ts=event.ts,
        turn_index=event.turn_index,
        evidence=evidence or (evidence_of(event, "statement", 0, len(statement)),),
        statement=statement,
        polarity=polarity,
        speaker=speaker,
        options=(*(Option(o, True) for o in chosen), *(Option(o, False) for o in rejected)),
        **more,
    )


def lightened(events: Iterable[Event], limit: int) -> SessionEvents:
    """Return events as a store gives them: strings from `limit` characters on are left out, and loaded when asked."""
    whole = {(e.event_id, e.part): e for e in events}
    return SessionEvents((_light(e, limit) for e in whole.values()), load=lambda e: whole[e.event_id, e.part])


def _light(event: Event, limit: int) -> Event:
    payload = event.payload
    if isinstance(payload, FileEdit):
        long = {k: "" for k in ("before", "after", "diff") if len(getattr(payload, k) or "") >= limit}
        return msgspec.structs.replace(event, payload=msgspec.structs.replace(payload, **long))
    if isinstance(payload, ToolCall) and isinstance(payload.arguments, dict):
        short = {k: "" if isinstance(v, str) and len(v) >= limit else v for k, v in payload.arguments.items()}
        return msgspec.structs.replace(event, payload=msgspec.structs.replace(payload, arguments=short))
    if isinstance(payload, ToolResult) and len(payload.text) >= limit:
        return msgspec.structs.replace(event, payload=msgspec.structs.replace(payload, text=""))
    return event
