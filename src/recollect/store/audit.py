# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The audit log (manual changes, deletions, failures), and the log of context given to agents.

Both are written without the ingest lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, get_args

import apsw
import msgspec

from recollect.errors import BrokenInvariant
from recollect.model.payloads import KINDS
from recollect.store.connection import connect_for_small, open_to_read, refuse_newer, store_errors
from recollect.store.row_keys import HIDDEN, KIND_MASK, OWN

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


class ContextLogEntry(msgspec.Struct, frozen=True, array_like=True):
    """One time that an agent was given a block, or that there was nothing to say (no citations).

    at: UTC microseconds. event: start, compact or prompt. session: its uid, "" where the agent did not say. citations:
    what the block cites, `session_uid#seq` or `learning:ID`. identifiers: the names that its lines tell of. note: the
    code of the error for which nothing could be said, else "".
    """

    at: int
    agent: str
    session: str
    event: str
    repo: str
    citations: tuple[str, ...]
    identifiers: tuple[str, ...]
    tokens: int
    left_out: int
    took_us: int
    note: str = ""


class OwnCallCount(msgspec.Struct, frozen=True):
    """How often an agent asked the memory itself. tool: as the agent names it, its shell's name for a command."""

    agent: str
    tool: str
    calls: int


BUSY_MS = 50
"""A hook waits no longer for a writer; what cannot be written now is spooled by the caller."""
_CALL = KINDS.index("tool_call")
_names = msgspec.json.Decoder(tuple[str, ...]).decode


def append_firings(home: Path, firings: Iterable[ContextLogEntry]) -> None:
    """Store firings in one small transaction. Raises StoreLocked, StoreError: then none of them is stored.

    The database must exist in this version. A power cut may lose the last firings: the log is not a transcript.
    """
    rows = [_row(firing) for firing in firings]
    with store_errors(), closing(connect_for_small(home, busy_ms=BUSY_MS, synchronous="NORMAL")) as db:
        refuse_newer(db)
        # Emptying the write-ahead log is the ingester's work: it costs two syncs.
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        with db:
            db.executemany("INSERT INTO firing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def read_firings(home: Path, *, session: str = "", limit: int = -1) -> list[ContextLogEntry]:
    """Return the newest firings, by default all, oldest first. session: only this uid. Raises StoreError and its
    subclasses.
    """
    with open_to_read(home) as db:
        rows: list[Any] = db.execute(
            "SELECT at, agent, session, event, repo, citations, identifiers, tokens, left_out, took_us, note "
            "FROM firing WHERE ?1 = '' OR session = ?1 ORDER BY at DESC, nonce DESC LIMIT ?2",
            (session, limit),
        ).fetchall()[::-1]
    return [
        ContextLogEntry(at, agent, session, event, repo, _names(citations), _names(identifiers), *figures)
        for at, agent, session, event, repo, citations, identifiers, *figures in rows
    ]


def count_own_calls(home: Path) -> list[OwnCallCount]:
    """Return how often each agent asked the memory, by tool as the agent names it."""
    with open_to_read(home) as db:
        rows: list[Any] = db.execute(
            "SELECT session.agent, coalesce(name.text, ''), count(*) FROM event "
            "JOIN session ON session.number = event.key >> 24 LEFT JOIN name ON name.id = event.tool "
            "WHERE event.key >> 24 IN (SELECT DISTINCT session FROM own_call) "
            f"AND event.bits & {OWN} AND NOT event.bits & {HIDDEN} "
            f"AND event.bits & {KIND_MASK} = {_CALL} GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    return [OwnCallCount(*row) for row in rows]


def _row(firing: ContextLogEntry) -> tuple[Any, ...]:
    names = [msgspec.json.encode(value).decode() for value in (firing.citations, firing.identifiers)]
    nonce = int.from_bytes(os.urandom(7), "big")
    return (
        firing.at, nonce, firing.agent, firing.session, firing.event, firing.repo, *names, firing.tokens,
         firing.left_out, firing.took_us, firing.note,
    )  # fmt: skip
