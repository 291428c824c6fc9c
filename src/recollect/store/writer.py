# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Writes the database for the one ingester: `open_writer` takes the ingest lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, assert_never

import apsw

from recollect.archive.packs import ChunkPlace, Hole
from recollect.errors import BrokenInvariant, StoreError
from recollect.model.payloads import KINDS
from recollect.model.sessions import SessionPatch
from recollect.ready_blocks import take_away
from recollect.store.connection import DatabaseHolder, column, of_db, open_database, store_errors, transaction
from recollect.store.entries import acknowledge_entries
from recollect.store.erasure.evict_rows import EvictionWriter
from recollect.store.erasure.forget_rows import ForgetWriter
from recollect.store.erasure.holes import HoleWriter
from recollect.store.erasure.redact_rows import RedactionWriter
from recollect.store.event_intake import EventIntake, Taken, retire
from recollect.store.event_marks import REWIND, has_several_sources, mark_earlier, mark_undone
from recollect.store.event_names import KnownNumbers
from recollect.store.insight_writer import InsightWriter
from recollect.store.learnings import LearningStore
from recollect.store.lock import IngestLock
from recollect.store.row_keys import OWN, SEQ_BITS, SEQ_MASK, merged, unpack_text
from recollect.store.rows import ChangeRange, SessionPart, SliceResult, SourceRow, WriteOutcome
from recollect.store.session_rows import (
    SessionRow,
    ShortSessions,
    domain_of,
    is_internal,
    load_session,
    save_counts,
    save_session,
)
from recollect.store.sources import (
    SliceContext,
    count_slice,
    end_refresh,
    enter_slice,
    find_sources,
    last_change,
    log_changes,
    revision_chunks,
    revision_holes,
    rewind_source,
    save_blobs,
    save_chunks,
    save_observations,
    save_source,
    seal_states,
    stale_events,
    take_note,
)
from recollect.store.usage import save_usage


class ErasureWriter:
    """What takes stored things away. touched: see `Writer.touched`."""

    def __init__(self, db: apsw.Connection, touched: set[int]) -> None:
        self.holes = HoleWriter(db, touched)
        self.evicting = EvictionWriter(db, touched)
        self.forgetting = ForgetWriter(db, touched)
        self.redacting = RedactionWriter(db, touched)


_NO_PATCH = SessionPatch()
JOURNAL_MARK = "journal_bytes"
"""The key in `meta` of the length of the archive's journal at the last commit: another length shows that one of them
was changed, replaced or lost, or that a crash came between the two."""


def open_writer(
    home: Path,
    *,
    domains: Mapping[str, str] | None = None,
    own_folder: Path | None = None,
    numbers_of: Path | None = None,
) -> Writer:
    """Return the home's writer, with the ingest lock held. Creates and migrates the database if needed.

    Args:
        domains: repository name to domain, from the configuration.
        own_folder: sessions that begin in it are our own; by default the home.
        numbers_of: a home of the same memory; an event in its database gets the number that it has there.
    Raises:
        StoreLocked: another process is ingesting. SchemaTooNew, StoreCorrupt, DiskFull, StoreError: as named.
    """
    lock = IngestLock(home)
    try:
        folder = own_folder or home
        own_folders = (str(folder.absolute()), str(folder.resolve()))
        db = open_database(home, "write")
        given = KnownNumbers(numbers_of) if numbers_of is not None else None
        return Writer(db, lock, domains or {}, own_folders, home, given)
    except BaseException:
        lock.release()
        raise


class Writer(DatabaseHolder):
    """The one ingester's side. Holds the home's ingest lock while open. Not thread safe."""

    def __init__(
        self, db: apsw.Connection, lock: IngestLock, domains: Mapping[str, str], own_folders: tuple[str, ...],
        home: Path, given: KnownNumbers | None = None,
    ) -> None:  # fmt: skip
        self.touched: set[int] = set()
        """Numbers of the sessions of which something was written that can be told again: who adds a method that
        writes such a thing adds to it. See `recollect.ready_blocks`."""
        self.withdrawn: bytes | None = None
        """The stamp of ready blocks that the first transaction took away, b"" if there was none; None before it."""
        self._home = home
        self._db = db
        self._lock = lock
        self._domains = domains
        self._own_folders = own_folders
        self._given = given
        self._names: dict[str, int] = {}
        self._lanes: dict[int, int] = {}
        self.distilled = InsightWriter(db, self.touched)
        """Keeps what was distilled, inside this writer's transactions."""
        self.learned = LearningStore(db, self.transaction, self.touched)
        """Keeps what was learned, inside this writer's transactions."""
        self.short = ShortSessions(db)
        """Which sessions are kept out of the index, inside this writer's transactions."""
        self.removing = ErasureWriter(db, self.touched)
        """Takes things away, inside this writer's transactions."""

    def close(self) -> None:
        """Close the database and release the lock. Repeating it is harmless.

        What the write-ahead log holds is moved into the database first, unless a reader is at it: the log would
        stay as long as it once was.
        """
        try:
            with suppress(apsw.BusyError, apsw.ConnectionClosedError):
                self._db.set_busy_timeout(0)
                self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._db.close()
            if self._given is not None:
                self._given.close()
        finally:
            self._lock.release()

    def sources(
        self, agent: str, *, paths: Sequence[str] | None = None, key: str | None = None
    ) -> dict[str, SourceRow]:
        """Return the known sources of an agent by source_id: all, those of a key, or at least those at these paths or
        below them."""
        return {row.source_id: row for row in find_sources(self._db, agent, paths=paths, key=key)}

    open_chunks = of_db(revision_chunks)

    def holes(self, source_id: str, revision: int) -> list[Hole]:
        """Return the deleted parts of a revision, in order."""
        number = self._db.execute("SELECT number FROM source WHERE source_id = ?", (source_id,)).get
        return revision_holes(self._db, number, revision) if number is not None else []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One short transaction; everything inside is kept or nothing. Does not nest."""
        if self.withdrawn is None:
            self.withdrawn = self._withdraw()
        try:
            with transaction(self._db):
                yield
        except BaseException:
            self._names.clear()
            self._lanes.clear()
            raise

    @contextmanager
    def for_what_can_be_made_again(self) -> Iterator[None]:
        """Inside, a power cut may take the last transactions away, whole ones, as with synchronous NORMAL."""
        with store_errors():
            before = int(self._db.pragma("synchronous"))
            self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            with store_errors():
                self._db.execute(f"PRAGMA synchronous = {before}")

    def write(self, slice_: SliceResult, places: Sequence[ChunkPlace], *, observed_at: int) -> WriteOutcome:
        """Write one slice inside a transaction: source, revision, chunks, sessions, events, usage, change log.

        Idempotent: the same slice again gives replays only.
        """
        self._must_be_in_transaction()
        outcome = WriteOutcome(docs=[], stale_keys=[], sessions=[])
        at = enter_slice(self._db, slice_, observed_at)
        self._lanes[at.source] = at.lane
        if not at.is_repeat:
            save_chunks(self._db, at, slice_, places)
        for part in slice_.sessions:
            self._write_part(part, slice_, at, observed_at=observed_at, outcome=outcome)
        if not at.is_repeat:
            count_slice(
                self._db,
                at,
                slice_,
                events=outcome.new_events,
                replays=outcome.replays,
                observed_at=observed_at,
            )
            save_blobs(self._db, at, slice_)
        save_observations(self._db, at, slice_, observed_at)
        if at.is_refreshing and slice_.is_last:
            self._end_refresh(at, outcome)
        return outcome

    touch_source = of_db(save_source)
    seal_states = of_db(seal_states)
    mark_undone = of_db(mark_earlier)

    def rewind(self, source_id: str) -> None:
        """Restart the derivation of a source's newest revision, inside a transaction.

        The cursor returns to 0 and the ledger's counts of this revision are reset, so that the whole revision can be
        written again from the archive (`sync --force`, a newer parser). Events keep their seq; what a newer parser says
        of them replaces the old.
        """
        self._must_be_in_transaction()
        rewind_source(self._db, source_id)

    def rewound(self) -> frozenset[str]:
        """Return the source_ids of those whose new derivation has begun and not come to its end."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT source_id FROM revision JOIN source ON source.number = revision.source WHERE is_refreshing"
        )
        return frozenset(source_id for (source_id,) in rows)

    @property
    def journal_mark(self) -> int:
        """How long the archive's journal was when all that it tells of was stored; -1 where that was never written."""
        with store_errors():
            found = self._db.execute("SELECT value FROM meta WHERE key = ?", (JOURNAL_MARK,)).get
        return -1 if found is None else int(found)

    def mark_journal(self, size_bytes: int) -> None:
        """Record the length of the archive's journal up to which everything is stored. Inside a transaction."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (JOURNAL_MARK, size_bytes))

    acknowledge = of_db(take_note)
    acknowledge_entries = of_db(acknowledge_entries)

    def known_chunks(self, names: Sequence[bytes]) -> dict[bytes, ChunkPlace]:
        """Return the places of chunks that are stored already, by name (at most some thousand names per call)."""
        if not names:
            return {}
        rows: Iterable[tuple[Any, ...]] = self._db.execute(
            "SELECT name, pack, offset, length, plain FROM chunk WHERE name IN (SELECT value FROM carray(?))",
            (apsw.carray(tuple(names)),),
        )
        return {place.name: place for place in (ChunkPlace(*row) for row in rows)}

    def domain_of(self, repo: str) -> str:
        """Return the domain that the configuration gives a repository, "" where it gives none."""
        return domain_of(repo, self._domains)

    last_change = of_db(last_change)

    def _write_part(
        self, part: SessionPart, slice_: SliceResult, at: SliceContext, *, observed_at: int, outcome: WriteOutcome
    ) -> None:
        db = self._db
        session = load_session(db, slice_.source.agent, part, observed_at)
        self.touched.add(session.number)
        had_rewinds = REWIND in session.kind_counts
        given = self._given.of_session(session.uid) if self._given is not None else None
        if given is not None:
            session.next_seq = max(session.next_seq, given.next_seq)
        if not session.facts.is_internal and is_internal(session.facts, part.patch, self._own_folders):
            session.facts.is_internal = True
            self._disown(session, outcome)
        intake = EventIntake(db, at, session, intern=self._intern, lane_of=self._lane_of, given=given)
        taken = intake.take(part, slice_.records)
        if part.usage and not at.adds_nothing:
            save_usage(db, session.number, part, keys=taken.keys, intern=self._intern)
        if at.is_repeat:
            save_counts(db, session)
        else:
            save_session(db, session, part, domains=self._domains, observed_at=observed_at)
            db.execute("INSERT OR IGNORE INTO session_source VALUES (?, ?)", (session.number, at.source))
        if (had_rewinds or REWIND in session.kind_counts) and self._may_be_undone(session, part, at, taken):
            mark_undone(db, session.number)
        self._log_change(session, taken)
        outcome.new_events += len(taken.new_keys)
        outcome.replays += taken.replays
        standing = self.short.settle(session, is_subagent=bool(session.facts.parent_session))
        match standing:
            case "indexed":
                outcome.docs += taken.docs
            case "grown":
                whole = (0, session.next_seq - 1)
                log_changes(self._db, session.number, [whole])
                outcome.grown.append(ChangeRange(0, session.number, *whole))
            case "short":
                pass
            case _:
                assert_never(standing)
        outcome.stale_keys += taken.stale_keys
        if taken.new_keys or taken.changed:
            outcome.sessions.append(session.uid)

    def _may_be_undone(self, session: SessionRow, part: SessionPart, at: SliceContext, taken: Taken) -> bool:
        """Return whether a part can change what rewinds of its session undid: it brings a rewind, changes existing
        events, or its events may come before stored ones.
        """
        if taken.changed or any(KINDS[event.kind] == REWIND for event in part.events):
            return True
        is_first = at.is_appended and at.revision == 1  # of a rewritten source anything may stand anywhere
        return not is_first or has_several_sources(self._db, session.number)

    def _disown(self, session: SessionRow, outcome: WriteOutcome) -> None:
        """What is stored of a session that turns out to be one of ours leaves the index."""
        span = (session.number << SEQ_BITS, (session.number << SEQ_BITS) + session.next_seq - 1)
        keys = column(self._db, f"UPDATE event SET bits = bits | {OWN} WHERE key BETWEEN ? AND ? RETURNING key", span)
        log_changes(self._db, session.number, _seq_ranges(keys))
        outcome.stale_keys += keys

    def _log_change(self, session: SessionRow, taken: Taken) -> None:
        if taken.new_keys:
            log_changes(self._db, session.number, _seq_ranges(taken.new_keys))
        if taken.changed:
            log_changes(self._db, session.number, _seq_ranges(taken.changed))

    def _end_refresh(self, at: SliceContext, outcome: WriteOutcome) -> None:
        """A re-derivation came to its end: what it did not make again is hidden."""
        by_session: dict[int, list[tuple[int, int]]] = {}
        for key, bits in stale_events(self._db, at):
            by_session.setdefault(key >> SEQ_BITS, []).append((key, bits))
        for number, events in by_session.items():
            self.touched.add(number)
            found: Any = self._db.execute("SELECT agent, native_id FROM session WHERE number = ?", (number,)).fetchone()
            agent, native_id = found[0], unpack_text(found[1])
            session = load_session(self._db, agent, SessionPart(native_id, _NO_PATCH, [], b""), 0)
            had_rewinds = REWIND in session.kind_counts
            retire(self._db, session, events)
            save_counts(self._db, session)
            if had_rewinds:
                mark_undone(self._db, number)
            log_changes(self._db, number, _seq_ranges(key for key, _bits in events))
            outcome.stale_keys += [key for key, _bits in events]
        end_refresh(self._db, at)

    def _withdraw(self) -> bytes:
        try:
            return take_away(str(self._home))
        except OSError as error:
            raise StoreError(f"the memory's folder cannot be written: {error}") from error

    def _intern(self, text: str) -> int:
        """Return the number of a tool's or a model's name."""
        number = self._names.get(text)
        if number is None:
            self._db.execute("INSERT OR IGNORE INTO name (text) VALUES (?)", (text,))
            number = self._names[text] = self._db.execute("SELECT id FROM name WHERE text = ?", (text,)).get
        return number

    def _lane_of(self, source: int) -> int:
        lane = self._lanes.get(source)
        if lane is None:
            lane = self._lanes[source] = self._db.execute("SELECT lane FROM source WHERE number = ?", (source,)).get
        return lane

    def _must_be_in_transaction(self) -> None:
        if not self._db.in_transaction:
            raise BrokenInvariant("slices are written inside a transaction")


def _seq_ranges(keys: Iterable[int]) -> list[tuple[int, int]]:
    """Return the numbers of a session's events as ranges of neighbours."""
    return merged((key & SEQ_MASK, key & SEQ_MASK) for key in keys)
