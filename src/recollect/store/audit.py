"""The audit log: manual changes, deletions and failures. Written without the ingest lock."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, get_args

import apsw
import msgspec

from recollect.errors import BrokenInvariant
from recollect.store.connection import connect_for_small, open_to_read, refuse_newer, store_errors

AuditAction = Literal["data_loss", "evict", "forget", "reveal", "restore", "rotate", "fix", "failure", "recover"]
ACTIONS: tuple[str, ...] = get_args(AuditAction)
MAX_VALUE_BYTES = 64 * 1024
"""An entry tells uids, counts and reasons; what is larger than this is content by mistake."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class AuditEntry(msgspec.Struct, frozen=True):
    """One thing that was done. at: UTC microseconds. value: uids, counts, reasons; never content."""

    at: int
    action: str
    value: dict[str, Any]


def add_audit(where: Path | apsw.Connection, action: AuditAction, value: Mapping[str, Any], *, at: int) -> None:
    """Record an action, never its content: uids, counts, reasons; for `forget` only counts and kinds.

    Args:
        where: a home with a database of this version: written at once, in its own transaction. Or the writer's
            connection: written in the present transaction.
        at: UTC microseconds.
    Raises:
        StoreLocked, DiskFull, StoreError: nothing was recorded; a caller that depends on the record must stop.
    """
    text = msgspec.json.encode(dict(value)).decode()
    if action not in ACTIONS or len(text) > MAX_VALUE_BYTES:
        raise BrokenInvariant(f"an entry of the audit is a known action and small ({action}, {len(text)} bytes)")
    row = (at, int.from_bytes(os.urandom(7), "big"), action, text)
    with store_errors():
        if not isinstance(where, Path):
            where.execute(_INSERT, row)
            return
        with closing(connect_for_small(where)) as db:  # synced in full: it exists nowhere else
            refuse_newer(db)
            with db:
                db.execute(_INSERT, row)


def read_audit(home: Path, *, actions: Sequence[AuditAction] = (), limit: int | None = None) -> list[AuditEntry]:
    """Return recorded actions, newest first; with names of actions, only these. Raises StoreError and its
    subclasses.
    """
    with open_to_read(home) as db:
        rows: list[Any] = db.execute(
            "SELECT at, action, json FROM audit WHERE ? = 0 OR action IN (SELECT value FROM carray(?)) "
            "ORDER BY at DESC, nonce DESC LIMIT ?",
            (len(actions), apsw.carray(tuple(actions) or ("",)), -1 if limit is None else limit),
        ).fetchall()
    return [AuditEntry(at, action, _decode(text)) for at, action, text in rows]


_INSERT = "INSERT INTO audit (at, nonce, action, json) VALUES (?, ?, ?, ?)"
