"""Silence is an answer when the subject of a question occurs nowhere; else an answer says how sure it is."""

from __future__ import annotations

import msgspec
import pytest

from recollect.index.query.grammar import Clause
from recollect.index.query.query_units import Unit
from recollect.recall.abstention import CERTAIN, UNSURE_BELOW, absent_subject, confidence_of, covered_by


def unit(text: str, *, absent: bool = False, idf: float = 0.0) -> Unit:
    idf = idf or (8.0 if absent else 5.0)
    return Unit(Clause(text), text.lower(), terms=((text.lower(), 1.0),), frequency=0 if absent else 5, idf=idf)


KNOWN = [unit(word, idf=2.0) for word in ("configure", "staging", "deploy", "queue")]


@pytest.mark.parametrize("name", ["max_retries", "utf16", "setOutput", "src/queue.py"])
def test_an_absent_identifier_that_is_the_subject_is_named(name: str) -> None:
    assert absent_subject([*KNOWN, unit(name, absent=True)]) == (name,)


@pytest.mark.parametrize("name", ["Kubernetes", "TLS", "nginx", "Bob"])
def test_an_absent_name_may_have_another_name_here(name: str) -> None:
    assert absent_subject([*KNOWN, unit(name, absent=True)]) == ()


def test_an_absent_identifier_beside_much_else_is_not_the_subject() -> None:
    known = [unit(word) for word in ("configure", "staging", "deploy", "queue")]
    assert absent_subject([*known, unit("max_retries", absent=True)]) == ()


def test_an_absent_ordinary_word_proves_nothing() -> None:
    units = [*KNOWN, *(unit(word, absent=True) for word in ("obstacle", "acceptable", "umbrella"))]
    assert absent_subject(units) == ()


def test_keywords_that_are_all_absent_are_named() -> None:
    assert absent_subject([unit("umbrella", absent=True)]) == ("umbrella",)
    units = [unit(word, absent=True) for word in ("blechern", "leise", "umgestellt")]
    assert absent_subject(units) == ()


def test_a_year_names_nothing() -> None:
    assert absent_subject([KNOWN[0], unit("2019", absent=True)]) == ()


def test_what_one_session_holds_counts_not_what_all_hold_together() -> None:
    assert covered_by((0b0011, 0b1100), KNOWN) == pytest.approx(0.5)
    assert covered_by((0b1111,), KNOWN) == pytest.approx(1.0)
    assert covered_by((), KNOWN) == 0.0
    assert covered_by((0b0,), []) == 1.0


def test_absent_words_and_half_of_corrected_ones_count_as_missing() -> None:
    gone, corrected = unit("checkpiont", absent=True, idf=2.0), msgspec.structs.replace(KNOWN[0], respelled="configure")
    assert covered_by((0b11111,), [*KNOWN, gone]) == pytest.approx(0.8)
    assert covered_by((0b1111,), [corrected, *KNOWN[1:]]) == pytest.approx(0.875)


def test_a_session_with_every_word_is_certain() -> None:
    assert confidence_of(KNOWN, "how did we configure the staging deploy queue?", covered=1.0) == CERTAIN


def test_the_less_a_session_holds_the_less_sure() -> None:
    found = [confidence_of(KNOWN, "?", covered=n / 10) for n in range(10)]
    assert found == sorted(found)
    assert found[0] < UNSURE_BELOW


def test_of_a_long_question_a_session_may_lack_more() -> None:
    assert confidence_of(KNOWN * 3, "?", covered=0.5) > confidence_of(KNOWN, "?", covered=0.5)


def test_a_rare_word_that_occurs_nowhere_makes_unsure() -> None:
    rare, common = unit("saxophone", absent=True, idf=9.0), unit("the", absent=True, idf=0.5)
    sure = confidence_of([*KNOWN, common], "?", covered=0.7)
    assert confidence_of([*KNOWN, rare], "?", covered=0.7) < min(sure, UNSURE_BELOW) < sure


def test_pasted_output_needs_only_a_part() -> None:
    units = [*KNOWN, *(unit(f"0x{n:04x}", absent=True) for n in range(20))]
    assert confidence_of(units, "configure\nstaging", covered=0.2) == CERTAIN
    assert confidence_of(units, "configure\nstaging", covered=0.1) == 0.0
