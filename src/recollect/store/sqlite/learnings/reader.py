# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Implements `store.learnings.LearningReader`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recollect.model.learnings.learnings import Learning, LearningEvidence, LearningKind, LearningState
from recollect.store.learnings import Job, JobCounts, LearningFilter, Quarantined, Verdict
from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.learnings.codec import decode_learning, decode_verdict, evidence_of, place_of
from recollect.store.sqlite.learnings.jobs import count_jobs, read_dead
from recollect.store.sqlite.learnings.writer import read_note
from recollect.store.sqlite.readers.pool import ReadPool

_LAST = "\U0010ffff"
_PREFIXES = ("learning:", "action:")
"""Of an entry's uid, see `model.learnings.entries`."""


class SqliteLearningReader:
    """Reads what was learned. Safe from many threads."""

    def __init__(self, home: Path) -> None:
        """Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        self._pool = ReadPool(home)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def learnings(self, where: LearningFilter) -> list[Learning]:
        """Return learnings with the evidence that holds, the newest evidence first."""
        terms, values = _condition(where)
        limit = -1 if where.limit is None else where.limit
        with store_errors():
            db = self._pool.get()
            rows: list[Any] = db.execute(
                f"SELECT json FROM learning WHERE {terms} ORDER BY ts DESC, id LIMIT ? OFFSET ?",
                [*values, limit, where.offset],
            ).fetchall()
            return [_with_evidence(db, text) for (text,) in rows]

    def learning(self, name: str) -> Learning | None:
        """Return a learning by its id, a beginning of it that only one has, or its entry's uid."""
        wanted = _bare(name)
        with store_errors():
            db = self._pool.get()
            text: str | None = db.execute("SELECT json FROM learning WHERE id = ?", (wanted,)).get
            if text is None and wanted:
                rows: list[Any] = db.execute(
                    "SELECT json FROM learning WHERE id >= ? AND id < ? LIMIT 2", (wanted, wanted + _LAST)
                ).fetchall()
                text = rows[0][0] if len(rows) == 1 else None
            return None if text is None else _with_evidence(db, text)

    def named(self, beginning: str, *, limit: int = 5) -> list[str]:
        """Return the ids that begin so, in order."""
        wanted = _bare(beginning)
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT id FROM learning WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", (wanted, wanted + _LAST, limit)
            )
            return [learning_id for (learning_id,) in rows]

    def verdicts(self, learning_id: str) -> list[Verdict]:
        """Return what people said of a learning, the oldest first."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT json FROM verdict WHERE learning = ? ORDER BY at, nonce", (learning_id,)
            )
            return [decode_verdict(text) for (text,) in rows]

    def revoked(self, learning_id: str) -> list[LearningEvidence]:
        """Return the evidence that its session does not give any more."""
        with store_errors():
            return list(evidence_of(self._pool.get(), learning_id, is_revoked=True))

    def counts(self) -> dict[tuple[LearningKind, LearningState], int]:
        """Return how many learnings there are, by kind and state."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT kind, state, count(*) FROM learning GROUP BY kind, state"
            )
            return {(kind, state): count for kind, state, count in rows}

    def jobs(self) -> JobCounts:
        """Return how much work there is."""
        with store_errors():
            return count_jobs(self._pool.get())

    def dead(self, *, limit: int = 20) -> list[Job]:
        """Return jobs that were given up, the newest first, with the reason."""
        with store_errors():
            return read_dead(self._pool.get(), limit)

    def quarantined(self, *, limit: int = 20) -> list[Quarantined]:
        """Return what was held back of a model's answers, the newest first."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT key, session_uid, at, reason, text FROM quarantine ORDER BY at DESC, key LIMIT ?", (limit,)
            )
            return [Quarantined(*row) for row in rows]

    def quarantined_count(self) -> int:
        """Return how many of them there are."""
        with store_errors():
            return int(self._pool.get().execute("SELECT count(*) FROM quarantine").get)

    def note(self, name: str) -> bytes:
        """Return a small value that learning keeps for itself, b"" for none."""
        with store_errors():
            return read_note(self._pool.get(), name)


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
