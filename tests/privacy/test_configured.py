"""What a configuration adds to the detectors and what it allows."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.config import PrivacyConfig, SecretPatternConfig
from recollect.privacy.redact import detectors_in_force, redactor_of
from tests.privacy.planted_secrets import PLANTED

KEY = b"a key for tests"


def own(*patterns: str, allow: tuple[str, ...] = ()) -> PrivacyConfig:
    entries = tuple(SecretPatternConfig(name=f"own_{i}", pattern=pattern) for i, pattern in enumerate(patterns))
    return PrivacyConfig(patterns=entries, allow=allow)


@pytest.mark.parametrize(
    ("pattern", "written", "secret"),
    [
        (r"acme_[0-9a-f]{8}", "acme_0a1b2c3d", "acme_0a1b2c3d"),
        (r"\bacme-(?:live|test)-[0-9]{6}", "acme-live-123456", "acme-live-123456"),
        (r"customer (?P<secret>[A-Z]{2}[0-9]{6})", "customer AB123456", "AB123456"),
        (r"(?i)PROJECT-[a-z]+", "project-bluebird", "project-bluebird"),
        (r"[A-Z]{2}-[0-9]{9}", "XY-123456789", "XY-123456789"),
        (r"colou?r-[0-9]{4}", "color-1234", "color-1234"),
        (r"a/b\\c\"[0-9]{3}", 'a/b\\c"123', 'a/b\\c"123'),
        (r"Größe[0-9]{3}", "Größe123", "Größe123"),
        (r"tok\.en\-x[0-9]+", "tok.en-x77", "tok.en-x77"),
    ],
)
def test_a_pattern_of_ones_own_is_found_wherever_json_puts_it(pattern: str, written: str, secret: str) -> None:
    redactor = redactor_of(KEY, own(pattern))
    value = {"a": [f"before {written} after"], "b": json.dumps({"in": written})}
    redacted, findings = redactor.redact_value(value)
    assert {finding.kind for finding in findings} == {"own_0"}
    assert secret not in redacted["a"][0]
    assert redacted["a"][0] == redactor.redact_text(value["a"][0])[0]  # type: ignore[arg-type]
    for raw in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value).replace("/", "\\/")):
        assert redactor.suspects(raw.encode(), [len(raw.encode())]) == [0]


def test_a_pattern_of_ones_own_names_what_a_shipped_one_finds_too() -> None:
    written = PLANTED["npm"][0]
    _, findings = redactor_of(KEY, own("npm_[A-Za-z0-9]{36}")).redact_text(written)
    assert [finding.kind for finding in findings] == ["own_0"]


def test_what_a_pattern_only_looks_at_is_no_secret() -> None:
    assert redactor_of(KEY, own("(?=xy)", "(?P<secret>q*)xy")).redact_text("xy") == ("xy", ())


@pytest.mark.parametrize("kind", ["github_classic", "aws_access_key", "assigned", "jwt"])
def test_what_is_allowed_stays(kind: str) -> None:
    written, secret = PLANTED[kind]
    by_value = redactor_of(KEY, own(allow=(secret,)))
    by_expression = redactor_of(KEY, own(allow=(f"{secret[:8]}.*",)))
    for redactor in (by_value, by_expression):
        assert redactor.redact_text(written) == (written, ())
    other = PLANTED["stripe"][0]
    assert other not in by_value.redact_text(f"{written} {other}")[0]
    by_beginning = redactor_of(KEY, own(allow=(secret[:8],)))
    assert secret not in by_beginning.redact_text(written)[0]


def test_a_string_under_a_telling_key_can_be_allowed() -> None:
    value = {"password": "Zx9,Kq7;Wv5"}
    assert redactor_of(KEY, own(allow=(r"Zx9,.*",))).redact_value(value) == (value, ())


@given(st.lists(st.text("ab1_.-[]{}()|*+?\\d", max_size=8), max_size=3), st.text(max_size=20))
def test_redacting_twice_finds_nothing_new_whatever_the_patterns(patterns: list[str], text: str) -> None:
    usable = []
    for pattern in patterns:
        try:
            if re.compile(pattern).search("") is None:
                usable.append(pattern)
        except (re.error, FutureWarning, OverflowError):
            continue
    redactor = redactor_of(KEY, own(*usable))
    redacted, _ = redactor.redact_text(text)
    assert redactor.redact_text(redacted) == (redacted, ())


def test_the_fingerprint_tells_every_difference() -> None:
    settings = [
        own(), own("abc"), own("abc", "def"), own("abcdef"), own(allow=("abc",)), own("abc", allow=("abc",)),
        PrivacyConfig(patterns=(SecretPatternConfig(name="other", pattern="abc"),)),
    ]  # fmt: skip
    assert len({detectors_in_force(one) for one in settings}) == len(settings)
    assert detectors_in_force(own()) == detectors_in_force(PrivacyConfig(exclude_repos=("x",)))
