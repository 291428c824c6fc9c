"""The estimate of tokens is never less than what a byte-level vocabulary makes of a text at its worst."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.context.tokens import tokens_of

CODE = "def total(items: list[Item]) -> Decimal:\n    return sum(i.price * i.count for i in items)\n"


@given(st.text(alphabet=st.characters(min_codepoint=0x3040, max_codepoint=0xD7A3)))
def test_chinese_japanese_and_korean_count_as_many_as_they_have_bytes(text: str) -> None:
    assert tokens_of(text) >= len(text.encode())


@given(st.text(alphabet=st.characters(min_codepoint=0x10000, max_codepoint=0x1FFFF)))
def test_signs_outside_the_first_plane_count_as_many_as_they_have_bytes(text: str) -> None:
    assert tokens_of(text) == len(text.encode())


@given(st.text(alphabet="0123456789abcdef", max_size=200))
def test_a_hash_counts_every_digit_and_every_run_of_letters(text: str) -> None:
    assert tokens_of(text) >= len(re.findall(r"\d|[a-f]{1,3}", text))


def test_code_counts_every_sign_and_no_word_less_than_once() -> None:
    assert tokens_of(CODE) >= len(re.findall(r"[A-Za-z]+|[^\sA-Za-z]", CODE))


@given(st.lists(st.text(max_size=40), max_size=8))
def test_a_text_counts_no_less_than_its_lines_together(lines: list[str]) -> None:
    joined = "\n".join(line.replace("\n", " ") for line in lines)
    assert tokens_of(joined) >= sum(tokens_of(line.replace("\n", " ")) for line in lines)


@pytest.mark.parametrize("text", ["", " ", "word", "two words"])
def test_small_texts_cost_little(text: str) -> None:
    assert tokens_of(text) <= 4


def test_prose_is_not_overestimated_beyond_use() -> None:
    """A word of English is about 1.3 tokens; the estimate may be twice that, not more."""
    prose = "The rounding of cents moved into the money type, and the tests for the cart pass again. " * 20
    assert tokens_of(prose) <= 2.6 * len(prose.split())
