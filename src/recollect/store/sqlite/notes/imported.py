"""What an import must know of documents that are there, without reading a whole collection."""

from __future__ import annotations

from typing import Any

import apsw


def taken_as(db: apsw.Connection, collection: str, path: str) -> tuple[bytes, str]:
    """Return the keyed hash of a document's content and the rules it was taken by, (b"", "") where there is none."""
    row: Any = db.execute(
        "SELECT content_hmac, json ->> '$.rules' FROM document WHERE collection = ? AND path = ?", (collection, path)
    ).fetchone()
    return (b"", "") if row is None else (bytes(row[0]), row[1] or "")


def has_collection(db: apsw.Connection, name: str) -> bool:
    """Tell whether a collection is there."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM collection WHERE name = ?)", (name,)).get)


def is_kept_out(db: apsw.Connection, mark: bytes) -> bool:
    """Tell whether a document with this mark was forgotten, see `store.documents.path_mark`."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM document_kept_out WHERE id = ?)", (mark,)).get)
