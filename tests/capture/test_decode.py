"""Any bytes decode to something, or say why not; nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.decode import decode_record, guess_type, readable_text


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b'{"a": 1}', ""),
        (b'{"a": 123456789012345678901234567890}', ""),
        (b'{"a": 1e999}', "number_out_of_range"),
        (b'{"a": "\xff"}', "invalid_utf8"),
        (b'{"a": "\x00"}', "bent_json"),
        (b'\xef\xbb\xbf{"a": 1}', "bent_json"),
        (b'{"a": "\\ud800"}', "bent_json"),
    ],
)
def test_a_bent_record_is_read_and_said_to_be_bent(raw: bytes, code: str) -> None:
    decoded = decode_record(raw)
    assert decoded.is_json
    assert decoded.code == code
    assert "a" in decoded.value


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"[" * 10_000 + b"]" * 10_000, "too_deep"),
        (b'{"a":' * 10_000, "too_deep"),
        (b"// a comment", "not_json"),
        (b'{"a": ', "not_json"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not_json"),
    ],
)
def test_an_unreadable_record_says_why(raw: bytes, code: str) -> None:
    decoded = decode_record(raw)
    assert not decoded.is_json
    assert decoded.code == code


@given(st.binary(max_size=300))
def test_no_bytes_raise(raw: bytes) -> None:
    decoded = decode_record(raw)
    assert decoded.is_json or decoded.code
    readable_text(raw).encode()
    guess_type(raw)


@given(st.text(max_size=80))
def test_a_value_never_holds_a_lone_surrogate(text: str) -> None:
    escaped = "".join(f"\\u{ord(c) & 0xFFFF:04x}" for c in text)
    decoded = decode_record(f'{{"a": "{escaped}\\ud83d"}}'.encode())
    assert decoded.is_json
    decoded.value["a"].encode("utf-8")


def test_the_type_of_an_undecoded_record_is_told_from_its_head() -> None:
    assert guess_type(b'{"uuid": "u", "type" : "assistant", "x": ') == "assistant"
    assert guess_type(b"no json at all") == ""
