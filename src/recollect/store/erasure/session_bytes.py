# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The bytes that each session occupies, and what decides whether they may go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.model.capabilities import WITNESS_LANE
from recollect.store.connection import open_to_read, query
from recollect.store.erasure.evict_rows import COVERED, IS_LARGE, LARGE_OF_SESSION
from recollect.store.keys import SEQ_BITS
from recollect.store.marks import small_write


class Holding(NamedTuple):
    """One session. Times in UTC microseconds.

    is_covered: a digest includes its last record. last_at: time of its last event; without times, when it was first
    seen. taken_at: when it was last ingested. is_gone: the agent has deleted its files. archive_bytes: stored bytes of
    chunks that only it has. text_bytes: its events' stored text, without what eviction kept. shared: chunks that others
    have too. large_bytes: the approximate share of large results and images in `archive_bytes`, 0 if not requested.
    """

    session_uid: str
    agent: str
    repo: str
    analyzed_at: int | None
    evicted_at: int | None
    last_at: int
    taken_at: int
    is_covered: bool
    is_gone: bool
    is_pinned: bool
    archive_bytes: int
    text_bytes: int
    shared: tuple[int, ...] = ()
    large_bytes: int = 0
    event_count: int = 0


class SharedChunk(NamedTuple):
    """A chunk that several have: its stored bytes, and how many have it, sessions and other sources."""

    stored_bytes: int
    holders: int


class Holdings(NamedTuple):
    """Everything that eviction can free. shared: by the numbers in `Holding.shared`."""

    sessions: Sequence[Holding]
    shared: Mapping[int, SharedChunk]

    @property
    def raw_bytes(self) -> int:
        """What the caps count: bytes that go when every session is evicted."""
        own = sum(held.archive_bytes + held.text_bytes for held in self.sessions)
        return own + sum(chunk.stored_bytes for chunk in self.shared.values())


DISTILLED_TABLES = (
    "analysis",
    "digest",
    "signal",
    "node",
    "link",
    "eviction",
    "added_decision",
    "entry",
    "entry_part",
    "learning",
    "learning_evidence",
    "verdict",
    "diary",
    "fact",
    "document",
    "job",
)
_OTHERS = 0
"""Who has a chunk and is no session: a source of several sessions. Sessions are numbered from 1."""


class TableBytes(NamedTuple):
    """The database's size. distilled: analyses; text: event text; kept: the part of it that evicted sessions keep;
    free: unused pages; other: rows of events and sessions, the ledger. chunks: outside of the database: used
    chunks in the archive.
    """

    distilled: int
    text: int
    kept: int
    free: int
    other: int
    chunks: int


class _Own(NamedTuple):
    """The archive bytes of one session: of its own chunks, stored and plain, and its shared chunks."""

    stored: int
    plain: int
    shared: tuple[int, ...]


def read_holdings(home: Path, *, large_from_bytes: int | None = None) -> Holdings:
    """Return the size of every session, ordered by uid. Raises StoreError and its subclasses.

    large_from_bytes: also sum tool results and images in records of at least this size, which reads every event's row.
    """
    with open_to_read(home) as db:
        own, shared = _chunks(db)
        large = {} if large_from_bytes is None else _large(db, large_from_bytes)
        return Holdings(list(_sessions(db, own, large)), shared)


def read_table_bytes(home: Path) -> TableBytes:
    """Return the size of the database's tables on disk. Raises StoreError and its subclasses."""
    with open_to_read(home) as db:
        page = int(db.pragma("page_size"))
        total, free = int(db.pragma("page_count")) * page, int(db.pragma("freelist_count")) * page
        distilled = sum(_pages(db, table) for table in DISTILLED_TABLES)
        text = _pages(db, "block")
        kept = int(db.execute("SELECT coalesce(sum(kept_bytes), 0) FROM eviction WHERE is_whole").get)
        chunks = int(db.execute("SELECT coalesce(sum(length), 0) FROM chunk WHERE pack > 0").get)
        return TableBytes(distilled, text, kept, free, total - free - distilled - text, chunks)


def _pages(db: apsw.Connection, table: str) -> int:
    """Return what a table and its indexes take. `dbstat` reads only the pages of the trees that are named."""
    names: list[Any] = db.execute(
        "SELECT name FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0", (table,)
    ).fetchall()
    statement = "SELECT coalesce(sum(pgsize), 0) FROM dbstat('main') WHERE name = ? AND aggregate = TRUE"
    return sum(int(db.execute(statement, name).get) for name in names)


def _sessions(db: apsw.Connection, own: dict[int, _Own], large: dict[int, int]) -> Iterable[Holding]:
    texts = _texts(db)
    gone = _gone(db)
    rows: list[Any] = db.execute(
        "SELECT s.number, s.uid, s.agent, s.repo, s.analyzed_at, s.evicted_at, "
        f"coalesce(s.ended_at, s.started_at, s.discovered_at, 0), coalesce(s.ingested_at, 0), {COVERED}, "
        "EXISTS (SELECT 1 FROM pin WHERE session_uid IN (s.uid, s.root_uid)), coalesce(v.kept_bytes, 0) * v.is_whole, "
        "s.event_count FROM session s LEFT JOIN eviction v ON v.session_uid = s.uid ORDER BY s.uid"
    ).fetchall()
    for number, uid, agent, repo, analyzed, evicted, last_at, taken_at, is_covered, is_pinned, kept, events in rows:
        held = own.get(number, _Own(0, 0, ()))
        part = min(1.0, large.get(number, 0) / held.plain) if held.plain else 0.0
        yield Holding(
            uid, agent, repo, analyzed, evicted, last_at, taken_at, bool(is_covered), number in gone, bool(is_pinned),
            held.stored, max(0, texts.get(number, 0) - (kept or 0)), held.shared, int(held.stored * part), events,
        )  # fmt: skip


def _texts(db: apsw.Connection) -> dict[int, int]:
    """Return the stored bytes of each session's texts. Grouped here: SQLite's `GROUP BY` would read the texts too."""
    texts: dict[int, int] = defaultdict(int)
    for number, length in query(db, f"SELECT key >> {SEQ_BITS}, length(data) FROM block"):
        texts[number] += length
    return texts


def _gone(db: apsw.Connection) -> set[int]:
    """Return the sessions whose transcripts the agent has all deleted."""
    rows: Iterable[Any] = db.execute(
        "SELECT session.number FROM session JOIN session_source ON session_source.session = session.number "
        "JOIN source ON source.number = session_source.source AND source.session = session.native_id "
        "WHERE lane < ? GROUP BY 1 HAVING min(status = 'gone')",
        (WITNESS_LANE,),
    )
    return {number for (number,) in rows}


def _chunks(db: apsw.Connection) -> tuple[dict[int, _Own], dict[int, SharedChunk]]:
    """Return what of the archive each session has alone, and what is shared."""
    holder: dict[int, int] = dict(
        db.execute(
            "SELECT source.number, session.number FROM session JOIN session_source "
            "ON session_source.session = session.number JOIN source ON source.number = session_source.source "
            "AND source.session = session.native_id"
        )
    )
    holders: dict[int, set[int]] = defaultdict(set)
    sizes: dict[int, tuple[int, int]] = {}
    rows: Iterable[Any] = db.execute(
        "SELECT DISTINCT chunk.number, chunk.length, chunk.plain, source FROM revision_chunk "
        "JOIN chunk ON chunk.number = revision_chunk.chunk WHERE chunk.pack > 0"
    )
    for chunk, stored, plain, source in rows:
        holders[chunk].add(holder.get(source, _OTHERS))
        sizes[chunk] = (stored, plain)
    stored_of: dict[int, int] = defaultdict(int)
    plain_of: dict[int, int] = defaultdict(int)
    shared_of: dict[int, list[int]] = defaultdict(list)
    shared: dict[int, SharedChunk] = {}
    for chunk, who in holders.items():
        stored, plain = sizes[chunk]
        if len(who) == 1:
            (only,) = who
            stored_of[only] += stored
            plain_of[only] += plain
        elif _OTHERS not in who:  # else it never goes, whoever is evicted
            shared[chunk] = SharedChunk(stored, len(who))
            for one in who:
                shared_of[one].append(chunk)
    sessions = ({*stored_of, *shared_of} - {_OTHERS}) & _with_raw(db)
    return {n: _Own(stored_of[n], plain_of[n], tuple(shared_of[n])) for n in sessions}, shared


def _with_raw(db: apsw.Connection) -> set[int]:
    """Return the sessions with whole records in the archive: an open tail alone cannot be deleted."""
    rows: Iterable[Any] = db.execute(
        "SELECT session.number FROM session JOIN session_source ON session_source.session = session.number "
        "JOIN source ON source.number = session_source.source AND source.session = session.native_id "
        "JOIN revision ON revision.source = source.number WHERE revision.committed_bytes > "
        "(SELECT coalesce(sum(length), 0) FROM hole "
        "WHERE hole.source = revision.source AND hole.revision = revision.revision)"
    )
    return {number for (number,) in rows}


def _large(db: apsw.Connection, least_bytes: int) -> dict[int, int]:
    """Return the plain bytes of large results and images by session."""
    rows: Iterable[Any] = db.execute(
        f"SELECT number, sum(length) FROM (SELECT e.key >> {SEQ_BITS} AS number, e.length AS length FROM event e "
        f"{LARGE_OF_SESSION} GROUP BY 1, e.source, e.revision, e.offset HAVING {IS_LARGE}) GROUP BY 1",
        (least_bytes,),
    )
    return dict(rows)


def read_pins(home: Path) -> list[tuple[str, int]]:
    """Return the pinned sessions and since when (UTC microseconds), newest first. Raises StoreError."""
    with open_to_read(home) as db:
        rows: Sequence[Any] = db.execute(
            "SELECT session_uid, pinned_at FROM pin ORDER BY pinned_at DESC, session_uid"
        ).fetchall()
    return [(uid, at) for uid, at in rows]


def pin(home: Path, uid: str, *, at: int) -> None:
    """Protect a session and its descendants from retention. Repeating it is harmless. Raises StoreError and its
    subclasses.
    """
    with small_write(home) as db:
        db.execute("INSERT OR IGNORE INTO pin VALUES (?, ?)", (uid, at))


def unpin(home: Path, uid: str) -> bool:
    """End a session's protection; return whether it had any. Raises StoreError and its subclasses."""
    with small_write(home) as db:
        return bool(db.execute("DELETE FROM pin WHERE session_uid = ? RETURNING 1", (uid,)).get)
