"""What is found and, as important, what is left alone."""

from __future__ import annotations

import re

import pytest

from recollect.privacy import DEFAULT, Redactor
from recollect.privacy.plausibility import plausible_password, plausible_token
from tests.privacy.planted_secrets import PLANTED

REDACTOR = Redactor(b"a key for tests")


@pytest.mark.parametrize("kind", PLANTED)
def test_a_secret_of_every_kind_is_replaced(kind: str) -> None:
    written, secret = PLANTED[kind]
    text, findings = REDACTOR.redact_text(f"before {written} after")
    assert findings
    assert secret not in text
    assert text.startswith("before ")
    assert text.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password()",
        "password: str = field(default='')",
        "token: str",
        'password = "<password>"',
        "PASSWORD=${DB_PASSWORD2}",
        "password=$PASSWORD1",
        'api_key = os.environ["API_KEY_2"]',
        "apiKey: process.env.API_KEY1",
        "password: ********",
        "password=changeme1",
        'password = "password123"',
        '"token": "your-token-here-123"',
        "token=self.token2",
        "secret: my-secret-key-2",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "input_tokens: 1234567890",
        '"max_token": 128000',
        "postgres://user:password@localhost/app",
        "https://example.invalid:8443/path@v2",
        "the secret is a long story, 2026",
        "task-runner-with-a-long-kebab-name-12",
        "-----BEGIN PRIVATE KEY----- is the header to look for",
        "Basic understanding1",
        "publicKeyToken='b77a5c561934e089'",
    ],
)
def test_placeholders_references_and_prose_are_left_alone(text: str) -> None:
    assert REDACTOR.redact_text(text) == (text, ())


def test_a_private_key_that_is_cut_off_is_replaced_to_its_last_line() -> None:
    written, secret = PLANTED["pem"]
    text, findings = REDACTOR.redact_text(written[: written.index(secret) + 80])
    assert [f.kind for f in findings] == ["private_key"]
    assert text == findings[0].marker


def test_the_most_specific_kind_names_a_secret() -> None:
    _, findings = REDACTOR.redact_text("API_KEY=" + PLANTED["github_classic"][0])
    assert [f.kind for f in findings] == ["github_token"]


def test_overlapping_secrets_leave_no_tail() -> None:
    text, findings = REDACTOR.redact_text("password='" + PLANTED["github_classic"][0] + "-tail9'")
    assert len(findings) == 1
    assert text == f"password='{findings[0].marker}'"


def test_equal_secrets_have_equal_fingerprints_under_one_key_only() -> None:
    written = PLANTED["npm"][0]
    _, (first, second) = REDACTOR.redact_text(f"{written} {written}")
    _, (other,) = Redactor(b"another key").redact_text(written)
    assert first == second
    assert first.fingerprint != other.fingerprint
    assert re.fullmatch(r"\[REDACTED:npm_token:[0-9a-f]{8}\]", first.marker)


def test_a_password_chosen_by_a_person_is_plausible_and_a_word_is_none() -> None:
    assert plausible_password("Tr0ub4dor&3")
    assert not plausible_password("required")
    assert not plausible_token("session_token_12")


def test_kinds_are_slugs_and_literals_are_ascii() -> None:
    for detector in DEFAULT:
        assert re.fullmatch(r"[a-z0-9_]{1,40}", detector.kind)
        assert detector.literals
        assert all(literal.isascii() for literal in detector.literals)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "=",
        "/",
        "@",
        "eyJ",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "-eyJaaaaaaaa",
        "://",
        "://a:",
        "sk-",
        "SK0",
    ],
)
def test_five_megabytes_of_one_thing_are_read_in_bounded_time(unit: str) -> None:
    text = unit * (5_000_000 // len(unit))
    REDACTOR.suspects(text.encode(), [len(text)])
    REDACTOR.redact_text(text)


@pytest.mark.parametrize("unit", ["password=", "token='", "password\\", "Bearer ", "--password ", "secret=Aa"])
def test_names_without_end_are_read_in_bounded_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    REDACTOR.suspects(text.encode(), [len(text)])
    REDACTOR.redact_text(text)
