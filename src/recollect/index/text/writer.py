"""Writes the index. Only the ingester does, one shard per month, at most two open.

Order of use: add and delete as documents come, `commit` before the change log is acknowledged. What was added and
not committed is lost by a crash and added again by the replay of the change log, with `fresh=False`.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import TracebackType

import tantivy

from recollect.errors import IndexUnavailable
from recollect.index.text.engine import (
    bound_heaps,
    engine_errors,
    give_back_memory,
    make_shard,
    note_made,
    note_making,
    open_shard,
    prepare_folder,
    remove_half_made,
    set_aside,
    shard_names,
)
from recollect.index.text.schema import KEY, SESSION, schema
from recollect.index.text.vocabulary import ShardVocabulary
from recollect.store.rows import IndexDoc

OPEN_WRITERS = 2
HEAP_BYTES = 20_000_000
BUFFER_CHARS = 8_000_000
"""Documents of closed shards wait up to this size, so that sources of mixed months do not open and close shards."""
SMALL_COMMIT_CHARS = 2_000_000
"""Up to here a commit's words are appended to the shard's vocabulary; above, it is made again when next asked for."""

_SHARD_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_WORD = re.compile(r"[^\W_]+")
_shard_of = attrgetter("shard")


class _OpenShard:
    """One shard open for writing."""

    def __init__(self, path: Path, index: tantivy.Index) -> None:
        self.path = path
        self.index = index
        with engine_errors("writing", path.name):
            self.writer = index.writer(HEAP_BYTES, 1)
        self.is_dirty = False
        self.chars = 0
        self.chars_in_all = 0
        self.words: set[str] = set()
        self.keeps_vocabulary = False
        """Whether there is a vocabulary to keep current with the words of this commit."""

    def add(self, docs: Iterable[IndexDoc]) -> None:
        add_json = self.writer.add_json
        with engine_errors("adding to", self.path.name):
            self._begin()
            for doc in docs:
                add_json(f'{{"key":{doc.key},"session":{doc.session},{doc.json}')
                self.chars += len(doc.json)
                if self.keeps_vocabulary and self.chars <= SMALL_COMMIT_CHARS:
                    self.words.update(_WORD.findall(doc.json.lower()))

    def delete(self, keys: Collection[int]) -> None:
        self._begin()
        # Deleting by term takes the key for a signed integer and silently finds nothing (tantivy 0.27).
        self.writer.delete_documents_by_query(tantivy.Query.term_set_query(schema(), KEY, list(keys)))

    def delete_all_of(self, numbers: Collection[int]) -> None:
        self._begin()
        self.writer.delete_documents_by_query(tantivy.Query.term_set_query(schema(), SESSION, list(numbers)))

    def commit(self) -> None:
        if not self.is_dirty:
            return
        with engine_errors("committing", self.path.name):
            self.writer.commit()
        if self.keeps_vocabulary and self.chars <= SMALL_COMMIT_CHARS:
            ShardVocabulary(self.path).append(self.words)
        self.chars_in_all += self.chars
        self.is_dirty, self.chars, self.words = False, 0, set()

    def _begin(self) -> None:
        if not self.is_dirty:
            self.is_dirty = True
            self.keeps_vocabulary = ShardVocabulary(self.path).is_current()

    def close(self) -> None:
        self.commit()
        with engine_errors("closing", self.path.name):
            self.writer.wait_merging_threads()


class IndexWriterSet:
    """Writers over the shards of a home's text index. Not thread safe; one at a time a home (the ingest lock)."""

    def __init__(self, folder: Path) -> None:
        bound_heaps()
        self._folder = folder
        self.damaged: list[str] = [*prepare_folder(folder), *remove_half_made(folder)]
        """Shards that were set aside or removed (damaged, of another format, or half made when the process ended): all
        their documents must be added again."""
        self._open: OrderedDict[str, _OpenShard] = OrderedDict()
        self._waiting: dict[str, list[IndexDoc]] = {}
        self._waiting_chars = 0
        self._written_chars = 0

    @classmethod
    def open(cls, folder: Path) -> IndexWriterSet:
        """Open for writing; makes the folder.

        Raises:
            IndexUnavailable: the folder cannot be written.
        """
        try:
            return cls(folder)
        except OSError as error:
            raise IndexUnavailable(f"the search index cannot be written: {error}") from error

    def __enter__(self) -> IndexWriterSet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def missing(self, expected: Iterable[str]) -> list[str]:
        """Return the shards of `expected` that do not exist: they must be rebuilt. Damaged ones are set aside first."""
        for name in shard_names(self._folder):
            if name not in self._open:
                try:
                    open_shard(self._folder / name)
                except IndexUnavailable:
                    self._set_aside(name)
        present = {*shard_names(self._folder), *self._open, *self._waiting}
        return sorted(set(expected) - present)

    @contextmanager
    def making(self, names: Iterable[str]) -> Iterator[None]:
        """Build whole shards inside the block, and commit. If killed before its end, the next opening removes them: an
        incomplete shard does not show what is missing.

        Raises:
            IndexUnavailable: the folder cannot be written.
        """
        wanted = set(names)
        if not wanted:
            yield
            return
        note_making(self._folder, wanted)
        yield
        self.commit()
        note_made(self._folder)

    def make(self, names: Iterable[str]) -> None:
        """Create missing shards, empty: everything that belongs there is hidden, so they are complete.

        Raises:
            IndexUnavailable: a shard cannot be written.
        """
        wanted = set(names)
        for name in self.missing(wanted) if wanted else ():
            self._writer(name)

    def is_whole(self, shard: str) -> bool:
        """Return whether a shard exists and can be opened. Sets a damaged one aside."""
        if shard in self._open or shard in self._waiting:
            return True
        if not (self._folder / shard / "meta.json").exists():
            return False
        try:
            open_shard(self._folder / shard)
        except IndexUnavailable:
            self._set_aside(shard)
            return False
        return True

    def add(self, docs: Iterable[IndexDoc], *, fresh: bool = True) -> None:
        """Add documents. fresh=False: documents of the same keys are removed first (a replay after a crash).

        Raises:
            IndexUnavailable: a shard cannot be written.
        """
        if not fresh:
            docs = list(docs)
            by_shard: dict[str, set[int]] = {}
            for doc in docs:  # a session never changes its shard
                by_shard.setdefault(doc.shard, set()).add(doc.key)
            for name, keys in by_shard.items():
                self._delete_waiting(keys)
                if name in self._open or (self._folder / name).exists():
                    self._delete_from(name, keys)
        for name, of_shard in groupby(docs, key=_shard_of):
            if name in self._open or len(self._open) < OPEN_WRITERS:
                self._writer(name).add(of_shard)
                continue
            waiting = list(of_shard)
            self._waiting.setdefault(name, []).extend(waiting)
            self._waiting_chars += sum(len(doc.json) for doc in waiting)
            if self._waiting_chars > BUFFER_CHARS:
                self._write_waiting(max(self._waiting, key=lambda name: sum(len(d.json) for d in self._waiting[name])))

    def delete(self, keys: Iterable[int]) -> None:
        """Remove all documents of these keys, in any shard; ignores unknown keys."""
        gone = set(keys)
        if not gone:
            return
        self._delete_waiting(gone)
        for name in {*self._open, *shard_names(self._folder)}:
            present = gone if name in self._open else self._present(name, gone)
            if present:
                self._delete_from(name, present)

    def delete_all_of(self, shard: str, numbers: Collection[int]) -> None:
        """Remove all documents of sessions or entries from one shard, by session number.

        Raises:
            IndexUnavailable: the shard cannot be written.
        """
        if shard in self._waiting:
            gone = set(numbers)
            self._waiting[shard] = [doc for doc in self._waiting[shard] if doc.session not in gone]
            self._waiting_chars = sum(len(doc.json) for docs in self._waiting.values() for doc in docs)
        if numbers and (shard in self._open or (self._folder / shard).exists()):
            writer = self._writer(shard)
            with engine_errors("deleting from", shard):
                writer.delete_all_of(numbers)

    def commit(self) -> None:
        """Make everything added and deleted so far durable and visible to readers."""
        for name in list(self._waiting):
            self._write_waiting(name)
        for shard in self._open.values():
            shard.commit()

    def close(self) -> None:
        """Commit and let go of every shard."""
        self.commit()
        while self._open:
            self._close_first()
        if self._written_chars > SMALL_COMMIT_CHARS:
            self._written_chars = 0
            give_back_memory()

    def _write_waiting(self, name: str) -> None:
        docs = self._waiting.pop(name)
        self._waiting_chars -= sum(len(doc.json) for doc in docs)
        if not docs:
            return
        self._writer(name).add(docs)

    def _delete_waiting(self, keys: set[int]) -> None:
        for name, docs in self._waiting.items():
            self._waiting[name] = [doc for doc in docs if doc.key not in keys]
        self._waiting_chars = sum(len(doc.json) for docs in self._waiting.values() for doc in docs)

    def _delete_from(self, name: str, keys: Collection[int]) -> None:
        shard = self._writer(name)
        with engine_errors("deleting from", name):
            shard.delete(keys)

    def _present(self, name: str, keys: set[int]) -> list[int]:
        try:
            index = open_shard(self._folder / name)
            searcher = index.searcher()
            with engine_errors("reading", name):
                return [key for key in keys if searcher.doc_freq(KEY, key)]
        except IndexUnavailable:
            self._set_aside(name)
            return []

    def _writer(self, name: str) -> _OpenShard:
        shard = self._open.get(name)
        if shard is not None:
            self._open.move_to_end(name)
            return shard
        if not _SHARD_NAME.fullmatch(name):
            raise IndexUnavailable(f"{name!r} cannot name a shard")
        while len(self._open) >= OPEN_WRITERS:
            self._close_first()
        path = self._folder / name
        if (path / "meta.json").exists():
            try:
                shard = _OpenShard(path, open_shard(path))
            except IndexUnavailable:
                self._set_aside(name)
        if shard is None:
            shard = _OpenShard(path, make_shard(path))
        self._open[name] = shard
        return shard

    def _close_first(self) -> None:
        _name, shard = self._open.popitem(last=False)
        shard.close()
        self._written_chars += shard.chars_in_all

    def _set_aside(self, name: str) -> None:
        set_aside(self._folder / name)
        self.damaged.append(name)
