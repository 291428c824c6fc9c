"""What vectors add to a search: events and parts of entries near in meaning, how near candidates are, a note where
vectors are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import EmbeddingUnavailable, IndexUnavailable
from recollect.index.query.candidates import QueryPlan
from recollect.index.query.grammar import Question
from recollect.index.text.shards import Shard
from recollect.model.learnings.entries import APART_KINDS
from recollect.store.entries import DOCUMENT_SHARD, ENTRY_SHARDS, NOTE_SHARD
from recollect.store.row_keys import ENTRY_BASE, SEQ_BITS

if TYPE_CHECKING:
    from recollect.index.vectors.vector_index import EntryVectorIndex, VectorIndex

NEAREST = 100
"""Events taken for their meaning alone, before ranking, and parts of entries where only these are asked for."""
NEAREST_AMONG_EVENTS = 30
"""Parts of documents taken for their meaning where events are asked for too."""
NO_VECTORS = "searched by words only: no vectors have been made yet (`recollect embed`)"
NO_ENTRY_VECTORS = "some documents and notes have no vectors yet: found by their words only"


class Nearness(NamedTuple):
    """What is near to a question. keys: of events, then of parts of entries, each best first. notes: what could not be
    looked at, and why."""

    keys: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


NOTHING_NEAR = Nearness()


class VectorSearch:
    """The vectors of a home, as far as there are any. Never raises: a search answers from its text index then."""

    def __init__(
        self,
        vectors: Callable[[], VectorIndex | None],
        entries: Callable[[], EntryVectorIndex | None] = lambda: None,
    ) -> None:
        """vectors, entries: give the index of events and that of entries at the first question; None where vectors are
        switched off."""
        self._vectors = vectors
        self._entries = entries

    def near(self, question: Question, wanted: QueryPlan, shards: Sequence[Shard]) -> Nearness:
        """Return what is near to a question, of what these parts of the index have and the question is confined to;
        nothing for one that asks for words."""
        text = meaning_of(question, wanted)
        if not text:
            return NOTHING_NEAR
        names = {shard.name for shard in shards}
        has_events = bool(names.difference(ENTRY_SHARDS))
        near = self._near_events(text, wanted) if has_events else NOTHING_NEAR
        kinds = _entry_kinds(names, wanted)
        if not kinds:
            return near
        limit = NEAREST_AMONG_EVENTS if has_events else NEAREST
        entries = self._near_entries(text, kinds, wanted, limit=limit)
        return Nearness((*near.keys, *entries.keys), tuple(dict.fromkeys((*near.notes, *entries.notes))))

    def _near_events(self, text: str, wanted: QueryPlan) -> Nearness:
        try:
            vectors = self._vectors()
            if vectors is None:
                return NOTHING_NEAR
            found = vectors.nearest(text, limit=NEAREST, sessions=wanted.confinement.sessions)
            if not found and vectors.is_missing():
                return Nearness((), (NO_VECTORS,))
            coverage = vectors.coverage()
        except (IndexUnavailable, EmbeddingUnavailable) as error:
            return Nearness((), (f"searched by words only: {error}",))
        if not coverage.covered:
            return NOTHING_NEAR
        notes: tuple[str, ...] = ()
        if coverage.is_stale:
            missing = coverage.total - coverage.covered
            notes = (f"{missing:,} of {coverage.total:,} messages have no vectors yet: found by their words only",)
        return Nearness(tuple(near.key for near in found), notes)

    def _near_entries(self, text: str, kinds: Sequence[str], wanted: QueryPlan, *, limit: int) -> Nearness:
        try:
            vectors = self._entries()
            if vectors is None:
                return NOTHING_NEAR
            keys = vectors.near_parts(text, kinds, limit=limit, entries=wanted.confinement.sessions)
            # Not how many: that is a look at every entry, for each question after something was learned.
            notes = (NO_ENTRY_VECTORS,) if vectors.is_stale() else ()
        except (IndexUnavailable, EmbeddingUnavailable) as error:
            return Nearness((), (f"searched by words only: {error}",))
        return Nearness(tuple(keys), notes)

    def similarities(self, question: Question, wanted: QueryPlan, keys: Iterable[int]) -> Mapping[int, float]:
        """Return how near events and parts of entries are, by key; those without vectors are left out."""
        text = meaning_of(question, wanted)
        if not text:
            return {}
        of_events: list[int] = []
        of_entries: list[int] = []
        for key in keys:
            (of_entries if key >> SEQ_BITS >= ENTRY_BASE else of_events).append(key)
        found: dict[int, float] = {}
        for of, some in ((self._vectors, of_events), (self._entries, of_entries)):
            try:
                vectors = of() if some else None
                found.update(vectors.similarities(text, some) if vectors is not None else {})
            except (IndexUnavailable, EmbeddingUnavailable):
                continue  # `near` has said so
        return found


def _entry_kinds(names: Iterable[str], wanted: QueryPlan) -> list[str]:
    """Return the kinds of entries that parts of the index have and a question asks for."""
    there = {*(("document",) if DOCUMENT_SHARD in names else ()), *(APART_KINDS if NOTE_SHARD in names else ())}
    confined = wanted.confinement
    return sorted(
        kind for kind in there if kind not in confined.not_kinds and (not confined.kinds or kind in confined.kinds)
    )


def meaning_of(question: Question, wanted: QueryPlan) -> str:
    """Return the words of a question that carry its meaning; "" if the question asks for literal words.

    Literal are quoted, required or excluded words, a pattern, and a single word or identifier.
    """
    whole = [unit for unit in wanted.units if not unit.part_of]
    if question.must or question.must_not or len(whole) < 2:
        return ""
    return question.in_english or " ".join(clause.text for clause in question.words)
