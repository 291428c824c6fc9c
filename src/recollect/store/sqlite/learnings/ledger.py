"""The ledger of what asking models costs: booked before a question is sent, corrected when its answer is there.

A process that dies in between leaves the most that the question can have cost, never less.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from recollect.model.learnings.spending import Amounts, Exceeded, Limits, Spender
from recollect.store.sqlite.connection import open_database, store_errors

_ADD = (
    "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, session_uid, model) DO UPDATE SET "
    "calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens, "
    "output_tokens = output_tokens + excluded.output_tokens, micro_dollars = micro_dollars + excluded.micro_dollars"
)
_SUM = (
    "SELECT coalesce(sum(calls), 0), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), "
    "coalesce(sum(micro_dollars), 0) FROM spending"
)


class SqliteLedger:
    """Keeps what was spent: small writes of its own, beside whoever else writes. Waits up to the busy timeout, so its
    caller has no transaction open. See `insights.learnings.budget.Ledger`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def reserve(self, spender: Spender, most: Amounts, limits: Limits) -> Exceeded:
        """Book what a question may cost at most, unless that breaks a limit; return which. Raises StoreError."""
        with self._writing() as db:
            day = _sum(db, "day = ?", spender.day)
            session = _sum(db, "session_uid = ?", spender.session_uid)
            exceeded = limits.exceeded_by(most, session=session, day=day)
            if not exceeded:
                _add(db, spender, most)
            return exceeded

    def correct(self, spender: Spender, difference: Amounts) -> None:
        """Add what a question cost beyond what was booked for it; negative where it was less. Raises StoreError."""
        with self._writing() as db:
            _add(db, spender, difference)

    def spent_on(self, day: int) -> Amounts:
        """Return what was spent on a day. Raises StoreError."""
        return self._read("day = ?", day)

    def spent_for(self, session_uid: str) -> Amounts:
        """Return what was spent for a session, on all days. Raises StoreError."""
        return self._read("session_uid = ?", session_uid)

    def _read(self, where: str, value: str | int) -> Amounts:
        db = open_database(self._home, "read")
        try:
            with store_errors():
                return _sum(db, where, value)
        finally:
            db.close()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        db = open_database(self._home, "write")
        try:
            with store_errors():
                db.execute("BEGIN IMMEDIATE")  # what is read must still hold when it is written
                try:
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
        finally:
            db.close()


def forget_spending(db: apsw.Connection, uids: Collection[str]) -> None:
    """Take the names of sessions out of the ledger, inside the caller's transaction; the days' sums stay what they are.

    Without that, to forget a session would free the day's budget for another.
    """
    for uid in uids:
        rows: list[Any] = db.execute(
            "DELETE FROM spending WHERE session_uid = ? "
            "RETURNING day, model, calls, input_tokens, output_tokens, micro_dollars",
            (uid,),
        ).fetchall()
        for day, model, *amounts in rows:
            _add(db, Spender(day, "", model), Amounts(*amounts))


def _add(db: apsw.Connection, spender: Spender, amounts: Amounts) -> None:
    db.execute(_ADD, (*spender, *amounts))


def _sum(db: apsw.Connection, where: str, value: str | int) -> Amounts:
    row: Any = db.execute(f"{_SUM} WHERE {where}", (value,)).fetchone()
    return Amounts(*row)
