"""No transcript can control the terminal, and any result becomes JSON."""

from __future__ import annotations

import json
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.terminal import safe, safe_line
from recollect.visible import encode_json

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=[]))


@given(ANY_TEXT)
def test_any_text_loses_every_control_character_but_newline_and_tab(text: str) -> None:
    shown = safe(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
    shown.encode("utf-8")


@given(ANY_TEXT)
def test_any_text_fits_one_line(text: str) -> None:
    assert len(safe_line(text).splitlines()) <= 1


@given(ANY_TEXT)
def test_making_text_safe_twice_changes_nothing(text: str) -> None:
    assert safe(safe(text)) == safe(text)


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J\x1b[31mfake", "␛[2J␛[31mfake"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("a\rb", "a␍b"),
        ("a\r\nb", "a\nb"),
        ("\x9b31m", "\\u009b31m"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("\udc80", "\\udc80"),
        ("naïve 漢字 🎉", "naïve 漢字 🎉"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_instead(hostile: str, shown: str) -> None:
    assert safe(hostile) == shown


class Named(msgspec.Struct):
    name: str


@given(ANY_TEXT)
def test_any_name_becomes_valid_json(name: str) -> None:
    assert json.loads(encode_json(Named(name))) == {"name": name}
