# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The log of what agents were given: written without the ingest lock, read for `stats recall`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recollect.model.payloads import KINDS
from recollect.paths import DATABASE_NAME
from recollect.store.recent import Firing, OwnCallCount
from recollect.store.sqlite.bits import HIDDEN, KIND_MASK, OWN
from recollect.store.sqlite.connection import open_database, refuse_newer, store_errors

BUSY_MS = 50
"""A hook waits no longer for a writer; what cannot be written now is spooled by the caller."""
_CALL = KINDS.index("tool_call")
_names = msgspec.json.Decoder(tuple[str, ...]).decode


def append_firings(home: Path, firings: Iterable[Firing]) -> None:
    """Store firings in one small transaction. Raises StoreLocked, StoreError: then none of them is stored.

    The database must be there and of this version. A power cut may lose the last of them: the log is no transcript.
    """
    rows = [_row(firing) for firing in firings]
    with store_errors():
        db = apsw.Connection(os.fspath(home / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_MS)
            refuse_newer(db)
            db.execute("PRAGMA synchronous = NORMAL")
            # Emptying the write-ahead log is the ingester's work: it costs two syncs.
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            with db:
                db.executemany("INSERT INTO firing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        finally:
            db.close()


def read_firings(home: Path, *, session: str = "", limit: int = -1) -> list[Firing]:
    """Return the newest firings, by default all, oldest first. session: of one uid. Raises StoreError and its kinds."""
    db = open_database(home, "read")
    try:
        with store_errors():
            rows: list[Any] = db.execute(
                "SELECT at, agent, session, event, repo, citations, identifiers, tokens, left_out, took_us, note "
                "FROM firing WHERE ?1 = '' OR session = ?1 ORDER BY at DESC, nonce DESC LIMIT ?2",
                (session, limit),
            ).fetchall()[::-1]
    finally:
        db.close()
    return [
        Firing(at, agent, session, event, repo, _names(citations), _names(identifiers), *figures)
        for at, agent, session, event, repo, citations, identifiers, *figures in rows
    ]


def count_own_calls(home: Path) -> list[OwnCallCount]:
    """Return how often each agent asked the memory, by tool as the agent names it."""
    db = open_database(home, "read")
    try:
        with store_errors():
            rows: list[Any] = db.execute(
                "SELECT session.agent, coalesce(name.text, ''), count(*) FROM event "
                "JOIN session ON session.number = event.key >> 24 LEFT JOIN name ON name.id = event.tool "
                "WHERE event.key >> 24 IN (SELECT DISTINCT session FROM own_call) "
                f"AND event.bits & {OWN} AND NOT event.bits & {HIDDEN} "
                f"AND event.bits & {KIND_MASK} = {_CALL} GROUP BY 1, 2 ORDER BY 1, 2"
            ).fetchall()
    finally:
        db.close()
    return [OwnCallCount(*row) for row in rows]


KEPT_TABLES = (
    "meta", "firing", "added_decision", "analysis", "digest", "signal", "node", "link", "eviction", "tombstone",
    "audit", "pin", "waiting_cut", "entry", "entry_part", "learning", "learning_evidence", "learning_sighting",
    "verdict", "diary", "fact", "tag", "batch", "collection", "document", "document_kept_out", "spending",
    "quarantine", "job",
)  # fmt: skip
"""Authored and distilled ones. The sessions of the latter are all due then: what they still say is said again, what
they do not say any more is revoked, and what was revoked before stays so."""


_BY_HAND = ("added_decision", "diary", "fact", "tag", "pin", "verdict")
"""What people and agents wrote down on purpose."""


def has_authored(home: Path) -> bool:
    """Tell whether a database has anything that was written down on purpose. Raises StoreError and its kinds."""
    db = open_database(home, "read")
    try:
        with store_errors():
            return any(db.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").get for table in _BY_HAND)
    finally:
        db.close()


def copy_authored(old: Path, new: Path, tables: Sequence[str] = KEPT_TABLES) -> list[str]:
    """Copy what exists nowhere else into a database that was derived anew; return the tables that were not all copied.

    Raises StoreError and its kinds.

    A database of before a table was made has nothing of it; one that is not there has nothing at all. Of a table with
    damaged pages what can be read is copied.
    """
    damaged: list[str] = []
    if not (old / DATABASE_NAME).exists():
        return damaged
    db = open_database(new, "write")
    try:
        with store_errors():
            db.execute("ATTACH ? AS old", (os.fspath(old / DATABASE_NAME),))
            kept: list[Any] = db.execute("SELECT name FROM old.sqlite_schema WHERE type = 'table'").fetchall()
            with db:
                damaged += [table for table in tables if (table,) in kept and not _copy_table(db, table)]
                db.execute("INSERT INTO entry_change (entry) SELECT number FROM entry")  # the index has none of them
    finally:
        db.close()
    return damaged


def _copy_table(db: apsw.Connection, table: str) -> bool:
    """Copy a table, of one with damaged pages the rows that can be read, and tell whether it was whole."""
    try:
        with db:  # a savepoint
            db.execute(f"INSERT OR REPLACE INTO main.{table} SELECT * FROM old.{table}")
        return True
    except (apsw.CorruptError, apsw.NotADBError):
        with suppress(apsw.CorruptError, apsw.NotADBError):
            for row in db.execute(f"SELECT * FROM old.{table}"):
                db.execute(f"INSERT OR REPLACE INTO main.{table} VALUES ({', '.join('?' * len(row))})", row)
        return False


def _row(firing: Firing) -> tuple[Any, ...]:
    names = [msgspec.json.encode(value).decode() for value in (firing.citations, firing.identifiers)]
    nonce = int.from_bytes(os.urandom(7), "big")
    return (
        firing.at, nonce, firing.agent, firing.session, firing.event, firing.repo, *names, firing.tokens,
         firing.left_out, firing.took_us, firing.note,
    )  # fmt: skip
