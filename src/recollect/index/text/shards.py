"""Reads the text index: present shards, statistics, vocabularies. Safe from many threads."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import tantivy
from tantivy import Occur, Query

from recollect.errors import IndexUnavailable
from recollect.index.text.engine import Stamp, check_format, engine_errors, open_shard, open_unwritable, shard_stamps
from recollect.index.text.schema import IDENT, KEY, SESSION, TEXT_FIELDS, plain_analyzer, schema
from recollect.index.text.vocabulary import ShardVocabulary, commit_id, matching_terms

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_KEPT_COUNTS = 10_000
"""Terms of which a shard remembers in how many documents they are."""
_KEPT_TERMS = 20_000
"""Terms that a shard remembers of prefixes, as many of patterns and of misspelt words: three megabytes."""


class _Answers(Generic[_Key, _Value]):
    """What was asked before; all of it is forgotten where it becomes too much. Safe from many threads."""

    def __init__(self, most: int) -> None:
        """most: the sum of all sizes."""
        self._most = most
        self._size = 0
        self.known: dict[_Key, _Value] = {}
        self.get = self.known.get

    def keep(self, key: _Key, value: _Value, size: int = 1) -> None:
        if self._size + size > self._most:
            self.known.clear()
            self._size = 0
        self._size += size
        self.known[key] = value


class Shard:
    """One shard at one commit. Do not keep it over questions: ask `TextIndex.shards` again."""

    def __init__(self, path: Path, index: tantivy.Index, commit: str) -> None:
        self.name = path.name
        self.commit = commit
        self._path = path
        with engine_errors("reading", path.name):
            self.searcher: tantivy.Searcher = index.searcher()
            self.documents: int = self.searcher.num_docs
        self._terms: bytes | None = None
        self._frequencies: _Answers[tuple[str, str], int] = _Answers(_KEPT_COUNTS)
        self._prefixes: _Answers[tuple[str, str, int], list[tuple[str, int]]] = _Answers(_KEPT_TERMS)
        self._like: _Answers[tuple[str, object], set[str]] = _Answers(_KEPT_TERMS)
        self._matches: _Answers[tuple[str, str], tuple[list[str], bool]] = _Answers(_KEPT_TERMS)
        self._lock = threading.Lock()

    def document_frequency(self, field: str, term: str) -> int:
        """Return how many documents have the term in the field; remembered for this commit."""
        known = self._frequencies.get((field, term))
        if known is None:
            with engine_errors("reading", self.name):
                known = self.searcher.doc_freq(field, term)
            self._frequencies.keep((field, term), known)
        return known

    def count(self, query: tantivy.Query) -> int:
        """Return how many documents match."""
        with engine_errors("counting in", self.name):
            return total_of(self.searcher.search(query, limit=1, count=True))

    def terms_with_prefix(self, field: str, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Return at most `limit` terms of the field that begin with the prefix, with their document frequencies."""
        known = self._prefixes.get((field, prefix, limit))
        if known is None:
            with engine_errors("reading", self.name):
                known = self.searcher.terms_with_prefix(field, prefix, limit=limit)
            self._prefixes.keep((field, prefix, limit), known, 1 + len(known))
        return known

    def terms_like(self, word: str, find: Callable[[str, Shard], set[str]]) -> set[str]:
        """Return the terms of this shard that `find` finds for a word; remembered for this commit."""
        known = self._like.get((word, find))
        if known is None:
            with engine_errors("reading", self.name):
                known = find(word, self)
            self._like.keep((word, find), known, 1 + len(known))
        return known

    def matching(self, literal: str, pattern: re.Pattern[str], *, limit: int) -> tuple[list[str], bool]:
        """Return (the shard's terms that the pattern matches, whether there are more). See `matching_terms`."""
        key = (literal, pattern.pattern)
        known = self._matches.get(key)
        if known is None:
            known = matching_terms(self.vocabulary(), literal, pattern, limit=limit)
            self._matches.keep(key, known, 1 + len(known[0]))
        return known

    def vocabulary(self) -> bytes:
        """Return every term, one a line; made and kept on disk when the files do not cover this commit."""
        with self._lock:
            if self._terms is None:
                vocabulary, unwritten = self._current_vocabulary()
                self._terms = vocabulary.load() if unwritten is None else unwritten
            return self._terms

    def make_vocabulary(self) -> None:
        """Make the files of the vocabulary where they do not cover this commit. Nothing of it is held."""
        with self._lock:
            self._current_vocabulary()

    def _current_vocabulary(self) -> tuple[ShardVocabulary, bytes | None]:
        vocabulary = ShardVocabulary(self._path)
        if vocabulary.is_current():
            return vocabulary, None
        with engine_errors("listing terms of", self.name):
            return vocabulary, vocabulary.build(self.searcher.terms_with_prefix)


def total_of(result: tantivy.SearchResult) -> int:
    """Return how many documents a search matched, shown or not (the engine's type stubs leave the number out)."""
    return int(getattr(result, "count", None) or 0)


class TextIndex:
    """The text index of a home, always as of the last commit."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._shards: dict[str, tuple[Stamp, tantivy.Index, Shard]] = {}
        self._left_out: dict[str, Stamp] = {}
        self._mirrors: dict[str, TemporaryDirectory[str]] = {}
        self.damaged: tuple[str, ...] = ()
        """Shards that could not be read at the last look; searches continue without them and say so."""

    @classmethod
    def open(cls, folder: Path) -> TextIndex:
        """Open for reading; nothing is read before the first question. A folder without shards is an empty index."""
        return cls(folder)

    def shards(self) -> list[Shard]:
        """Return the shards as of their last commits.

        Raises:
            IndexUnavailable: the index is of another format, or no shard can be opened.
        """
        with self._lock:
            stamps = shard_stamps(self._folder)
            if stamps == {name: stamp for name, (stamp, _, _) in self._shards.items()} and not self._left_out:
                return [shard for _, _, shard in self._shards.values()]
            if stamps and not check_format(self._folder):
                raise IndexUnavailable("the search index was made by another version", hint="run `recollect sync`")
            damaged: list[str] = []
            current: dict[str, tuple[Stamp, tantivy.Index, Shard]] = {}
            for name, stamp in stamps.items():
                try:
                    current[name] = self._current(name, stamp)
                except IndexUnavailable:
                    damaged.append(name)
            self._shards, self.damaged = current, tuple(damaged)
            if damaged and not current:
                raise IndexUnavailable("the search index is damaged", hint="run `recollect rebuild index`")
            return [shard for _, _, shard in current.values()]

    def leave_out(self, name: str) -> bool:
        """Do without a shard that opens but cannot be read, until it changes; False if that is known already."""
        with self._lock:
            known = self._shards.get(name)
            if known is None or self._left_out.get(name) == known[0]:
                return False
            self._left_out[name] = known[0]
            return True

    def matching(
        self, shards: Sequence[Shard], literal: str, pattern: re.Pattern[str], *, limit: int
    ) -> tuple[list[str], bool]:
        """Return (terms of the shards that the pattern matches, whether the limit cut them). See `matching_terms`."""
        found: dict[str, None] = {}
        was_cut = False
        for shard in shards:
            terms, more = shard.matching(literal, pattern, limit=limit)
            found.update(dict.fromkeys(terms))
            was_cut = was_cut or more
        return list(found)[:limit], was_cut or len(found) > limit

    def build_vocabularies(self) -> None:
        """Make every stale vocabulary now, so that the first infix question after a large ingest is fast too."""
        for shard in self.shards():
            shard.make_vocabulary()

    def _current(self, name: str, stamp: Stamp) -> tuple[Stamp, tantivy.Index, Shard]:
        if self._left_out.get(name) == stamp:
            raise IndexUnavailable(f"shard {name} is damaged")
        known = self._shards.get(name)
        if known is not None and known[0] == stamp:
            return known
        path = self._folder / name
        commit = commit_id(path)
        if not os.access(path, os.W_OK):
            index, self._mirrors[name] = open_unwritable(path)
        elif known is None:
            index = open_shard(path)
        else:
            index = known[1]
            with engine_errors("reloading", name):
                index.reload()
        return stamp, index, Shard(path, index, commit)


_WHOLE_FIELDS = (*TEXT_FIELDS, "paths")


class ShardContents:
    """One shard at one commit, document by document: for checking it, not for questions."""

    def __init__(self, path: Path) -> None:
        """Raises IndexUnavailable."""
        self.name = path.name
        index = open_shard(path)
        with engine_errors("reading", self.name):
            self._searcher: tantivy.Searcher = index.searcher()
            self.documents: int = self._searcher.num_docs

    def keys_of(self, session: int) -> Counter[int]:
        """Return how many documents every event of a session has, by key. Raises IndexUnavailable."""
        with engine_errors("reading", self.name):
            of_session = Query.term_query(schema(), SESSION, session, "basic")
            result = self._searcher.search(of_session, limit=max(self.documents, 1))
            keys = self._searcher.fast_field_values(KEY, [address for _, address in result.hits])
        return Counter(int(key or 0) for key in keys)

    def words(self, document: Mapping[str, Any], *, limit: int) -> Iterator[tuple[str, list[str]]]:
        """Yield, of a document as it was added, the fields and the first terms of each."""
        for field in _WHOLE_FIELDS:
            text = document.get(field)
            if isinstance(text, str) and text:
                yield field, plain_analyzer().analyze(text[: 64 * limit])[:limit]
        idents = document.get(IDENT)
        if isinstance(idents, str) and idents:
            yield IDENT, idents.split()[:limit]

    def has(self, key: int, field: str, term: str) -> bool:
        """Return whether a document of an event has a term. Raises IndexUnavailable."""
        wanted = [
            (Occur.Must, Query.term_query(schema(), KEY, key, "basic")),
            (Occur.Must, Query.term_query(schema(), field, term, "basic")),
        ]
        with engine_errors("reading", self.name):
            return bool(self._searcher.search(Query.boolean_query(wanted), limit=1).hits)
