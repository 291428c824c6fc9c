"""Takes documents away, inside the caller's transaction: for passes over a folder, `forget` and `undo`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from recollect.store.documents import document_uid
from recollect.store.sqlite.entries.writer import remove_entries


def remove_documents(db: apsw.Connection, collection: str, paths: Iterable[str]) -> int:
    """Remove files of a collection and their entries; return how many entries there were. Unknown ones are no error."""
    found = list(paths)
    db.executemany("DELETE FROM document WHERE collection = ? AND path = ?", [(collection, path) for path in found])
    return remove_entries(db, (document_uid(collection, path) for path in found))


def remove_collection(db: apsw.Connection, collection: str) -> int:
    """Remove a collection with its files and their entries; return how many entries there were."""
    rows: Any = db.execute("SELECT path FROM document WHERE collection = ?", (collection,)).fetchall()
    count = remove_documents(db, collection, (path for (path,) in rows))
    db.execute("DELETE FROM collection WHERE name = ?", (collection,))
    return count


def forget_document(db: apsw.Connection, uid: str, *, mark: bytes, at: int) -> bool:
    """Remove a document for good by the uid of its entry; False where there is none.

    mark: `store.documents.path_mark` of its absolute path, b"" for one of an import: no pass takes a file with this
    mark in again. at: UTC microseconds.
    """
    found = place_of(db, uid)
    if found is None:
        return False
    collection, _folder, path = found
    if mark:
        db.execute("INSERT OR IGNORE INTO document_kept_out VALUES (?, ?)", (mark, at))
    remove_documents(db, collection, (path,))
    return True


def place_of(db: apsw.Connection, uid: str) -> tuple[str, str, str] | None:
    """Return (collection, its folder, path) of the document that an entry's uid names; None for no document."""
    name, slash, path = uid.removeprefix("document:").partition("/")
    if not slash or not uid.startswith("document:"):
        return None
    row: Any = db.execute(
        "SELECT folder FROM collection JOIN document ON document.collection = collection.name "
        "WHERE collection.name = ? AND document.path = ?",
        (name, path),
    ).fetchone()
    return None if row is None else (name, str(row[0]), path)
