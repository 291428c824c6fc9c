"""Laws of the redactor over any text and any JSON value."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.marker import PRIVATE_MARKER, marker_of
from recollect.privacy import Redactor
from recollect.privacy.assignments import PASSWORD_WORDS, SECRET_WORDS
from recollect.privacy.matcher import SEAM, views_of
from tests.examples import tried
from tests.privacy.planted_secrets import PLANTED, SURROUNDINGS

REDACTOR = Redactor(b"a key for tests")

WRITTEN = tuple(written for written, _ in PLANTED.values())
PIECES = (
    "password",
    "token=",
    '"',
    "'",
    "\\",
    "/",
    "://",
    "a:",
    "@",
    "-----BEGIN ",
    marker_of("jwt", "0a1b2c3d"),
    PRIVATE_MARKER,
    "Bearer ",
)
CODES = (
    "\x1b[1;32m",
    "\x1b[0m",
    "[0m",
    "\x1b",
    "\\n",
    "\\t",
    '\\"',
    "\\\\",
    "\\/",
    "\\u003d",
    "\\x1b[3m",
    "%22",
    "%3D",
    "%2F",
    "&quot;",
    "&#39;",
)
CRUMBS = ("eyJ", " = ", ": ", "=", "\n", "\t", "é", "😀", "Zx9Kq7", "api_key", "\ud800")
FRAGMENTS = st.sampled_from(WRITTEN + PIECES + CRUMBS + CODES + CODES)
EDGES = st.sampled_from((" ", "\n", "\t", '"'))
TEXTS = st.lists(st.text(max_size=8) | FRAGMENTS, max_size=8).map("".join)
KEYS = TEXTS | st.sampled_from(["password", "API_KEY", "clientSecret", "authorization", "SecretAccessKey", "pwd"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def _encodings(value: Any) -> list[bytes]:
    plain = [json.dumps(value), json.dumps(value, indent=2), json.dumps(value, separators=(",", ":"))]
    plain.append(json.dumps(value, ensure_ascii=False))
    written = [*plain, *(text.replace("/", "\\/") for text in plain)]
    return [text.encode("utf-8", "replace") for text in written]


@given(VALUES)
def test_what_redaction_finds_in_a_value_the_sieve_has_suspected(value: Any) -> None:
    for raw in _encodings(value):
        if REDACTOR.redact_value(json.loads(raw))[1]:
            assert REDACTOR.suspects(raw, [len(raw)]) == [0]


@given(VALUES | TEXTS)
def test_what_redaction_finds_in_undecoded_bytes_the_sieve_has_suspected(value: Any) -> None:
    for raw in [*_encodings(value), *([value.encode("utf-8", "replace")] if isinstance(value, str) else [])]:
        if REDACTOR.redact_text(raw.decode("utf-8", "replace"))[1]:
            assert REDACTOR.suspects(raw, [len(raw)]) == [0]


@given(VALUES)
def test_redacting_a_redacted_value_finds_nothing(value: Any) -> None:
    redacted, findings = REDACTOR.redact_value(value)
    assert REDACTOR.redact_value(redacted) == (redacted, ())
    assert findings or redacted is value


@given(TEXTS)
def test_redacting_redacted_text_finds_nothing(text: str) -> None:
    redacted, findings = REDACTOR.redact_text(text)
    assert REDACTOR.redact_text(redacted) == (redacted, ())
    assert findings or redacted == text


@given(TEXTS)
def test_the_text_around_what_is_replaced_is_kept_exactly(text: str) -> None:
    redacted, findings = REDACTOR.redact_text(text)
    around = re.split("|".join(re.escape(marker) for marker in {f.marker for f in findings}) or r"(?!)", redacted)
    assert text.startswith(around[0])
    assert text.endswith(around[-1])
    at = 0
    for piece in around:
        found = text.find(piece, at)
        assert found >= 0
        at = found + len(piece)


@given(TEXTS)
def test_a_view_maps_every_span_to_the_text_that_it_came_from(text: str) -> None:
    for view in views_of(text):
        spans = [view.span(i, i + 1) for i in range(len(view.text))]
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert spans == sorted(spans)
        for i, (start, end) in enumerate(spans):
            if end - start == 1:
                assert view.text[i] == text[start] or view.text[i] == SEAM
            assert view.position(start) in (i, -1)


@settings(max_examples=tried(300))
@given(st.sampled_from(sorted(PLANTED)), st.lists(st.sampled_from(sorted(SURROUNDINGS)), min_size=1, max_size=2))
def test_a_planted_secret_is_found_in_surroundings_of_surroundings(kind: str, around: list[str]) -> None:
    written, secret = PLANTED[kind]
    for name in around:
        written = SURROUNDINGS[name](written)
    redacted, findings = REDACTOR.redact_value([written])
    for raw in _encodings([written]) if findings else ():
        assert REDACTOR.suspects(raw, [len(raw)]) == [0]
    if len(around) == 1:
        assert secret not in redacted[0]


@settings(max_examples=tried(300))
@given(
    st.text(max_size=40),
    st.sampled_from(sorted(PLANTED)),
    st.text(max_size=40),
    st.sampled_from([" ", "\n", "\t", '"']),
)
def test_a_planted_secret_is_found_in_any_surroundings(before: str, kind: str, after: str, edge: str) -> None:
    written, secret = PLANTED[kind]
    value = {"text": [f"{before}{edge}{written}{edge}{after}"]}
    redacted, findings = REDACTOR.redact_value(value)
    assert findings
    assert secret not in redacted["text"][0]
    for raw in _encodings(value):
        assert REDACTOR.suspects(raw, [len(raw)]) == [0]


@pytest.mark.parametrize("kind", PLANTED)
def test_the_sieve_suspects_every_kind_however_json_writes_it(kind: str) -> None:
    written, _ = PLANTED[kind]
    for edge in (" ", "\n", "\t", '"', "'", "(", "é"):
        for value in ({"a": f"x{edge}{written}{edge}"}, {written: 1}, [json.dumps({"b": written})]):
            for raw in _encodings(value):
                if REDACTOR.redact_value(json.loads(raw))[1] or REDACTOR.redact_text(raw.decode())[1]:
                    assert REDACTOR.suspects(raw, [len(raw)]) == [0]


@pytest.mark.parametrize(
    "written",
    ['my_{}="{}"', "my_{}: {}", "MY_{}={}\n", "the {} is {}", '  {}: "{}"', "export X_{}='{}'", '{{"{}": "{}"}}',
     "--{} {}", "<{}>{}</a>", "{} = {}", "{}={}&a=b", "| {} | {} |", '"name":"{}","value":"{}"'],
)  # fmt: skip
@pytest.mark.parametrize(
    "secret",
    ["Zx9Kq7Wv5pLm", "zx9kq7wv5plm", "aBcDeFgHiJkLmN", "ma-clé-va-ici", "correct-horse-battery", "sunflowerseeds",
     "Correct!Horse", "correct/horse/battery", "correct horse battery staple"],
)  # fmt: skip
def test_the_sieve_suspects_whatever_stands_beside_a_telling_name(written: str, secret: str) -> None:
    for word in (*PASSWORD_WORDS, *SECRET_WORDS, "api-key"):
        for name in (word, word.upper(), f"{word}2", f"{word}_prod", f"{word}Data"):
            value = {"text": written.format(name, secret)}
            if REDACTOR.redact_value(value)[1]:
                raw = msgspec.json.encode(value)
                assert REDACTOR.suspects(raw, [len(raw)]) == [0], value


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 5))
def test_suspects_names_exactly_the_records_that_hold_a_secret(planted: list[bool], repeat: int) -> None:
    lines = [b'{"a":"' + (PLANTED["npm"][0] if bad else "x" * repeat).encode() + b'"}\n' for bad in planted]
    ends = list(accumulate(len(line) for line in lines))
    assert REDACTOR.suspects(b"".join(lines), ends) == [i for i, bad in enumerate(planted) if bad]


def test_a_secret_across_the_edge_of_a_window_is_suspected() -> None:
    secret = PLANTED["github_fine"][0].encode()
    for shift in range(len(secret)):
        data = b" " * ((1 << 20) - shift) + secret
        assert REDACTOR.suspects(data, [len(data)]) == [0]


def test_ascii_written_as_an_escape_makes_a_record_suspect() -> None:
    first, second = b'{"a":"\\u0041KIA"}\n', b'{"a":"\\u001b[0m"}\n'
    assert REDACTOR.suspects(first + second, [len(first), len(first + second)]) == [0]


def test_a_string_under_a_telling_key_is_a_secret_as_a_whole() -> None:
    value = {"login": {"password": "Zx9,Kq7;Wv5", "user": "Zx9,Kq7;Wv5", "token": "int"}}
    redacted, (finding,) = REDACTOR.redact_value(value)
    assert redacted == {"login": {"password": finding.marker, "user": "Zx9,Kq7;Wv5", "token": "int"}}
    assert value["login"]["password"] == "Zx9,Kq7;Wv5"


def test_secrets_in_keys_are_replaced_too() -> None:
    redacted, (finding,) = REDACTOR.redact_value({PLANTED["npm"][0]: 1})
    assert redacted == {finding.marker: 1}


def test_any_depth_is_redacted() -> None:
    value: Any = PLANTED["npm"][0]
    for _ in range(100_000):
        value = [value]
    redacted, findings = REDACTOR.redact_value(value)
    assert len(findings) == 1
    while isinstance(redacted, list):
        redacted = redacted[0]
    assert redacted == findings[0].marker


def test_no_records_no_suspects() -> None:
    assert REDACTOR.suspects(b"", []) == []
