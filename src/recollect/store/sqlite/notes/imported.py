# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""What an import must know of documents that are there, without reading a whole collection."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import apsw

from recollect.store.sqlite.event_ids import pack_text, unpack_text


def taken_as(db: apsw.Connection, collection: str, path: str) -> tuple[bytes, str]:
    """Return the keyed hash of a document's content and the rules it was taken by, (b"", "") where there is none."""
    row: Any = db.execute(
        "SELECT content_hmac, json ->> '$.rules' FROM document WHERE collection = ? AND path = ?", (collection, path)
    ).fetchone()
    return (b"", "") if row is None else (bytes(row[0]), row[1] or "")


def sessions_named(db: apsw.Connection, native_ids: Collection[str]) -> list[str]:
    """Return the uids of the sessions, of whichever agents, that have one of these native ids."""
    rows: Iterable[Any] = db.execute(
        f"SELECT uid FROM session WHERE native_id IN ({', '.join('?' * len(native_ids))}) ORDER BY uid",
        [pack_text(name) for name in native_ids],
    )
    return [unpack_text(uid) for (uid,) in rows]


def has_collection(db: apsw.Connection, name: str) -> bool:
    """Tell whether a collection is there."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM collection WHERE name = ?)", (name,)).get)


def is_kept_out(db: apsw.Connection, mark: bytes) -> bool:
    """Tell whether a document with this mark was forgotten, see `store.documents.path_mark`."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM document_kept_out WHERE id = ?)", (mark,)).get)
