# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The log of context given to agents. Written without the ingest lock."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recollect.model.payloads import KINDS
from recollect.store.connection import connect_for_small, open_to_read, refuse_newer, store_errors
from recollect.store.keys import HIDDEN, KIND_MASK, OWN


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
