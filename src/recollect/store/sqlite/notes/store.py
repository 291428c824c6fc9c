"""Implements `store.notes.NoteStore`: opens notes of a home, each time on a connection of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.model.learnings.notes import Batch, DiaryEntry, Fact
from recollect.ready import withdraw
from recollect.store.notes import DiaryFilter, FactFilter, TagRow
from recollect.store.sqlite.connection import open_database, store_errors
from recollect.store.sqlite.notes import batches, diary, facts


class SqliteNotes:
    """Implements `store.notes.NoteStore`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @contextmanager
    def reading(self) -> Iterator[SqliteNoteReader]:
        """Open for reading: one state of the database. Raises StoreError and its kinds."""
        db = open_database(self._home, "read")
        try:
            with store_errors():
                db.execute("BEGIN")
                yield SqliteNoteReader(db)
        finally:
            db.close()

    @contextmanager
    def writing(self) -> Iterator[SqliteNoteWriter]:
        """Open one transaction; everything inside is kept or nothing.

        Takes the stamp of ready blocks away, for a context may tell what is written: before, so that a crash leaves no
        stale one, and after, for one that somebody made meanwhile. Waits for another writer up to the busy timeout.
        Raises StoreLocked, DiskFull, StoreError.
        """
        db = open_database(self._home, "write")
        try:
            with store_errors():
                self._withdraw()
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield SqliteNoteWriter(db)
                    db.execute("COMMIT")
                    self._withdraw()
                finally:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
        finally:
            db.close()

    def _withdraw(self) -> None:
        try:
            withdraw(os.fspath(self._home))
        except OSError as error:
            raise StoreError(f"the memory's folder cannot be written: {error}") from error


class SqliteNoteReader:
    """Implements `store.notes.NoteReader`. One thread's."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    @property
    def db(self) -> apsw.Connection:
        """The connection, for what else belongs into the transaction."""
        return self._db

    def facts(self, where: FactFilter) -> list[Fact]:
        """Return facts, the newest first."""
        return facts.read_facts(self._db, where)

    def named_facts(self, name: str) -> list[Fact]:
        """Return the fact of an id, else those whose id begins so."""
        return facts.named_facts(self._db, name)

    def undone(self, of: Iterable[Fact]) -> frozenset[str]:
        """Return the ids of those facts whose reference is a decision, learning or event that was undone."""
        return facts.undone_facts(self._db, of)

    def diary(self, where: DiaryFilter) -> list[DiaryEntry]:
        """Return entries of diaries, the newest first."""
        return diary.read_diary(self._db, where)

    def named_diary(self, name: str) -> list[DiaryEntry]:
        """Return the entry of an id, else those whose id begins so."""
        return diary.named_diary(self._db, name)

    def tags(self, *, session_uid: str = "", name: str = "") -> list[TagRow]:
        """Return tags by name, the newest first."""
        return diary.read_tags(self._db, session_uid=session_uid, name=name)

    def batches(self) -> list[Batch]:
        """Return batches, the newest first."""
        return batches.read_batches(self._db)

    def named_batches(self, name: str) -> list[Batch]:
        """Return the batch of an id, else those whose id begins so."""
        return batches.find_batches(self._db, name)


class SqliteNoteWriter(SqliteNoteReader):
    """Implements `store.notes.NoteWriter`. One thread's; lives as long as its transaction."""

    def put_fact(self, fact: Fact) -> None:
        """Keep a fact, and its entry for searches."""
        facts.put_fact(self._db, fact)

    def put_diary(self, entry: DiaryEntry) -> None:
        """Keep an entry of a diary, and its entry for searches."""
        diary.put_diary(self._db, entry)

    def tag(self, session_uid: str, name: str, at: int) -> bool:
        """Keep a tag; return whether it is new."""
        return diary.put_tag(self._db, session_uid, name, at)

    def untag(self, session_uid: str, name: str) -> bool:
        """Take a tag away; return whether it was there."""
        return diary.remove_tag(self._db, session_uid, name)

    def put_batch(self, batch: Batch) -> None:
        """Keep a batch."""
        batches.add_batch(self._db, batch)
