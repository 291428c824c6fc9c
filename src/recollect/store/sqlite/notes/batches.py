"""Batches: runs that derived or imported something, so that each can be undone as a whole."""

from __future__ import annotations

import secrets
from typing import Any

import apsw
import msgspec

from recollect.model.learnings.notes import Batch, BatchKind

_decode = msgspec.json.Decoder(Batch).decode


def new_batch(kind: BatchKind, *, started_at: int, about: str = "") -> Batch:
    """Return a batch that nobody has yet. about: one line for people, redacted. started_at: UTC microseconds."""
    return Batch(id=f"b{secrets.token_hex(6)}", kind=kind, started_at=started_at, about=about)


def add_batch(db: apsw.Connection, batch: Batch) -> None:
    """Keep a batch, inside the caller's transaction. Again with the same id: what it says is replaced, say its counts.

    A run that adds nothing should keep none.
    """
    db.execute(
        "INSERT INTO batch VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET undone_at = ?4, json = ?5",
        (batch.id, batch.kind, batch.started_at, batch.undone_at, msgspec.json.encode(batch).decode()),
    )


def read_batches(db: apsw.Connection, *, limit: int = -1) -> list[Batch]:
    """Return batches, the newest first."""
    rows: Any = db.execute("SELECT json FROM batch ORDER BY started_at DESC, id LIMIT ?", (limit,)).fetchall()
    return [_decode(text) for (text,) in rows]


def find_batches(db: apsw.Connection, name: str) -> list[Batch]:
    """Return the batch of an id, else those whose id begins so."""
    rows: Any = db.execute(
        "SELECT json FROM batch WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id", (name,)
    ).fetchall()
    found = [_decode(text) for (text,) in rows]
    return [batch for batch in found if batch.id == name] or found
