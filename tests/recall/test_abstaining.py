"""Silence is an answer when a name occurs nowhere, and only then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.index.query.grammar import Clause
from recollect.index.units import Unit
from recollect.recall.abstention import Judgement, judge


def unit(text: str, *, absent: bool = False, idf: float = 0.0) -> Unit:
    idf = idf or (8.0 if absent else 5.0)
    return Unit(Clause(text), text.lower(), terms=((text.lower(), 1.0),), frequency=0 if absent else 5, idf=idf)


KNOWN = [unit(word, idf=3.0) for word in ("configure", "staging", "deploy", "queue")]


def judged(units: list[Unit], question: str, *, covered: float = 1.0, similarity: float | None = 0.5) -> Judgement:
    return judge(units, question, covered=covered, similarity=similarity, documents=20_000)


@pytest.mark.parametrize("name", ["Kubernetes", "GPIO", "nginx", "btrfs", "h2o2", "ffmpeg"])
@pytest.mark.parametrize("similarity", [None, 0.45])
def test_an_absent_name_is_named(name: str, similarity: float | None) -> None:
    said = judged([*KNOWN, unit(name, absent=True)], f"how did we configure staging deploy queue {name}",
                  similarity=similarity)  # fmt: skip
    assert said.is_nothing
    assert said.absent == (name,)


def test_a_capital_at_the_beginning_is_no_name() -> None:
    question = "Clobbered configure staging deploy queue"
    assert not judged([unit("Clobbered", absent=True), *KNOWN], question).is_nothing


def test_one_ordinary_absent_word_among_many_is_no_reason() -> None:
    question = "configure staging deploy queue obstacle"
    assert not judged([*KNOWN, unit("obstacle", absent=True)], question, covered=0.8).is_nothing


def test_an_absent_word_that_is_the_question_is_a_reason() -> None:
    said = judged([KNOWN[0], unit("protobuf", absent=True)], "configure protobuf")
    assert said.is_nothing
    assert said.absent == ("protobuf",)


def test_what_is_near_in_meaning_makes_surer() -> None:
    question = "configure staging deploy obstacle"
    units = [*KNOWN[:3], unit("obstacle", absent=True)]
    near, far = judged(units, question, similarity=0.9), judged(units, question, similarity=0.2)
    assert far.confidence < near.confidence


def test_the_more_is_absent_the_less_sure() -> None:
    words = ("obstacle", "acceptable", "compile")
    said = [
        judged(
            [*KNOWN, *(unit(w, absent=True) for w in words[:n])], "configure staging deploy queue " + " ".join(words)
        )
        for n in range(len(words) + 1)
    ]
    assert [j.confidence for j in said] == sorted((j.confidence for j in said), reverse=True)


def test_a_corrected_word_is_half_absent() -> None:
    whole, corrected = unit("checkpoint"), replace(unit("checkpiont"), respelled="checkpoint")
    gone = unit("checkpiont", absent=True)
    question = "configure staging checkpiont"
    sure, half, none = (judged([*KNOWN[:2], u], question).confidence for u in (whole, corrected, gone))
    assert sure > half > none


def test_pasted_output_needs_only_a_part() -> None:
    units = [*KNOWN, *(unit(f"0x{n:04x}", absent=True) for n in range(20))]
    assert not judged(units, "configure\nstaging", covered=0.2).is_nothing
    assert judged(units, "configure\nstaging", covered=0.1).is_nothing


def test_no_words_are_no_reason() -> None:
    assert not judged([], '"a phrase"', covered=0.0).is_nothing
