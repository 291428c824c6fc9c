"""The ways to search that recall is measured with, all over one memory and in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from recollect import Memory
from recollect.index.ranking import WEIGHTS, Weights
from recollect.index.text_index import TextIndex
from recollect.recall.answers import SearchAnswer
from recollect.recall.meaning import Meaning
from recollect.recall.search import Searcher

TEXT_ONLY = replace(
    WEIGHTS, next_to=0.0, near=0.0, talk_next_to=0.0, talk_near=0.0, context=0.0, session_coverage=0.0, session_best=0.0
)
"""Each event by itself: nothing of its neighbours and its session."""


class System(NamedTuple):
    """A way to search. search(query, limit)."""

    name: str
    search: Callable[[str, int], SearchAnswer]


def systems(memory: Memory) -> list[System]:
    """Return text only, text with neighbours, and both together with vectors, which are made here."""
    report = memory.embedding.run()
    if report.covered < report.total:
        raise RuntimeError(f"vectors of {report.covered} of {report.total} events only: {report.notes}")
    return [
        System("text", _searching(memory, TEXT_ONLY, meaning=None)),
        System("text + neighbours", _searching(memory, WEIGHTS, meaning=None)),
        System(
            "text + vectors",
            _searching(memory, WEIGHTS, meaning=Meaning(memory.embedding.index, memory.embedding.entries)),
        ),
    ]


def _searching(memory: Memory, weights: Weights, *, meaning: Meaning | None) -> Callable[[str, int], SearchAnswer]:
    searcher = Searcher(
        TextIndex.open(memory.home / "index" / "text"), memory.reader(), meaning=meaning, weights=weights
    )

    def search(query: str, limit: int) -> SearchAnswer:
        return searcher.search(query, limit=limit, now_us=time.time_ns() // 1000)

    return search
