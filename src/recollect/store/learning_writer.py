# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Writes learnings, on the ingester's connection or on its own for small writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recollect.model.insights.nodes import Decision
from recollect.model.learnings.entries import EntryDraft
from recollect.model.learnings.learnings import Learning
from recollect.ready_blocks import EVERY_FOLDER
from recollect.store.connection import (
    RaisesStoreErrors,
    column,
    of_db,
    open_database,
    store_errors,
    transaction,
    withdraw_ready,
)
from recollect.store.entries import put_entries, remove_entries
from recollect.store.insights import decisions_of, outdone_in
from recollect.store.jobs import JobQueue
from recollect.store.learnings import (
    BY_CLOSING,
    Known,
    Quarantined,
    Sighting,
    Verdict,
    decode_learning,
    decode_verdict,
    encode,
    note_key,
    read_note,
)
from recollect.store.notes import add_batch
from recollect.store.recent import TOLD_NOTE

_SAVE = (
    "INSERT INTO learning VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
    "agent = excluded.agent, status = excluded.status, state = excluded.state, confidence = excluded.confidence, "
    "ts = excluded.ts, expires_at = excluded.expires_at, updated_at = excluded.updated_at, batch = excluded.batch, "
    "json = excluded.json"
)
_IS_UNDONE = "json_extract(json, '$.state') IS 'undone'"


class LearningStore(RaisesStoreErrors):
    """Writes learnings. For one thread; everything except `transaction` runs inside one."""

    def __init__(
        self, db: apsw.Connection, transaction: Callable[[], AbstractContextManager[None]], touched: set[int],
        before_change: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """transaction: begins one on this connection, see `Writer.transaction`. touched: as there. before_change:
        called before something is written that can be told again."""
        self._db = db
        self._begin = transaction
        self._touched = touched
        self._before_change = before_change
        self.changed = 0
        self.queue = JobQueue(db)
        """The work of this memory, inside the same transactions."""

    def transaction(self) -> AbstractContextManager[None]:
        """One short transaction; everything inside is kept or nothing. Does not nest."""
        return self._begin()

    def sightings(self, session_uid: str) -> list[Sighting]:
        """Return what a session says now."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT origin, json FROM learning_sighting WHERE session_uid = ? ORDER BY learning, origin",
            (session_uid,),
        )
        return [Sighting(session_uid, origin, decode_learning(text)) for origin, text in rows]

    def put_sightings(self, put: Sequence[Sighting], remove: Sequence[Sighting]) -> None:
        """Keep what sessions say, and let go of what they don't say any more; the latter's evidence is marked revoked.

        The learnings themselves are for the caller to compute and `save`.
        """
        self._db.executemany(
            "DELETE FROM learning_sighting WHERE learning = ? AND session_uid = ? AND origin = ?",
            [(s.learning.id, s.session_uid, s.origin) for s in remove],
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO learning_sighting VALUES (?, ?, ?, ?)",
            [(s.learning.id, s.session_uid, s.origin, encode(s.learning)) for s in put],
        )
        renewed = {(s.learning.id, s.session_uid) for s in (*put, *remove)}
        # What one session says decides whether that counts which another one left behind.
        renewed |= {
            (learning_id, uid)
            for learning_id in {learning_id for learning_id, _ in renewed}
            for uid in _left_behind_in(self._db, learning_id)
        }
        for learning_id, session_uid in sorted(renewed):
            renew_evidence(self._db, learning_id, session_uid)

    def known(self, ids: Collection[str]) -> list[Known]:
        """Return all that is kept of learnings, in order of id. One that nobody speaks of is left out."""
        found = (self._known(learning_id) for learning_id in sorted(set(ids)))
        return [known for known in found if known is not None]

    def of_repo(self, repo: str, *, limit: int) -> list[str]:
        """Return the ids of the learnings of a repository ("": of the user), the newest evidence first."""
        return column(self._db, "SELECT id FROM learning WHERE repo = ? ORDER BY ts DESC, id LIMIT ?", (repo, limit))

    def decisions(self, repo: str) -> list[Decision]:
        """Return the decisions of a repository that are neither revoked nor undone."""
        return [decision for decision, _ in decisions_of(self._db, repo) if not decision.is_undone]

    def outdone(self, repo: str) -> list[tuple[str, str]]:
        """Return which decisions of a repository another one supersedes or reverses: (older, newer)."""
        return outdone_in(self._db, repo)

    def save(self, learnings: Iterable[Learning], entries: Iterable[EntryDraft], gone: Iterable[str]) -> None:
        """Keep learnings as they came to be, with what a search finds of them. gone: uids of entries to be removed."""
        rows = [_row(learning) for learning in learnings]
        if rows:
            self._before_change()
            self._touched.add(EVERY_FOLDER)
            self.changed += len(rows)
        self._db.executemany(_SAVE, rows)
        put_entries(self._db, entries)
        remove_entries(self._db, gone)

    def add_verdict(self, learning_id: str, verdict: Verdict) -> None:
        """Store a verdict after all earlier ones of the learning, whatever its clock says."""
        last: int = self._db.execute("SELECT max(at) FROM verdict WHERE learning = ?", (learning_id,)).get or 0
        at = max(verdict.at, last + 1)
        nonce = int.from_bytes(os.urandom(7), "big")
        self._db.execute(
            "INSERT INTO verdict VALUES (?, ?, ?, ?, ?)", (learning_id, at, nonce, verdict.verdict, encode(verdict))
        )

    add_batch = of_db(add_batch)

    def add_quarantined(self, items: Iterable[Quarantined]) -> None:
        """Keep what cannot be used, once by key."""
        self._db.executemany("INSERT OR IGNORE INTO quarantine VALUES (?, ?, ?, ?, ?)", list(items))

    note = of_db(read_note)

    def set_note(self, name: str, value: bytes) -> None:
        """Keep a small value, b"" to remove it."""
        if name == TOLD_NOTE:
            self._before_change()
            self._touched.add(EVERY_FOLDER)
        if value:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (note_key(name), value.decode()))
        else:
            self._db.execute("DELETE FROM meta WHERE key = ?", (note_key(name),))

    def _known(self, learning_id: str) -> Known | None:
        kept: str | None = self._db.execute("SELECT json FROM learning WHERE id = ?", (learning_id,)).get
        sightings: list[Any] = self._db.execute(
            "SELECT session_uid, origin, json FROM learning_sighting WHERE learning = ? ORDER BY session_uid, origin",
            (learning_id,),
        ).fetchall()
        verdicts: list[Any] = self._db.execute(
            "SELECT json FROM verdict WHERE learning = ? ORDER BY at, nonce", (learning_id,)
        ).fetchall()
        if kept is None and not sightings and not verdicts:
            return None
        learning = None if kept is None else decode_learning(kept)
        return Known(
            learning_id,
            learning,
            tuple(Sighting(uid, origin, decode_learning(text)) for uid, origin, text in sightings),
            tuple(decode_verdict(text) for (text,) in verdicts),
            learning is not None and bool(learning.batch) and self._is_undone(learning.batch),
        )

    def _is_undone(self, batch: str) -> bool:
        return self._db.execute("SELECT undone_at FROM batch WHERE id = ?", (batch,)).get is not None


@contextmanager
def open_learning_store(home: Path) -> Iterator[LearningStore]:
    """Open a store with a connection of its own, for small writes without the ingest lock.

    A change withdraws the prepared blocks, before it is written and once more afterwards: an ingester may have restored
    them meanwhile. The next sync prepares them again. Waits for the ingester up to the busy timeout. Raises
    StoreLocked, DiskFull, StoreError.
    """
    db = open_database(home, "write")
    touched: set[int] = set()

    def take_back() -> None:
        withdraw_ready(home)

    @contextmanager
    def write() -> Iterator[None]:
        touched.clear()
        with transaction(db):
            yield
        if touched:
            take_back()

    try:
        yield LearningStore(db, write, touched, take_back)
    finally:
        with store_errors():
            db.close()


def renew_evidence(db: apsw.Connection, learning_id: str, session_uid: str) -> None:
    """Make the rows of evidence agree with a session's sightings; revokes evidence that none gives.

    What was undone is no evidence, unless there is no other.
    """
    db.execute(
        "UPDATE learning_evidence SET is_revoked = 1 WHERE learning = ? AND session_uid = ?", (learning_id, session_uid)
    )
    said: list[Any] = db.execute(
        "SELECT json FROM learning_sighting WHERE learning = ? AND session_uid = ? AND origin <> ? "
        f"ORDER BY {_IS_UNDONE}, origin",
        (learning_id, session_uid, BY_CLOSING),
    ).fetchall()
    standing = db.execute(
        f"SELECT EXISTS (SELECT 1 FROM learning_sighting WHERE learning = ? AND origin <> ? AND NOT {_IS_UNDONE})",
        (learning_id, BY_CLOSING),
    ).get
    learnings = [decode_learning(text) for (text,) in said]
    evidence = [e for one in learnings if one.state != "undone" or not standing for e in one.evidence]
    db.executemany(
        "INSERT INTO learning_evidence VALUES (?, ?, ?, ?, 0, ?) ON CONFLICT DO UPDATE SET is_revoked = 0, "
        "json = excluded.json",
        [(learning_id, one.session_uid, one.event_id, one.part, encode(one)) for one in evidence],
    )


def _left_behind_in(db: apsw.Connection, learning_id: str) -> list[str]:
    """Return the sessions that say of a learning that they left it behind."""
    return column(db, f"SELECT session_uid FROM learning_sighting WHERE learning = ? AND {_IS_UNDONE}", (learning_id,))


def _row(learning: Learning) -> tuple[Any, ...]:
    times = [e.ts for e in learning.evidence if e.ts is not None]
    bare = msgspec.structs.replace(learning, evidence=())
    return (
        learning.id, learning.kind, learning.scope, learning.repo, learning.path, learning.agent, learning.status,
        learning.state, learning.confidence, max(times, default=learning.recorded_at or None), learning.expires_at,
        learning.updated_at, learning.batch, encode(bare),
    )  # fmt: skip
