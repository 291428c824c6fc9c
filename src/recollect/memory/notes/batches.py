"""`memory.notes.batches`: the runs that derived or imported something, and undoing one as a whole."""

from __future__ import annotations

import msgspec

from recollect.errors import UnknownName
from recollect.memory.notes.base import Noting
from recollect.model.learnings.notes import Batch
from recollect.store.notes import NoteReader


class UndoReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What undoing a batch did. was_undone: it was undone before. Counts are of this time."""

    batch: Batch
    was_undone: bool = False
    facts: int = 0
    diary: int = 0
    documents: int = 0
    learnings: int = 0


class BatchesFacet:
    """Runs of one memory that can be undone."""

    def __init__(self, noting: Noting) -> None:
        self._noting = noting

    def list(self) -> tuple[Batch, ...]:
        """Return the batches, the newest first."""
        if not self._noting.is_there():
            return ()
        with self._noting.reading() as notes:
            return tuple(notes.batches())

    def undo(self, name: str) -> UndoReport:
        """Retire all that a run added; its history is kept. Harmless when done twice, also where the first was killed.

        name: a batch's id or a beginning that only one has. What a person confirmed stays. Raises UnknownName,
        StoreLocked, StoreError.
        """
        from recollect.store.undo import undo_batch

        self._noting.must_be_there()
        with self._noting.reading() as notes:
            batch = find_batch(notes, name)
        undone = undo_batch(self._noting.store, batch, at=self._noting.now_us())
        with self._noting.reading() as notes:
            after = find_batch(notes, batch.id)
        learnings = self._noting.memory.learn.settle_batch(batch.id) if undone.has_learnings else 0
        was_undone = batch.undone_at is not None
        return UndoReport(after, was_undone, undone.facts, undone.diary, undone.documents, learnings)


def find_batch(notes: NoteReader, name: str) -> Batch:
    """Return the batch of an id, or of a beginning that only one has. Raises UnknownName."""
    found = notes.named_batches(name.strip()) if name.strip() else []
    if len(found) != 1:
        nearest = tuple(batch.id for batch in found[:3])
        raise UnknownName("batch", name, nearest=nearest, hint="`recollect undo --list` lists them")
    return found[0]
