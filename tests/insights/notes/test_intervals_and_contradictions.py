"""Half-open intervals, and which facts cannot hold together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import UsageError
from recollect.insights.notes.contradictions import (
    CARDINALITY,
    check_interval,
    contradict,
    contradictions_among,
    overlap,
    single_valued,
)
from recollect.model.learnings.names import normal_name, normal_predicate, tag_name
from recollect.model.learnings.notes import Fact

ends = st.none() | st.integers(0, 12)
intervals = st.tuples(ends, ends).filter(lambda it: it[0] is None or it[1] is None or it[0] < it[1])
texts = st.text(max_size=30)


def fact(said: str, predicate: str = "runs_on", **also: object) -> Fact:
    named = {"id": f"f{said}{predicate}", "subject": "shop", "predicate": predicate, "object": said, **also}
    return Fact(**named)  # type: ignore[arg-type]


def holds_at(begin: int | None, end: int | None, at: int) -> bool:
    return (begin is None or begin <= at) and (end is None or at < end)


@given(one=intervals, other=intervals)
def test_intervals_overlap_where_an_instant_lies_in_both(one: tuple[int, int], other: tuple[int, int]) -> None:
    shared = any(holds_at(*one, at) and holds_at(*other, at) for at in range(-1, 14))
    assert overlap(one, other) == overlap(other, one) == shared


@given(begin=ends, end=ends)
def test_an_interval_without_an_instant_is_rejected(begin: int | None, end: int | None) -> None:
    if begin is None or end is None or begin < end:
        check_interval(begin, end)
    else:
        with pytest.raises(UsageError):
            check_interval(begin, end)


@given(text=texts)
def test_names_in_normal_form_stay_as_they_are(text: str) -> None:
    assert normal_name(normal_name(text)) == normal_name(text)
    assert normal_predicate(normal_predicate(text)) == normal_predicate(text)
    assert tag_name(tag_name(text)) == tag_name(text)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (fact("3.11"), fact("3.12"), "single_valued"),
        (fact("3.11"), fact("3.11 ."), ""),
        (fact("redis", "uses"), fact("sqlite", "uses"), ""),
        (fact("redis", "uses"), fact("Redis", "avoids"), "opposite"),
        (fact("redis", "uses"), fact("redis", "does_not_use"), "opposite"),
        (fact("beta", "is_in"), fact("beta", "is_not_in"), "opposite"),
        (fact("beta", "is"), fact("beta", "is_not"), "opposite"),
        (fact("redis", "uses"), fact("sqlite", "avoids"), ""),
        (fact("3.11", valid_to=5), fact("3.12", valid_from=5), ""),
        (fact("3.11", valid_to=6), fact("3.12", valid_from=5), "single_valued"),
        (fact("3.11", repo="a"), fact("3.12", repo="b"), ""),
        (fact("3.11", repo="a"), fact("3.12"), "single_valued"),
        (fact("3.11", is_retracted=True), fact("3.12"), ""),
        (fact("3.11"), fact("3.12", subject="blog"), ""),
    ],
)
def test_facts_contradict_only_where_they_cannot_hold_together(one: Fact, other: Fact, why: str) -> None:
    assert contradict(one, other) == contradict(other, one) == why


def test_a_person_says_which_predicates_have_one_object() -> None:
    facts = [fact("eu", "ships_to", valid_from=1), fact("us", "ships_to", valid_from=2)]
    assert contradictions_among(facts) == []
    known = single_valued([fact("one", CARDINALITY, subject="ships to")])
    (pair,) = contradictions_among(facts, known)
    assert (pair.fact.object, pair.other.object) == ("us", "eu")
