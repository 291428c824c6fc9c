"""Every place that writes, reads or looks for a marker agrees on what one is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.model.marker import (
    FINGERPRINT_DIGITS,
    MARKER,
    PRIVATE_MARKER,
    SECRET_MARKER,
    marker_of,
    names_marker,
    parts_of_marker,
    replaced_by_markers,
)
from recollect.privacy import Redactor
from recollect.privacy.detectors import DEFAULT
from tests.privacy.planted_secrets import PLANTED

KINDS = st.from_regex(r"[a-z0-9_]{1,40}", fullmatch=True)
FINGERPRINTS = st.text("0123456789abcdef", min_size=FINGERPRINT_DIGITS, max_size=FINGERPRINT_DIGITS)
REDACTOR = Redactor(b"a key for tests")
TOKEN = PLANTED["github_classic"][0]


def test_stored_memories_rest_on_the_text_of_a_marker() -> None:
    assert marker_of("github_token", "1f0c9a2e") == "[REDACTED:github_token:1f0c9a2e]"
    assert marker_of("private", "") == PRIVATE_MARKER == "[PRIVATE]"


@given(KINDS, FINGERPRINTS)
def test_the_marker_of_any_kind_that_a_configuration_may_name_is_recognised(kind: str, fingerprint: str) -> None:
    marker = marker_of(kind, fingerprint)
    assert SECRET_MARKER.findall(f"({marker})") == MARKER.findall(marker) == [marker]
    assert parts_of_marker(marker) == (kind, fingerprint)


def test_the_marker_of_every_detector_is_recognised() -> None:
    markers = {detector.kind: marker_of(detector.kind, "0" * FINGERPRINT_DIGITS) for detector in DEFAULT}
    assert [kind for kind, marker in markers.items() if not SECRET_MARKER.fullmatch(marker)] == []


def test_a_private_span_has_a_marker_and_no_fingerprint() -> None:
    assert MARKER.fullmatch(PRIVATE_MARKER)
    assert not SECRET_MARKER.search(PRIVATE_MARKER)


def test_what_a_redactor_found_names_the_marker_that_it_wrote() -> None:
    redacted, findings = REDACTOR.redact_text(f"<private>my words</private> {TOKEN}")
    assert redacted == " ".join(finding.marker for finding in findings)


@pytest.mark.parametrize("marker", [marker_of("jwt", "0a1b2c3d"), PRIVATE_MARKER])
def test_a_marker_is_seen_in_a_text_also_where_it_is_cut_off(marker: str) -> None:
    assert names_marker(f"It is {marker}.")
    assert names_marker(marker_of("jwt", "0a1b2c3d")[:15])
    assert not names_marker("It is [redacted].")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"claude:{TOKEN}", {TOKEN}),
        (f"claude:<private>a</private>-{TOKEN}", {"<private>a</private>", TOKEN}),
        (f"claude:<private>a</private>{TOKEN}", {f"<private>a</private>{TOKEN}"}),
        (f"claude:[PRIVATE]-{TOKEN}", {TOKEN}),
        ("claude:nothing", set()),
    ],
)
def test_what_markers_replaced_in_a_name_is_known(text: str, hidden: set[str]) -> None:
    redacted, _ = REDACTOR.redact_text(text)
    replaced = replaced_by_markers(text, redacted)
    assert set(replaced) == hidden
    for part, markers in replaced.items():
        text = text.replace(part, markers)
    assert text == redacted


def test_no_other_module_spells_a_marker() -> None:
    package = Path(recollect.__file__).parent
    spelled = ("[REDACTED:", PRIVATE_MARKER)
    found = [path for path in package.rglob("*.py") if any(text in path.read_text("utf-8") for text in spelled)]
    assert found == [package / "model" / "marker.py"]
