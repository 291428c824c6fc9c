"""Bodies come back whole from pointers, and say so where they cannot; blocks and ids are lossless."""

from __future__ import annotations

import json
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ArchiveError, StoreCorrupt
from recollect.model.payloads import AssistantMessage, ToolCall, ToolResult, Unknown
from recollect.store.bodies import (
    LARGE_CHARS,
    BlockEntry,
    block_frames,
    decode_block,
    decode_entry,
    encode_block,
    encode_body,
    hydrate,
    is_whole,
    large_strings,
)
from recollect.store.row_keys import pack_event_id, pack_text, unpack_event_id, unpack_text

LONG = "x" * LARGE_CHARS
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.builds(
    lambda head, tail: head + LONG + tail,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.sampled_from(["", "1", "é", "/~2"]),
)
KEYS = st.sampled_from(["a", "b/c", "~", "~2", "", "0", "$ref"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def same(text: str) -> str:
    return text


def never() -> bytes:
    raise AssertionError("the record was not needed")


@given(value=VALUES, nested=st.booleans())
def test_any_payload_comes_back_whole(value: object, nested: bool) -> None:
    record = {"message": [json.dumps(value) if nested else value]}
    payload = ToolCall(name="Edit", arguments=value)
    body = encode_body(payload, large_strings(record))
    assert hydrate(body, lambda: json.dumps(record).encode(), same) == payload
    assert len(body) < LARGE_CHARS or (nested and isinstance(value, str))  # JSON of a bare string is not opened


def test_short_payloads_need_no_archive() -> None:
    payload = AssistantMessage(text="short")
    body = encode_body(payload, large_strings({"text": LONG}))
    assert is_whole(body)
    assert hydrate(body, never, same) == payload


def test_what_comes_from_the_archive_is_redacted() -> None:
    body = encode_body(Unknown(text=LONG + " secret"), large_strings({"t": LONG + " secret"}))
    raw = json.dumps({"t": LONG + " secret"}).encode()
    assert hydrate(body, lambda: raw, lambda text: text.replace("secret", "[gone]")) == Unknown(text=LONG + " [gone]")


def test_a_text_that_redaction_changed_stays_in_the_body() -> None:
    payload = Unknown(text=LONG + "[gone]")
    body = encode_body(payload, large_strings({"t": LONG + "secret"}))
    assert hydrate(body, never, same) == payload


def test_a_whole_text_record_is_its_own_string() -> None:
    body = encode_body(Unknown(text=LONG), large_strings(LONG))
    assert hydrate(body, LONG.encode, same) == Unknown(text=LONG)


def test_a_text_record_that_looks_like_json_is_still_text() -> None:
    text = json.dumps({"a": LONG})
    body = encode_body(Unknown(text=text), large_strings(text))
    assert hydrate(body, text.encode, same) == Unknown(text=text)


def test_bytes_that_are_not_utf8_are_replaced_as_when_they_were_read() -> None:
    raw = b'{"t": "\xff' + LONG.encode() + b'"}'
    text = "\ufffd" + LONG
    body = encode_body(Unknown(text=text), large_strings({"t": text}))
    assert hydrate(body, lambda: raw, same) == Unknown(text=text)


def test_a_lone_surrogate_is_replaced_as_when_it_was_read() -> None:
    raw = b'{"t": "\\ud800' + LONG.encode() + b'"}'
    text = "\ufffd" + LONG
    body = encode_body(Unknown(text=text), large_strings({"t": text}))
    assert hydrate(body, lambda: raw, same) == Unknown(text=text)


def test_a_record_that_is_gone_is_said_to_be_gone() -> None:
    def gone() -> bytes:
        raise ArchiveError("evicted")

    payload = hydrate(encode_body(ToolResult(name="Read", text=LONG), large_strings([LONG])), gone, same)
    assert payload == ToolResult(name="Read", text="[2,048 characters not available: evicted]")


@pytest.mark.parametrize("raw", [b"", b"not json", b'{"t": 1}', b"[]", b"[" * 100_000])
def test_another_record_than_expected_never_raises(raw: bytes) -> None:
    payload = hydrate(encode_body(Unknown(text=LONG), large_strings({"t": LONG})), lambda: raw, same)
    assert isinstance(payload, Unknown)
    assert "not available" in payload.text


def test_deep_values_do_not_overflow() -> None:
    value: object = LONG
    for _ in range(100_000):
        value = [value]
    assert list(large_strings(value)) == [LONG]


ENTRIES = st.lists(
    st.builds(
        BlockEntry,
        body=st.binary(max_size=50) | st.sampled_from([70_000]).map(lambda size: b"[" + b"y" * size),
        summary=st.text(max_size=9).filter(lambda t: t.isprintable()),
        path=st.text("ab/", max_size=5),
    ),
    max_size=9,
)


@given(entries=ENTRIES)
def test_a_block_gives_its_entries_back(entries: list[BlockEntry]) -> None:
    found = decode_block(encode_block(entries))
    assert [(e.body, e.path) for e in found] == [(e.body, e.path) for e in entries]
    assert [e.summary for e in found] == ["" if is_whole(e.body) else e.summary for e in entries]


def test_a_large_block_has_frames_of_bounded_size() -> None:
    entries = [BlockEntry(b"[" + b"z" * 30_000, "", "")] * 20
    assert max(frame.plain_bytes for frame in block_frames(encode_block(entries))) < 200_000


@given(damage=st.binary(min_size=1, max_size=40))
def test_any_damage_to_a_block_is_named(damage: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="damaged"):
        decode_block(b"\xc1" + damage)


def test_a_text_that_is_no_utf8_is_damage_too() -> None:
    """The decoder has an error of its own for it, and not the one that it has for everything else."""
    entry = msgspec.msgpack.encode(BlockEntry(b"[]", "was it", "a.py")).replace(b"was it", b"w\xffs it")
    with pytest.raises(StoreCorrupt, match="damaged"):
        decode_entry(msgspec.Raw(entry))


@given(event_id=st.text() | st.uuids().map(str) | st.uuids().map(lambda u: f"r-{u.hex}") | st.text("0f-R", max_size=36))
def test_any_event_id_comes_back(event_id: str) -> None:
    assert unpack_event_id(pack_event_id(event_id)) == event_id


@given(first=st.text(max_size=20), second=st.uuids() | st.text(max_size=20))
def test_different_event_ids_are_stored_differently(first: str, second: UUID | str) -> None:
    assert (pack_event_id(first) == pack_event_id(str(second))) == (first == str(second))


@pytest.mark.parametrize("size", range(12, 19))
def test_a_text_as_long_as_a_uuid_is_no_uuid(size: int) -> None:
    assert unpack_event_id(pack_event_id("k" * size)) == "k" * size


@pytest.mark.parametrize(("event_id", "size"), [(str(UUID(int=7)), 16), (f"r-{UUID(int=7).hex}", 17)])
def test_usual_ids_are_stored_in_few_bytes(event_id: str, size: int) -> None:
    assert len(pack_event_id(event_id)) == size


@given(text=st.text() | st.text(st.sampled_from("a\ud800é\udcff")))
def test_any_file_name_comes_back(text: str) -> None:
    assert unpack_text(pack_text(text)) == text
