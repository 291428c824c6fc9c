"""Writes collections and files inside the caller's transaction: for passes over a folder, and for imports."""

from __future__ import annotations

from collections.abc import Iterable

import apsw
import msgspec

from recollect.model.learnings.entries import EntryDraft
from recollect.store.documents import Collection, StoredDocument, document_uid
from recollect.store.sqlite.entries.writer import put_entries, remove_entries, rename_entries

_SAVE_COLLECTION = (
    "INSERT INTO collection VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET folder = excluded.folder, "
    "repo = excluded.repo, added_at = excluded.added_at, json = excluded.json"
)


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of a file's row is asked for seldom, as `StoredDocument` has it."""

    title: str = ""
    parts: int = 0
    reason: str = ""
    batch: str = ""
    rules: str = ""


def save_collection(db: apsw.Connection, collection: Collection) -> None:
    """Keep what is known of a collection."""
    text = msgspec.json.encode(collection).decode()
    db.execute(_SAVE_COLLECTION, (collection.name, collection.folder, collection.repo, collection.added_at, text))


def rename_collection(db: apsw.Connection, old: str, renamed: Collection) -> None:
    """Give a collection another name, and its files and their entries with it; nothing of them is read again."""
    before, after = document_uid(old, ""), document_uid(renamed.name, "")
    db.execute("DELETE FROM collection WHERE name = ?", (old,))
    save_collection(db, renamed)
    db.execute("UPDATE document SET collection = ? WHERE collection = ?", (renamed.name, old))
    rename_entries(db, before, after)


def save_documents(db: apsw.Connection, name: str, rows: Iterable[StoredDocument], drafts: Iterable[EntryDraft]) -> int:
    """Keep files and the entries of those that were taken; return how many entries changed.

    A file that is only listed has no entry after this; a failed one keeps what it had.
    """
    kept = list(rows)
    db.executemany(
        "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                name, row.path, row.state, row.content_hmac, row.size, row.mtime_ns, row.ctime_ns, row.taken_at,
                msgspec.json.encode(Told(row.title, row.parts, row.reason, row.batch, row.rules)).decode(),
            )
            for row in kept
        ],
    )  # fmt: skip
    remove_entries(db, (document_uid(name, row.path) for row in kept if row.state == "listed"))
    return put_entries(db, drafts)
