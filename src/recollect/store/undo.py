"""Undoes a run: retires what it added to notes and documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import apsw
import msgspec

from recollect.model.learnings.notes import Batch
from recollect.store.documents import remove_documents
from recollect.store.notes import DiaryQuestion, FactQuestion, NoteStore, add_batch, changed_fact

_GROUP = 100
"""So many are retired in one transaction, which keeps others from waiting long."""
_Item = TypeVar("_Item")


class Undone(NamedTuple):
    """How many facts were retracted, diary entries retired, documents taken out; whether there are learnings too."""

    facts: int
    diary: int
    documents: int
    has_learnings: bool


def undo_batch(store: NoteStore, batch: Batch, *, at: int) -> Undone:
    """Retire what a batch added, after recording the time. Repeating it is harmless; a killed one continues.

    A fact that somebody stated since, or retracted, stays so. at: UTC microseconds. Learnings of the batch are left to
    their own writer: their state depends on `undone_at`. Raises StoreError and its subclasses.
    """
    with store.writing() as notes:
        if batch.undone_at is None:
            add_batch(notes.db, msgspec.structs.replace(batch, undone_at=at))
        # First, so that no pass over its folder ingests again what goes.
        notes.db.execute(
            "DELETE FROM collection WHERE json ->> '$.batch' = ?1 AND NOT EXISTS (SELECT 1 "
            "FROM document AS held WHERE held.collection = collection.name AND held.json ->> '$.batch' <> ?1)",
            (batch.id,),
        )
    with store.reading() as notes:
        facts = [f.id for f in notes.facts(FactQuestion(is_history=True), batch=batch.id) if not f.is_retracted]
        entries = [entry.id for entry in notes.diary(DiaryQuestion(), batch=batch.id)]
        documents: Any = notes.db.execute(
            "SELECT collection, path FROM document WHERE json ->> '$.batch' = ?", (batch.id,)
        ).fetchall()
        learned = bool(notes.db.execute("SELECT EXISTS (SELECT 1 FROM learning WHERE batch = ?)", (batch.id,)).get)
    count = sum(_retract(store, group, batch.id, at) for group in _groups(facts))
    retired = sum(_retire(store, group, batch.id, at) for group in _groups(entries))
    removed = sum(_remove(store, group, batch.id) for group in _groups(documents))
    with store.writing() as notes:
        _remove_empty(notes.db, {collection for collection, _path in documents})
    return Undone(count, retired, removed, learned)


def _retract(store: NoteStore, ids: Sequence[str], batch: str, at: int) -> int:
    with store.writing() as notes:
        found = [fact for name in ids for fact in notes.named_facts(name) if fact.id == name and fact.batch == batch]
        held = [fact for fact in found if not fact.is_retracted]
        for fact in held:
            notes.put_fact(changed_fact(fact, at=at, is_retracted=True))
        return len(held)


def _retire(store: NoteStore, ids: Sequence[str], batch: str, at: int) -> int:
    with store.writing() as notes:
        found = [entry for name in ids for entry in notes.named_diary(name) if entry.id == name]
        kept = [entry for entry in found if entry.batch == batch and entry.retired_at is None]
        for entry in kept:
            notes.put_diary(msgspec.structs.replace(entry, retired_at=at))
        return len(kept)


def _remove(store: NoteStore, documents: Sequence[tuple[str, str]], batch: str) -> int:
    with store.writing() as notes:
        count = 0
        for collection, path in documents:
            told: Any = notes.db.execute(
                "SELECT json ->> '$.batch' FROM document WHERE collection = ? AND path = ?", (collection, path)
            ).get
            if told == batch:
                count += remove_documents(notes.db, collection, (path,))
        return count


def _remove_empty(db: apsw.Connection, collections: set[str]) -> None:
    """Remove empty collections of other runs."""
    for name in collections:
        db.execute(
            "DELETE FROM collection WHERE name = ?1 AND NOT EXISTS (SELECT 1 FROM document WHERE collection = ?1)",
            (name,),
        )


def _groups(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _GROUP):
        yield items[start : start + _GROUP]
