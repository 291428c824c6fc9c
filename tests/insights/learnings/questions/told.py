"""Sessions told in a few words, for tests of what a model is shown of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.model.events import Event, Role, SourceLocation
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Origin,
    Payload,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    kind_of,
)
from recollect.model.sessions import Session

UID = "claude:told"
AT_US = 1_793_000_000_000_000
"""When a told session begins; its events are a second apart."""


class Told:
    """A session as learning reads it: long strings of tools are "" until they are loaded, as the store gives them."""

    def __init__(self, **session: Any) -> None:
        given = {"repo": "shop", "repo_root": "/home/ada/shop", "title": "Fix the basket", **session}
        self.session = Session(session_uid=UID, agent="claude", **given)
        self.events: list[Event] = []
        self._whole: dict[str, Event] = {}
        self._turn = 0
        self.loaded: list[str] = []

    def user(self, text: str, origin: Origin = "human", **event: Any) -> Told:
        if origin in ("human", "queued", "command"):
            self._turn += 1
        return self._add(UserMessage(text=text, origin=origin), "user", **event)

    def assistant(self, text: str) -> Told:
        return self._add(AssistantMessage(text=text), "assistant")

    def thinking(self, text: str) -> Told:
        return self._add(Thinking(text=text), "assistant")

    def tool(
        self, canonical: str, arguments: Any, output: str, *, exit_code: int | None = None, ok: bool | None = None
    ) -> Told:
        call_id = f"c{len(self.events)}"
        self._add(ToolCall(call_id, canonical.title(), canonical, arguments), "assistant")
        return self._add(ToolResult(call_id, canonical.title(), ok, exit_code, output), "tool")

    def edit(self, path: str, before: str | None, after: str) -> Told:
        operation: Any = "modify" if before is not None else "create"
        return self._add(FileEdit(path=path, operation=operation, before=before, after=after), "assistant")

    def load(self, event: Event) -> Event:
        self.loaded.append(event.event_id)
        return self._whole[event.event_id]

    def _add(self, payload: Payload, role: Role, **more: Any) -> Told:
        seq = len(self.events)
        whole = Event(
            session_uid=UID,
            seq=seq,
            event_id=f"n{seq}",
            part=0,
            kind=kind_of(payload),
            payload=payload,
            location=SourceLocation("s", 1, seq * 10, 10, seq, "00"),
            ts=AT_US + seq * 1_000_000,
            role=role,
            turn_index=self._turn,
            **more,
        )
        self._whole[whole.event_id] = whole
        self.events.append(msgspec.structs.replace(whole, payload=_light(payload)))
        return self


def _light(payload: Payload) -> Payload:
    if isinstance(payload, ToolResult) and len(payload.text) >= 2048:
        return msgspec.structs.replace(payload, text="")
    if isinstance(payload, FileEdit) and len(payload.after or "") >= 2048:
        return msgspec.structs.replace(payload, before="", after="")
    return payload


def working_day() -> Told:
    """Return a session of three turns in which something can be learned from everybody."""
    told = Told()
    told.user("The basket test fails. And please always run the tests with make check, never with pytest alone.")
    told.tool("shell", {"command": "make check"}, "x\n" * 3_000 + "E   KeyError: 'currency'\n", exit_code=2)
    told.edit("/home/ada/shop/src/basket.py", "def total():\n    return x\n", "def total():\n    return y\n")
    told.tool("shell", {"command": "make check"}, "212 passed in 3.1s", exit_code=0)
    told.assistant("The currency was missing from the fixture; src/basket.py now falls back to EUR. All tests pass.")
    told.user("Good. What does the docs page say about rounding?")
    told.tool("fetch", {"url": "https://docs.example/rounding"}, "Amounts are rounded half to even since 4.2.", ok=True)
    told.assistant("Since 4.2 amounts are rounded half to even. I still have to update the invoice export for that.")
    told.user("ok")
    return told


def said(sequence: Sequence[Any]) -> str:
    """Return all texts, one below the other."""
    return "\n".join(item.text for item in sequence)
