"""A snippet is one line around what was asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.snippets import SNIPPET_CHARS, snippet


def test_it_shows_the_densest_place() -> None:
    text = "zebra " + "filler " * 200 + "the zebra worker queue stopped " + "filler " * 200
    line = snippet(text, ["zebra", "worker", "queue"])
    assert "zebra worker queue" in line
    assert line.startswith("…")


def test_parts_of_identifiers_count_and_insides_of_words_do_not() -> None:
    text = "concatenate " + "filler " * 100 + "the computeCat function"
    assert "computeCat" in snippet(text, ["cat"])


def test_without_a_match_it_is_the_beginning() -> None:
    assert snippet("first\n  second", ["zebra"]) == "first second"


@given(st.text(max_size=2000), st.lists(st.text(min_size=1, max_size=5), max_size=5))
def test_any_snippet_is_one_short_line(text: str, forms: list[str]) -> None:
    line = snippet(text, forms)
    assert len(line) <= SNIPPET_CHARS
    assert len(line.splitlines()) <= 1
