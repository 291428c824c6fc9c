"""The best hits of a question are ordered by their score and by how near they are in meaning, alike."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from recollect.index.candidates import Candidate
from recollect.index.passages.cuts import Passage
from recollect.index.ranking import Ranked
from recollect.recall.rerank.contextual import PassageMatch
from recollect.recall.rerank.order import LOOKED_AT, by_meaning


def ranked(*scores: float) -> list[Ranked]:
    return [Ranked(Candidate(key, 1, score, "reply"), score, 1.0) for key, score in enumerate(scores)]


def near(cosines: Mapping[int, float]) -> dict[int, PassageMatch]:
    return {key: PassageMatch(cosine, Passage(0, 1)) for key, cosine in cosines.items()}


def keys(found: list[Ranked]) -> list[int]:
    return [item.candidate.key for item in found]


def test_of_equal_scores_the_nearest_comes_first() -> None:
    assert keys(by_meaning(ranked(1, 1, 1), near({0: 0.1, 1: 0.9, 2: 0.5}))) == [1, 2, 0]


def test_a_far_better_score_outweighs_a_little_nearness() -> None:
    found = by_meaning(ranked(9, 1, 1, 1, 1), near({0: 0.5, 1: 0.52, 2: 0.5, 3: 0.5, 4: 0.48}))
    assert keys(found)[0] == 0


def test_what_could_not_be_compared_counts_as_the_mean() -> None:
    assert keys(by_meaning(ranked(1, 1, 1, 1), near({0: 0.1, 1: 0.9, 3: 0.5}))) == [1, 2, 3, 0]


def test_two_cosines_say_nothing_of_each_other() -> None:
    assert keys(by_meaning(ranked(2, 1.9, 1.8), near({1: 0.1, 2: 0.9}))) == [0, 1, 2]


def test_one_beyond_those_looked_at_rises_only_where_it_is_named() -> None:
    many = ranked(*(100 - n for n in range(LOOKED_AT + 3)))
    some = dict.fromkeys(range(5), 0.1)
    assert keys(by_meaning(many, near(some)))[LOOKED_AT:] == [LOOKED_AT, LOOKED_AT + 1, LOOKED_AT + 2]
    found = keys(by_meaning(many, near({**some, LOOKED_AT + 2: 0.9})))
    assert found.index(LOOKED_AT + 2) < LOOKED_AT
    assert found[-2:] == [LOOKED_AT, LOOKED_AT + 1]


@given(
    st.lists(st.floats(0, 10), max_size=40),
    st.dictionaries(st.integers(0, 45), st.floats(-1, 1), max_size=40),
    st.floats(0, 5),
)
def test_nothing_is_lost_and_scores_stay_in_order(scores: list[float], some: dict[int, float], weight: float) -> None:
    before = ranked(*sorted(scores, reverse=True))
    after = by_meaning(before, near(some), weight=weight)
    assert sorted(keys(after)) == sorted(keys(before))
    told = [item.score for item in after]
    assert told == sorted(told, reverse=True)
    assert max(told, default=0) == max(scores, default=0)
