"""What a daemon tells of itself: figures of now, counted and measured since it started."""

from __future__ import annotations

from typing import Literal

import msgspec

Phase = Literal["starting", "watching", "taking in", "stopping"]


class WatchedPlace(msgspec.Struct, frozen=True):
    """A folder and how its changes are noticed. reason: why it is looked at again and again instead."""

    folder: str
    agents: tuple[str, ...]
    how: Literal["notified", "polled", "absent"]
    reason: str = ""


class Failure(msgspec.Struct, frozen=True):
    """The last failure of one kind of work, and how often it failed in a row. at, again_at: UTC microseconds.

    again_at: when it is tried again. message: without what any transcript says.
    """

    work: str
    code: str
    message: str
    times: int
    at: int
    again_at: int


class Counters(msgspec.Struct):
    """What was done since the start. busy: how often another process was ingesting and the work had to wait."""

    passes: int = 0
    full_passes: int = 0
    events: int = 0
    bytes: int = 0
    busy: int = 0
    failures: int = 0
    distilled_sessions: int = 0
    embedded_texts: int = 0
    sweeps: int = 0
    hook_answers: int = 0


class Delay(msgspec.Struct, frozen=True):
    """Milliseconds from the notice of a change to its being searchable, of so many latest changes."""

    p50_ms: float
    p95_ms: float
    count: int


class LearningNow(msgspec.Struct, frozen=True):
    """How learning is. Instants are UTC microseconds, None for never.

    learnings: that hold. sessions_waiting: for the rules; turns_waiting: for a model. dead: pieces of work given up.
    held_back: texts of a model's answers that cannot be used. paused: why no model is asked now, "" for nothing;
    is_failing: somebody should look at that.
    """

    enabled: bool = True
    provider: str = ""
    learnings: int = 0
    sessions_waiting: int = 0
    turns_waiting: int = 0
    dead: int = 0
    held_back: int = 0
    last_run_at: int | None = None
    last_answer_at: int | None = None
    spent_today_usd: float = 0.0
    paused: str = ""
    is_failing: bool = False


class LiveStatus(msgspec.Struct, frozen=True):
    """A daemon now. Instants are UTC microseconds, None for never.

    url: of the status page and of `/mcp`, "" where nothing listens; http: why not. waiting_paths: noticed and not yet
    taken in. delay: None before anything was taken in. next_full_at: when everything is looked at again.
    """

    pid: int
    version: str
    home: str
    phase: Phase
    started_at: int
    now: int
    counters: Counters
    url: str = ""
    http: str = ""
    waiting_paths: int = 0
    last_pass_at: int | None = None
    last_full_at: int | None = None
    next_full_at: int | None = None
    last_sweep_at: int | None = None
    delay: Delay | None = None
    watched: tuple[WatchedPlace, ...] = ()
    absent: int = 0
    """Folders of agents that are not there; they are looked for all the time."""
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    """What the last look at everything said."""
    learning: LearningNow | None = None
    """None: of a daemon of before there was such a thing."""
