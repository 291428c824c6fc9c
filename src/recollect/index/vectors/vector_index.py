"""The reading side: which events are nearest to a question, how near given ones are, and how much is covered.

Opening costs nothing; numpy and the model come with the first question. A commit of the writer is seen at the next
question, without waiting for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import EmbeddingUnavailable, IndexUnavailable
from recollect.index.vectors.embedder import Embedder
from recollect.index.vectors.files import (
    REMAKE_HINT,
    SCANNED,
    Commit,
    Files,
    Generation,
    Identity,
    check_sizes,
    last_commit,
)
from recollect.index.vectors.texts import CUTTING, KINDS
from recollect.store.feed import KeyRange, TextFeed
from recollect.store.keys import SEQ_BITS
from recollect.store.rows import ChangeRange

if TYPE_CHECKING:
    from recollect.index.vectors.embedder import Vectors
    from recollect.index.vectors.rows import Rows

MAX_KEY = 1 << 62


class Near(NamedTuple):
    """An event and its cosine similarity to the question (-1 to 1), of the best of its chunks."""

    key: int
    similarity: float


class VectorCoverage(NamedTuple):
    """How much of what should have vectors has them, in events. is_stale: some are missing or out of date."""

    covered: int
    total: int
    is_stale: bool


def identity_of(embedder: Embedder) -> Identity:
    """Return under which name an embedder's vectors are kept."""
    return Identity(embedder.name, embedder.version, CUTTING)


class Asked:
    """The vector of the last question: a search asks for it several times. Safe from many threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._last: tuple[str, Vectors] | None = None

    def vector_of(self, query: str) -> Vectors:
        """Return the vector of a question. Raises EmbeddingUnavailable."""
        last = self._last
        if last is None or last[0] != query:
            last = self._last = (query, self._embedder.embed([query])[0])
        return last[1]


class VectorIndex:
    """The vectors of a home made by one embedder. Use `open`. Safe from many threads."""

    def __init__(
        self, folder: Path, embedder: Embedder, store: TextFeed | None, *, files: Files | None = None,
        asked: Asked | None = None,
    ) -> None:  # fmt: skip
        """files: others than those of events. asked: of an index of the same embedder, asked the same questions."""
        self.embedder = embedder
        self.asked = asked or Asked(embedder)
        self._files = files or Files(folder, identity_of(embedder))
        self._store = store
        self._lock = threading.Lock()
        self._seen: tuple[Generation, int, int] | None = None
        self._rows: Rows | None = None
        self._coverage: tuple[Commit, int, VectorCoverage] | None = None

    @classmethod
    def open(cls, folder: Path, embedder: Embedder, *, store: TextFeed | None = None) -> VectorIndex:
        """Open for reading; nothing is read before the first question.

        Args:
            folder: `index/vectors` of a home; need not exist.
            store: tells what is not covered yet and whether the keys still mean the same; None: all is taken as it is.
        """
        return cls(folder, embedder, store)

    def nearest(
        self, query: str, *, limit: int, sessions: frozenset[int] | None = None, classes: frozenset[int] | None = None
    ) -> list[Near]:
        """Return the events nearest in meaning, best first, at most `limit`; with `sessions`, only of those numbers.

        Nothing where nothing is made yet, or the question says nothing to the model. classes: see `Rows.nearest`.
        Raises:
            IndexUnavailable: the files are damaged or of another model.
            EmbeddingUnavailable: the question cannot be embedded.
        """
        rows = self.rows()
        if rows is None or not rows.count or limit < 1:
            return []
        vector = self._embedded(query, rows)
        if not vector.any():
            return []
        return [Near(*event) for event in rows.nearest(vector, limit=limit, sessions=sessions, classes=classes)]

    def similarities(self, query: str, keys: Iterable[int]) -> dict[int, float]:
        """Return the similarity of given events; those without vectors are left out. Raises as `nearest`."""
        rows = self.rows()
        if rows is None or not rows.count:
            return {}
        vector = self._embedded(query, rows)
        return rows.similarities(vector, keys) if vector.any() else {}

    def coverage(self) -> VectorCoverage:
        """Return how much is covered, as of now. Raises IndexUnavailable."""
        rows = self.rows()
        commit = rows.commit if rows is not None else Commit()
        if self._store is None:
            covered = len(rows.live_keys()) if rows is not None else 0
            return VectorCoverage(covered, covered, rows is None)
        last = self._store.last_change()
        known = self._coverage
        if known is None or known[:2] != (commit, last):
            covered = len(rows.live_keys()) if rows is not None else 0
            waiting = self._store.count_of_kinds(KINDS, uncovered(self._store, commit))
            known = self._coverage = (commit, last, VectorCoverage(covered, covered + waiting, waiting > 0))
        return known[2]

    def rows(self) -> Rows | None:
        """Return the rows of the last commit; None where there are none for this database. Raises IndexUnavailable."""
        with self._lock:
            generation = self._files.generation()
            if generation is None:
                self._rows = self._seen = None
                return None
            try:
                status = (generation.path / "commits").stat()
            except FileNotFoundError:
                return None
            stamp = (generation, status.st_size, status.st_mtime_ns)
            if stamp != self._seen:
                self._rows, self._seen = self._read(generation), stamp
            return self._rows if self._rows is not None and self._is_of_this_database(self._rows.commit) else None

    def _read(self, generation: Generation) -> Rows:
        commit = last_commit(generation)
        check_sizes(generation, commit)
        from recollect.index.vectors.rows import Rows

        try:
            return Rows(generation, commit)
        except (OSError, ValueError) as error:
            raise IndexUnavailable(f"the vectors in {generation.path} cannot be read: {error}") from error

    def _is_of_this_database(self, commit: Commit) -> bool:
        return self._store is None or commit.derivation_id == bytes.fromhex(self._store.derivation_id())

    def is_stale(self) -> bool:
        """Return whether something has no vectors that should, or old ones. Without numpy: asked after every sync.

        Raises IndexUnavailable.
        """
        generation = self._files.generation()
        commit = last_commit(generation) if generation is not None else Commit()
        if self._store is None:
            return generation is None
        if not self._is_of_this_database(commit):
            commit = Commit()
        return self._store.count_of_kinds(KINDS, uncovered(self._store, commit)) > 0

    def _embedded(self, query: str, rows: Rows) -> Vectors:
        vector = self.asked.vector_of(query)
        if len(vector) != rows.dimensions:
            raise EmbeddingUnavailable(
                f"{self.embedder.name} gives {len(vector)} numbers a vector, kept are {rows.dimensions}",
                hint=REMAKE_HINT,
            )
        return vector


def uncovered(store: TextFeed, commit: Commit) -> list[KeyRange]:
    """Return the ranges of keys that a commit does not cover or that changed since."""
    ranges = [(commit.next_key, MAX_KEY)] if commit.next_key != SCANNED else []
    return merged([*ranges, *ranges_of(store.changes_since(commit.position, limit=1_000_000))])


def ranges_of(changes: Iterable[ChangeRange]) -> list[KeyRange]:
    """Return the ranges of keys that changes speak of."""
    return [(c.session << SEQ_BITS | c.first_seq, c.session << SEQ_BITS | c.last_seq) for c in changes]


def merged(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """Return ranges of keys in order, without overlaps."""
    found: list[KeyRange] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
