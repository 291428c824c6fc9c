"""Sessions that a bulk import keeps out of the index because they hold too few messages.

They are archived and stored as all others are; a search does not find what was said in them. One that grows past the
least number of messages is indexed whole, whoever takes the rest in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw

from recollect.paths import DATABASE_NAME
from recollect.store.ports import SEQ_BITS
from recollect.store.sqlite.connection import open_database, store_errors
from recollect.store.sqlite.session_facts import decode_counts
from recollect.store.sqlite.writing.session_rows import SessionRow

Standing = Literal["indexed", "short", "grown"]


class ShortSession(NamedTuple):
    """A session that is not in the index. messages: what people and the model said in it; least: how many it takes."""

    session_uid: str
    agent: str
    messages: int
    least: int


def message_count(turn_count: int, kind_counts: dict[str, int]) -> int:
    """Return how many messages people and the model wrote. What a program put in as the user's is none."""
    return turn_count + kind_counts.get("assistant_message", 0)


class ShortSessions:
    """Keeps the table of them, inside the writer's transactions.

    `least_of` is what an import asks of the sessions that it sees first, by their agent; 0: all are indexed. Sessions
    of subagents are never short: they are a part of the one that began them.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self.least_of: Callable[[str], int] = lambda _agent: 0

    def settle(self, session: SessionRow, *, is_subagent: bool) -> Standing:
        """Tell whether what a slice brought of a session is to be indexed.

        grown: it was short until now, and its events of before are missing in the index, too.
        """
        if session.is_new:
            known, least = False, 0 if is_subagent else self.least_of(session.agent)
        else:
            row: Any = self._db.execute("SELECT least FROM unindexed WHERE session = ?", (session.number,)).get
            known, least = row is not None, row or 0
        if not known and not least:
            return "indexed"
        messages = message_count(session.turn_count, session.kind_counts)
        if messages < least and not is_subagent:
            self._db.execute("INSERT OR REPLACE INTO unindexed VALUES (?, ?, ?)", (session.number, messages, least))
            return "short"
        if known:
            self._db.execute("DELETE FROM unindexed WHERE session = ?", (session.number,))
        return "grown" if known else "indexed"

    def lift(self, uids: Iterable[str]) -> int:
        """Have sessions indexed whatever they hold; return how many that changes. The change log tells the index."""
        lifted = 0
        for uid in uids:
            found: Any = self._db.execute(
                "SELECT number, next_seq FROM session JOIN unindexed ON session = number WHERE uid = ?", (uid,)
            ).fetchone()
            if found is not None:
                self._db.execute("DELETE FROM unindexed WHERE session = ?", (found[0],))
                self._db.execute(
                    "INSERT INTO change (session, first_seq, last_seq) VALUES (?, 0, ?)", (found[0], found[1] - 1)
                )
                lifted += 1
        return lifted

    def ask_less(self, uid: str, least: int) -> None:
        """From now on a session is indexed from so many messages on, where more were asked of it before."""
        number = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
        self._db.execute("UPDATE unindexed SET least = ?1 WHERE least > ?1 AND session = ?2", (least, number))

    def all(self) -> list[ShortSession]:
        """Return every session that is kept out of the index, by uid."""
        return _all(self._db)

    def carry(self, kept: Iterable[ShortSession]) -> list[int]:
        """Keep sessions out of an index that was made with them, after all was derived anew; return their keys.

        Those that hold enough by now, or that are not there, stay as they are.
        """
        keys: list[int] = []
        for one in kept:
            found: Any = self._db.execute(
                "SELECT number, turn_count, kind_counts FROM session WHERE uid = ?", (one.session_uid,)
            ).fetchone()
            if found is None:
                continue
            number = found[0]
            messages = message_count(found[1], decode_counts(found[2]))
            if messages < one.least:
                self._db.execute("INSERT OR REPLACE INTO unindexed VALUES (?, ?, ?)", (number, messages, one.least))
                span = (number << SEQ_BITS, (number + 1 << SEQ_BITS) - 1)
                keys += [key for (key,) in self._db.execute("SELECT key FROM event WHERE key BETWEEN ? AND ?", span)]
        return keys


def short_sessions_of(home: Path) -> list[ShortSession]:
    """Return every session of a home that is kept out of its index, by uid. Raises StoreError and its kinds."""
    if not (home / DATABASE_NAME).exists():
        return []
    db = open_database(home, "read")
    try:
        with store_errors():
            return _all(db)
    finally:
        db.close()


def _all(db: apsw.Connection) -> list[ShortSession]:
    if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'unindexed'").get:
        return []  # of before there was such a thing
    rows: Iterable[Any] = db.execute(
        "SELECT uid, agent, messages, least FROM unindexed JOIN session ON number = session ORDER BY uid"
    )
    return [ShortSession(*row) for row in rows]
