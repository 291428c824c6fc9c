"""What a shard holds, document by document: for checking it, not for questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tantivy
from tantivy import Occur, Query

from recollect.index.engine import engine_errors, open_shard
from recollect.index.schema import IDENT, KEY, SESSION, TEXT_FIELDS, plain_analyzer, schema

_WHOLE_FIELDS = (*TEXT_FIELDS, "paths")


class ShardContents:
    """One shard at one commit."""

    def __init__(self, path: Path) -> None:
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
        """Tell whether a document of an event has a term. Raises IndexUnavailable."""
        wanted = [
            (Occur.Must, Query.term_query(schema(), KEY, key, "basic")),
            (Occur.Must, Query.term_query(schema(), field, term, "basic")),
        ]
        with engine_errors("reading", self.name):
            return bool(self._searcher.search(Query.boolean_query(wanted), limit=1).hits)


def open_contents(path: Path) -> ShardContents:
    """Open a shard to look at what it holds. Raises IndexUnavailable."""
    return ShardContents(path)
