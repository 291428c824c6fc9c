"""The contract of an embedder, and the index of its vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.errors import EmbeddingUnavailable, IndexUnavailable
from recollect.index.vectors.files import (
    ENTRIES_FOLDER,
    REMAKE_HINT,
    SCANNED,
    EmbedderIdentity,
    Files,
    Generation,
    VectorCommit,
    check_sizes,
    last_commit,
)
from recollect.index.vectors.texts import CUTTING, ENTRY_CUTTING, KINDS
from recollect.store.change_feed import KeyRange, TextFeed
from recollect.store.entries import mark_class
from recollect.store.row_keys import SEQ_BITS, merged
from recollect.store.rows import ChangeRange

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    from recollect.index.vectors.rows import Rows


class Embedder(Protocol):
    """Makes vectors. Only those of the same `name` and `version` are comparable.

    name: a short word for people, also the prefix of the folder's name. version: identifies its content (a hash of the
    weights, the address and name of a served model). dimensions: length of every vector.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimensions), each row of unit length.

        A text that means nothing to it (empty, or only unknown signs) is a row of zeros. Safe from many threads.
        Raises:
            EmbeddingUnavailable: the model cannot be read or reached, or answered something unusable.
        """
        ...

    def close(self) -> None:
        """Let go of what is held open (connections). Embedding again opens it again."""
        ...


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


def identity_of(embedder: Embedder) -> EmbedderIdentity:
    """Return under which name an embedder's vectors are kept."""
    return EmbedderIdentity(embedder.name, embedder.version, CUTTING)


class QuestionVector:
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
        asked: QuestionVector | None = None,
    ) -> None:  # fmt: skip
        """files: others than those of events. asked: of an index of the same embedder, asked the same questions."""
        self.embedder = embedder
        self.asked = asked or QuestionVector(embedder)
        self._files = files or Files(folder, identity_of(embedder))
        self._store = store
        self._lock = threading.Lock()
        self._seen: tuple[Generation, int, int] | None = None
        self._rows: Rows | None = None
        self._coverage: tuple[VectorCommit, int, VectorCoverage] | None = None

    @classmethod
    def open(cls, folder: Path, embedder: Embedder, *, store: TextFeed | None = None) -> VectorIndex:
        """Open for reading; reads nothing before the first question.

        Args:
            folder: `index/vectors` of a home; need not exist.
            store: reports what has no vectors yet and whether the keys still mean the same; None: accept all.
        """
        return cls(folder, embedder, store)

    def nearest(
        self, query: str, *, limit: int, sessions: frozenset[int] | None = None, classes: frozenset[int] | None = None
    ) -> list[Near]:
        """Return the events nearest in meaning, best first, at most `limit`; with `sessions`, only of those numbers.

        Nothing if no vectors exist yet, or the question means nothing to the model. classes: see `Rows.nearest`.

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
        commit = rows.commit if rows is not None else VectorCommit()
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

    def is_missing(self) -> bool:
        """Return whether nothing has a vector, though something should. Nothing is counted. Raises IndexUnavailable."""
        rows = self.rows()
        is_empty = rows is None or not len(rows.live_keys())
        return is_empty and self._store is not None and self._store.has_of_kinds(KINDS)

    def rows(self) -> Rows | None:
        """Return the rows of the last commit; None if there are none for this database. Raises IndexUnavailable."""
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

    def _is_of_this_database(self, commit: VectorCommit) -> bool:
        return self._store is None or commit.derivation_id == bytes.fromhex(self._store.derivation_id())

    def is_stale(self) -> bool:
        """Return whether something has no vectors that should, or old ones. Without numpy: asked after every sync.

        Raises IndexUnavailable.
        """
        generation = self._files.generation()
        commit = last_commit(generation) if generation is not None else VectorCommit()
        if self._store is None:
            return generation is None
        if not self._is_of_this_database(commit):
            commit = VectorCommit()
        return self._store.count_of_kinds(KINDS, uncovered(self._store, commit)) > 0

    def _embedded(self, query: str, rows: Rows) -> Vectors:
        vector = self.asked.vector_of(query)
        if len(vector) != rows.dimensions:
            raise EmbeddingUnavailable(
                f"{self.embedder.name} gives {len(vector)} numbers a vector, kept are {rows.dimensions}",
                hint=REMAKE_HINT,
            )
        return vector


def uncovered(store: TextFeed, commit: VectorCommit) -> list[KeyRange]:
    """Return the ranges of keys that a commit does not cover or that changed since."""
    ranges = [(commit.next_key, MAX_KEY)] if commit.next_key != SCANNED else []
    return merged([*ranges, *ranges_of(store.changes_since(commit.position, limit=1_000_000))])


def ranges_of(changes: Iterable[ChangeRange]) -> list[KeyRange]:
    """Return the ranges of keys that changes speak of."""
    return [(c.session << SEQ_BITS | c.first_seq, c.session << SEQ_BITS | c.last_seq) for c in changes]


def entry_files(folder: Path, embedder: Embedder) -> Files:
    """Return the files of the vectors that an embedder made of entries. folder: `index/vectors` of a home."""
    identity = EmbedderIdentity(embedder.name, embedder.version, ENTRY_CUTTING)
    return Files(folder / ENTRIES_FOLDER, identity, has_marks=True)


class EntryVectorIndex(VectorIndex):
    """The vectors of a home's entries made by one embedder. Keys are those of `store.entries`."""

    def __init__(
        self, folder: Path, embedder: Embedder, store: TextFeed, *, asked: QuestionVector | None = None
    ) -> None:
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
        commit = rows.commit if rows is not None else VectorCommit()
        last = self._entries.last_change()
        known = self._coverage
        if known is None or known[:2] != (commit, last):
            known = self._coverage = (commit, last, self._counted(last))
        return known[2]

    def _counted(self, last: int) -> VectorCoverage:
        rows = self.rows()
        if rows is None and not last:
            return VectorCoverage(0, 0, False)
        from recollect.index.vectors.rows import differences

        found = differences(rows, self._entries)
        is_stale = rows is None or rows.commit.position != last
        if not is_stale:  # what still has none has no text to make any of
            return VectorCoverage(found.same, found.same, False)
        return VectorCoverage(found.same, found.same + len(found.missing), is_stale)

    def is_stale(self) -> bool:
        """Return whether entries may have no vectors, or old ones. Without numpy. Raises IndexUnavailable."""
        generation = self._files.generation()
        commit = last_commit(generation) if generation is not None else VectorCommit()
        if generation is not None:
            check_sizes(generation, commit)
        if not self._is_of_this_database(commit):
            commit = VectorCommit()
        return commit.position != self._entries.last_change()
