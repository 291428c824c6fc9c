"""What is found in a message before it becomes a decision."""

from __future__ import annotations

from typing import NamedTuple

from recollect.model.insights.nodes import Marker, Polarity


class Found(NamedTuple):
    """A decision in the making. start, end: the deciding words in the message; order: where its rule matched."""

    start: int
    end: int
    order: int
    polarity: Polarity
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    markers: tuple[Marker, ...]
    features: frozenset[str]
    rationale: str = ""
    consequences: str = ""
    question: str = ""
    language: str = ""
    is_answer: bool = False
