"""What was learned and noted stands beside the events that a search finds: which part of the index is asked for what,
and when a note is surely about the question. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.index.candidates import Wanted
from recollect.index.query.grammar import Question
from recollect.index.ranking import Ranked
from recollect.index.text_index import Shard
from recollect.model.learnings.entries import APART_KINDS, ENTRY_KINDS
from recollect.recall.abstention import covered_by, names_among
from recollect.store.entries import DOCUMENT_SHARD, NOTE_SHARD

MAX_BESIDE = 3
"""Learnings and notes shown beside the hits."""
BESIDE_POOL = 20
"""Notes that are looked at: one that is surely about a question is among the best by its words."""
SURE = 0.55
"""The share of a question's rareness that a note holds when it is shown though nobody asked for notes. It also has
every name in it: one that is not about the question is worse than none."""


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
    """Return those that are surely about the question, and how sure the surest is: the share that it holds, 0 to 1.

    Where something is required, what has it is about the question.
    """
    if wanted.must:
        return list(ranked), 1.0
    units = wanted.all_units
    names = sum(1 << units.index(unit) for unit in names_among(units, question))
    sure = []
    most = 0.0
    for item in ranked:
        has = item.candidate.has
        for i, unit in enumerate(units):
            if unit.sequence:  # having its terms somewhere is not having it
                has &= item.candidate.exact | ~(1 << i)
        held = covered_by((has,), units)
        if held >= SURE and has & names == names:
            sure.append(item)
            most = max(most, held)
    return sure, most
