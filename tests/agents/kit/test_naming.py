"""Names made of content: the same for the same content, numbered among equal ones, and fit for a state."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kit.adapter import MAX_NAME_CHARS, Reading
from recollect.agents.kit.names import (
    MAX_MARKS,
    Marks,
    NamingState,
    content_name,
    content_sha256,
    count_name,
    is_encodable,
    is_storable,
    name_of,
    numbered,
    short,
    short_name,
    times_counted,
)
from recollect.model.payloads import Json
from recollect.model.records import Record
from recollect.testing.conformance import records_of
from recollect.testing.strategies import any_json

RECORD: Record = records_of([{}])[0]


@given(value=any_json())
def test_any_content_has_a_name(value: Json) -> None:
    assert content_name(value) == f"h-{content_sha256(value)}"
    assert len(content_sha256(value)) == 16


def test_the_order_of_keys_says_nothing() -> None:
    assert content_sha256({"a": 1, "b": 2}) == content_sha256({"b": 2, "a": 1})
    assert content_sha256("a", "b") != content_sha256("ab")


def test_equal_names_are_numbered() -> None:
    reading = Reading(RECORD, NamingState())
    assert [numbered(reading, name) for name in ("a", "b", "a", "a")] == ["a", "b", "a/2", "a/3"]
    assert name_of(reading, "m", 1) == f"m:{content_name(1)}"
    assert name_of(reading, "m", 1) == f"m:{content_name(1)}/2"


def test_what_is_counted_is_bounded() -> None:
    marks: Marks = ()
    for number in range(MAX_MARKS + 10):
        _, marks = count_name(marks, f"{number}")
    assert len(marks) == MAX_MARKS
    assert (times_counted(marks, "0"), times_counted(marks, f"{MAX_MARKS}")) == (0, 1)


@given(name=st.text(st.characters(), max_size=300))
def test_any_id_becomes_one_that_can_be_stored(name: str) -> None:
    assert is_storable(short_name(name))
    assert is_storable(short(name))
    assert len(short(name)) <= MAX_NAME_CHARS


def test_half_a_surrogate_pair_cannot_be_stored() -> None:
    assert not is_encodable("\ud83d")
    assert is_storable("ü" * MAX_NAME_CHARS)
    assert not is_storable("u" * (MAX_NAME_CHARS + 1))
