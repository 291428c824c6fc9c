# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Collections of project documents: their files and exclusions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from recollect.model.learnings.entries import EntryDraft
from recollect.store.connection import DatabaseHolder, Mode, column, of_db, open_to_read, store_errors, transaction
from recollect.store.entries import put_entries, remove_entries, rename_entries
from recollect.store.row_keys import pack_text, unpack_text

DocumentState = Literal["taken", "listed", "failed"]
"""taken: can be found. listed: is never read, see its reason. failed: could not be read; what was taken of it before
stays, and the next pass tries again."""
_MARK_BYTES = 16


class Collection(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A folder with searchable documents. Times in UTC microseconds.

    folder: absolute; "" for documents imported once from elsewhere. repo: of the folder. batch: the run that made it.
    checked_at, check_us: start and duration of the last complete pass. absent_since: since when the folder is missing.
    named_by: the file in the folder that gave the name, "" for none.
    """

    name: str
    folder: str
    repo: str = ""
    added_at: int = 0
    batch: str = ""
    checked_at: int = 0
    check_us: int = 0
    absent_since: int | None = None
    named_by: str = ""


class StoredDocument(NamedTuple):
    """One file of a collection. path: relative to its folder, "/"-separated.

    content_hmac: keyed hash of its bytes, b"" if never read, because the file's text may hold redacted secrets. size in
    bytes, times of the file in nanoseconds; taken_at: UTC microseconds of this row. parts: number of its entry's parts.
    reason: why it is only listed, or failed. batch: the run that made its collection. rules: a fingerprint of the rules
    that redacted and split its text.
    """

    path: str
    state: DocumentState
    content_hmac: bytes
    size: int
    mtime_ns: int
    ctime_ns: int
    taken_at: int
    title: str = ""
    parts: int = 0
    reason: str = ""
    batch: str = ""
    rules: str = ""


class DocumentCounts(NamedTuple):
    """How many files of a collection are in which state, how many bytes those that were taken have."""

    taken: int
    listed: int
    failed: int
    bytes: int


def document_uid(collection: str, path: str) -> str:
    """Return the uid of a document's entry."""
    return f"document:{collection}/{path}"


def path_mark(key: bytes, path: str) -> bytes:
    """Return the stored mark of a forgotten document's absolute path. key: `HomeKeys.forget_key`.

    Without the key the mark reveals nothing. It applies in every collection.
    """
    data = path.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_MARK_BYTES, key=key, person=b"document").digest()


def remove_documents(db: apsw.Connection, collection: str, paths: Iterable[str]) -> int:
    """Remove files of a collection and their entries; return how many entries existed. Ignores unknown ones."""
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
    """Remove a document for good by its entry's uid; False without one.

    mark: `store.documents.path_mark` of its absolute path, b"" for an imported one: no pass ingests a file with this
    mark again. at: UTC microseconds.
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


_SAVE_COLLECTION = (
    "INSERT INTO collection VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET folder = excluded.folder, "
    "repo = excluded.repo, added_at = excluded.added_at, json = excluded.json"
)


class DocumentDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rarely needed columns of a `StoredDocument`."""

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
                name,
                *row[:_DETAILS],
                msgspec.json.encode(DocumentDetails(row.title, row.parts, row.reason, row.batch, row.rules)).decode(),
            )
            for row in kept
        ],
    )
    remove_entries(db, (document_uid(name, row.path) for row in kept if row.state == "listed"))
    return put_entries(db, drafts)


_DETAILS = 7
"""From this field on the details of a `StoredDocument` follow, which have no columns."""
_COLUMNS = "path, state, content_hmac, size, mtime_ns, ctime_ns, taken_at, json"
_collection = msgspec.json.Decoder(Collection).decode
_told = msgspec.json.Decoder(DocumentDetails).decode


def has_folders(home: Path) -> bool:
    """Return whether any collection has a folder to keep up to date. Raises StoreError and its subclasses."""
    with open_to_read(home) as db:
        rows: Any = db.execute("SELECT json FROM collection").fetchall()
    return any(_collection(text).folder for (text,) in rows)


class DocumentStore(DatabaseHolder):
    """Collections and their documents: small writes without the ingest lock. For one thread; close it.

    Every method raises StoreError and its subclasses.
    """

    def __init__(self, home: Path, mode: Mode = "write") -> None:
        """Raises StoreError and its subclasses."""
        super().__init__(home, mode)

    @property
    def db(self) -> apsw.Connection:
        """The connection, for what else belongs into the same transaction."""
        return self._db

    def collections(self) -> list[Collection]:
        """Return all collections by name."""
        return [_collection(text) for text in column(self._db, "SELECT json FROM collection ORDER BY name")]

    def documents(self, name: str, *, below: Sequence[str] | None = None) -> dict[str, StoredDocument]:
        """Return a collection's files by path. below: only these paths and those below them."""
        where, values = "collection = ?", [name]
        found: dict[str, StoredDocument] = {}
        for path in [""] if below is None else below:
            if path:
                # What lies below a folder is what sorts between "folder/" and "folder0", the next character.
                where, values = "collection = ? AND (path = ? OR path > ? AND path < ?)", [
                    name, path, f"{path}/", f"{path}0",
                ]  # fmt: skip
            else:
                where, values = "collection = ?", [name]
            rows: Any = self._db.execute(f"SELECT {_COLUMNS} FROM document WHERE {where}", values)
            found.update((row[0], _document(row)) for row in rows)
        return found

    def counts(self) -> dict[str, DocumentCounts]:
        """Return how many files each collection has."""
        rows: Any = self._db.execute(
            "SELECT collection, sum(state = 'taken'), sum(state = 'listed'), sum(state = 'failed'), "
            "sum(CASE state WHEN 'taken' THEN size ELSE 0 END) FROM document GROUP BY collection"
        ).fetchall()
        return {name: DocumentCounts(*counts) for name, *counts in rows}

    def kept_out(self) -> frozenset[bytes]:
        """Return the marks of documents that were forgotten, see `path_mark`."""
        return frozenset(column(self._db, "SELECT id FROM document_kept_out"))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One short transaction; everything inside is kept or nothing. Does not nest."""
        with transaction(self._db), store_errors():
            yield

    save_collection = of_db(save_collection)
    save_documents = of_db(save_documents)
    remove_documents = of_db(remove_documents)
    remove_collection = of_db(remove_collection)


def _document(row: tuple[Any, ...]) -> StoredDocument:
    return StoredDocument(*row[:_DETAILS], *msgspec.structs.astuple(_told(row[_DETAILS])))


def taken_as(db: apsw.Connection, collection: str, path: str) -> tuple[bytes, str]:
    """Return the keyed hash of a document's content and the rules used for it, (b"", "") without one."""
    row: Any = db.execute(
        "SELECT content_hmac, json ->> '$.rules' FROM document WHERE collection = ? AND path = ?", (collection, path)
    ).fetchone()
    return (b"", "") if row is None else (bytes(row[0]), row[1] or "")


def sessions_named(db: apsw.Connection, native_ids: Sequence[str]) -> list[str]:
    """Return the uids of the sessions, of whichever agents, that have one of these native ids."""
    rows: Iterable[Any] = db.execute(
        f"SELECT uid FROM session WHERE native_id IN ({', '.join('?' * len(native_ids))}) ORDER BY uid",
        [pack_text(name) for name in native_ids],
    )
    return [unpack_text(uid) for (uid,) in rows]


def has_collection(db: apsw.Connection, name: str) -> bool:
    """Return whether a collection exists."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM collection WHERE name = ?)", (name,)).get)


def is_kept_out(db: apsw.Connection, mark: bytes) -> bool:
    """Return whether a document with this mark was forgotten; see `store.documents.path_mark`."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM document_kept_out WHERE id = ?)", (mark,)).get)
