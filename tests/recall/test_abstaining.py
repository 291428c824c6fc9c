"""Silence is an answer when a name occurs nowhere, and only then."""

from __future__ import annotations

import pytest

from recollect.index.query.grammar import Clause
from recollect.index.units import Unit
from recollect.recall.abstaining import has_nothing


def unit(text: str, *, absent: bool = False, idf: float = 5.0) -> Unit:
    return Unit(Clause(text), text.lower(), terms=((text.lower(), 1.0),), frequency=0 if absent else 5, idf=idf)


KNOWN = [unit(word, idf=4.0) for word in ("configure", "staging", "deploy", "queue")]


@pytest.mark.parametrize("name", ["Kubernetes", "GPIO", "nginx", "btrfs", "h2o2", "ffmpeg"])
def test_an_absent_name_is_named(name: str) -> None:
    question = f"how did we configure staging deploy queue {name}"
    assert has_nothing([*KNOWN, unit(name, absent=True)], question, 1.0) == [name]


def test_a_capital_at_the_beginning_is_no_name() -> None:
    assert (
        has_nothing([unit("Clobbered", absent=True), *KNOWN], "Clobbered configure staging deploy queue", 1.0) is None
    )


def test_one_ordinary_absent_word_among_many_is_no_reason() -> None:
    assert has_nothing([*KNOWN, unit("obstacle", absent=True)], "configure staging deploy queue obstacle", 0.8) is None


def test_an_absent_word_that_is_the_question_is_a_reason() -> None:
    assert has_nothing([KNOWN[0], unit("protobuf", absent=True)], "configure protobuf", 1.0) == ["protobuf"]


def test_nothing_that_covers_enough_is_a_reason() -> None:
    assert has_nothing(KNOWN, "configure staging deploy queue", 0.05) == []


def test_no_words_are_no_reason() -> None:
    assert has_nothing([], '"a phrase"', 0.0) is None
