# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Reads learnings.

A learning is what all sessions that speak of it say together, and what a person said of it: `Sighting` is one session's
part of that, `Verdict` the person's. Both are kept; `insights.learnings.corroboration` computes the learning from them.
They are stored as JSON, the evidence apart, so that an event's end takes its evidence along. Work that waits is a `Job`
in the same database, so that results and the end of the work are one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal, NamedTuple, TypeVar

import apsw
import msgspec

from recollect.errors import StoreCorrupt
from recollect.model.learnings.learnings import Learning, LearningEvidence, LearningKind, LearningState, Scope
from recollect.store.connection import REBUILD_HINT, PooledReader, of_db
from recollect.store.jobs import JOB_COLUMNS, Job, JobCounts, job_of


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


def _condition(where: LearningFilter) -> tuple[str, list[Any]]:
    terms: list[str] = []
    values: list[Any] = []
    columns: tuple[tuple[str, Collection[str]], ...] = (
        ("kind", where.kinds), ("scope", where.scopes), ("repo", where.repos), ("path", where.paths),
        ("state", where.states), ("status", where.statuses), ("batch", (where.batch,) if where.batch else ()),
    )  # fmt: skip
    for column, wanted in columns:
        if wanted:
            terms.append(f"{column} IN ({', '.join('?' * len(wanted))})")
            values += wanted
    for term, bound in (("ts >= ?", where.after), ("ts < ?", where.before)):
        if bound is not None:
            terms.append(term)
            values.append(bound)
    for word in where.words:
        # SQLite's own lower() knows ASCII only; the words of other languages are compared as they stand.
        terms.append("instr(lower(json_extract(json, '$.text')), lower(?))")
        values.append(word)
    if where.session:
        terms.append("id IN (SELECT learning FROM learning_evidence WHERE session_uid = ? AND NOT is_revoked)")
        values.append(where.session)
    return " AND ".join(terms) or "1", values
