"""The typed results of every question, rendered as text and as `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from recollect.model.events import Event
from recollect.model.learnings.entries import ENTRY_KINDS
from recollect.model.sessions import Session
from recollect.recall.related_events import RelatedEvent
from recollect.store.rows import AgentStats, TimelineEntry

if TYPE_CHECKING:
    from recollect.store.entries import EntryReader

MatchLevel = Literal["exact", "stemmed", "near", "semantic", "none"]


class Hit(msgspec.Struct, frozen=True):
    """An event that matches. Cite it as `session_uid#seq`. ts in UTC microseconds.

    For a learning, note or document, `session_uid` is its own uid (`document:docs/README.md`), and seq is a part.
    """

    session_uid: str
    event_id: str
    seq: int
    agent: str
    ts: int | None
    kind: str
    score: float
    snippet: str
    match_level: MatchLevel
    root_session_uid: str
    part: int = 0
    more_in_session: int = 0
    """How many further hits the same root session has beyond those shown."""
    title: str = ""
    repo: str = ""
    tool: str = ""
    summary: str = ""
    status: str = ""
    """Of what was learned, noted or documented only: how it is known (design, section 6)."""
    state: str = ""
    """The same: "active", "retired", "done" … as its kind has it."""
    is_undone: bool = False
    """Of events: a rewind left it behind."""
    passage: str = ""
    """Whole sentences around the best match, with their line breaks, about 500 characters; a text of
    at most 1,000 is whole."""
    related: tuple[RelatedEvent, ...] = ()
    """Of the first hits: what belongs to them."""
    later: tuple[RelatedEvent, ...] = ()
    """Of the first hits of a question: the two events after them, and the last reply in the session about it. A hit may
    be a proposal that these settle."""


class SearchAnswer(msgspec.Struct, frozen=True):
    """The hits and how they were found.

    total: matching events (notes say if the count is capped); by_meaning: those that share no word with the query.
    left_out: matching events that are not shown. abstained: nothing stored is about this; `hits` is empty and notes say
    why. is_unsure: the hits are only the closest and probably do not answer; a note says so. elsewhere: if the query
    names sessions or repositories, how many events in others match best, if better than any in these.
    """

    query: str
    hits: tuple[Hit, ...]
    total: int
    match_level: MatchLevel
    left_out: int
    notes: tuple[str, ...]
    abstained: bool
    took_ms: float
    learned: tuple[Hit, ...] = ()
    """At most three learnings, facts, diary entries and actions that are surely about the query, apart from the hits;
    none where the query names a kind."""
    is_unsure: bool = False
    by_meaning: int = 0
    elsewhere: int = 0

    @property
    def with_words(self) -> int:
        """How many matching events share a word with the query."""
        return self.total - self.by_meaning if self.hits and self.match_level != "semantic" else 0


class TeamHit(Hit, frozen=True):
    """A hit of what a team shares. citation: `team:PERSON/MACHINE/SESSION#EVENT.PART`; `seq` counts on that machine
    only."""

    person: str = ""
    machine: str = ""
    citation: str = ""


class TeamAnswer(SearchAnswer, frozen=True):
    """The answer of a team's server."""

    hits: tuple[TeamHit, ...]


class SessionPage(msgspec.Struct, frozen=True):
    """Sessions, newest first. `total`: how many match."""

    sessions: tuple[Session, ...]
    total: int
    notes: tuple[str, ...] = ()


class SessionView(msgspec.Struct, frozen=True):
    """A page of a session. `next_seq`: the value of `--from` for the next page; None at the end."""

    session: Session
    events: tuple[Event, ...]
    next_seq: int | None
    notes: tuple[str, ...] = ()


class Timeline(msgspec.Struct, frozen=True):
    """Events in order of time (across sessions) or of seq (in one)."""

    entries: tuple[TimelineEntry, ...]
    total: int
    notes: tuple[str, ...] = ()


class StorageStats(msgspec.Struct, frozen=True):
    """Bytes on disk."""

    database_bytes: int
    archive_bytes: int
    index_bytes: int

    @property
    def total_bytes(self) -> int:
        """The sum."""
        return self.database_bytes + self.archive_bytes + self.index_bytes


class VectorStats(msgspec.Struct, frozen=True):
    """How much of the memory can be searched by meaning. model: the embedder.

    covered, total: events with vectors, and all that should have them; entries_covered, entries_total: the same for
    learnings, notes and documents. sessions_read, sessions_total: sessions read by the contextual model, and all; 0 if
    it is off. disk_bytes: of this and earlier models. problem: why vectors cannot be used; "" if they can.
    """

    model: str
    covered: int
    total: int
    disk_bytes: int
    problem: str = ""
    entries_covered: int = 0
    entries_total: int = 0
    sessions_read: int = 0
    sessions_total: int = 0


class Stats(msgspec.Struct, frozen=True):
    """What the memory holds."""

    home: str
    agents: tuple[AgentStats, ...]
    sessions: int
    events: int
    kind_counts: dict[str, int]
    source_bytes: int
    storage: StorageStats
    defects: dict[str, int]
    redactions: dict[str, int]
    first_event: int | None
    last_event: int | None
    vectors: VectorStats | None = None
    """None where they are switched off."""
    entries: dict[str, int] = {}
    """What was learned, noted and documented: how many of each kind, those too that hold no more."""


DECAY = 0.5
"""What each further hit of a session counts, against the one before it: a session that is all about the question comes
before one that mentions it once a little better, and length alone wins nothing."""
COUNTED = 8
"""Hits of a session that count; beyond this the shares are too small to matter."""


class Conversation(msgspec.Struct, frozen=True):
    """One matching session with its best event. hits: how many of its events match."""

    best: Hit
    hits: int
    score: float

    @property
    def session_uid(self) -> str:
        """The session."""
        return self.best.session_uid


def conversations(hits: Sequence[Hit]) -> tuple[Conversation, ...]:
    """Return the sessions of hits, best first; ties in the order of their best hit.

    hits: in the order of a search.
    """
    of_session: dict[str, list[Hit]] = {}
    for hit in hits:
        if hit.kind in ENTRY_KINDS:
            continue  # a document is no session
        of_session.setdefault(hit.session_uid, []).append(hit)
    found = [
        Conversation(
            best=own[0],
            hits=len(own) + max(hit.more_in_session for hit in own),
            score=sum(hit.score * DECAY**place for place, hit in enumerate(own[:COUNTED])),
        )
        for own in of_session.values()
    ]
    return tuple(sorted(found, key=lambda c: -c.score))


class EntryPartView(msgspec.Struct, frozen=True):
    """One part. Cite it as `uid#part`. heading: the headings above it, "" for none."""

    part: int
    heading: str
    text: str


class EntryView(msgspec.Struct, frozen=True):
    """An entry with a page of its parts. ts in UTC microseconds. part_count: number of its parts.

    session_uid: the session that it came from, "" for none. next_part: where the next page begins; None at the end.
    """

    uid: str
    kind: str
    title: str
    agent: str
    repo: str
    path: str
    session_uid: str
    ts: int | None
    status: str
    state: str
    part_count: int
    parts: tuple[EntryPartView, ...]
    next_part: int | None = None
    notes: tuple[str, ...] = ()


def entry_view(entries: EntryReader, uid: str, *, first: int = 0, limit: int | None = None) -> EntryView | None:
    """Return an entry by its uid or unique prefix, with its parts from `first` on; None without one."""
    found = entries.entry(uid)
    if found is None:
        return None
    entry, parts = found
    shown = [part for part in parts if part.part >= first]
    page = shown if limit is None else shown[:limit]
    return EntryView(
        uid=entry.uid,
        kind=entry.kind,
        title=entry.title,
        agent=entry.agent,
        repo=entry.repo,
        path=entry.path,
        session_uid=entry.session_uid,
        ts=entry.ts,
        status=entry.status,
        state=entry.state,
        part_count=entry.parts,
        parts=tuple(EntryPartView(*part) for part in page),
        next_part=shown[len(page)].part if len(page) < len(shown) else None,
    )
