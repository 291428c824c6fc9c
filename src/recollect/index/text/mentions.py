"""Finds the messages of people that have a word, with nothing of what a whole search needs."""

from __future__ import annotations

from functools import cache

from tantivy import Occur, Query

from recollect.index.text.engine import engine_errors
from recollect.index.text.schema import KEY, KIND, TEXT, TS, schema
from recollect.index.text.shards import Shard, TextIndex
from recollect.index.text.terms import shared_prefix, stem
from recollect.index.vectors.builtin import FOLDER

MOST_MESSAGES = 1_000
"""A word of so many messages tells nothing of what one of them is about."""
_FORMS = 64
"""Terms with a word's prefix that are looked at, most frequent first."""
_KIND = "user_message"
_ORDINARY = 22_000
"""Words of the static table's vocabulary, the most frequent of English first. "server" is number 7,242, "tab" 20,629,
"pip" 27,316, and "postgres" is none of them."""


class Mentions:
    """Which messages have a word in any form; remembered. One thread's."""

    def __init__(self, index: TextIndex) -> None:
        """Raises IndexUnavailable."""
        self._shards = index.shards()
        self._found: dict[str, dict[int, int]] = {}

    def of(self, word: str) -> dict[int, int]:
        """Return the keys of the messages with a word, each with its time in UTC microseconds; none without a time,
        and nothing of a word that is everywhere. word: in lower case, without a plural. Raises IndexUnavailable.
        """
        found = self._found.get(word)
        if found is None:
            found = {}
            for shard in self._shards:
                found |= _in_shard(shard, word)
            self._found[word] = found = found if len(found) < MOST_MESSAGES else {}
        return found


@cache
def ordinary_words() -> frozenset[str]:
    """Return the words that English texts about anything have: whoever shares one may mean something else by it."""
    return frozenset((FOLDER / "vocabulary.txt").read_text("utf-8").splitlines()[:_ORDINARY])


def _in_shard(shard: Shard, word: str) -> dict[int, int]:
    root = stem(word)
    terms = [
        term
        for term, _count in shard.terms_with_prefix(TEXT, shared_prefix(word, root), _FORMS)
        if term in (word, f"{word}s") or stem(term) == root
    ]
    if not terms:
        return {}
    has_word = Query.boolean_query([(Occur.Should, Query.term_query(schema(), TEXT, t, "freq")) for t in terms])
    is_message = Query.term_query(schema(), KIND, _KIND, "basic")
    with engine_errors("reading", shard.name):
        asked = Query.const_score_query(Query.boolean_query([(Occur.Must, is_message), (Occur.Must, has_word)]), 1.0)
        hits = [address for _, address in shard.searcher.search(asked, limit=MOST_MESSAGES, count=False).hits]
        keys = shard.searcher.fast_field_values(KEY, hits)
        times = shard.searcher.fast_field_values(TS, hits)
    return {int(key): int(ts) for key, ts in zip(keys, times, strict=True) if key is not None and ts is not None}
