"""The reading side of the vectors of entries: which parts are nearest to a question, and how many entries have theirs.

Numpy comes with the first question, as for events.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from recollect.index.vectors.embedder import Embedder
from recollect.index.vectors.files import ENTRIES_FOLDER, Commit, Files, Identity, check_sizes, last_commit
from recollect.index.vectors.texts import ENTRY_CUTTING
from recollect.index.vectors.vector_index import Asked, VectorCoverage, VectorIndex
from recollect.store.entries import mark_class
from recollect.store.feed import TextFeed


def entry_files(folder: Path, embedder: Embedder) -> Files:
    """Return the files of the vectors that an embedder made of entries. folder: `index/vectors` of a home."""
    identity = Identity(embedder.name, embedder.version, ENTRY_CUTTING)
    return Files(folder / ENTRIES_FOLDER, identity, has_marks=True)


class EntryVectorIndex(VectorIndex):
    """The vectors of a home's entries made by one embedder. Keys are those of `store.entries`."""

    def __init__(self, folder: Path, embedder: Embedder, store: TextFeed, *, asked: Asked | None = None) -> None:
        """asked: shared with the index of events: a question is embedded once. The rest as `VectorIndex.open`."""
        super().__init__(folder, embedder, store, files=entry_files(folder, embedder), asked=asked)
        self._entries = store.entries

    def near_parts(
        self, query: str, kinds: Iterable[str], *, limit: int, entries: frozenset[int] | None = None
    ) -> list[int]:
        """Return the keys of the nearest parts of entries of some kinds, best first. entries: only of these numbers,
        with ENTRY_BASE. Raises as `nearest`."""
        classes = frozenset(map(mark_class, kinds))
        return [near.key for near in self.nearest(query, limit=limit, sessions=entries, classes=classes)]

    def coverage(self) -> VectorCoverage:
        """Return how many entries have vectors of what they say now, and how many should. Raises IndexUnavailable."""
        rows = self.rows()
        commit = rows.commit if rows is not None else Commit()
        last = self._entries.last_change()
        known = self._coverage
        if known is None or known[:2] != (commit, last):
            known = self._coverage = (commit, last, self._counted(last))
        return known[2]

    def _counted(self, last: int) -> VectorCoverage:
        rows = self.rows()
        if rows is None and not last:
            return VectorCoverage(0, 0, False)
        from recollect.index.vectors.entries.differences import differences

        found = differences(rows, self._entries)
        is_stale = rows is None or rows.commit.position != last
        if not is_stale:  # what still has none has no text to make any of
            return VectorCoverage(found.same, found.same, False)
        return VectorCoverage(found.same, found.same + len(found.missing), is_stale)

    def is_stale(self) -> bool:
        """Return whether entries may have no vectors, or old ones. Without numpy. Raises IndexUnavailable."""
        generation = self._files.generation()
        commit = last_commit(generation) if generation is not None else Commit()
        if generation is not None:
            check_sizes(generation, commit)
        if not self._is_of_this_database(commit):
            commit = Commit()
        return commit.position != self._entries.last_change()
