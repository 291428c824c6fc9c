# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Sessions due for analysis: their events in canonical order, and their archived share."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.archive.packs import ChunkPlace
from recollect.errors import ArchiveError, StoreCorrupt
from recollect.model.events import Event, SourceLocation
from recollect.model.payloads import KINDS
from recollect.model.sessions import Session
from recollect.store.bodies import BlockBody, decode_bodies_at_once, decode_whole, is_whole, payload_without_record
from recollect.store.connection import REBUILD_HINT, PooledReader, RaisesStoreErrors, ReadPool, store_errors
from recollect.store.event_order import KEY, LENGTH, SOURCE, LightRow, in_canonical_order, rows_of
from recollect.store.events import EventReader, EventRow
from recollect.store.insight_writer import read_base
from recollect.store.insights import Base
from recollect.store.row_keys import (
    KIND_MASK,
    NOT_INDEXED,
    ROLES,
    SEQ_BITS,
    SEQ_MASK,
    SIDECHAIN,
    TS_QUALITIES,
    UNDONE,
    unpack_event_id,
)
from recollect.store.rows import ChunkReader, TextRedactor
from recollect.store.sessions import int_array, session_of_number
from recollect.store.sources import DISTILL, last_change, newest_kind, position_of, read_lasting, revision_chunks


class Due(NamedTuple):
    """Which sessions need analysis. uids: those that have ended or are idle, newest first.

    under_way: how many more are still active. oldest_us: since when the longest waiting one of `uids` is idle, UTC
    microseconds, None without one. next_us: when the first active one will be idle, likewise.
    """

    uids: list[str]
    under_way: int
    oldest_us: int | None
    next_us: int | None = None


_KEPT_FRAMES = 16
_KEPT_BODIES_BYTES = 4 << 20
_NOWHERE = SourceLocation("", 0, 0, 0, 0, "")


class Lacking(NamedTuple):
    """An event with something left out. body: its stored form, None if too many are known already."""

    row: LightRow
    body: bytes | None


def light_rows(db: apsw.Connection, keys: tuple[int, int], order: str) -> list[LightRow]:
    """Return the rows of a range of keys that a search may find, without parent and tool. order: SQL of ours."""
    return rows_of(db, keys, f"NOT bits & {NOT_INDEXED}", order)


def count_light(db: apsw.Connection, keys: tuple[int, int]) -> int:
    """Return how many rows `light_rows` has for a range of keys."""
    statement = f"SELECT count(*) FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {NOT_INDEXED}"
    return int(db.execute(statement, keys).get or 0)


def light_events(
    db: apsw.Connection, uid: str, rows: Sequence[LightRow], *, most_bytes: int | None = None,
    lacking: dict[tuple[str, int], Lacking] | None = None,
) -> list[Event]:  # fmt: skip
    """Return the events of rows of one session, see `store.insight_feed.AnalysisInput.events`. Raises StoreCorrupt.

    most_bytes: of all bodies together; the row that would exceed it and those behind it are not read. lacking: takes
    the events that are not whole, by (event_id, part).
    """
    sources = _source_ids(db, {row[SOURCE] for row in rows})
    frames: dict[int, list[BlockBody]] = {}
    kept_bytes = read_bytes = 0
    last_id, event_id, last_place, location = b"", "", (0, 0, 0, 0, 0, b""), _NOWHERE
    found: list[Event] = []
    for row in rows:
        key, stored_id, part, bits, ts, turn, source, revision, record, offset, length, sha, _, block, entry, _ = row
        bodies = frames.get(block)
        if bodies is None:
            if len(frames) >= _KEPT_FRAMES:
                frames.pop(next(iter(frames)))
            bodies = frames[block] = _frame(db, (key >> SEQ_BITS << SEQ_BITS) + block)
        if entry >= len(bodies):
            raise StoreCorrupt("the body of a stored event is missing", hint=REBUILD_HINT)
        body = bodies[entry].body
        read_bytes += len(body)
        if most_bytes is not None and read_bytes > most_bytes:
            break
        # Of the events of one record, which stand in a row, name and location are made once.
        if stored_id != last_id:
            last_id, event_id = stored_id, unpack_event_id(stored_id)
        place = (source, revision, offset, length, record, sha)
        if place != last_place:
            last_place = place
            location = SourceLocation(sources[source], revision, offset, length, record, sha.hex())
        if is_whole(body):
            payload = decode_whole(body)
        else:
            payload = payload_without_record(body)
            if lacking is not None:
                kept_bytes += len(body)
                lacking[event_id, part] = Lacking(row, body if kept_bytes <= _KEPT_BODIES_BYTES else None)
        found.append(
            Event(
                uid,
                key & SEQ_MASK,
                event_id,
                part,
                KINDS[bits & KIND_MASK],
                payload,
                location,
                None,
                ts,
                TS_QUALITIES[bits >> 8 & 3],  # type: ignore[arg-type]  # a table of plain texts, for speed
                ROLES[bits >> 6 & 3],  # type: ignore[arg-type]
                turn,
                bool(bits & SIDECHAIN),
                is_undone=bool(bits & UNDONE),
            )
        )
    return found


def _frame(db: apsw.Connection, key: int) -> list[BlockBody]:
    data = db.execute("SELECT data FROM block WHERE key = ?", (key,)).get
    return decode_bodies_at_once(data) if data else []


def _source_ids(db: apsw.Connection, numbers: set[int]) -> dict[int, str]:
    rows: Iterable[Any] = db.execute(
        "SELECT number, source_id FROM source WHERE number IN (SELECT value FROM carray(?))", (int_array(numbers),)
    )
    return dict(rows)


MAX_EVENTS = 60_000
"""Of a longer session its first and its last half of so many are read: about 1.2 kB each (design, section 10)."""
MAX_BODY_BYTES = 64 << 20
"""Of what was said in a session, likewise: long texts of tools are not among it, only floods of prose are so long."""
MAX_HASHES = 2_000
"""Hashes of records that are kept while sessions are read; more are forgotten and made again."""
_KEPT_WHOLE_BYTES = 4 << 20
"""Of the records of whole events that are kept: several stages ask for the same one."""
_PLACE = attrgetter("source_id", "revision", "offset_bytes")
_NEWEST = 64
"""Events looked at from the end, to tell whether a session has ended."""
_WORK = frozenset({"user_message", "assistant_message", "thinking", "tool_call", "tool_result", "file_edit"})


class SessionFeed(PooledReader):
    """Gives sessions to distil. One thread's."""

    def __init__(self, home: Path | ReadPool, archive: ChunkReader | None, redactor: TextRedactor | None) -> None:
        """archive, redactor: as in `open_reader`. Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        super().__init__(home)
        self._archive = archive
        self._redactor = redactor
        self._hashes: dict[SourceLocation, str] = {}

    def due(self, *, scheme: int | None, now_us: int, idle_us: int) -> Due:
        """Return the sessions that changed since their analysis, have none, or one of another scheme than the given."""
        found = Due([], 0, None)
        rows: list[Any] = self._db.execute(
            "SELECT s.number, s.uid, s.ended_at, s.ingested_at, s.next_seq FROM session s "
            "LEFT JOIN analysis a ON a.session_uid = s.uid LEFT JOIN waiting w ON w.session = s.number "
            "WHERE a.number IS NULL OR a.scheme <> ? OR w.session IS NOT NULL "
            "OR s.number IN (SELECT session FROM change WHERE id > ?) "
            "ORDER BY coalesce(s.ended_at, s.ingested_at, 0) DESC, s.uid",
            (scheme, position_of(self._db, DISTILL)),
        ).fetchall()
        for number, uid, ended_at, ingested_at, next_seq in rows:
            is_past = ended_at is not None and ended_at <= now_us
            last = ended_at if is_past else ingested_at or 0
            if now_us - last < idle_us and not self._has_ended(number, next_seq):
                next_us = last + idle_us if found.next_us is None else min(last + idle_us, found.next_us)
                found = found._replace(under_way=found.under_way + 1, next_us=next_us)
                continue
            # Since then it could have been analysed: it fell silent, or was ingested, whatever came later.
            since = max(last, ingested_at or 0)
            oldest = since if found.oldest_us is None else min(since, found.oldest_us)
            found.uids.append(uid)
            found = found._replace(oldest_us=oldest)
        return found

    def read(self, uid: str) -> AnalysisInput | None:
        """Return a session by its exact uid; None without one."""
        number = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
        if number is None:
            return None
        if len(self._hashes) > MAX_HASHES:
            self._hashes.clear()
        return AnalysisInput(self._db, number, self._archive, self._redactor, hashes=self._hashes)

    def _has_ended(self, number: int, next_seq: int) -> bool:
        """Return whether a session's own end comes after everything that happened in it."""
        telling = _WORK | {"session_end"}
        return newest_kind(self._db, number, next_seq, telling, looked_at=_NEWEST) == "session_end"


class AnalysisInput(RaisesStoreErrors):
    """One session as distilling reads it: light events first, and whole ones where a stage asks for them."""

    def __init__(
        self, db: apsw.Connection, number: int, archive: ChunkReader | None, redactor: TextRedactor | None, *,
        hashes: dict[SourceLocation, str],
    ) -> None:  # fmt: skip
        """hashes: whole ones that are known: a document that tells many sessions is needed again and again."""
        self._db = db
        self._number = number
        self._archive = archive
        self._hashes = hashes
        self._reader = EventReader(db, archive, redactor)
        self._chunks: dict[tuple[str, int], list[ChunkPlace]] = {}
        self._observations: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
        self.change_id = last_change(db)
        self.session: Session = _without_marks(session_of_number(db, number))
        self.base: Base | None = read_base(db, self.session.session_uid)
        self.left_out = 0
        """How many of its events are left out of `events`, once these were read."""
        self._lacking: dict[tuple[str, int], Lacking] = {}
        self._whole: dict[tuple[str, int], Event] = {}
        self._whole_bytes = 0

    @cached_property
    def events(self) -> list[Event]:
        """Its visible events in canonical order, read on first use."""
        with store_errors():
            return self._events(self._rows(self._number))

    def _events(self, rows: list[LightRow]) -> list[Event]:
        """Return the events of rows; of too much text those with its first and its last half."""
        read = partial(light_events, self._db, self.session.session_uid, lacking=self._lacking)
        events = read(rows, most_bytes=MAX_BODY_BYTES)
        if len(events) == len(rows):
            return events
        del events
        self._lacking.clear()
        first = read(rows, most_bytes=MAX_BODY_BYTES // 2)
        last = read(rows[len(first) :][::-1], most_bytes=MAX_BODY_BYTES // 2)
        self.left_out += len(rows) - len(first) - len(last)
        return [*first, *reversed(last)]

    def load(self, event: Event) -> Event:
        """Return one of the events with its whole payload. An event that lacks nothing costs nothing."""
        key = (event.event_id, event.part)
        lacking = self._lacking.get(key)
        if lacking is None:
            return event
        whole = self._whole.get(key)
        if whole is None:
            payload = self._reader.whole_payload(EventRow(*lacking.row), lacking.body)
            whole = event if payload is None else msgspec.structs.replace(event, payload=payload)
            self._keep(key, whole, lacking.row[LENGTH])
        return whole

    def _keep(self, key: tuple[str, int], whole: Event, record_bytes: int) -> None:
        if record_bytes > _KEPT_WHOLE_BYTES:
            return
        self._whole_bytes += record_bytes
        if self._whole_bytes > _KEPT_WHOLE_BYTES:
            self._whole.clear()
            self._whole_bytes = record_bytes
        self._whole[key] = whole

    def completed(self, locations: Collection[SourceLocation]) -> dict[SourceLocation, SourceLocation]:
        """Return locations with the whole hash of their record, read again from the archive.

        A record that cannot be read any more keeps the beginning of its hash.
        """
        found: dict[SourceLocation, SourceLocation] = {}
        for location in sorted(locations, key=_PLACE):
            whole = self._hashes.get(location)
            if whole is None:
                try:
                    whole = hashlib.sha256(self._record(location)).hexdigest()
                except ArchiveError:
                    found[location] = location
                    continue
                self._hashes[location] = whole
            found[location] = msgspec.structs.replace(location, record_sha256=whole)
        return found

    def observed_at(self, locations: Collection[SourceLocation]) -> int:
        """Return when the last of the locations was first seen, UTC microseconds."""
        return max((self._seen(at) for at in locations), default=0)

    def _record(self, at: SourceLocation) -> bytes:
        if self._archive is None:
            raise ArchiveError("the archive is not open")
        key = (at.source_id, at.revision)
        chunks = self._chunks.get(key)
        if chunks is None:
            chunks = self._fetch(*key)
        fetch = partial(self._fetch, *key)
        data, self._chunks[key] = read_lasting(self._archive, chunks, fetch, at.offset_bytes, at.length_bytes)
        return data

    def _fetch(self, source_id: str, revision: int) -> list[ChunkPlace]:
        return [place for place, _ in revision_chunks(self._db, source_id, revision)]

    def _seen(self, at: SourceLocation) -> int:
        key = (at.source_id, at.revision)
        seen = self._observations.get(key)
        if seen is None:
            rows: list[Any] = self._db.execute(
                "SELECT to_bytes, o.observed_at FROM source JOIN observation o ON o.source = source.number "
                "WHERE source_id = ? AND o.revision = ? ORDER BY to_bytes",
                key,
            ).fetchall()
            seen = self._observations[key] = ([row[0] for row in rows], [row[1] for row in rows])
        ends, times = seen
        place = bisect_right(ends, at.offset_bytes)
        return int(times[min(place, len(times) - 1)]) if times else 0

    def _rows(self, number: int) -> list[LightRow]:
        """Return the visible events, since it was evicted; of many the first and the last half of `MAX_EVENTS`."""
        since = 0 if self.base is None else self.base.through_seq
        ends = ((number << SEQ_BITS) + since, (number << SEQ_BITS) + SEQ_MASK)
        half = MAX_EVENTS // 2
        if self.session.event_count <= MAX_EVENTS:
            rows = light_rows(self._db, ends, "ORDER BY key")
        else:
            rows = light_rows(self._db, ends, f"ORDER BY key LIMIT {half}")
            newer = (rows[-1][KEY] + 1 if rows else ends[0], ends[1])
            rows += reversed(light_rows(self._db, newer, f"ORDER BY key DESC LIMIT {half}"))
            self.left_out = count_light(self._db, ends) - len(rows)
        return in_canonical_order(self._db, number, rows)


def _without_marks(session: Session) -> Session:
    """Omit when and where a session was ingested: its analysis is the same in every home."""
    return msgspec.structs.replace(
        session, discovered_at=None, ingested_at=None, analyzed_at=None, evicted_at=None, sources=(),
        outcome="unknown", outcome_reason="",
    )  # fmt: skip
