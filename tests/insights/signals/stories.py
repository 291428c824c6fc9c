"""Small sessions told event by event, as any agent's adapter would give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.insights.digests import digest_of, session_of
from recollect.insights.session_events import Load, SessionEvents
from recollect.insights.signals.observer import RuleObserver
from recollect.model.events import Event, SourceLocation
from recollect.model.insights.digests import Digest
from recollect.model.insights.signals import Signal, kind_of_signal
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Json,
    Lifecycle,
    Origin,
    Payload,
    SessionStart,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
    kind_of,
)
from recollect.model.tools import canonical_tool

UID = "test:s1"
START_US = 1_785_574_800_000_000
STEP_US = 2_000_000


class Story:
    """Collects events; each method adds one and returns it. Calls get ids c1, c2 … unless they are given."""

    def __init__(self, uid: str = UID) -> None:
        self.uid = uid
        self.events: list[Event] = []
        self._turn = 0

    def add(self, payload: Payload, *, at: int | None = -1, is_sidechain: bool = False) -> Event:
        """Add any payload. at: its time in UTC microseconds, None for none, -1: two seconds after the one before."""
        number = len(self.events)
        ts = START_US + number * STEP_US if at == -1 else at
        place = SourceLocation("s-1", 1, number * 100, 90, number, f"{number:064x}")
        event = Event(
            session_uid=self.uid,
            seq=number,
            event_id=f"e{number}",
            part=0,
            kind=kind_of(payload),
            payload=payload,
            location=place,
            ts=ts,
            ts_quality="missing" if ts is None else "exact",
            turn_index=self._turn,
            is_sidechain=is_sidechain,
        )
        self.events.append(event)
        return event

    def starts(self, **fields: Any) -> Event:
        """The session begins."""
        return self.add(SessionStart(**{"cwd": "/w/demo", **fields}))

    def asks(self, text: str, origin: Origin = "human") -> Event:
        """A person writes."""
        if origin != "injected":
            self._turn += 1
        return self.add(UserMessage(text, origin))

    def says(self, text: str, **fields: Any) -> Event:
        """The agent writes."""
        return self.add(AssistantMessage(text, **fields))

    def calls(self, name: str, arguments: Json = None, call_id: str = "") -> str:
        """The agent calls a tool; returns the call's id."""
        call_id = call_id or f"c{len(self.events)}"
        self.add(ToolCall(call_id, name, canonical_tool(name), arguments))
        return call_id

    def gets(
        self, call_id: str, text: str = "", *, ok: bool | None = True, exit_code: int | None = None, **fields: Any
    ) -> Event:
        """A tool answers."""
        return self.add(ToolResult(call_id, ok=ok, exit_code=exit_code, text=text, **fields))

    def runs(self, command: str, text: str = "", *, exit_code: int | None = None) -> Event:
        """A shell command and its result; fails where it exits with something but 0."""
        call_id = self.calls("Bash", {"command": command})
        return self.gets(call_id, text, ok=not exit_code, exit_code=exit_code)

    def edits(self, path: str = "/w/demo/app.py", *, ok: bool = True, text: str = "") -> Event:
        """A file is edited, or an edit fails."""
        call_id = self.calls("Edit", {"file_path": path, "old_string": "a", "new_string": "b"})
        if ok:
            self.add(FileEdit(path, "modify", "a", "b", call_id=call_id))
        return self.gets(call_id, text, ok=ok)

    def notes(self, name: str, text: str = "", **fields: Any) -> Event:
        """Something happens around the conversation."""
        return self.add(Lifecycle(name, text, **fields))

    def spends(self, key: str, output: int, **fields: Any) -> Event:
        """A response's tokens are counted."""
        return self.add(TokenUsage("m-1", 10, output, dedupe_key=key, **fields))

    def stream(self, load: Load | None = None) -> SessionEvents:
        """The session so far."""
        return SessionEvents(self.events, load=load)

    def signals(self, kind: str = "") -> list[Any]:
        """The signals of the session so far, of one kind or all."""
        return signals_of(self.events, kind)

    def digest(self) -> Digest:
        """The digest of the session so far."""
        return digest_from(self.events)


def signals_of(events: Sequence[Event], kind: str = "", load: Load | None = None) -> list[Any]:
    """Return the signals of events, of one kind or all."""
    found: list[Signal] = RuleObserver().signals(SessionEvents(events, load=load))
    return [signal for signal in found if not kind or kind_of_signal(signal) == kind]


def digest_from(events: Sequence[Event], load: Load | None = None) -> Digest:
    """Return the digest of events, as one session."""
    stream = SessionEvents(events, load=load)
    return digest_of(stream, session_of(stream.events), RuleObserver().signals(stream), ())
