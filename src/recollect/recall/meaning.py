"""What vectors add to a search: events near in meaning, how near candidates are, a note where they are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import EmbeddingUnavailable, IndexUnavailable
from recollect.index.candidates import Wanted
from recollect.index.query.grammar import Question

if TYPE_CHECKING:
    from recollect.index.vectors.vector_index import VectorIndex

NEAREST = 100
"""Events taken for their meaning alone, before ranking."""
NO_VECTORS = "searched by words only: no vectors have been made yet (`recollect embed`)"


class Nearness(NamedTuple):
    """What is near to a question. keys: of events, best first. notes: what could not be looked at, and why.

    session: the number of the session nearest as a whole.
    """

    keys: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    session: int | None = None


NOTHING_NEAR = Nearness()


class Meaning:
    """The vectors of a home, as far as there are any. Never raises: a search answers from its text index then."""

    def __init__(self, vectors: Callable[[], VectorIndex | None]) -> None:
        """vectors: gives the index at the first question; None where vectors are switched off."""
        self._vectors = vectors

    def near(self, question: Question, wanted: Wanted) -> Nearness:
        """Return what is near to a question in the sessions it is confined to; nothing for one that asks for words."""
        text = meaning_of(question, wanted)
        if not text:
            return NOTHING_NEAR
        try:
            vectors = self._vectors()
            if vectors is None:
                return NOTHING_NEAR
            found = vectors.near(text, limit=NEAREST, sessions=wanted.confinement.sessions)
            coverage = vectors.coverage()
        except (IndexUnavailable, EmbeddingUnavailable) as error:
            return Nearness((), (f"searched by words only: {error}",))
        if not coverage.covered:
            return Nearness((), (NO_VECTORS,) if coverage.total else ())
        notes: tuple[str, ...] = ()
        if coverage.is_stale:
            missing = coverage.total - coverage.covered
            notes = (f"{missing:,} of {coverage.total:,} messages have no vectors yet: found by their words only",)
        return Nearness(tuple(near.key for near in found.events), notes, found.session)

    def similarities(self, question: Question, wanted: Wanted, keys: Iterable[int]) -> Mapping[int, float]:
        """Return how near events are, by key; those without vectors are left out."""
        text = meaning_of(question, wanted)
        try:
            vectors = self._vectors() if text else None
            return vectors.similarities(text, keys) if vectors is not None else {}
        except (IndexUnavailable, EmbeddingUnavailable):
            return {}  # `near` has said so


def meaning_of(question: Question, wanted: Wanted) -> str:
    """Return the words of a question that its meaning lies in; "" where words themselves are asked for.

    These are asked for: what is quoted, required or refused, a pattern, and anything that is only one word or
    identifier.
    """
    whole = [unit for unit in wanted.units if not unit.part_of]
    if question.must or question.must_not or len(whole) < 2:
        return ""
    return " ".join(clause.text for clause in question.words)
