"""Secrets are found again behind their markers, and nothing is taken for one that has not its fingerprint."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recollect.maintenance.export import reveal, secrets_of
from recollect.model.events import Event, SourceLocation
from recollect.model.marker import PRIVATE_MARKER, SECRET_MARKER, marker_of, parts_of_marker
from recollect.model.payloads import UserMessage
from recollect.privacy.redact import Redactor
from tests.privacy.planted_secrets import PLANTED

KEY = b"not a secret: the tests' own key"
REDACTOR = Redactor(KEY)
LOCATION = SourceLocation("s", 1, 0, 1, 0, "")
BETWEEN = st.text("ab \n\"'\\,;{}é🎈", max_size=6)
SECRETS = st.sampled_from([written for written, _ in PLANTED.values()])
TEXTS = st.lists(st.tuples(BETWEEN, SECRETS), max_size=5).map(lambda parts: " ".join(a + b for a, b in parts))


def event(text: str) -> Event:
    """Return an event whose text is redacted, as the store gives it."""
    redacted, _ = REDACTOR.redact_text(text)
    return Event(
        session_uid="claude:1", seq=1, event_id="e", part=0, kind="user_message", payload=UserMessage(text=redacted),
        location=LOCATION, role="user", turn_index=1,
    )  # fmt: skip


def revealed(text: str, record: bytes) -> tuple[str, tuple[str, ...]]:
    """Return an event's text in its original words, and the markers that are left."""
    (shown,) = reveal([event(text)], lambda _: record, REDACTOR, KEY)
    return shown.payload.get("text", ""), shown.left


@given(text=TEXTS)
def test_what_is_redacted_comes_back_exactly(text: str) -> None:
    record = json.dumps({"type": "user", "message": {"content": [text]}}).encode()
    assert revealed(text, record) == (text, ())


@given(text=TEXTS)
def test_what_stands_in_json_inside_json_comes_back(text: str) -> None:
    record = json.dumps({"arguments": json.dumps({"command": text})}, ensure_ascii=False).encode()
    assert revealed(text, record) == (text, ())


@given(text=TEXTS)
def test_what_stands_in_a_text_that_is_no_json_comes_back(text: str) -> None:
    assert revealed(text, text.encode()) == (text, ())


@given(text=TEXTS, other=TEXTS)
def test_another_record_gives_only_what_has_the_same_fingerprint(text: str, other: str) -> None:
    shown, left = revealed(text, json.dumps({"text": other}).encode())
    redacted, _ = REDACTOR.redact_text(text)
    known = secrets_of(json.dumps({"text": other}).encode(), REDACTOR, KEY)
    for marker in left:
        assert marker in shown
    for marker in set(SECRET_MARKER.findall(redacted)) - set(left):
        assert known[parts_of_marker(marker)[1]] in other


def test_every_kind_of_secret_is_found_again() -> None:
    for kind, (written, secret) in PLANTED.items():
        record = json.dumps({"text": f"before {written} after"}).encode()
        assert revealed(f"before {written} after", record) == (f"before {written} after", ()), kind
        secrets = secrets_of(record, REDACTOR, KEY).values()
        assert any(secret in found or found in written for found in secrets), kind


def test_a_secret_behind_a_private_span_comes_back() -> None:
    secret = PLANTED["github_classic"][0]
    text = f"<private>my words</private> and {secret}"
    assert revealed(text, json.dumps({"text": text}).encode()) == (f"{PRIVATE_MARKER} and {secret}", ())


def test_a_value_that_is_secret_because_of_its_key_is_found_again() -> None:
    value = {"password": PLANTED["json_member"][1]}
    record = json.dumps({"input": value}).encode()
    clean, findings = REDACTOR.redact_value(value)
    assert findings
    shown, left = revealed(clean["password"], record)
    assert (shown, left) == (value["password"], ())


def test_a_marker_that_an_agent_wrote_itself_stays_as_it_is() -> None:
    marker = marker_of("jwt", "01234567")
    text = f"{marker} and more"
    shown, left = revealed(text, json.dumps({"text": text}).encode())
    assert shown == text
    assert left == (marker,)


def test_records_without_markers_are_not_read() -> None:
    def read(_: SourceLocation) -> bytes:
        raise AssertionError("not needed")

    (shown,) = reveal([event("nothing secret")], read, REDACTOR, KEY)
    assert msgspec.to_builtins(shown)["payload"]["text"] == "nothing secret"


def test_two_events_of_one_record_read_it_once() -> None:
    text = PLANTED["github_classic"][0]
    reads: list[SourceLocation] = []

    def read(at: SourceLocation) -> bytes:
        reads.append(at)
        return json.dumps({"text": text}).encode()

    shown = list(reveal([event(text), event(f"again {text}")], read, REDACTOR, KEY))
    assert [one.payload["text"] for one in shown] == [text, f"again {text}"]
    assert len(reads) == 1
