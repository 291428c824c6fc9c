"""Printing to a screen of a given width, and results made by hand."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime
from typing import Any

from rich.console import Console

from recollect.memory import Hit, SearchAnswer
from recollect.model.events import Event, SourceLocation
from recollect.model.payloads import Payload, kind_of
from recollect.model.sessions import Session
from recollect.model.text import summary_of

HOSTILE = "\x1b[2J\x1b[31mowned\x07\r\u202e"
"""What a transcript may hold and no screen may show."""
NOW_US = int(datetime(2026, 8, 10, 12, 0).timestamp() * 1_000_000)
START_US = int(datetime(2026, 8, 1, 9, 0).timestamp() * 1_000_000)
LOCATION = SourceLocation("s-1", 1, 0, 10, 0, "00" * 32)


def screen(show: Callable[[Console], None], *, width: int = 120, colours: bool = False) -> str:
    """Return what is printed to a console of that width, with or without terminal colours."""
    out = io.StringIO()
    show(
        Console(
            file=out, width=width, markup=False, highlight=False, emoji=False, force_terminal=colours, no_color=False
        )
    )
    return out.getvalue()


def hit(**changes: Any) -> Hit:
    """Return a hit; `changes` replace its fields."""
    values: dict[str, Any] = {
        "session_uid": "codex:0197-a",
        "event_id": "r-1",
        "seq": 12,
        "agent": "codex",
        "ts": START_US,
        "kind": "tool_call",
        "score": 1.5,
        "snippet": "the webhook test waits for the queue",
        "match_level": "exact",
        "root_session_uid": "codex:0197-a",
        "title": "Fix the flaky webhook test",
        "repo": "shop-api",
        "tool": "shell",
    }
    return Hit(**{**values, **changes})


def answer(*hits: Hit, **changes: Any) -> SearchAnswer:
    """Return an answer with these hits; `changes` replace its fields."""
    values: dict[str, Any] = {
        "query": "webhook test",
        "hits": hits,
        "total": 340,
        "match_level": "exact" if hits else "none",
        "left_out": 340 - len(hits),
        "notes": (),
        "abstained": False,
        "took_ms": 8.2,
    }
    return SearchAnswer(**{**values, **changes})


def session(**changes: Any) -> Session:
    """Return a session; `changes` replace its fields."""
    values: dict[str, Any] = {
        "session_uid": "claude:5f0c1111-2222-4333-8444-555566667777",
        "agent": "claude",
        "title": "Fix the flaky webhook test",
        "repo": "shop-api",
        "git_branch": "main",
        "models": ("model-x",),
        "started_at": START_US,
        "ended_at": START_US + 60_000_000,
        "event_count": 340,
        "turn_count": 12,
    }
    return Session(**{**values, **changes})


def event(seq: int, payload: Payload, **changes: Any) -> Event:
    """Return an event of the session; `changes` replace its fields."""
    values: dict[str, Any] = {
        "session_uid": "claude:5f0c1111-2222-4333-8444-555566667777",
        "seq": seq,
        "event_id": f"e-{seq}",
        "part": 0,
        "kind": kind_of(payload),
        "payload": payload,
        "location": LOCATION,
        "ts": START_US + seq * 1_000_000,
        "turn_index": 1,
        "summary": summary_of(payload),
    }
    return Event(**{**values, **changes})
