"""A text is cut into passages, each with the words of a question that it holds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from recollect.index.query.grammar import Clause
from recollect.index.query.query_units import Unit
from recollect.index.vectors.texts import Passage
from recollect.recall.question_kinds import sought_in
from recollect.recall.snippets import SHOWN_CHARS, WHOLE_CHARS, Passages, finished

FAR = " filler" * SHOWN_CHARS


def word(label: str, idf: float, *forms: str, frequency: int = 3) -> Unit:
    terms = tuple((form, 1.0) for form in (label, *forms))
    return Unit(Clause(label), label, terms=terms if frequency else (), frequency=frequency, idf=idf)


ZEBRA = word("zebra", 6.0, "zebras")
CACHE = word("cache", 2.0, "cached", "caching")
LOCK = word("lock", 2.0)


def test_of_a_long_output_the_lines_are_shown_that_have_what_is_asked_for() -> None:
    words, number = "the zebra cache", "cache of 19 lines"
    text = f"{FAR} {words} {FAR} {number} {FAR} {words} {FAR}"
    plain, asked = Passages([CACHE]), Passages([CACHE], sought_in("how many lines has the cache?"))
    assert number not in text[slice(*plain.shown(text))]
    assert number in text[slice(*asked.shown(text))]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("the zebra cache has a lock", 1.0),
        ("zebra and Caching", 0.8),
        ("unlock clockwork", 0.0),
        ("take_lock() is locked", 0.2),
        (FAR[:WHOLE_CHARS], 0.0),
        ("", 0.0),
    ],
)
def test_a_short_text_is_one_passage_with_the_share_of_the_words_that_it_holds(text: str, share: float) -> None:
    assert list(Passages([ZEBRA, CACHE, LOCK]).shares(text)) == [(Passage(0, len(text)), pytest.approx(share))]


def test_a_long_text_is_passages_that_overlap_by_half_and_leave_nothing_out() -> None:
    text = f"zebra{FAR} cache and lock"
    found = list(Passages([ZEBRA, CACHE, LOCK]).shares(text))
    assert found[0][0].start == 0
    assert found[-1][0].end == len(text)
    for (one, _), (other, _) in pairwise(found):
        assert one.start < other.start < one.end < other.end
    assert found[0][1] == pytest.approx(0.6)
    assert found[-1][1] == pytest.approx(0.4)
    assert all(passage.end - passage.start <= SHOWN_CHARS for passage, _ in found)


def test_words_that_are_nowhere_do_not_count() -> None:
    absent = word("giraffe", 9.0, frequency=0)
    assert [share for _, share in Passages([ZEBRA, LOCK, absent]).shares("a zebra, a giraffe")] == [0.75]
    assert [share for _, share in Passages([]).shares("zebra")] == [0.0]
    assert [share for _, share in Passages([absent]).shares("giraffe")] == [0.0]


def test_what_is_shown_of_a_text_is_where_its_words_stand_closest_together() -> None:
    text = f"zebra zebra zebra{FAR} lock cache{FAR} zebra cache lock{FAR}"
    shown = Passages([ZEBRA, CACHE, LOCK]).shown(text)
    assert "zebra cache lock" in text[shown.start : shown.end]


def test_a_passage_that_announces_something_shows_the_beginning_of_it() -> None:
    text = f"There are two reasons:\n\nIt is slow. It is wrong.\n\n{FAR}"
    announced = Passage(0, text.index("It is slow"))
    shown = finished(text, announced)
    assert "It is wrong." in text[shown.start : shown.end]
    assert len(text[shown.start : shown.end]) <= announced.end + SHOWN_CHARS // 2
    whole = Passage(0, text.index("It is wrong"))
    assert finished(text, whole) == whole
    assert finished("so:", Passage(0, 3)) == Passage(0, 3)
