"""What people and agents write down: diary entries, facts with their time, tags, and the runs that can be undone."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.model.insights.nodes import Status

NOTE_SCHEMA_VERSION = 1

FactSource = Literal["person", "agent", "decision", "learning", "import"]
BatchKind = Literal["learnings", "facts", "documents", "import"]


class DiaryEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One entry of an agent's diary, redacted. Times in UTC microseconds; sessions: uids that it speaks of.

    retired_at: since when it counts no more (the run that brought it was undone); it is kept, and shown on demand.
    """

    id: str
    agent: str
    text: str
    written_at: int
    repo: str = ""
    topic: str = ""
    decided: tuple[str, ...] = ()
    discovered: tuple[str, ...] = ()
    left_pending: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    batch: str = ""
    retired_at: int | None = None
    schema_version: int = NOTE_SCHEMA_VERSION


class EarlierEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """Until `until` the memory thought that a fact holds up to `valid_to`. UTC microseconds."""

    until: int
    valid_to: int | None = None


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Subject, predicate, object, and when that holds: [valid_from, valid_to), None: open. UTC microseconds.

    source: who said it. reference: what it rests on (`session_uid#seq`, a node's or a learning's id), "" for nothing.
    recorded_at: since when the memory knows it; invalidated_at: since when it knows that it ended or was wrong.
    earlier: what the memory thought of its end before, the oldest first. is_retracted: it never held; before
    `invalidated_at` the memory thought that it did. is_undone: what it rests on was undone; told when it is asked for,
    never kept with it.
    """

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: int | None = None
    valid_to: int | None = None
    repo: str = ""
    source: FactSource = "person"
    reference: str = ""
    status: Status = "observed"
    confidence: float = 1.0
    recorded_at: int = 0
    invalidated_at: int | None = None
    earlier: tuple[EarlierEnd, ...] = ()
    is_retracted: bool = False
    is_undone: bool = False
    batch: str = ""
    schema_version: int = NOTE_SCHEMA_VERSION


class Batch(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A run that derived or imported something, and that `recollect undo` retires as a whole."""

    id: str
    kind: BatchKind
    started_at: int
    about: str = ""
    counts: dict[str, int] = {}
    undone_at: int | None = None
    schema_version: int = NOTE_SCHEMA_VERSION
