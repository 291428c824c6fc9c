"""The order of candidates is a pure function of what they have."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.query.candidates import Candidate, QueryPlan
from recollect.index.query.grammar import Clause
from recollect.index.query.query_units import Unit
from recollect.index.query.ranking import Masses, intent_of, rank
from recollect.index.text.terms import shared_prefix, stem


def unit(word: str, frequency: int, idf: float) -> Unit:
    return Unit(Clause(word), word, terms=((word, 1.0),), frequency=frequency, idf=idf)


WANTED = QueryPlan((unit("common", 900, 0.5), unit("rare", 3, 5.0)))


def order(candidates: dict[int, Candidate]) -> list[int]:
    ranked = rank(candidates, WANTED, question="", sessions={}, now_us=0)
    return [item.candidate.key for item in ranked]


def test_the_rarer_word_counts_more() -> None:
    both = {
        1: Candidate(1, 1, 3.0, "reply", has=1, exact=1),
        2 << 24: Candidate(2 << 24, 2, 3.0, "reply", has=2, exact=2),
    }
    assert order(both) == [2 << 24, 1]


def test_the_same_words_in_talk_come_before_tool_output() -> None:
    said = Candidate(2 << 24, 2, 3.0, "reply", has=3, exact=3)
    shown = Candidate(1, 1, 3.0, "tool_output", has=3, exact=3)
    assert order({1: shown, 2 << 24: said}) == [2 << 24, 1]


def test_absent_words_do_not_weigh_in_coverage() -> None:
    masses = Masses([unit("there", 3, 2.0), unit("absent", 0, 9.0)])
    assert masses[1] == 1.0


@given(st.permutations(list(range(8))), st.integers())
def test_the_order_does_not_depend_on_the_order_of_arrival(keys: list[int], seed: int) -> None:
    draw = random.Random(seed)
    made = {key: Candidate(key, 0, draw.choice([1.0, 2.0]), "reply", has=draw.choice([1, 2, 3])) for key in range(8)}
    assert order({key: made[key] for key in keys}) == order(made)


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Why was it removed?", "reason"),
        ("Which command lists every issue?", "command"),
        ("How did we install the monitor?", "command"),
        ("Which exact patch release ran in the container?", "output"),
        ("How many models were there?", "output"),
        ("session token cache", "other"),
        ("What copes with questions on which the terminal version blocks?", "other"),
    ],
)
def test_the_wanted_kind_is_told_from_the_question(question: str, intent: str) -> None:
    assert intent_of(question) == intent


@given(st.sampled_from(("happy", "renaming", "invoices", "running", "studies", "queries", "merged", "бегущий")))
def test_the_shared_prefix_begins_both_the_word_and_its_stem(word: str) -> None:
    prefix = shared_prefix(word, stem(word))
    assert word.startswith(prefix)
    assert stem(word).startswith(prefix)


def test_what_is_nearer_in_meaning_comes_first() -> None:
    near = Candidate(1, 1, 1.0, "reply", has=1, exact=1, similarity=0.8)
    far = Candidate(2 << 24, 2, 1.0, "reply", has=1, exact=1, similarity=0.2)
    assert order({1: near, 2 << 24: far}) == [1, 2 << 24]


def test_meaning_alone_does_not_beat_all_the_words() -> None:
    said = Candidate(1, 1, 5.5, "reply", has=3, exact=3, similarity=0.4)
    near = Candidate(2 << 24, 2, 0.0, "reply", similarity=0.7)
    assert order({1: said, 2 << 24: near}) == [1, 2 << 24]


def test_a_session_with_several_near_events_comes_before_one_with_a_single() -> None:
    several = {k: Candidate(k, 1, 0.0, "reply", similarity=0.5) for k in range(5)}
    single = {2 << 24: Candidate(2 << 24, 2, 0.0, "reply", similarity=0.5)}
    assert order({**single, **several})[-1] == 2 << 24


def test_neighbouring_talk_helps_more_than_neighbouring_tools() -> None:
    def beside(voice: str, session: int) -> dict[int, Candidate]:
        first = session << 24
        asked = Candidate(first, session, 2.0, voice, has=2, exact=2)
        reply = Candidate(first + 1, session, 1.0, "reply", has=1, exact=1, beside=(first,))
        return {first: asked, first + 1: reply}

    placed = order({**beside("tool_input", 1), **beside("prompt", 2)})
    assert placed.index((2 << 24) + 1) < placed.index((1 << 24) + 1)
