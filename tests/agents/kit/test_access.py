"""Tolerant access: any value in, exactly the named type out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kit.values import items, mapping, number, text, whole

_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(_anything)
def test_any_value_reads_as_the_type_that_was_asked_for(value: Any) -> None:
    assert isinstance(text(value), str)
    assert isinstance(mapping(value), dict)
    assert isinstance(items(value), list)
    assert whole(value) is None or type(whole(value)) is int
    assert number(value) is None or type(number(value)) is float


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_whole_number_reads_the_same_as_number_and_as_text(value: int) -> None:
    assert whole(value) == whole(str(value)) == value


@pytest.mark.parametrize(("value", "read"), [("12", 12), (" 12 ", 12), ("12.0", 12), (12.0, 12), ("-3", -3), (0, 0)])
def test_numbers_written_otherwise_are_read(value: object, read: int) -> None:
    assert whole(value) == read


@pytest.mark.parametrize(
    "value",
    [
        *(True, False, None, [], {}, "", "x", "1_000", "१२", 1.5, "1.5"),
        *(float("nan"), float("inf"), "nan", "inf"),
        *(2**63, -(2**63) - 1, 9.3e18, "9223372036854775808", "1" * 400),
    ],
)
def test_what_is_no_whole_number_of_64_bits_is_none(value: object) -> None:
    assert whole(value) is None


@pytest.mark.parametrize("value", [True, "1.5", float("nan"), float("inf"), 10**400, None])
def test_what_is_no_finite_number_is_none(value: object) -> None:
    assert number(value) is None


def test_a_number_is_a_float() -> None:
    assert (number(2), number(0.25)) == (2.0, 0.25)
