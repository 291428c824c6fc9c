# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Gives sessions to distil: which are due, their events in canonical order, and what of them lies in the archive."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Collection, Iterable
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recollect.archive.chunks import ChunkPlace
from recollect.errors import ArchiveError
from recollect.model.events import Event, SourceLocation
from recollect.model.sessions import Session
from recollect.store.insights import Base, Due
from recollect.store.ports import SEQ_BITS, ChunkReader, TextRedactor
from recollect.store.sqlite.bits import HIDDEN, kind_of_bits
from recollect.store.sqlite.common_reads import last_change, read_lasting, revision_chunks
from recollect.store.sqlite.connection import open_database, store_errors
from recollect.store.sqlite.insights.base import read_base
from recollect.store.sqlite.insights.light import (
    KEY,
    LENGTH,
    SOURCE,
    TS,
    Lacking,
    LightRow,
    count_light,
    light_events,
    light_rows,
)
from recollect.store.sqlite.readers.events import EventReader, EventRow
from recollect.store.sqlite.readers.filters import int_array
from recollect.store.sqlite.readers.sessions import session_of_number
from recollect.store.sqlite.writing.arrangements import arranged

MAX_EVENTS = 60_000
"""Of a longer session its first and its last half of so many are read: about 1.2 kB each (design, section 10)."""
MAX_BODY_BYTES = 64 << 20
"""Of what was said in a session, likewise: long texts of tools are not among it, only floods of prose are so long."""
MAX_HASHES = 20_000
"""Hashes of records that are kept while sessions are read; more are forgotten and made again."""
_KEPT_WHOLE_BYTES = 4 << 20
"""Of the records of whole events that are kept: several stages ask for the same one."""
_PLACE = attrgetter("source_id", "revision", "offset_bytes")
_NEWEST = 64
"""Events looked at from the end, to tell whether a session has ended."""
_WORK = frozenset({"user_message", "assistant_message", "thinking", "tool_call", "tool_result", "file_edit"})
_SEQ = _END_OF_SESSION = (1 << SEQ_BITS) - 1
_NO_LANE = (1 << 16, "")


class SqliteSessionFeed:
    """Implements `store.insights.SessionFeed` with a connection of its own."""

    def __init__(self, home: Path, archive: ChunkReader | None, redactor: TextRedactor | None) -> None:
        """archive, redactor: as in `open_reader`. Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        self._db = open_database(home, "read")
        self._archive = archive
        self._redactor = redactor
        self._hashes: dict[SourceLocation, str] = {}

    def close(self) -> None:
        """Close the database."""
        with store_errors():
            self._db.close()

    def due(self, *, scheme: int, now_us: int, idle_us: int) -> Due:
        """Return the sessions to analyse, see `store.insights.SessionFeed.due`."""
        found = Due([], 0, None)
        with store_errors():
            rows: list[Any] = self._db.execute(
                "SELECT s.number, s.uid, s.ended_at, s.ingested_at, s.next_seq FROM session s "
                "LEFT JOIN analysis a ON a.session_uid = s.uid LEFT JOIN waiting w ON w.session = s.number "
                "WHERE a.number IS NULL OR a.scheme <> ? OR w.session IS NOT NULL "
                "ORDER BY coalesce(s.ended_at, s.ingested_at, 0) DESC, s.uid",
                (scheme,),
            ).fetchall()
            for number, uid, ended_at, ingested_at, next_seq in rows:
                is_past = ended_at is not None and ended_at <= now_us
                last = ended_at if is_past else ingested_at or 0
                if now_us - last < idle_us and not self._has_ended(number, next_seq):
                    found = found._replace(under_way=found.under_way + 1)
                    continue
                # Since then it could have been analysed: it fell silent, or was taken in, whatever came later.
                since = max(last, ingested_at or 0)
                oldest = since if found.oldest_us is None else min(since, found.oldest_us)
                found.uids.append(uid)
                found = found._replace(oldest_us=oldest)
        return found

    def read(self, uid: str) -> SqliteOfSession | None:
        """Return a session by its exact uid; None where there is none."""
        with store_errors():
            number = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
            if number is None:
                return None
            if len(self._hashes) > MAX_HASHES:
                self._hashes.clear()
            return SqliteOfSession(self._db, number, self._archive, self._redactor, hashes=self._hashes)

    def _has_ended(self, number: int, next_seq: int) -> bool:
        """Tell whether a session's own end stands behind everything that happened in it."""
        first = (number << SEQ_BITS) + max(0, next_seq - _NEWEST)
        rows: Iterable[Any] = self._db.execute(
            f"SELECT bits FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {HIDDEN} ORDER BY key DESC",
            (first, (number << SEQ_BITS) + _END_OF_SESSION),
        )
        for (bits,) in rows:
            kind = kind_of_bits(bits)
            if kind == "session_end":
                return True
            if kind in _WORK:
                return False
        return False


class SqliteOfSession:
    """Implements `store.insights.OfSession`; everything it gives is of the moment when it was read."""

    def __init__(
        self, db: apsw.Connection, number: int, archive: ChunkReader | None, redactor: TextRedactor | None, *,
        hashes: dict[SourceLocation, str],
    ) -> None:  # fmt: skip
        """hashes: whole ones that are known: a document that tells many sessions is needed again and again."""
        self._db = db
        self._archive = archive
        self._hashes = hashes
        self._reader = EventReader(db, archive, redactor)
        self._chunks: dict[tuple[str, int], list[ChunkPlace]] = {}
        self._observations: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
        self.change_id = last_change(db)
        self.session: Session = _without_marks(session_of_number(db, number))
        self.base: Base | None = read_base(db, self.session.session_uid)
        self.left_out = 0
        rows = self._rows(number)
        self._lacking: dict[tuple[str, int], Lacking] = {}
        self._whole: dict[tuple[str, int], Event] = {}
        self._whole_bytes = 0
        self.events: list[Event] = self._events(rows)

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
        """Return an event with its whole payload."""
        key = (event.event_id, event.part)
        lacking = self._lacking.get(key)
        if lacking is None:
            return event
        whole = self._whole.get(key)
        if whole is None:
            with store_errors():
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
        """Return locations with the whole hash of their record."""
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
        """Return when the last of the locations was first seen."""
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
        with store_errors():
            return [place for place, _ in revision_chunks(self._db, source_id, revision)]

    def _seen(self, at: SourceLocation) -> int:
        key = (at.source_id, at.revision)
        seen = self._observations.get(key)
        if seen is None:
            with store_errors():
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
        ends = ((number << SEQ_BITS) + since, (number << SEQ_BITS) + _END_OF_SESSION)
        half = MAX_EVENTS // 2
        if self.session.event_count <= MAX_EVENTS:
            rows = light_rows(self._db, ends, "ORDER BY key")
        else:
            rows = light_rows(self._db, ends, f"ORDER BY key LIMIT {half}")
            newer = (rows[-1][KEY] + 1 if rows else ends[0], ends[1])
            rows += reversed(light_rows(self._db, newer, f"ORDER BY key DESC LIMIT {half}"))
            self.left_out = count_light(self._db, ends) - len(rows)
        first = self._reader.first_versions(number)
        if first:
            rows.sort(key=lambda row: (first.get(row[KEY], row[KEY]), row[KEY]))
        return self._in_canonical_order(rows, first, arranged(self._db, number))

    def _in_canonical_order(
        self, rows: list[LightRow], first_of: dict[int, int], order: dict[int, list[int]]
    ) -> list[LightRow]:
        """Put the events in an order that does not depend on what arrived first: that of each source, the best lane's
        before others. first_of: the key of an event's first version. order: of sources in which the seqs don't tell it.
        """
        numbers = {row[SOURCE] for row in rows} | order.keys()
        if len(numbers) < 2 and not order:
            return rows
        found: Iterable[Any] = self._db.execute(
            "SELECT number, lane, source_id FROM source WHERE number IN (SELECT value FROM carray(?))",
            (int_array(numbers),),
        )
        lanes = {number: (lane, source_id) for number, lane, source_id in found}
        by_source: dict[int, list[LightRow]] = {}
        left = rows
        for source in sorted(numbers, key=lambda number: lanes.get(number, _NO_LANE)):
            places = {seq: place for place, seq in enumerate(order.get(source, ()))}
            own: list[tuple[int, LightRow]] = []
            others: list[LightRow] = []
            for row in left:
                place = places.get(row[KEY] & _SEQ, places.get(first_of.get(row[KEY], row[KEY]) & _SEQ))
                if place is not None or row[SOURCE] == source:
                    own.append((len(places) if place is None else place, row))
                else:
                    others.append(row)
            if own:
                own.sort(key=itemgetter(0))
                by_source[source] = [row for _, row in own]
            left = others
        first = {number: _rising(of)[0] for number, of in by_source.items()}
        ordered = sorted(by_source, key=lambda number: (lanes[number][0], first[number], lanes[number][1]))
        base = by_source[ordered[0]]
        times = _rising(base)
        placed = [(place, 0, place, row) for place, row in enumerate(base)]
        for rank, number in enumerate(ordered[1:], 1):
            for place, (row, ts) in enumerate(zip(by_source[number], _rising(by_source[number]), strict=True)):
                placed.append((bisect_right(times, ts) - 1, rank, place, row))
        placed.sort(key=lambda item: item[:3])
        return [row for *_, row in placed]


def _rising(rows: list[LightRow]) -> list[int]:
    """Return a time for each event, never less than the one before; those before the first time have it too.

    Without any time they are later than everything.
    """
    newest = next((ts for row in rows if (ts := row[TS]) is not None), 1 << 62)
    found = []
    for row in rows:
        ts = row[TS]
        if ts is not None and ts > newest:
            newest = ts
        found.append(newest)
    return found


def _without_marks(session: Session) -> Session:
    """Leave out when and where a session was taken in: its analysis is the same in every home."""
    return msgspec.structs.replace(
        session, discovered_at=None, ingested_at=None, analyzed_at=None, evicted_at=None, sources=(),
        outcome="unknown", outcome_reason="",
    )  # fmt: skip
