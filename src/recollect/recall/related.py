"""What was learned and noted stands beside the events that a search finds: which part of the index is asked for what,
and when a note is surely about the question. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.index.candidates import Candidate, Wanted
from recollect.index.query.grammar import Question
from recollect.index.ranking import Masses, Ranked
from recollect.index.text_index import Shard
from recollect.model.learnings.entries import APART_KINDS, ENTRY_KINDS
from recollect.recall.abstention import FULL_DOCUMENTS, judge
from recollect.store.entries import DOCUMENT_SHARD, NOTE_SHARD

MAX_BESIDE = 3
"""Learnings and notes shown beside the hits."""
BESIDE_POOL = 20
"""Notes that are looked at: one that is surely about a question is among the best by its words."""
SURE = 0.6
"""The confidence from which on a note is shown though nobody asked for notes: it then holds more than half of the
question's rareness, and every name in it. One that is not about the question is worse than none."""


def parts_for(question: Question, shards: Sequence[Shard]) -> list[Shard]:
    """Return the parts of the index that a question's hits come from: no notes, unless it asks for them by kind."""
    kinds = frozenset(question.kinds)
    with_events = not kinds or bool(kinds.difference(ENTRY_KINDS))
    left_out = set()
    if (kinds and "document" not in kinds) or "document" in question.not_kinds:
        left_out.add(DOCUMENT_SHARD)
    if not kinds.intersection(APART_KINDS):
        left_out.add(NOTE_SHARD)
    entry_shards = (DOCUMENT_SHARD, NOTE_SHARD)
    return [s for s in shards if s.name not in left_out and (with_events or s.name in entry_shards)]


def beside(question: Question) -> Question | None:
    """Return what is asked of notes beside the events; None where the question confines them away."""
    kinds = tuple(kind for kind in APART_KINDS if kind not in question.not_kinds)
    where = question.where
    if question.kinds or question.tools or where.sessions or where.branches or where.is_subagent or not kinds:
        return None
    return replace(question, kinds=kinds, not_kinds=())


def sure_ones(ranked: Sequence[Ranked], wanted: Wanted, question: str) -> tuple[list[Ranked], float]:
    """Return those that are surely about the question, each taken for all there is, and how sure the surest is.

    Where something is required, what has it is about the question.
    """
    if wanted.must:
        return list(ranked), 1.0
    known: dict[int, float] = {}
    masses = Masses(wanted.all_units)
    sure = [item for item in ranked if _confidence(item.candidate, wanted, question, masses, known) >= SURE]
    return sure, max(known.values(), default=0.0)


def _confidence(candidate: Candidate, wanted: Wanted, question: str, masses: Masses, known: dict[int, float]) -> float:
    """Return how sure an answer would be that finds nothing but this: what it lacks is then nowhere."""
    units = wanted.all_units
    has = candidate.has
    for i, unit in enumerate(units):
        if unit.sequence:  # having its terms somewhere is not having it
            has &= candidate.exact | ~(1 << i)
    if has not in known:
        alone = [unit if has >> i & 1 else replace(unit, frequency=0) for i, unit in enumerate(units)]
        known[has] = judge(
            alone, question, covered=masses.of(has), similarity=None, documents=FULL_DOCUMENTS
        ).confidence
    return known[has]
