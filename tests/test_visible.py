"""No transcript can control what shows it, and any result becomes JSON that hides nothing."""

from __future__ import annotations

import json
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.visible import encode_json, safe, safe_json

UNSAFE = [
    *map(chr, (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F))),
    *map(chr, (*range(0x2066, 0x206A), 0xFEFF, *range(0xE0000, 0xE0080))),
]
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=[]) | st.sampled_from(UNSAFE))


@given(ANY_TEXT)
def test_text_that_is_shown_has_no_control_direction_or_tag_character(text: str) -> None:
    assert not set(UNSAFE) & set(safe(text))


@given(ANY_TEXT)
def test_json_decodes_to_the_same_and_has_no_unsafe_character(text: str) -> None:
    encoded = encode_json({text: [text]})
    assert json.loads(encoded) == {text: [text]}
    assert not set(UNSAFE) & set(encoded.decode())


def test_in_json_every_unsafe_character_is_an_escape_and_every_other_stays() -> None:
    everything = "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))
    plain = msgspec.json.encode(everything)
    escaped = safe_json(plain)
    assert msgspec.json.decode(escaped) == everything
    assert set(everything) - set(escaped.decode()) - set("\n\t") == set(UNSAFE)


def test_a_tag_character_is_shown_by_its_number_and_escaped_as_a_pair() -> None:
    assert safe("a\U000e0041") == "a\\U000e0041"
    assert encode_json("a\U000e0041") == b'"a\\udb40\\udc41"'


@pytest.mark.parametrize("data", [b'"plain"', '"naïve 漢字 🎉 “quoted”"'.encode()])
def test_ordinary_json_stays_as_it_is(data: bytes) -> None:
    assert safe_json(data) == data
