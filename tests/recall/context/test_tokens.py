"""The estimate of tokens is within a tenth of what a published vocabulary makes of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.tokens import Counted, counted, texts
from recollect.recall.context.tokens import tokens_of

WITHIN = {"polish": 0.15}
"""Polish words have more tokens than other words of Latin letters."""


@pytest.fixture(scope="module")
def of_texts() -> dict[str, Counted]:
    """Return the tokens of every text by its name."""
    return {one.name: one for one in counted()}


@pytest.mark.parametrize("name", texts())
def test_the_estimate_is_within_a_tenth_of_what_the_vocabulary_makes_of_a_text(
    name: str, of_texts: dict[str, Counted]
) -> None:
    assert of_texts[name].ratio == pytest.approx(1, abs=WITHIN.get(name, 0.1))


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_longer_text_never_counts_less_but_for_rounding(first: str, second: str) -> None:
    assert tokens_of(f"{first}\n{second}") >= max(tokens_of(first), tokens_of(second)) - 1


@pytest.mark.parametrize("text", ["", " ", "word", "two words"])
def test_small_texts_cost_little(text: str) -> None:
    assert tokens_of(text) <= 2
