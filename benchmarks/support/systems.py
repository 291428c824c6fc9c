"""The ways to search that recall is measured with, all over one memory and in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from recollect import Memory
from recollect.index.query.ranking import WEIGHTS, Weights
from recollect.index.text.shards import TextIndex
from recollect.recall.answers import SearchAnswer
from recollect.recall.rerank import Contextual
from recollect.recall.search import Searcher
from recollect.recall.vector_search import VectorSearch

TEXT_ONLY = replace(
    WEIGHTS, next_to=0.0, near=0.0, talk_next_to=0.0, talk_near=0.0, context=0.0, session_coverage=0.0, session_best=0.0
)
"""Each event by itself: nothing of its neighbours and its session."""


class System(NamedTuple):
    """A way to search. search(query, limit)."""

    name: str
    search: Callable[[str, int], SearchAnswer]


def systems(memory: Memory) -> list[System]:
    """Return text only, text with neighbours, both with static vectors, and all with the contextual model.

    Vectors are made here. The last is left out where the model is not installed.
    """
    report = memory.embedding.run()
    if report.covered < report.total:
        raise RuntimeError(f"vectors of {report.covered} of {report.total} events only: {report.notes}")
    meaning = VectorSearch(memory.embedding.index, memory.embedding.entries)
    contextual = memory.embedding.contextual() if memory.embedding.has_contextual else None
    found = [
        System("text", _searching(memory, TEXT_ONLY, meaning=None)),
        System("text + neighbours", _searching(memory, WEIGHTS, meaning=None)),
        System("text + vectors", _searching(memory, WEIGHTS, meaning=meaning)),
    ]
    if contextual is not None:
        found.append(System("contextual", _searching(memory, WEIGHTS, meaning=meaning, contextual=contextual)))
    return found


def _searching(
    memory: Memory, weights: Weights, *, meaning: VectorSearch | None, contextual: Contextual | None = None
) -> Callable[[str, int], SearchAnswer]:
    index = TextIndex.open(memory.home / "index" / "text")
    searcher = Searcher(index, memory.reader(), meaning=meaning, contextual=contextual, weights=weights)

    def search(query: str, limit: int) -> SearchAnswer:
        return searcher.search(query, limit=limit, now_us=time.time_ns() // 1000)

    return search
