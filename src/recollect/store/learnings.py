# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Reads learnings, and writes them: on the ingester's connection or on its own for small writes.

A learning is what all sessions that speak of it say together, and what a person said of it: `Sighting` is one session's
part of that, `Verdict` the person's. Both are kept; `insights.learnings.corroboration` computes the learning from them.
They are stored as JSON, the evidence apart, so that an event's end takes its evidence along. Work that waits is a `Job`
in the same database, so that results and the end of the work are one transaction.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import apsw
import msgspec

from recollect.errors import StoreCorrupt
from recollect.model.insights.nodes import Decision
from recollect.model.learnings.entries import EntryDraft
from recollect.model.learnings.learnings import Learning, LearningEvidence, LearningKind, LearningState, Scope
from recollect.ready_blocks import EVERY_FOLDER
from recollect.store.connection import (
    REBUILD_HINT,
    PooledReader,
    RaisesStoreErrors,
    column,
    of_db,
    open_database,
    store_errors,
    transaction,
    withdraw_ready,
)
from recollect.store.context_rows import TOLD_NOTE
from recollect.store.entries import put_entries, remove_entries
from recollect.store.insights import decisions_of, outdone_in
from recollect.store.jobs import CONSUMER, JOB_COLUMNS, Job, JobCounts, JobQueue, job_of
from recollect.store.notes import add_batch
from recollect.store.rows import Condition, Terms
from recollect.store.sources import position_of


def read_note(db: apsw.Connection, name: str) -> bytes:
    """Return a small value that learning keeps for itself, b"" for none."""
    found: str | None = db.execute("SELECT value FROM meta WHERE key = ?", (note_key(name),)).get
    return (found or "").encode()


def note_key(name: str) -> str:
    return f"learn_{name}"


BY_RULES = "rules"
"""`Sighting.origin` of what the deterministic extractor found."""
BY_CLOSING = "closing"
"""`Sighting.origin` of what tells that an action was done."""
VERDICT_SCHEMA_VERSION = 1
VerdictName = Literal["said", "confirm", "correct", "retire", "done", "undo"]
"""said: a person or agent wrote it down itself. undo: of the whole run that added it."""


class Sighting(NamedTuple):
    """What one session says of a learning, with that session's evidence. origin: who found it there: `BY_RULES`,
    `BY_CLOSING`, or the key of the job in which a model said so."""

    session_uid: str
    origin: str
    learning: Learning


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a person said of a learning. at: UTC microseconds, later than any before of the same learning.

    reason: their words, redacted. learning: for `said`, what it says. replaced_by: for `correct`, the id of what holds.
    """

    verdict: VerdictName
    at: int
    reason: str = ""
    learning: Learning | None = None
    replaced_by: str = ""
    schema_version: int = VERDICT_SCHEMA_VERSION


class Known(NamedTuple):
    """All that is kept of a learning. kept: what it came to the last time, None for a new one. verdicts: the oldest
    first. is_undone: the run that added it was undone."""

    id: str
    kept: Learning | None
    sightings: tuple[Sighting, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    is_undone: bool = False


class LearningFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which learnings; empty: all. Newest evidence first.

    repos, paths: exact; learnings that apply everywhere have the repo "". words: each must occur in the text, in any
    case. after, before: UTC microseconds of the newest evidence, [after, before).
    """

    kinds: tuple[LearningKind, ...] = ()
    scopes: tuple[Scope, ...] = ()
    repos: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    states: tuple[LearningState, ...] = ()
    statuses: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    session: str = ""
    batch: str = ""
    after: int | None = None
    before: int | None = None
    limit: int | None = None
    offset: int = 0


class Quarantined(NamedTuple):
    """A text that a model gave and that cannot be used, redacted, and why. at: UTC microseconds."""

    key: str
    session_uid: str
    at: int
    reason: str
    text: str


_Value = TypeVar("_Value")
_learning = msgspec.json.Decoder(Learning)
_evidence = msgspec.json.Decoder(LearningEvidence)
_verdict = msgspec.json.Decoder(Verdict)
_encode = msgspec.json.Encoder().encode


def encode(value: Learning | LearningEvidence | Verdict) -> str:
    """Return the JSON of a row."""
    return _encode(value).decode()


def decode_learning(text: str) -> Learning:
    """Return a learning. Raises StoreCorrupt."""
    return _decoded(_learning, text, "learning")


def decode_verdict(text: str) -> Verdict:
    """Return a verdict. Raises StoreCorrupt."""
    return _decoded(_verdict, text, "verdict")


def evidence_of(db: apsw.Connection, learning_id: str, *, is_revoked: bool = False) -> tuple[LearningEvidence, ...]:
    """Return the evidence of a learning in order of time, session and seq. Raises StoreCorrupt."""
    rows: Iterable[Any] = db.execute(
        "SELECT json FROM learning_evidence WHERE learning = ? AND is_revoked = ?", (learning_id, is_revoked)
    )
    return tuple(sorted((_decoded(_evidence, text, "piece of evidence") for (text,) in rows), key=place_of))


def _decoded(decoder: msgspec.json.Decoder[_Value], text: str, what: str) -> _Value:
    try:
        return decoder.decode(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored {what} is damaged: {error}", hint=REBUILD_HINT) from error


def place_of(evidence: LearningEvidence) -> tuple[int, str, int, int, str]:
    """Return the sort key of evidence; evidence without a time comes last."""
    ts = evidence.ts if evidence.ts is not None else 1 << 62
    return ts, evidence.session_uid, evidence.seq, evidence.part, evidence.event_id


_LAST = "\U0010ffff"
_PREFIXES = ("learning:", "action:")
"""Of an entry's uid, see `model.learnings.entries`."""


class LearningReader(PooledReader):
    """Reads learnings. Never blocked by a writer; safe from many threads."""

    def learnings(self, where: LearningFilter) -> list[Learning]:
        """Return learnings with the evidence that holds, the newest evidence first."""
        terms, values = _condition(where)
        limit = -1 if where.limit is None else where.limit
        rows: list[Any] = self._db.execute(
            f"SELECT json FROM learning WHERE {terms} ORDER BY ts DESC, id LIMIT ? OFFSET ?",
            [*values, limit, where.offset],
        ).fetchall()
        return [_with_evidence(self._db, text) for (text,) in rows]

    def learning(self, name: str) -> Learning | None:
        """Return a learning by its id, unique prefix, or its entry's uid."""
        wanted = _bare(name)
        text: str | None = self._db.execute("SELECT json FROM learning WHERE id = ?", (wanted,)).get
        if text is None and wanted:
            rows: list[Any] = self._db.execute(
                "SELECT json FROM learning WHERE id >= ? AND id < ? LIMIT 2", (wanted, wanted + _LAST)
            ).fetchall()
            text = rows[0][0] if len(rows) == 1 else None
        return None if text is None else _with_evidence(self._db, text)

    def named(self, beginning: str, *, limit: int = 5) -> list[str]:
        """Return the ids that begin so, in order."""
        wanted = _bare(beginning)
        rows: Iterable[Any] = self._db.execute(
            "SELECT id FROM learning WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", (wanted, wanted + _LAST, limit)
        )
        return [learning_id for (learning_id,) in rows]

    def verdicts(self, learning_id: str) -> list[Verdict]:
        """Return what people said of a learning, oldest first."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT json FROM verdict WHERE learning = ? ORDER BY at, nonce", (learning_id,)
        )
        return [decode_verdict(text) for (text,) in rows]

    def revoked(self, learning_id: str) -> list[LearningEvidence]:
        """Return the evidence that its session does not give any more."""
        return list(evidence_of(self._db, learning_id, is_revoked=True))

    def counts(self) -> dict[tuple[LearningKind, LearningState], int]:
        """Return how many learnings there are, by kind and state."""
        rows: Iterable[Any] = self._db.execute("SELECT kind, state, count(*) FROM learning GROUP BY kind, state")
        return {(kind, state): count for kind, state, count in rows}

    def jobs(self) -> JobCounts:
        """Return how much work there is."""
        rows: list[Any] = self._db.execute(
            "SELECT kind, state, count(*), min(due_at) FROM job GROUP BY kind, state"
        ).fetchall()
        waiting = [due_at for kind, state, _, due_at in rows if state == "waiting" and kind != "relate"]
        return JobCounts({(kind, state): count for kind, state, count, _ in rows}, min(waiting, default=None))

    def unread(self) -> set[str]:
        """Return the uids of the sessions that the rules have still to read."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT session_uid FROM job WHERE kind = 'rules' AND state IN ('waiting', 'running') "
            "UNION SELECT uid FROM session WHERE number IN (SELECT session FROM change WHERE id > ?)",
            (position_of(self._db, CONSUMER),),
        )
        return {uid for (uid,) in rows}

    def dead(self, *, limit: int = 20) -> list[Job]:
        """Return jobs that were given up, newest first, with the reason."""
        rows: list[Any] = self._db.execute(
            f"SELECT {JOB_COLUMNS} FROM job WHERE state = 'dead' ORDER BY due_at DESC, key LIMIT ?", (limit,)
        ).fetchall()
        return [job_of(row) for row in rows]

    def quarantined(self, *, limit: int = 20) -> list[Quarantined]:
        """Return what was held back of a model's answers, newest first."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT key, session_uid, at, reason, text FROM quarantine ORDER BY at DESC, key LIMIT ?", (limit,)
        )
        return [Quarantined(*row) for row in rows]

    def quarantined_count(self) -> int:
        """Return how many of them there are."""
        return int(self._db.execute("SELECT count(*) FROM quarantine").get)

    note = of_db(read_note)


def _with_evidence(db: apsw.Connection, text: str) -> Learning:
    """Return a learning with its evidence; of an action also with that of others that ask for the same."""
    learning = decode_learning(text)
    found = evidence_of(db, learning.id)
    if learning.kind == "action" and learning.state != "superseded":
        rows: Iterable[Any] = db.execute(
            "SELECT json FROM learning WHERE repo = ? AND kind = 'action' AND state = 'superseded'", (learning.repo,)
        )
        others = (other for (json,) in rows if (other := decode_learning(json)).superseded_by == learning.id)
        more = [e for other in others for e in evidence_of(db, other.id)]
        found = tuple(sorted({(e.session_uid, e.event_id, e.part): e for e in (*found, *more)}.values(), key=place_of))
    return msgspec.structs.replace(learning, evidence=found)


def _bare(name: str) -> str:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name.partition("#")[0]


def _condition(where: LearningFilter) -> Condition:
    terms = Terms()
    for name, wanted in (
        ("kind", where.kinds), ("scope", where.scopes), ("repo", where.repos), ("path", where.paths),
        ("state", where.states), ("status", where.statuses),
    ):  # fmt: skip
        if wanted:
            terms.one_of(name, wanted)
    terms.given(("batch = ?", where.batch), ("ts >= ?", where.after), ("ts < ?", where.before))
    for word in where.words:
        # SQLite's own lower() knows ASCII only; the words of other languages are compared as they stand.
        terms.add("instr(lower(json_extract(json, '$.text')), lower(?))", word)
    among = "id IN (SELECT learning FROM learning_evidence WHERE session_uid = ? AND NOT is_revoked)"
    terms.given((among, where.session))
    return terms.condition


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
