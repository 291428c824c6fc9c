"""Implements `store.documents.DocumentStore`: rows of files beside their entries, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import apsw
import msgspec

from recollect.model.learnings.entries import EntryDraft
from recollect.store.documents import Collection, DocumentCounts, StoredDocument
from recollect.store.sqlite.connection import Mode, open_database, store_errors
from recollect.store.sqlite.documents import removal as removing
from recollect.store.sqlite.documents import writer as writing
from recollect.store.sqlite.documents.writer import Told

_COLUMNS = "path, state, content_hmac, size, mtime_ns, ctime_ns, taken_at, json"


_collection = msgspec.json.Decoder(Collection).decode
_told = msgspec.json.Decoder(Told).decode


class SqliteDocuments:
    """The documents of one home. One thread's; close it, or use it as a context manager."""

    def __init__(self, home: Path, mode: Mode = "write") -> None:
        """Raises StoreError and its kinds."""
        self._db = open_database(home, mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        with store_errors():
            self._db.close()

    @property
    def db(self) -> apsw.Connection:
        """The connection, for what else belongs into the same transaction."""
        return self._db

    def collections(self) -> list[Collection]:
        """Return all collections by name."""
        with store_errors():
            rows: Any = self._db.execute("SELECT json FROM collection ORDER BY name").fetchall()
        return [_collection(text) for (text,) in rows]

    def documents(self, name: str, *, below: Sequence[str] | None = None) -> dict[str, StoredDocument]:
        """Return a collection's files by path, see `DocumentStore`."""
        where, values = "collection = ?", [name]
        found: dict[str, StoredDocument] = {}
        with store_errors():
            for path in [""] if below is None else below:
                if path:
                    # What lies below a folder is what sorts between "folder/" and "folder0", the next character.
                    where, values = "collection = ? AND (path = ? OR path > ? AND path < ?)", [
                        name, path, f"{path}/", f"{path}0",
                    ]  # fmt: skip
                else:
                    where, values = "collection = ?", [name]
                rows: Any = self._db.execute(f"SELECT {_COLUMNS} FROM document WHERE {where}", values)  # noqa: S608
                found.update((row[0], _document(row)) for row in rows)
        return found

    def counts(self) -> dict[str, DocumentCounts]:
        """Return how many files each collection has."""
        with store_errors():
            rows: Any = self._db.execute(
                "SELECT collection, sum(state = 'taken'), sum(state = 'listed'), sum(state = 'failed'), "
                "sum(CASE state WHEN 'taken' THEN size ELSE 0 END) FROM document GROUP BY collection"
            ).fetchall()
        return {name: DocumentCounts(*counts) for name, *counts in rows}

    def kept_out(self) -> frozenset[bytes]:
        """Return the marks of documents that were forgotten."""
        with store_errors():
            rows: Any = self._db.execute("SELECT id FROM document_kept_out").fetchall()
        return frozenset(mark for (mark,) in rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One short transaction; everything inside is kept or nothing. Does not nest."""
        with store_errors():
            self._db.execute("BEGIN IMMEDIATE")
        try:
            with store_errors():
                yield
                self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                with store_errors():
                    self._db.execute("ROLLBACK")
            raise

    def save_collection(self, collection: Collection) -> None:
        """Keep what is known of a collection, inside a transaction."""
        writing.save_collection(self._db, collection)

    def save_documents(self, name: str, rows: Iterable[StoredDocument], drafts: Iterable[EntryDraft]) -> int:
        """Keep files and their entries, inside a transaction, see `DocumentStore`."""
        return writing.save_documents(self._db, name, rows, drafts)

    def remove_documents(self, name: str, paths: Iterable[str]) -> int:
        """Remove files and their entries, inside a transaction."""
        return removing.remove_documents(self._db, name, paths)

    def remove_collection(self, name: str) -> int:
        """Remove a collection with all it has, inside a transaction."""
        return removing.remove_collection(self._db, name)


def _document(row: tuple[Any, ...]) -> StoredDocument:
    path, state, content_hmac, size, mtime_ns, ctime_ns, taken_at, text = row
    told = _told(text)
    return StoredDocument(
        path, state, content_hmac, size, mtime_ns, ctime_ns, taken_at, told.title, told.parts, told.reason, told.batch,
        told.rules,
    )  # fmt: skip
