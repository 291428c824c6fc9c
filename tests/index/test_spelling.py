"""A misspelt word is one or two changes from the term that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.query.spelling import distance, nearest_term
from recollect.index.text.shards import TextIndex
from tests.recall.memories import MemoryOfTests

WORDS = st.text("abcde", max_size=8)


@given(WORDS, WORDS)
def test_distance_is_symmetric_and_bounded(a: str, b: str) -> None:
    assert distance(a, b) == distance(b, a)
    assert abs(len(a) - len(b)) <= distance(a, b) <= max(len(a), len(b))
    assert (distance(a, b) == 0) == (a == b)


@given(WORDS.filter(lambda w: len(w) > 1), st.data())
def test_every_change_counts_one(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    assert distance(word, word[:at] + word[at + 1 :]) == 1
    assert distance(word, word[:at] + "z" + word[at:]) == 1
    assert distance(word, word[:at] + "z" + word[at + 1 :]) == 1
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    assert distance(word, swapped) == (0 if swapped == word else 1)


@pytest.fixture
def memory(tmp_path: Path) -> MemoryOfTests:
    made = MemoryOfTests(tmp_path / "text")
    made.session(1)
    for text in ("the checkpoint was written", "no checkpoint yet", "checkpoints by the hour", "concurrency is hard",
                 "concurrency again", "a tensor", "another tensor", "metadata only once", "a warm cache",
                 "keep it warm", "a curved line", "the line is curved"):  # fmt: skip
        made.say(1, text)
    return made


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("checkpiont", "checkpoint"), ("chekpoint", "checkpoint"), ("checkpointt", "checkpoint"),
        ("concurency", "concurrency"), ("concurenccy", "concurrency"),
    ],
)  # fmt: skip
def test_the_nearest_term_is_found(memory: MemoryOfTests, typed: str, meant: str) -> None:
    memory.ask("checkpoint")  # commits
    assert nearest_term(typed, TextIndex.open(memory.folder).shards()) == meant


@pytest.mark.parametrize(
    "typed", ["sensor", "metadota", "kubernetes", "chek", "check2point", "конкуренция", "warum", "cured"]
)
def test_another_beginning_a_rare_term_signs_and_a_right_word_are_left_alone(memory: MemoryOfTests, typed: str) -> None:
    memory.ask("checkpoint")
    assert nearest_term(typed, TextIndex.open(memory.folder).shards()) is None


def test_a_search_says_what_it_looked_for_instead(memory: MemoryOfTests) -> None:
    answer = memory.ask("which checkpiont was written")
    assert answer.hits[0].snippet == "the checkpoint was written"
    assert answer.match_level in ("stemmed", "near")
    assert "no checkpiont; looked for checkpoint" in answer.notes


def test_what_is_quoted_is_not_corrected(memory: MemoryOfTests) -> None:
    assert not memory.ask('"checkpiont"').hits
