# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Deletes everything that tells of forgotten content, and blocks its return.

Everything here runs inside the writer's transactions. With `secure_delete` on, what a row held is overwritten; pages
that rows left behind before are the business of whoever rewrites the database afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.payloads import KINDS, TokenUsage
from recollect.model.sessions import SessionPatch
from recollect.store.bodies import BlockEntry, decode_frame, encode_frame, payload_without_record
from recollect.store.connection import RaisesStoreErrors, RowWriter, column, of_db, query, store_errors
from recollect.store.erasure.insight_rows import NamedBy, forget_cited, forget_meaning, forget_uid, naming
from recollect.store.erasure.note_rows import WrittenRemoval
from recollect.store.erasure.redact_rows import STALE_PARSER
from recollect.store.row_keys import (
    FLAG_REPLACED,
    FLAG_SHIFT,
    HIDDEN,
    KIND_MASK,
    SEQ_BITS,
    SEQ_MASK,
    span_of,
    unpack_event_id,
)
from recollect.store.session_rows import SessionFacts, decode_facts, encode_counts, encode_facts, repo_of
from recollect.store.sessions import int_array
from recollect.store.sources import let_go, log_changes, session_ranges
from recollect.store.usage import dedupe_sha

_EXCLUDED = "excluded_repos"
_DEAD = "forgotten_in_packs_since"
"""Keys in `meta`."""


class ExclusionStore(RaisesStoreErrors):
    """Keeps it, inside the writer's transactions."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def left_out(self) -> dict[bytes, bytes]:
        """Return the last seen state of each source that is not ingested, by the source's keyed name."""
        return dict(query(self._db, "SELECT source, state FROM left_out"))

    def set_left_out(self, found: Iterable[tuple[bytes, bytes]]) -> None:
        """Remember sources that are not ingested, so that they are read again only after they change."""
        self._db.executemany("INSERT OR REPLACE INTO left_out VALUES (?, ?)", list(found))

    def excluded(self) -> str:
        """Return the excluded repositories that held at the last look, as given to `set_excluded`; "" for none."""
        return str(self._db.execute("SELECT value FROM meta WHERE key = ?", (_EXCLUDED,)).get or "")

    def set_excluded(self, patterns: str) -> None:
        """Record other excluded repositories: what the old ones kept out is examined again."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_EXCLUDED, patterns))
        self._db.execute("DELETE FROM tombstone WHERE kind = 'excluded'")
        self._db.execute("DELETE FROM left_out")

    def dead_since(self) -> int | None:
        """Return since when packs hold sealed bytes that were kept out and not freed yet; None: none do."""
        found = self._db.execute("SELECT value FROM meta WHERE key = ?", (_DEAD,)).get
        return None if found is None else int(found)

    def set_dead_since(self, at: int | None) -> None:
        """Remember it (UTC microseconds), or None."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (_DEAD,))
        if at is not None:
            self._db.execute("INSERT INTO meta VALUES (?, ?)", (_DEAD, at))

    def has_source(self, source_id: str) -> bool:
        """Return whether anything is stored of a source."""
        found = self._db.execute("SELECT EXISTS (SELECT 1 FROM source WHERE source_id = ?)", (source_id,)).get
        return bool(found)

    def last_session(self) -> int:
        """Return the number of the newest session, 0 for none."""
        return int(self._db.execute("SELECT max(number) FROM session").get or 0)

    def was_there(self, uid: str, last: int) -> bool:
        """Return whether a session is stored and not among those after number `last`. Not by clock: clocks jump."""
        number = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
        return number is not None and int(number) <= last


_REPLACED = FLAG_REPLACED << FLAG_SHIFT
_USAGE = KINDS.index("token_usage")
_NO_ENTRY = BlockEntry(b"", "", "")
"""Stands in a block for an entry that was deleted, so that the others keep their places."""
_PENDING = "forgetting"
"""The key in `meta` under which stands what a crash would leave undone, see `begin`."""


class Tombstone(NamedTuple):
    """What must not come back. id: a keyed hash, see `erasure.tombstones`. forgotten_at: UTC microseconds."""

    id: bytes
    kind: str
    forgotten_at: int


def read_tombstones(db: apsw.Connection) -> list[Tombstone]:
    """Return all of them, in order of id."""
    with store_errors():
        return [Tombstone(*row) for row in query(db, "SELECT id, kind, forgotten_at FROM tombstone ORDER BY id")]


class ForgetWriter(RowWriter):
    """Removes sessions, sources and records with all that hangs on them."""

    def __init__(self, db: apsw.Connection, touched: set[int]) -> None:
        super().__init__(db, touched)
        self._named_by: NamedBy = {}
        self.kept_out = ExclusionStore(db)
        """What a pass remembers of what it must not ingest."""
        self.written = WrittenRemoval(db)
        """Deletes what people, agents and rules wrote beside the events."""

    # What must not come back

    tombstones = of_db(read_tombstones)

    def add_tombstones(self, stones: Iterable[Tombstone]) -> None:
        """Store tombstones; an existing one keeps its first time."""
        self._db.executemany("INSERT OR IGNORE INTO tombstone VALUES (?, ?, ?)", list(stones))

    # What a crash would leave undone

    def begin(self, shards: Iterable[str]) -> None:
        """Note that rows are about to go and which shards of the index had them; `finish` takes the note away."""
        known = {*self.pending(), *shards}
        text = msgspec.json.encode(sorted(known)).decode()
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_PENDING, text))

    def pending(self) -> tuple[str, ...]:
        """Return the index shards that must be rebuilt."""
        text = self._db.execute("SELECT value FROM meta WHERE key = ?", (_PENDING,)).get
        return msgspec.json.decode(text, type=tuple[str, ...]) if text else ()

    @property
    def is_pending(self) -> bool:
        """Whether a forgetting was begun and not finished."""
        with store_errors():
            return bool(self._db.execute("SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?)", (_PENDING,)).get)

    def finish(self) -> None:
        """All is done that `begin` was called for."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (_PENDING,))

    # Rows

    def expect(self, uids: Collection[str]) -> None:
        """Look once, inside the transaction, for what all of these sessions that go or lose events are named by."""
        self._named_by = naming(self._db, uids)

    def remove_session(self, uid: str) -> list[int]:
        """Remove a session with everything that hangs on it; return the keys of its events. Unknown: nothing.

        Its sources stay: what else they hold is other sessions'.
        """
        db = self._db
        forget_uid(db, uid, self._touched, named_by=self._named_by)
        number = db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
        if number is None:
            return []
        span = span_of(number)
        keys = [key for (key,) in db.execute("SELECT key FROM event WHERE key BETWEEN ? AND ? ORDER BY key", span)]
        for table in ("event", "replacement", "block"):
            db.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", span)
        tables = ("said", "own_call", "usage", "session_source", "change", "waiting", "unindexed", "arrangement")
        for table in tables:
            db.execute(f"DELETE FROM {table} WHERE session = ?", (number,))
        db.execute("DELETE FROM session WHERE number = ?", (number,))
        self._touched.add(number)
        return keys

    def remove_source(self, source_id: str) -> None:
        """Remove a source with its ledger; the rows of its sessions' events go by `remove_session`. Unknown: nothing.

        Its chunks are not named any more; the archive gives their room back when it is compacted.
        """
        db = self._db
        number = db.execute("SELECT number FROM source WHERE source_id = ?", (source_id,)).get
        if number is None:
            return
        let_go(db, query(db, "DELETE FROM revision_chunk WHERE source = ? RETURNING chunk", (number,)).fetchall())
        for table in (
            "revision", "defect", "defect_count", "redaction_count", "drift", "observation", "hole", "replayed",
            "session_source", "blob", "arrangement",
        ):  # fmt: skip
            db.execute(f"DELETE FROM {table} WHERE source = ?", (number,))
        db.execute("DELETE FROM source WHERE number = ?", (number,))

    def drop_states(self, source_ids: Iterable[str]) -> None:
        """Forget the parser's state of sources: it is folded again from what the archive still has."""
        self._db.executemany("UPDATE source SET state = x'' WHERE source_id = ?", [(one,) for one in source_ids])

    def derive_anew(self, source_ids: Iterable[str]) -> None:
        """Make the next sync derive sources again from what the archive still has.

        A deleted record may have set facts for all records after it (the session's folder, say); the first remaining
        record then states them.
        """
        self._db.executemany(
            "UPDATE source SET parser_version = ? WHERE source_id = ? AND committed_bytes > 0",
            [(STALE_PARSER, one) for one in source_ids],
        )

    def remove_records(self, source_id: str, revision: int, record_indexes: Collection[int]) -> list[int]:
        """Remove the events of some records and everything else about these records; return the events' keys.

        The sessions' rows are wrong until `restate_session` ran for each session of `sessions_of`.
        """
        db = self._db
        number = db.execute("SELECT number FROM source WHERE source_id = ?", (source_id,)).get
        if number is None or not record_indexes:
            return []
        wanted = int_array(record_indexes)
        keys: list[int] = []
        for span in session_ranges(db, number):
            found: Iterable[Any] = db.execute(
                "SELECT key FROM event WHERE key BETWEEN ? AND ? AND source = ? AND revision = ? "
                "AND record IN (SELECT value FROM carray(?))",
                (*span, number, revision, wanted),
            )
            keys += [key for (key,) in found]
        self.remove_events(keys)
        for table in ("defect", "drift"):
            db.execute(
                f"DELETE FROM {table} WHERE source = ? AND revision = ? AND record IN (SELECT value FROM carray(?))",
                (number, revision, wanted),
            )
        if revision == db.execute("SELECT revision FROM source WHERE number = ?", (number,)).get:
            db.execute(
                "DELETE FROM replayed WHERE source = ? AND record IN (SELECT value FROM carray(?))",
                (number, wanted),
            )
        return keys

    def forget_meaning(self, uid: str) -> None:
        """Remove a session's analysis; it is analysed again from its remaining events."""
        forget_meaning(self._db, uid, self._touched)

    def remove_events(self, keys: Collection[int]) -> list[int]:
        """Remove events with their bodies, their counts, and their sessions' analyses.

        Returns the keys of those that existed.
        """
        by_session: dict[int, list[int]] = {}
        for key in keys:
            by_session.setdefault(key >> SEQ_BITS, []).append(key)
        return [key for number, own in by_session.items() for key in self._remove_of_session(number, own)]

    def _remove_of_session(self, number: int, keys: list[int]) -> list[int]:
        db = self._db
        wanted = int_array(keys)
        is_wanted = "key IN (SELECT value FROM carray(?))"
        rows: list[Any] = db.execute(
            f"SELECT key, bits, block, entry, source, revision, offset, event_id FROM event WHERE {is_wanted}",
            (wanted,),
        ).fetchall()
        if not rows:
            return []
        self._forget_usage(number, [(key, block, entry) for key, bits, block, entry, *_ in rows
                                    if bits & KIND_MASK == _USAGE])  # fmt: skip
        db.execute(f"DELETE FROM event WHERE {is_wanted}", (wanted,))
        self._blank(number)
        db.execute(f"DELETE FROM said WHERE session = {int(number)} AND {is_wanted}", (wanted,))
        db.execute(f"DELETE FROM replacement WHERE {is_wanted}", (wanted,))
        for (key,) in query(
            db, "DELETE FROM replacement WHERE by_key IN (SELECT value FROM carray(?)) RETURNING key", (wanted,)
        ).fetchall():
            db.execute(f"UPDATE event SET bits = bits & ~{_REPLACED} WHERE key = ?", (key,))
            log_changes(db, number, [(key & SEQ_MASK, key & SEQ_MASK)])
        db.executemany(
            "DELETE FROM blob WHERE source = ? AND revision = ? AND offset = ?", {tuple(row[4:7]) for row in rows}
        )
        uid = db.execute("SELECT uid FROM session WHERE number = ?", (number,)).get
        if uid is not None:
            events = {unpack_event_id(row[-1]) for row in rows}
            forget_meaning(db, uid, self._touched, events=events, named_by=self._named_by)
            forget_cited(db, uid, {key & SEQ_MASK for key in keys})
        # Who keeps something of its own for each event, here or with a team, learns of their end too.
        seqs = [row[0] & SEQ_MASK for row in rows]
        log_changes(db, number, [(min(seqs), max(seqs))])
        self._touched.add(number)
        return [row[0] for row in rows]

    def _blank(self, number: int) -> None:
        """Empty the block entries that no event names: of deleted events, and of derived versions that may say the
        same in another block. Deletes blocks without any.
        """
        span = span_of(number)
        used: dict[int, set[int]] = {}
        for block, entry in query(self._db, "SELECT block, entry FROM event WHERE key BETWEEN ? AND ?", span):
            used.setdefault(block, set()).add(entry)
        for key in column(self._db, "SELECT key FROM block WHERE key BETWEEN ? AND ?", span):
            named = used.get(key - span[0])
            if named is None:
                self._db.execute("DELETE FROM block WHERE key = ?", (key,))
                continue
            data: Any = self._db.execute("SELECT data FROM block WHERE key = ?", (key,)).get
            entries = decode_frame(data)
            if len(named) == len(entries):
                continue
            frame = encode_frame([entry if at in named else _NO_ENTRY for at, entry in enumerate(entries)])
            self._db.execute("UPDATE block SET plain = ?, data = ? WHERE key = ?", (frame.plain_bytes, frame.data, key))

    def _forget_usage(self, number: int, events: Sequence[tuple[int, int, int]]) -> None:
        """Remove the sightings of usage that only these events gave."""
        if not events:
            return
        gone = {self._dedupe(number, event) for event in events if event[1] >= 0}
        wanted = {key for key, _block, _entry in events}
        others: list[Any] = self._db.execute(
            f"SELECT key, block, entry FROM event WHERE key BETWEEN ? AND ? AND bits & {KIND_MASK} = {_USAGE}",
            span_of(number),
        ).fetchall()
        gone -= {self._dedupe(number, event) for event in others if event[0] not in wanted and event[1] >= 0}
        self._db.executemany("DELETE FROM usage WHERE session = ? AND dedupe = ?", [(number, key) for key in gone])

    def _dedupe(self, number: int, event: tuple[int, int, int]) -> bytes:
        key, block, entry = event
        data = self._db.execute("SELECT data FROM block WHERE key = ?", ((number << SEQ_BITS) + block,)).get
        payload = payload_without_record(decode_frame(data)[entry].body) if data is not None else None
        named = payload.dedupe_key if isinstance(payload, TokenUsage) else ""
        return dedupe_sha(named or f"\0{key}")

    def restate_session(self, uid: str, patches: Iterable[SessionPatch], *, domain_of: Callable[[str], str]) -> bool:
        """Recompute a session's row from its remaining events; False if none are left, or there is no session.

        patches: what each of these events says of the session, in order. domain_of: the domain of a repository.
        """
        db = self._db
        found: Any = db.execute("SELECT number, facts FROM session WHERE uid = ?", (uid,)).fetchone()
        if found is None:
            return False
        number, before = found[0], decode_facts(found[1])
        facts = SessionFacts(is_internal=before.is_internal)
        branch = ""
        for patch in patches:
            facts.take(patch)
            branch = patch.git_branch or branch
        rows: list[Any] = db.execute(
            f"SELECT bits & {KIND_MASK}, ts, turn FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {HIDDEN}",
            span_of(number),
        ).fetchall()
        times = [ts for _kind, ts, _turn in rows if ts is not None]
        counts = Counter(KINDS[kind] for kind, _ts, _turn in rows)
        repo = repo_of(facts)
        db.execute(
            "UPDATE session SET facts = ?, repo = ?, domain = ?, git_branch = ?, started_at = ?, ended_at = ?, "
            "event_count = ?, turn_count = ?, kind_counts = ? WHERE number = ?",
            (
                encode_facts(facts), repo, domain_of(repo), branch, min(times, default=None),
                max(times, default=None), len(rows), max((turn for *_, turn in rows), default=0),
                encode_counts(dict(counts)), number,
            ),
        )  # fmt: skip
        self._touched.add(number)
        return bool(rows)

    def tidy(self) -> None:
        """Remove names of tools and models that nothing uses any more, and usage that is no longer shared."""
        self._db.execute(
            "DELETE FROM name WHERE id NOT IN (SELECT tool FROM event WHERE tool IS NOT NULL "
            "UNION SELECT model FROM usage)"
        )
        self._db.execute(
            "DELETE FROM usage_shared WHERE (SELECT count(*) FROM usage WHERE usage.dedupe = usage_shared.dedupe) < 2"
        )

    # The file itself

    @contextmanager
    def overwriting(self) -> Iterator[None]:
        """Inside, what rows held is overwritten when they go. Around a transaction, not in one."""
        with store_errors():
            self._db.execute("PRAGMA secure_delete = ON")
        try:
            yield
        finally:
            with store_errors():
                self._db.execute("PRAGMA secure_delete = OFF")

    def rewrite(self, *, is_whole: bool) -> bool:
        """Purge deleted data from the database's files; False while a reader holds the log.

        is_whole: also purge pages with rows deleted earlier by rewriting the file, which needs room for two copies;
        else only free pages. Outside of a transaction. Raises DiskFull, StoreError.
        """
        db = self._db
        if is_whole:
            db.execute("PRAGMA temp_store = FILE")  # a copy of the database is no matter for memory
            try:
                db.execute("VACUUM")
            finally:
                db.execute("PRAGMA temp_store = MEMORY")
        else:
            db.execute("PRAGMA incremental_vacuum").fetchall()
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        return True
