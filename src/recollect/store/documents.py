"""What is kept of project documents besides their entries: collections, their files, what must stay out. Plain data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol

import msgspec

from recollect.model.learnings.entries import EntryDraft

DocumentState = Literal["taken", "listed", "failed"]
"""taken: can be found. listed: is never read, see its reason. failed: could not be read; what was taken of it before
stays, and the next pass tries again."""
_MARK_BYTES = 16


class Collection(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A folder whose documents can be found. Times in UTC microseconds.

    folder: absolute; "" for documents that came from elsewhere once and for all (an import). repo: of the folder.
    batch: the run that made it. checked_at, check_us: when a whole pass over it last began and how long that took.
    absent_since: since when the folder is not there. named_by: the file in the folder that gave the name, "" for none.
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
    """One file of a collection. path: below its folder, "/"-separated.

    content_hmac: keyed hash of its bytes, b"" where they were never read; the file's text may hold what was redacted.
    size in bytes, times of the file in nanoseconds; taken_at: UTC microseconds, when that was written. parts: how many
    its entry has. reason: why it is only listed, or failed. batch: the run that made its collection. rules: a
    fingerprint of what its text was redacted and cut by, where it was taken.
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


class DocumentStore(Protocol):
    """Collections and their documents: small authored writes, without the ingest lock. One thread's; close it.

    Everything raises StoreError and its kinds.
    """

    def collections(self) -> list[Collection]:
        """Return all collections by name."""
        ...

    def documents(self, name: str, *, below: Sequence[str] | None = None) -> dict[str, StoredDocument]:
        """Return a collection's files by path. below: only these paths and what lies below them."""
        ...

    def counts(self) -> dict[str, DocumentCounts]:
        """Return how many files each collection has."""
        ...

    def kept_out(self) -> frozenset[bytes]:
        """Return the marks of documents that were forgotten, see `path_mark`."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """One short transaction; everything inside is kept or nothing."""
        ...

    def save_collection(self, collection: Collection) -> None:
        """Keep what is known of a collection, inside a transaction."""
        ...

    def save_documents(self, name: str, rows: Iterable[StoredDocument], drafts: Iterable[EntryDraft]) -> int:
        """Keep files and the entries of those that were taken, inside a transaction; return how many entries changed.

        A file that is not taken has no entry after this, but a failed one keeps what it had.
        """
        ...

    def remove_documents(self, name: str, paths: Iterable[str]) -> int:
        """Remove files and their entries, inside a transaction; return how many entries there were."""
        ...

    def remove_collection(self, name: str) -> int:
        """Remove a collection with all it has, inside a transaction; return how many entries there were."""
        ...


def document_uid(collection: str, path: str) -> str:
    """Return the uid of a document's entry."""
    return f"document:{collection}/{path}"


def path_mark(key: bytes, path: str) -> bytes:
    """Return what is kept of the path (absolute) of a document that was forgotten. key: `HomeKeys.forget_key`.

    Without the key nothing can be guessed by it. It holds whatever collection the file is in.
    """
    data = path.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_MARK_BYTES, key=key, person=b"document").digest()
