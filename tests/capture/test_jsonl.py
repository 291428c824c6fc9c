"""Records of append-only lines: what one is, and that it never depends on where the stream was cut."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.containers.jsonl import split_lines
from recollect.capture.containers.snapshot import split_snapshot, split_text


def records(data: bytes) -> list[tuple[int, bytes]]:
    return [(line.start, line.raw) for line in split_lines(data, is_end=True, is_start=True).lines]


def test_every_line_is_a_record_with_its_exact_place() -> None:
    data = b'{"a":1}\n\r\n  {"b":2}  \r\n{"c":3}'
    found = split_lines(data, is_end=True)
    assert [line.raw for line in found.lines] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert all(data[line.start : line.end] == line.raw for line in found.lines)
    assert found.consumed == len(data)


def test_two_objects_glued_on_one_line_are_two_records() -> None:
    assert [raw for _, raw in records(b'{"a":1}{"b":"\xc3\xa9"}\n')] == [b'{"a":1}', b'{"b":"\xc3\xa9"}']


def test_a_broken_rest_behind_a_glued_object_is_kept_as_a_record() -> None:
    found = split_lines(b'{"a":1}{"b":\n', is_end=True).lines
    assert [(line.raw, line.decoded.is_json) for line in found] == [(b'{"a":1}', True), (b'{"b":', False)]


def test_a_comment_line_is_a_record_that_is_not_json() -> None:
    (line,) = split_lines(b"// who wrote this\n", is_end=True).lines
    assert not line.decoded.is_json
    assert line.raw == b"// who wrote this"


def test_a_half_written_last_line_is_left_for_later() -> None:
    found = split_lines(b'{"a":1}\n{"b":', is_end=True)
    assert len(found.lines) == 1
    assert found.consumed == 8


def test_a_last_line_without_newline_counts_only_at_the_end_of_the_source() -> None:
    data = b'{"a":1}\n{"b":2}'
    assert len(split_lines(data, is_end=True).lines) == 2
    assert len(split_lines(data, is_end=False).lines) == 1


def test_a_byte_order_mark_is_skipped_at_the_start_only() -> None:
    assert records(b'\xef\xbb\xbf{"a":1}\n') == [(3, b'{"a":1}')]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
good_lines = st.dictionaries(st.text(max_size=5), json_values, max_size=3).map(lambda v: json.dumps(v).encode())
odd_lines = st.sampled_from(
    [b"", b"  ", b"// c", b'{"x":', b"null", b"\xff\xfe", b'{"a":1}{"b":2}', b'{"a":1} junk', b","]
)
streams = st.lists(
    st.tuples(st.one_of(good_lines, odd_lines), st.sampled_from([b"\n", b"\r\n", b" \n"])), max_size=8
).map(lambda parts: b"".join(line + end for line, end in parts))


@given(streams, st.lists(st.integers(0, 400), max_size=6))
def test_the_records_do_not_depend_on_where_the_stream_was_cut(data: bytes, cuts: list[int]) -> None:
    whole = [(line.start, line.raw) for line in split_lines(data, is_end=True).lines]
    found: list[tuple[int, bytes]] = []
    committed = 0
    for seen in [*sorted(c for c in cuts if c < len(data)), len(data)]:
        piece = data[committed:seen]
        part = split_lines(piece, is_end=True)
        found += [(committed + line.start, line.raw) for line in part.lines]
        committed += part.consumed
    assert found == whole


@given(st.binary(max_size=400))
def test_any_bytes_split_without_overlap_and_only_blanks_between(data: bytes) -> None:
    found = split_lines(data + b"\n", is_end=True)
    position = 0
    for line in found.lines:
        assert line.start >= position
        assert not data[position : line.start].strip(b" \t\r\n,")
        assert (data + b"\n")[line.start : line.end] == line.raw
        position = line.end
    assert not data[position:].strip(b" \t\r\n,")


def test_a_snapshot_array_has_its_elements_as_records() -> None:
    data = ' [ {"a": "é"} , 2,\n"x" ] '.encode()
    found = split_snapshot(data).lines
    assert [line.raw for line in found] == ['{"a": "é"}'.encode(), b"2", b'"x"']
    assert all(data[line.start : line.end] == line.raw for line in found)


def test_a_snapshot_document_is_one_record_also_when_it_is_broken() -> None:
    assert len(split_snapshot(b'{"a": [1, 2]}').lines) == 1
    (broken,) = split_snapshot(b'[{"a": 1}, {"b": ').lines
    assert not broken.decoded.is_json


def test_a_text_file_is_one_record_and_invalid_utf8_is_said() -> None:
    (line,) = split_text(b"caf\xe9").lines
    assert line.decoded.value == "caf\ufffd"
    assert line.decoded.code == "invalid_utf8"
    assert split_text(b"").lines == []
