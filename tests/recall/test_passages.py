"""A text is judged by its best passage: what stands far from it is scattered."""

from __future__ import annotations

import pytest

from recollect.index.query.grammar import Clause
from recollect.index.units import Unit
from recollect.recall.passages import MAX_CHARS, PASSAGE_CHARS, Passages

FAR = " filler" * PASSAGE_CHARS


def word(label: str, idf: float, *forms: str, frequency: int = 3) -> Unit:
    terms = tuple((form, 1.0) for form in (label, *forms))
    return Unit(Clause(label), label, terms=terms if frequency else (), frequency=frequency, idf=idf)


ZEBRA = word("zebra", 6.0, "zebras")
CACHE = word("cache", 2.0, "cached", "caching")
LOCK = word("lock", 2.0)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("the zebra cache has a lock", 0.0),
        (f"the zebra cache has a lock{FAR}", 0.0),
        (f"zebra{FAR} cache and lock", 0.4),
        (f"cache and lock{FAR} zebra", 0.4),
        (f"zebra lock{FAR} Caching", 0.2),
        (f"zebra{FAR} lock{FAR} cache", 0.4),
        (f"zebra{FAR} zebra", 0.0),
        (FAR, 0.0),
        ("", 0.0),
    ],
)
def test_what_stands_outside_of_the_best_passage(text: str, share: float) -> None:
    assert Passages([ZEBRA, CACHE, LOCK]).scattered(text) == pytest.approx(share)


def test_a_word_counts_from_its_beginning_and_in_identifiers() -> None:
    passages = Passages([ZEBRA, LOCK])
    assert passages.scattered(f"zebra{FAR} unlock clockwork") == 0.0
    assert passages.scattered(f"zebra{FAR} locked") == pytest.approx(0.25)
    assert passages.scattered(f"zebra{FAR} take_lock()") == pytest.approx(0.25)


def test_words_that_are_nowhere_and_text_beyond_what_is_looked_at_do_not_count() -> None:
    absent = word("giraffe", 9.0, frequency=0)
    assert Passages([ZEBRA, LOCK, absent]).scattered(f"zebra{FAR} lock giraffe") == pytest.approx(0.25)
    assert Passages([ZEBRA, LOCK]).scattered("zebra " + "x" * MAX_CHARS + " lock") == 0.0
    assert Passages([]).scattered(FAR) == 0.0
    assert Passages([absent]).scattered(FAR) == 0.0


def test_the_best_of_many_places_is_found() -> None:
    text = f"zebra zebra zebra{FAR} lock cache{FAR} zebra cache{FAR} lock"
    assert Passages([ZEBRA, CACHE, LOCK]).scattered(text) == pytest.approx(0.2)
