# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Deletes the events of evicted sessions, except those that digest and nodes cite.

Of every other event its name stays (seq, id, hash of its record and of what it said), without its body and hidden: what
the agent writes once more is known once more, so that no seq and no id changes its meaning. What the session came to up
to there stands in the table `eviction`: a later analysis adds to it, see `store.insights.Base`. `read_holdings` tells
the bytes that each session occupies, and what decides whether they may go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.errors import UnknownName
from recollect.model.capabilities import WITNESS_LANE
from recollect.model.own import without_own_blocks
from recollect.model.payloads import KINDS, AssistantMessage, UserMessage
from recollect.store.audit import AuditAction, add_audit
from recollect.store.bodies import (
    BlockEntry,
    SessionBodies,
    content_key,
    encode_frames,
    is_whole,
    payload_without_record,
)
from recollect.store.connection import RowWriter, column, open_to_read, query, store_errors
from recollect.store.erasure.holes import outside
from recollect.store.meta import small_write
from recollect.store.row_keys import (
    EVICTED,
    EVICTED_BLOCK,
    HIDDEN,
    KIND_MASK,
    SEQ_BITS,
    SEQ_MASK,
    is_sidechain,
    pack_event_id,
    span_of,
)
from recollect.store.sessions import int_array
from recollect.store.sources import DISTILL, tell_all

_HUMAN, _REPLY = KINDS.index("user_message"), KINDS.index("assistant_message")
_RESULT = KINDS.index("tool_result")
COVERED = (
    "s.analyzed_at IS NOT NULL AND EXISTS (SELECT 1 FROM analysis a JOIN digest d ON d.analysis = a.number "
    "WHERE a.session_uid = s.uid) AND s.number NOT IN (SELECT session FROM waiting) AND s.number NOT IN "
    f"(SELECT session FROM change WHERE id > coalesce((SELECT position FROM consumer WHERE name = '{DISTILL}'), 0))"
)
"""SQL: the digest of a session `s` takes account of its last record."""
LARGE_OF_SESSION = (
    f"JOIN source ON source.number = e.source JOIN session ON session.number = e.key >> {SEQ_BITS} "
    f"AND session.native_id = source.session WHERE e.length >= ? AND NOT e.bits & {EVICTED} AND NOT EXISTS "
    "(SELECT 1 FROM hole h WHERE h.source = e.source AND h.revision = e.revision "
    "AND h.offset <= e.offset AND h.offset + h.length > e.offset)"
)
IS_LARGE = (
    f"min(e.bits & {KIND_MASK} = {_RESULT}) OR (min(e.bits & {KIND_MASK} IN ({_RESULT}, {_HUMAN}, {_REPLY})) "
    "AND (e.source, e.revision, e.offset) IN (SELECT source, revision, offset FROM blob))"
)
"""SQL: of the events `e` of one record, it holds nothing but results of tools, or is there for its images."""


class RawRange(NamedTuple):
    """Bytes of a revision that belong to one session alone, [start, stop)."""

    source_id: str
    revision: int
    start: int
    stop: int


class EvictionWriter(RowWriter):
    """Removes events of sessions whose raw bytes go.

    Everything here runs in the writer's transactions; reads may run outside of one.
    """

    def is_covered(self, uid: str) -> bool:
        """Return whether a session's digest includes its last record. Only then may its bytes go."""
        return bool(
            self._db.execute(f"SELECT EXISTS (SELECT 1 FROM session s WHERE s.uid = ? AND {COVERED})", (uid,)).get
        )

    def is_pinned(self, uid: str) -> bool:
        """Return whether a person pinned a session or its root."""
        return bool(
            self._db.execute(
                "SELECT EXISTS (SELECT 1 FROM session s JOIN pin ON pin.session_uid IN (s.uid, s.root_uid) "
                "WHERE s.uid = ?)",
                (uid,),
            ).get
        )

    def cited(self, uid: str, names: Iterable[tuple[str, int]]) -> set[int]:
        """Return the seqs of the events of these names (event_id, part), in every version."""
        number = self._number(uid)
        found: set[int] = set()
        for event_id, part in set(names):
            rows: Iterable[Any] = self._db.execute(
                "SELECT key FROM event WHERE key >> 24 = ?1 AND substr(event_id, -6) = substr(?2, -6) "
                f"AND event_id = ?2 AND part = ?3 AND NOT bits & {EVICTED}",
                (number, pack_event_id(event_id), part),
            )
            found.update(key & SEQ_MASK for (key,) in rows)
        return found

    def ends(self, uid: str) -> set[int]:
        """Return the seqs of the first human prompt and of the last words of the model, as the digest has them."""
        prompts = self._said(uid, _HUMAN, "ASC")
        replies = list(self._said(uid, _REPLY, "DESC"))
        last = next((seq for seq, is_side in replies if not is_side), replies[0][0] if replies else None)
        return {seq for seq in (next((seq for seq, _ in prompts), None), last) if seq is not None}

    def _said(self, uid: str, kind: int, order: str) -> Iterator[tuple[int, bool]]:
        """Yield (seq, is_sidechain) of the visible events of a kind in which something is said."""
        number = self._number(uid)
        with store_errors():
            rows: list[Any] = self._db.execute(
                "SELECT key, bits, block, entry FROM event WHERE key BETWEEN ? AND ? "
                f"AND bits & {KIND_MASK} = {kind} AND NOT bits & {HIDDEN} ORDER BY key {order}",
                span_of(number),
            ).fetchall()
        for (key, bits, *_), entry in self._entries(number, rows):
            if _says_something(entry.body):
                yield key & SEQ_MASK, is_sidechain(bits)

    def ranges(self, uid: str) -> list[RawRange]:
        """Return the archive ranges that only this session uses: its own sources up to their last whole record.

        Omits existing holes and records that gave events to another session.
        """
        number = self._number(uid)
        revisions: list[Any] = self._db.execute(
            "SELECT source.number, source_id, revision.revision, revision.committed_bytes FROM session "
            "JOIN session_source ON session_source.session = session.number "
            "JOIN source ON source.number = session_source.source AND source.session = session.native_id "
            "JOIN revision ON revision.source = source.number WHERE session.number = ? ORDER BY source_id, 3",
            (number,),
        ).fetchall()
        found: list[RawRange] = []
        for source, source_id, revision, end in revisions:
            kept = sorted({*self._holes(source, revision), *self._of_others(number, source, revision)})
            found += [RawRange(source_id, revision, a, b) for a, b in outside(0, end, kept)]
        return found

    def large_ranges(self, uid: str, least_bytes: int) -> dict[RawRange, list[int]]:
        """Return the records of at least so many bytes that hold results of tools or images, with the seqs of theirs.

        A record from which anything else was made (an edit, say) is left.
        """
        number = self._number(uid)
        found: dict[RawRange, list[int]] = {}
        rows: list[Any] = self._db.execute(
            f"SELECT e.source, source_id, e.revision, e.offset, e.length, group_concat(e.key & {SEQ_MASK}) "
            f"FROM event e {LARGE_OF_SESSION} AND e.key BETWEEN ? AND ? GROUP BY 1, 3, 4 HAVING {IS_LARGE} "
            "ORDER BY 2, 3, 4",
            (least_bytes, *span_of(number)),
        ).fetchall()
        for source, source_id, revision, offset, length, seqs in rows:
            kept = sorted({*self._holes(source, revision), *self._of_others(number, source, revision)})
            for start, stop in outside(offset, offset + length, kept):
                found[RawRange(source_id, revision, start, stop)] = [int(seq) for seq in seqs.split(",")]
        return found

    def remove_events(self, uid: str, *, keep: Mapping[int, bytes]) -> list[int]:
        """Take the bodies of a session's events away; return the keys of those that are hidden now.

        keep: by seq, the whole bodies of the events that stay; everything else keeps only its name. The change log
        says that all of them changed, so that every consumer lets go; distilling has the digest and need not look.
        """
        number = self._number(uid)
        first, last = span_of(number)
        rows: list[Any] = self._db.execute(
            f"SELECT key, block, entry FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {EVICTED} ORDER BY block",
            (first, last),
        ).fetchall()
        gone: list[tuple[int, int]] = []
        kept: list[tuple[int, BlockEntry]] = []
        for (key, *_), entry in self._entries(number, rows):
            body = keep.get(key & SEQ_MASK)
            if body is None:
                gone.append((content_key(entry.body), key))
            else:
                kept.append((key, BlockEntry(body, "", entry.path)))
        self._db.executemany(
            f"UPDATE event SET bits = bits | {EVICTED}, block = {EVICTED_BLOCK}, entry = ?, tool = NULL WHERE key = ?",
            gone,
        )
        self._db.execute("DELETE FROM block WHERE key BETWEEN ? AND ?", (first, last))
        self._add_bodies(number, kept)
        self._tell(number)
        return sorted(key for _content, key in gone)

    def replace_bodies(self, uid: str, bodies: Mapping[int, bytes]) -> None:
        """Give events of a session whole bodies, by seq, because what they said leaves the archive."""
        number = self._number(uid)
        rows: list[Any] = self._db.execute(
            "SELECT key, block, entry FROM event WHERE key IN (SELECT value FROM carray(?)) "
            f"AND NOT bits & {EVICTED} ORDER BY block",
            (int_array((number << SEQ_BITS) + seq for seq in bodies),),
        ).fetchall()
        read = self._entries(number, rows)
        new = [(row[0], BlockEntry(bodies[row[0] & SEQ_MASK], "", entry.path)) for row, entry in read]
        self._add_bodies(number, new)
        self._tell(number)

    def _add_bodies(self, number: int, bodies: list[tuple[int, BlockEntry]]) -> None:
        """Put bodies behind all blocks that there ever were: no place ever gets another entry, whoever is reading."""
        base = number << SEQ_BITS
        block: int = self._db.execute("SELECT next_block FROM session WHERE number = ?", (number,)).get
        bodies.sort(key=itemgetter(0))
        frames = encode_frames([entry for _key, entry in bodies])
        places = [(block + i, entry) for i, frame in enumerate(frames) for entry in range(frame.entry_count)]
        self._db.executemany(
            "INSERT INTO block VALUES (?, ?, ?)",
            [(base + block + i, frame.plain_bytes, frame.data) for i, frame in enumerate(frames)],
        )
        self._db.executemany(
            "UPDATE event SET block = ?, entry = ? WHERE key = ?",
            [(*place, key) for place, (key, _entry) in zip(places, bodies, strict=True)],
        )
        self._db.execute("UPDATE session SET next_block = ? WHERE number = ?", (block + len(frames), number))

    def mark_evicted(self, uid: str, at: int, *, is_whole: bool = True) -> None:
        """Keep what the session came to, and since when its raw bytes are gone: all of them, or (not is_whole) some."""
        number = self._number(uid)
        self._db.execute(
            "INSERT INTO eviction SELECT uid, ?2, next_seq, ?3, (SELECT coalesce(sum(length(data)), 0) FROM block "
            "WHERE key BETWEEN ?4 AND ?5), CASE WHEN EXISTS (SELECT 1 FROM digests WHERE session_uid = ?1) "
            "THEN NULL ELSE '' END FROM session WHERE uid = ?1 "
            "ON CONFLICT (session_uid) DO UPDATE SET removed_at = excluded.removed_at, "
            "through_seq = excluded.through_seq, is_whole = max(is_whole, excluded.is_whole), "
            "kept_bytes = excluded.kept_bytes, digest = excluded.digest",
            (uid, at, is_whole, *span_of(number)),
        )
        if is_whole:
            self._db.execute("UPDATE session SET evicted_at = ? WHERE number = ?", (at, number))
        self._touched.add(number)

    def audit(self, action: AuditAction, value: Mapping[str, Any], *, at: int) -> None:
        """Keep in the transaction under way what is done in it."""
        add_audit(self._db, action, value, at=at)

    def vacuum(self) -> int:
        """Give the disk back what is free in the database and shorten its log, outside of transactions; return how
        many bytes of the database that was."""
        before = int(self._db.pragma("page_count"))
        self._db.execute("PRAGMA incremental_vacuum").fetchall()
        # A reader that is at it keeps the log as long as it is; the next one to close the memory shortens it.
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return (before - int(self._db.pragma("page_count"))) * int(self._db.pragma("page_size"))

    def _tell(self, number: int) -> None:
        self._touched.add(number)
        tell_all(self._db, number)

    def _holes(self, source: int, revision: int) -> list[tuple[int, int]]:
        rows: Iterable[Any] = self._db.execute(
            "SELECT offset, offset + length FROM hole WHERE source = ? AND revision = ?", (source, revision)
        )
        return list(rows)

    def _of_others(self, number: int, source: int, revision: int) -> list[tuple[int, int]]:
        """Return the places of records in a revision that gave events to other sessions."""
        found: list[tuple[int, int]] = []
        statement = "SELECT session FROM session_source WHERE source = ? AND session <> ?"
        for other in column(self._db, statement, (source, number)):
            rows: Iterable[Any] = self._db.execute(
                "SELECT DISTINCT offset, offset + length FROM event WHERE key BETWEEN ? AND ? AND source = ? "
                f"AND revision = ? AND NOT bits & {EVICTED}",
                (*span_of(other), source, revision),
            )
            found += rows
        return found

    def _entries(self, number: int, rows: Iterable[Any]) -> Iterator[tuple[Any, BlockEntry]]:
        """Yield rows of a session, the last two of whose columns are block and entry, with what they name."""
        bodies = SessionBodies(self._db, number)
        yield from ((row, bodies.entry(row[-2], row[-1])) for row in rows)

    def _number(self, uid: str) -> int:
        number: int | None = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
        if number is None:
            raise UnknownName("session", uid)
        return number


def _says_something(body: bytes) -> bool:
    payload = payload_without_record(body)
    if isinstance(payload, UserMessage):
        said = without_own_blocks(payload.text) if payload.origin in ("human", "queued") else ""
        return bool(said.strip()) or (payload.origin in ("human", "queued") and not is_whole(body))
    return isinstance(payload, AssistantMessage) and (bool(payload.text.strip()) or not is_whole(body))


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
