"""The readers' side of the database behind one door: `open_reader` gives a `SqliteReader`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

import apsw

from recollect.archive.chunks import ChunkPlace
from recollect.model.events import Event
from recollect.model.sessions import Session
from recollect.model.usage import UsageReport
from recollect.store.entries import EntryReader
from recollect.store.keys import ENTRY_BASE
from recollect.store.ports import (
    SEQ_BITS,
    ChangeRange,
    ChunkReader,
    DefectRow,
    EventFilter,
    EventPlace,
    HitText,
    IndexEvent,
    LedgerRow,
    SessionKey,
    SourceRow,
    StoreStats,
    TextRedactor,
    TimelineRow,
    UsageBy,
)
from recollect.store.sqlite.common_reads import last_change, revision_chunks
from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.entries.reader import (
    SqliteEntryReader,
    read_entry_keys,
    read_entry_numbers,
    read_entry_texts,
)
from recollect.store.sqlite.readers import ledger, sessions
from recollect.store.sqlite.readers.events import EventReader, why_missing
from recollect.store.sqlite.readers.filters import find_sessions
from recollect.store.sqlite.readers.pool import ReadPool
from recollect.store.sqlite.readers.related import read_related
from recollect.store.sqlite.readers.timeline import Window, read_timeline
from recollect.store.sqlite.readers.usage import UsageQuestion, read_usage

_SEQ_MASK = (1 << SEQ_BITS) - 1


def open_reader(home: Path, archive: ChunkReader | None, redactor: TextRedactor | None) -> SqliteReader:
    """Return a reader of a home; an empty memory is made where there is none.

    Args:
        archive: gives long strings of payloads; None: each becomes a line that says so.
        redactor: redacts what comes from the archive; None: nothing that comes from there is shown.
    Raises:
        SchemaTooNew, StoreCorrupt, StoreLocked, StoreError: as named.
    """
    return SqliteReader(ReadPool(home), archive, redactor)


class SqliteReader:
    """Implements `store.ports.Reader`: many at once, never blocked by the writer, safe from many threads."""

    def __init__(self, pool: ReadPool, archive: ChunkReader | None, redactor: TextRedactor | None) -> None:
        self._pool = pool
        self._archive = archive
        self._redactor = redactor
        self.entries: EntryReader = SqliteEntryReader(pool)
        self._shards: tuple[apsw.Connection, int, dict[str, int]] | None = None

    def __enter__(self) -> SqliteReader:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection of this reader."""
        self._pool.close()

    def session(self, uid: str) -> Session | None:
        """Return a session by its uid or a unique prefix of it (of the whole uid or of the native id)."""
        with store_errors():
            return sessions.read_session(self._pool.get(), uid)

    def nearest_sessions(self, uid: str, *, limit: int = 3) -> tuple[str, ...]:
        """Return the uids that start like the one asked for, newest first, for "did you mean"."""
        with store_errors():
            return sessions.nearest_sessions(self._pool.get(), uid, limit)

    def sessions(
        self,
        where: EventFilter,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[tuple[Session, ...], int]:
        """Return a page of sessions, newest first, and how many match."""
        with store_errors():
            return sessions.read_sessions(
                self._pool.get(), where, after=after, before=before, limit=limit, offset=offset
            )

    def session_keys(self, numbers: Iterable[int]) -> dict[int, SessionKey]:
        """Return what ranking needs of sessions, by number; unknown numbers are left out."""
        wanted = list(numbers)
        with store_errors():
            db = self._pool.get()
            return {**sessions.read_session_keys(db, wanted), **read_entry_keys(db, wanted)}

    def session_numbers(self, where: EventFilter) -> frozenset[int]:
        """Return the numbers of the sessions that a filter confines a question to."""
        with store_errors():
            db = self._pool.get()
            return sessions.read_session_numbers(db, where) | read_entry_numbers(db, where)

    def events(
        self, uid: str, *, first_seq: int = 0, limit: int | None = 1000, include_hidden: bool = False
    ) -> Iterator[Event]:
        """Yield a session's events in order, from first_seq on, with whole redacted payloads.

        The order is that of seq, but a newer version of an event stands where its first version stood.
        """
        with store_errors():
            found = find_sessions(self._pool.get(), uid, limit=2)
            if len(found) != 1:
                return
            reader = self._events()
            for rows in reader.of_session(found[0], first_seq, include_hidden=include_hidden, limit=limit):
                yield from reader.events(rows)

    def why_missing(self, uid: str, seq: int) -> str:
        """Return why nothing is shown under a number of a session, "" where it was never given."""
        with store_errors():
            db = self._pool.get()
            found = find_sessions(db, uid, limit=2)
            return why_missing(db, found[0], seq) if len(found) == 1 else ""

    def texts(self, keys: Sequence[int]) -> dict[int, HitText]:
        """Return what search shows and verifies of events, by key; unknown keys are left out."""
        with store_errors():
            reader = self._events()
            return {**reader.texts(reader.by_key(keys)), **read_entry_texts(self._pool.get(), keys)}

    def related(self, keys: Sequence[int]) -> dict[int, dict[str, HitText]]:
        """Return what belongs to events in their turns, see `store.ports.Reader.related`."""
        with store_errors():
            reader = self._events()
            places = {key: read_related(reader, self._pool.get(), key) for key in keys if key >> SEQ_BITS < ENTRY_BASE}
            texts = reader.texts(reader.by_key({place for found in places.values() for place in found.values()}))
            return {
                key: {label: texts[place] for label, place in found.items() if place in texts}
                for key, found in places.items()
            }

    def timeline(
        self,
        where: EventFilter,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> tuple[tuple[TimelineRow, ...], int]:
        """Return what happened, and how many events match, see `store.ports.Reader.timeline`."""
        with store_errors():
            return read_timeline(self._pool.get(), self._events(), where, Window(after, before, limit, offset))

    def usage(
        self, *, by: UsageBy, where: EventFilter, after: int | None, before: int | None, zone: tzinfo = UTC
    ) -> UsageReport:
        """Return tokens and cost over responses counted once each, in [after, before). zone: in which days count."""
        with store_errors():
            return read_usage(self._pool.get(), UsageQuestion(by, where, after, before, zone))

    def stats(self) -> StoreStats:
        """Return what is stored, from the session rows and the ledger."""
        with store_errors():
            return sessions.read_stats(self._pool.get(), self._pool.home)

    def names(self, of: str) -> tuple[str, ...]:
        """Return names of sessions ("agent", "repo", "branch", "tag", "tool"), "noted_repo" or "collection"."""
        with store_errors():
            return sessions.read_names(self._pool.get(), of)

    def sources(self, agent: str = "", *, session: str = "") -> list[SourceRow]:
        """Return every known source (of an agent, of one of its sessions by its native id), without parser state."""
        with store_errors():
            return ledger.read_sources(self._pool.get(), agent, session)

    def ledgers(self, source_id: str = "") -> Iterator[LedgerRow]:
        """Yield the ledger of every revision of every source, or of one."""
        with store_errors():
            yield from ledger.read_ledgers(self._pool.get(), source_id)

    def defects(self, source_id: str = "", *, limit: int = 1000) -> list[DefectRow]:
        """Return the stored defects (of one source), in order of place."""
        with store_errors():
            return ledger.read_defects(self._pool.get(), source_id, limit)

    def event_places(self, source_id: str) -> Iterator[EventPlace]:
        """Yield where the records of a source's stored events lie, hidden ones too, for `verify`."""
        with store_errors():
            yield from ledger.read_event_places(self._pool.get(), source_id)

    def chunks(self, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]:
        """Return the chunks of a revision in order with their place; the flag tells an open delta."""
        with store_errors():
            return revision_chunks(self._pool.get(), source_id, revision)

    def changes_after(self, consumer: str, *, limit: int = 10_000) -> list[ChangeRange]:
        """Return the entries of the change log that a consumer has not acknowledged, oldest first."""
        with store_errors():
            return ledger.read_changes(self._pool.get(), consumer, limit)

    def events_for_index(self, changes: Iterable[ChangeRange] | None = None) -> Iterator[IndexEvent]:
        """Yield the events of change ranges, or (None) of the whole store, in order of key."""
        with store_errors():
            if changes is None:
                ranges = [(0, (1 << 62))]
            else:
                ranges = [(c.session << SEQ_BITS | c.first_seq, c.session << SEQ_BITS | c.last_seq) for c in changes]
            for first, last in sorted(ranges):
                reader = self._events()
                for rows in reader.in_range(first, last, include_hidden=changes is not None):
                    yield from reader.index_events(rows)

    def shards(self) -> Mapping[str, int]:
        """Return the index shards that the stored sessions belong to, and how many events these have.

        Every search asks, so the answer is kept until the database changes.
        """
        with store_errors():
            db = self._pool.get()
            version = int(db.pragma("data_version"))
            known = self._shards
            if known is not None and known[0] is db and known[1] == version:
                return known[2]
            rows: Iterable[Any] = db.execute(
                "SELECT shard, sum(event_count) FROM session WHERE next_seq > 0 GROUP BY shard ORDER BY shard"
            )
            found = {str(shard): int(events) for shard, events in rows}
            self._shards = (db, version, found)
            return found

    def last_change(self) -> int:
        """Return the newest id of the change log, 0 when there is none."""
        with store_errors():
            return last_change(self._pool.get())

    def _events(self) -> EventReader:
        return EventReader(self._pool.get(), self._archive, self._redactor)
