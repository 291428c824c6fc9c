"""Takes away what was written beside the events, by name, and keeps it out. Runs inside the writer's transactions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import apsw

from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.documents.removal import forget_document
from recollect.store.sqlite.entries.writer import remove_entries
from recollect.store.sqlite.erasure.written.names import (
    IsMeant,
    Written,
    has_records,
    kept_out,
    of_repos,
    recording,
    saying,
)
from recollect.store.sqlite.learnings.erasure import remove_learning


class Keeping(NamedTuple):
    """How what goes is kept out from now on. mark_of: `store.documents.path_mark` under the home's key. at: UTC
    microseconds."""

    mark_of: Callable[[str], bytes]
    at: int


class SqliteWritten:
    """Takes away what is meant, inside the writer's transactions."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def remove_repos(self, repos: Collection[str], keeping: Keeping) -> int:
        """Remove what was learned, noted, documented and decided of repositories, by name; return how much."""
        with store_errors():
            return take_away(self._db, of_repos(self._db, repos), keeping)

    def remove_texts(self, is_meant: IsMeant, keeping: Keeping) -> int:
        """Remove what was learned, noted, documented, decided and given that says a text; return how much of it a
        person is told of."""
        with store_errors():
            return take_away(self._db, saying(self._db, is_meant), keeping)

    def has_records(self, sessions: Collection[str]) -> bool:
        """Tell whether a document is another record of one of some sessions, by uid."""
        with store_errors():
            return has_records(self._db, sessions)

    def remove_records(self, sessions: Collection[str], keeping: Keeping) -> int:
        """Remove the documents that are other records of sessions, by uid; return how many."""
        with store_errors():
            return take_away(self._db, recording(self._db, sessions), keeping)

    def remove_kept_out(self, keeping: Keeping) -> int:
        """Remove what is there though it was forgotten, see `naming.kept_out`; return how much."""
        with store_errors():
            return take_away(self._db, kept_out(self._db, keeping.mark_of), keeping)


def take_away(db: apsw.Connection, written: Written, keeping: Keeping) -> int:
    """Take it all away; return how much was told to a person. Neither an import, a pass over documents nor a restore
    brings it back: their files may still say it. Raises StoreCorrupt."""
    for name, mark in written.marks.items():
        if mark:
            db.execute("INSERT OR REPLACE INTO document_kept_out VALUES (?, ?)", (keeping.mark_of(mark), keeping.at))
        kind, _, rest = name.partition(":")
        _TAKES[kind](db, rest)
    return written.count


def remove_fact(db: apsw.Connection, fact_id: str) -> None:
    """Remove a fact with its entry."""
    db.execute("DELETE FROM fact WHERE id = ?", (fact_id,))
    remove_entries(db, (f"fact:{fact_id}",))


def remove_diary(db: apsw.Connection, entry_id: str) -> None:
    """Remove an entry of a diary with what a search finds of it."""
    db.execute("DELETE FROM diary WHERE id = ?", (entry_id,))
    remove_entries(db, (f"diary:{entry_id}",))


def _remove_tag(db: apsw.Connection, name: str) -> None:
    db.execute("DELETE FROM tag WHERE name = ?", (name,))


def _remove_document(db: apsw.Connection, place: str) -> None:
    uid = f"document:{place}"
    if not forget_document(db, uid, mark=b"", at=0):
        remove_entries(db, (uid,))


def _remove_decision(db: apsw.Connection, node_id: str) -> None:
    db.execute("DELETE FROM added_decision WHERE id = ?", (node_id,))
    db.execute("DELETE FROM link WHERE newer = ?1 OR older = ?1", (node_id,))


def _remove_firing(db: apsw.Connection, place: str) -> None:
    at, _, nonce = place.partition(":")
    db.execute("DELETE FROM firing WHERE at = ? AND nonce = ?", (int(at), int(nonce)))


def _remove_held(db: apsw.Connection, key: str) -> None:
    db.execute("DELETE FROM quarantine WHERE key = ?", (key,))


_TAKES: dict[str, Callable[[apsw.Connection, str], None]] = {
    "learning": remove_learning,
    "fact": remove_fact,
    "diary": remove_diary,
    "tag": _remove_tag,
    "document": _remove_document,
    "decision": _remove_decision,
    "firing": _remove_firing,
    "held": _remove_held,
}
