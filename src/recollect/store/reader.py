"""Reads the database: many readers at once, never blocked by the writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from recollect.model.events import Event
from recollect.model.sessions import ForgottenPlace, Session
from recollect.model.time import day_start
from recollect.model.usage import UsageReport, UsageTrend
from recollect.store.connection import ReadPool, column, of_db, store_errors
from recollect.store.entries import EntryReader, read_entry_keys, read_entry_numbers, read_entry_texts
from recollect.store.events import EventReader, EventRow, why_missing
from recollect.store.meta import mark_of
from recollect.store.row_keys import ENTRY_BASE, SEQ_BITS, SEQ_MASK
from recollect.store.rows import (
    ChangeRange,
    ChunkReader,
    EventFilter,
    HitText,
    IndexEvent,
    IndexLag,
    SessionKey,
    TextRedactor,
    TimelineEntry,
    UsageBy,
)
from recollect.store.sessions import SessionReader, find_session, find_sessions, read_session_keys, read_session_numbers
from recollect.store.sources import SourceReader, last_change, read_forgotten
from recollect.store.timeline import (
    Window,
    read_active_sessions,
    read_activity,
    read_following,
    read_outline,
    read_related,
    read_timeline,
)
from recollect.store.usage import UsageQuestion, read_usage, read_usage_trend

if TYPE_CHECKING:
    from recollect.store.events import TranscriptReader
    from recollect.store.sessions import ListedSession, Relative, SessionQuestion


def open_reader(home: Path, archive: ChunkReader | None, redactor: TextRedactor | None) -> Reader:
    """Return a reader of a home; creates an empty memory if there is none.

    Args:
        archive: returns long strings of payloads; None: each becomes a line that says so.
        redactor: redacts what comes from the archive; None: nothing from there is shown.
    Raises:
        SchemaTooNew, StoreCorrupt, StoreLocked, StoreError: as named.
    """
    return Reader(home, archive, redactor)


KEPT_SESSION_KEYS = 1_000
"""Facts of sessions that a thread keeps until something is written: half a megabyte."""


class HitTexts:
    """Texts of events and of what belongs to them, for one answer: what neighbours share is read once."""

    def __init__(self, db: apsw.Connection, events: EventReader) -> None:
        self._db = db
        self._events = events
        self._rows: dict[int, EventRow] = {}

    def texts(self, keys: Sequence[int], *, with_closing: bool = False) -> dict[int, HitText]:
        """Return what search shows and verifies of events, by key; unknown keys are left out.

        with_closing: tell which replies close a turn.
        """
        with store_errors():
            texts = self._events.texts(self._rows_of(keys), with_closing=with_closing)
            return {**texts, **read_entry_texts(self._db, keys)}

    def related(self, keys: Sequence[int]) -> dict[int, dict[str, HitText]]:
        """Return, by key, what belongs to an event in its turn, by label: see `recall.answers.RelatedEvent`."""
        with store_errors():
            places = read_related(self._events, self._rows_of(keys))
            wanted = {place for found in places.values() for place in found.values()}
            texts = self._events.texts(self._rows_of(wanted), with_closing=False)
        return {
            key: {label: texts[place] for label, place in found.items() if place in texts}
            for key, found in places.items()
        }

    def following(self, keys: Sequence[int]) -> dict[int, dict[int, HitText]]:
        """Return, by key, the texts of the two events after an event, by their keys."""
        with store_errors():
            places = {key: read_following(self._events, key) for key in keys if key >> SEQ_BITS < ENTRY_BASE}
            wanted = {place for found in places.values() for place in found}
            texts = self._events.texts(self._rows_of(wanted), with_closing=False)
        return {
            key: {
                place: texts[place] for place in found if place in texts and (texts[place].text or texts[place].summary)
            }
            for key, found in places.items()
        }

    def _rows_of(self, keys: Iterable[int]) -> list[EventRow]:
        """Return the rows of events in order of key; what is an entry's has none."""
        wanted = sorted(key for key in keys if key >> SEQ_BITS < ENTRY_BASE)
        if missing := [key for key in wanted if key not in self._rows]:
            self._rows |= {row.key: row for row in self._events.by_key(missing)}
        return [self._rows[key] for key in wanted if key in self._rows]


class Reader(SessionReader, SourceReader):
    """Many at once, never blocked by the writer. Thread safe. entries: learnings, notes and documents.

    Methods with a key or session number work for entries too, see `store.entries`.
    """

    def __init__(self, home: Path | ReadPool, archive: ChunkReader | None, redactor: TextRedactor | None) -> None:
        super().__init__(home)
        self._archive = archive
        self._redactor = redactor
        self.entries: EntryReader = EntryReader(self._pool)

    def session_keys(self, numbers: Iterable[int]) -> dict[int, SessionKey]:
        """Return what ranking needs of sessions, by number; unknown numbers are left out."""
        wanted = list(numbers)
        known: dict[int, SessionKey] = self._pool.remembered().setdefault("session keys", {})
        missing = [number for number in wanted if number not in known]
        if missing:
            if len(known) > KEPT_SESSION_KEYS:
                known.clear()
                missing = wanted
            known |= {**read_session_keys(self._db, missing), **read_entry_keys(self._db, missing)}
        return {number: known[number] for number in wanted if number in known}

    def session_numbers(self, where: EventFilter) -> frozenset[int]:
        """Return the numbers of the sessions that a filter confines a question to."""
        return read_session_numbers(self._db, where) | read_entry_numbers(self._db, where)

    def events(
        self, uid: str, *, first_seq: int = 0, limit: int | None = 1000, include_hidden: bool = False
    ) -> Iterator[Event]:
        """Yield a session's events in order of seq, from first_seq on, with full redacted payloads.

        Omits replaced events and lower-lane views unless requested. limit None: all of them.
        """
        with self._reading() as db:
            number = find_session(db, uid)
            if number is None:
                return
            reader = self._events()
            for rows in reader.of_session(number, first_seq, include_hidden=include_hidden, limit=limit):
                yield from reader.events(rows)

    def transcript(self, uid: str, *, first_seq: int, limit: int, max_chars: int, behind: int = 0) -> Iterator[Event]:
        """Yield events from the place of event `first_seq` on, with shortened strings.

        Of a string stored in the archive come at most `max_chars`, and `location.record_sha256` is the prefix that the
        database has. behind: how many events before the first are included.
        """
        with self._reading() as db:
            for number in find_sessions(db, uid, limit=1):
                reader = self._parts(max_chars)
                for rows in reader.from_place(number, first_seq, limit=limit, behind=behind):
                    yield from reader.events(rows, with_whole_sha=False)

    def holding(self, uid: str, text: str, *, first_seq: int, max_chars: int) -> Iterator[tuple[int, bool]]:
        """Yield the number of each event of a session from `first_seq` on, and whether it contains a text, in any case.

        max_chars: how much of a string stored in the archive is searched.
        """
        folded = text.casefold()
        with self._reading() as db:
            for number in find_sessions(db, uid, limit=1):
                reader = self._parts(max_chars)
                for rows in reader.from_place(number, first_seq):
                    for row in rows:
                        yield row.key & SEQ_MASK, reader.holds(row, folded)

    def record(self, uid: str, seq: int) -> bytes:
        """Return the exact bytes of the record of an event, b"" for none. They hold its secrets. Raises ArchiveError,
        RawGone."""
        reader = self._parts(0)
        for number in find_sessions(self._db, uid, limit=1):
            for row in reader.by_key([(number << SEQ_BITS) + seq]):
                return reader.record(row)
        return b""

    def outline_rows(self, uid: str, *, at: int, limit: int) -> tuple[list[TimelineEntry], int | None, int | None]:
        """Return the prompts, edits and cuts of a session around an event, see `store.timeline.read_outline`."""
        for number in find_sessions(self._db, uid, limit=1):
            return read_outline(self._db, self._events(), number, at, limit)
        return [], None, None

    def seq_at(self, uid: str, ts: int) -> int:
        """Return the first event of a session at or after an instant, 0 for none."""
        for number in find_sessions(self._db, uid, limit=1):
            span = (number << SEQ_BITS, number << SEQ_BITS | SEQ_MASK, ts)
            key = self._db.execute(
                "SELECT key FROM event WHERE key BETWEEN ? AND ? AND ts >= ? ORDER BY key LIMIT 1", span
            ).get
            return int(key or 0) & SEQ_MASK
        return 0

    def listed(
        self, asked: SessionQuestion, *, costs: dict[str, float], limit: int, offset: int
    ) -> tuple[list[ListedSession], int]:
        """Return a page of sessions in the requested order, and how many there are. costs: see `list_sessions`."""
        from recollect.store.sessions import list_sessions  # no search needs it

        return list_sessions(self._db, asked, costs, limit=limit, offset=offset)

    def family(self, session: Session) -> list[Relative]:
        """Return the family of a session, see `store.sessions.read_family`."""
        from recollect.store.sessions import read_family

        return read_family(self._db, session)

    def agents(self) -> tuple[str, ...]:
        """Return the agents of stored sessions, the one with the most first."""

        def read(db: apsw.Connection) -> tuple[str, ...]:
            return tuple(column(db, "SELECT agent FROM session GROUP BY agent ORDER BY count(*) DESC, agent"))

        return self._remembered("agents by sessions", read)

    def mark(self, name: str) -> str:
        """Return a small stored text, "" without one, see `store.meta`."""
        return self._remembered(f"mark {name}", lambda db: mark_of(db, name))

    def change_mark(self) -> str:
        """Return a text that is another one after something was ingested, analysed or forgotten."""
        row: Any = self._db.execute(
            "SELECT count(*), coalesce(max(ingested_at), 0), coalesce(max(analyzed_at), 0) FROM session"
        ).fetchone()
        return "-".join(map(str, (*row, last_change(self._db))))

    def page(self, uid: str, *, first: int, limit: int) -> list[Event]:
        """Return a page of a session's events in order, from event number `first` on.

        `events` gives all with a number from there on, wherever they are in the order, for what follows a sync.
        """
        number = find_session(self._db, uid)
        reader = self._events()
        batches = reader.from_place(number, first, limit=limit) if number is not None else ()
        return [event for rows in batches for event in reader.events(rows)]

    def order(self, uid: str) -> list[int]:
        """Return the numbers of a session's events in the order of `events`: a newer version of an event has a later
        number and the place of the first one.
        """
        number = find_session(self._db, uid)
        return [key & SEQ_MASK for key in self._events().order_of(number)] if number is not None else []

    def why_missing(self, uid: str, seq: int) -> str:
        """Return why nothing is shown under a number of a session, "" where it was never given."""
        number = find_session(self._db, uid)
        return why_missing(self._db, number, seq) if number is not None else ""

    def forgotten(self, uid: str) -> list[ForgottenPlace]:
        """Return where records of a session were forgotten, as far as that is known, in order."""
        number = find_session(self._db, uid)
        return read_forgotten(self._db, number) if number is not None else []

    def hit_texts(self) -> HitTexts:
        """Return what reads the texts of one answer, in one thread."""
        return HitTexts(self._db, self._events())

    def timeline(
        self,
        where: EventFilter,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        offset: int = 0,
        kinds: tuple[str, ...] = (),
    ) -> tuple[tuple[TimelineEntry, ...], int]:
        """Return what happened, and how many events match. kinds: of events; empty: all.

        A filter of exactly one session: in order of seq, from the start. Else in order of time, the newest
        `limit` events of [after, before), events without a time left out.
        """
        return read_timeline(self._db, self._events(), where, Window(after, before, limit, offset, kinds))

    def usage(
        self, *, by: UsageBy, where: EventFilter, after: int | None, before: int | None, zone: tzinfo = UTC,
        model: str = "",
    ) -> UsageReport:  # fmt: skip
        """Return tokens and cost over responses counted once each, in [after, before). zone: in which days count.

        model: only of this one.
        """
        return read_usage(self._db, UsageQuestion(by, where, after, before, zone, model))

    def usage_trend(
        self, *, by: UsageBy, where: EventFilter, first: date, last: date, zone: tzinfo = UTC
    ) -> UsageTrend:
        """Return the usage of whole days of a zone, day by day, and of as many days before them."""
        days = last - first + timedelta(days=1)
        after, before = (day_start(day, zone) for day in (first - days, last + timedelta(days=1)))
        return read_usage_trend(self._db, UsageQuestion(by, where, after, before, zone), first, last)

    activity = of_db(read_activity)
    active_sessions = of_db(read_active_sessions)

    def events_for_index(self, changes: Iterable[ChangeRange] | None = None) -> Iterator[IndexEvent]:
        """Yield the events of change ranges, or (None) of the whole store, in order of key, each once."""
        with store_errors():
            if changes is None:
                ranges = [(0, (1 << 62))]
            else:
                ranges = [(c.session << SEQ_BITS | c.first_seq, c.session << SEQ_BITS | c.last_seq) for c in changes]
            done = -1
            for first, last in sorted(ranges):
                reader = self._events()
                for rows in reader.in_range(max(first, done + 1), last, include_hidden=changes is not None):
                    yield from reader.index_events(rows)
                done = max(done, last)

    def shards(self) -> Mapping[str, int]:
        """Return the index shards that the stored sessions belong to, and how many events these have."""
        return self._remembered("shards", _read_shards)

    def index_lag(self, consumer: str) -> IndexLag:
        """Return how far an index that follows the change log is behind the database.

        Every search asks, so it is counted again only after a write.
        """
        return self._remembered(
            f"lag of {consumer}",
            lambda _db: IndexLag(
                sum(change.last_seq - change.first_seq + 1 for change in self.changes_after(consumer)),
                self.entries.has_changes(),
            ),
        )

    def _events(self) -> EventReader:
        return EventReader(self._pool.get(), self._archive, self._redactor)

    def _parts(self, max_chars: int) -> TranscriptReader:
        from recollect.store.events import TranscriptReader  # no search needs it

        return TranscriptReader(self._pool.get(), self._archive, self._redactor, max_chars=max_chars)


def _read_shards(db: apsw.Connection) -> dict[str, int]:
    rows: Iterable[Any] = db.execute(
        "SELECT shard, sum(event_count) FROM session WHERE next_seq > 0 GROUP BY shard ORDER BY shard"
    )
    return {str(shard): int(events) for shard, events in rows}
