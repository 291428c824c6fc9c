"""What people and agents write down: diary entries, facts with validity, tags, undoable runs."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.model.insights.nodes import Status

NOTE_SCHEMA_VERSION = 1

FactSource = Literal["person", "agent", "decision", "learning", "import"]
BatchKind = Literal["learnings", "facts", "documents", "import"]


class DiaryEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One entry of an agent's diary, redacted. Times in UTC microseconds; sessions: uids that it mentions.

    retired_at: when it stopped counting because its run was undone; it is kept and shown on request.
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
    """Until `until` the memory believed that a fact holds up to `valid_to`. UTC microseconds."""

    until: int
    valid_to: int | None = None


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Subject, predicate, object, and the time in which it holds: [valid_from, valid_to), None: open. UTC microseconds.

    source: who said it. reference: its basis (`session_uid#seq`, the id of a node or learning), "" for none.
    recorded_at: when the memory learned it; invalidated_at: when it learned that the fact ended or was wrong. earlier:
    previous beliefs about its end, oldest first. is_retracted: it never held, although the memory believed so before
    `invalidated_at`. is_undone: its basis was undone; computed on request, never stored.
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
    """A run that derived or imported something, which `recollect undo` retires as a whole."""

    id: str
    kind: BatchKind
    started_at: int
    about: str = ""
    counts: dict[str, int] = {}
    undone_at: int | None = None
    schema_version: int = NOTE_SCHEMA_VERSION
