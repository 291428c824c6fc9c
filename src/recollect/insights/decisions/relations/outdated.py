"""Ranked decisions that hold no longer: a later decision turns down what their words name.

A ranked decision has no options, only words. So it takes no part in conflicts, and supersedes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from recollect.insights.decisions.relations.stances import Stance, is_before
from recollect.insights.subjects import words_in
from recollect.model.insights.nodes import Decision, Link

CONFIDENCE: Final = 0.75


def outdated(ranked: Iterable[Decision], stances: Iterable[Stance]) -> Iterator[Link]:
    """Yield a link from the first later decision that speaks against each ranked one. Stances: of the same place."""
    by_word: dict[str, list[tuple[frozenset[str], Stance]]] = {}
    for stance in stances:
        for name in stance.against:
            words = frozenset(name.split())
            by_word.setdefault(min(words), []).append((words, stance))
    for decision in ranked:
        said = set(words_in(decision.statement))
        against = [stance for word in sorted(said) for words, stance in by_word.get(word, ()) if words <= said]
        later = [stance for stance in against if _speaks_against(stance, decision, said)]
        if later:
            newer = min(later, key=lambda stance: (stance.decision.ts or 0, stance.decision.id)).decision
            yield Link(
                newer=newer.id, older=decision.id, relation="supersedes", since=newer.ts, confidence=CONFIDENCE,
                features={"turned_down": CONFIDENCE},
            )  # fmt: skip


def _speaks_against(stance: Stance, decision: Decision, said: set[str]) -> bool:
    """Tell whether a decision is later, and takes nothing that the words name."""
    return is_before(decision, stance.decision) is True and not any(said >= set(name.split()) for name in stance.for_)
