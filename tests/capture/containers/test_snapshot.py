"""Whole-file JSON: its pieces are bytes of the file, in order, and together they are the document."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture import sources
from recollect.capture.containers.jsonl import SplitRecords
from recollect.capture.containers.snapshot import split_snapshot
from recollect.capture.decode import MAX_RECORD_BYTES, decode_record
from recollect.model.text import flatten
from recollect.testing.strategies import any_json
from tests.capture.conftest import Desk
from tests.examples import tried

SPLIT = ("notes", "more.notes", "more.deep.notes")
NAMES = st.sampled_from(("notes", "more", "deep", "title", "x", "ключ"))
BOM = b"\xef\xbb\xbf"


def members(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, inner | st.lists(any_json(), max_size=4), max_size=5)


DOCUMENTS = st.lists(any_json(), max_size=4) | st.recursive(any_json(), members, max_leaves=4)
SPLITS = st.lists(st.sampled_from(SPLIT), unique=True, max_size=3).map(tuple)


@st.composite
def written(draw: st.DrawFn, value: Any) -> bytes:
    """A value in any form in which writers put JSON."""
    text = json.dumps(
        value,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from((None, 1, "\t"))),
        separators=draw(st.sampled_from((None, (",", ":"), (" , ", " : ")))),
    )
    return draw(st.sampled_from((b"", BOM, b"\n", BOM + b"\r\n "))) + text.encode("utf-8", "surrogatepass") + b"\n"


def restored(lines: SplitRecords) -> Any:
    """Put a document of one object together again from its records."""
    out: dict[str, Any] = {}
    for line in lines.lines:
        names = line.at.split(".") if line.at else []
        is_element = not line.raw.startswith(b'"') or line.at in SPLIT
        around = names[:-1] if is_element else names
        node = out
        for name in around:
            node = node.setdefault(name, {})
        if is_element:
            node.setdefault(names[-1], []).append(line.decoded.value)
        else:
            node.update(line.decoded.value)
    return out


def filled(value: Any, split: tuple[str, ...], prefix: str = "") -> Any:
    """Return a document without the empty arrays and objects that leave no record."""
    out = {}
    for name, child in value.items():
        path = f"{prefix}{name}"
        if path in split and isinstance(child, list) and not child:
            continue
        is_above = isinstance(child, dict) and any(s.startswith(f"{path}.") for s in split)
        kept = filled(child, split, f"{path}.") if is_above else child
        if kept or not is_above:
            out[name] = kept
    return out


def check_places(data: bytes, found: SplitRecords) -> None:
    """Every record is its own bytes of the file, in order, without overlap."""
    end = 0
    for line in found.lines:
        assert end <= line.start < line.end <= len(data)
        assert data[line.start : line.end] == line.raw
        end = line.end
    assert found.consumed == len(data)


@settings(max_examples=tried(300))
@given(st.data(), DOCUMENTS, SPLITS)
def test_any_document_is_the_sum_of_its_pieces(data: st.DataObject, value: Any, split: tuple[str, ...]) -> None:
    raw = data.draw(written(value))
    found = split_snapshot(raw, split)
    check_places(raw, found)
    assert all(line.decoded.is_json for line in found.lines)
    wanted = json.loads(raw.decode("utf-8-sig"))
    if isinstance(value, list):
        assert [line.decoded.value for line in found.lines] == wanted
    elif isinstance(value, dict) and split:
        assert restored(found) == filled(wanted, split)
    else:
        assert [line.decoded.value for line in found.lines] == [wanted]


@settings(max_examples=tried(200))
@given(
    st.binary(max_size=60) | st.text('[]{}",:notes \\é\ud800', max_size=40).map(lambda t: t.encode("utf-8", "replace"))
)
def test_any_bytes_are_kept_whole_and_nothing_is_raised(raw: bytes) -> None:
    for split in ((), ("notes",)):
        found = split_snapshot(raw, split)
        check_places(raw, found)
        if not found.lines and raw.strip(b" \t\r\n\xef\xbb\xbf"):  # only what holds nothing gives nothing
            assert not flatten(decode_record(raw).value)
            assert decode_record(raw).is_json


@settings(max_examples=tried(150))
@given(st.lists(any_json(), min_size=1, max_size=6), st.data(), any_json())
def test_a_changed_element_leaves_the_bytes_of_all_others_as_they_were(
    notes: list[Any], data: st.DataObject, changed: Any
) -> None:
    at = data.draw(st.integers(0, len(notes) - 1))

    def pieces(elements: list[Any]) -> list[tuple[str, bytes]]:
        text = json.dumps({"title": "t", "notes": elements, "end": {"n": 1}}, indent=2)
        return [(line.at, line.raw) for line in split_snapshot(text.encode(), ("notes",)).lines]

    before, after = pieces(notes), pieces([*notes[:at], changed, *notes[at + 1 :]])
    assert len(before) == len(after) == len(notes) + 2
    assert [b == a for b, a in zip(before, after, strict=True) if b is not before[at + 1]] == [True] * (len(notes) + 1)


def at_and_value(raw: bytes, split: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(line.at, line.decoded.value) for line in split_snapshot(raw, split).lines]


def test_members_around_an_array_are_records_in_the_order_of_the_file() -> None:
    raw = b'{"a": 1, "b": 2, "notes": [3, 4], "c": 5}'
    assert at_and_value(raw, ("notes",)) == [("", {"a": 1, "b": 2}), ("notes", 3), ("notes", 4), ("", {"c": 5})]


def test_a_nested_array_is_split_and_its_object_keeps_its_other_members() -> None:
    raw = b'{"a": 1, "more": {"x": 2, "notes": [3], "y": 4}, "b": 5}'
    assert at_and_value(raw, ("more.notes",)) == [
        ("", {"a": 1}), ("more", {"x": 2}), ("more.notes", 3), ("more", {"y": 4}), ("", {"b": 5}),
    ]  # fmt: skip


def test_a_split_name_that_is_no_array_stays_a_member() -> None:
    assert at_and_value(b'{"notes": "none", "more": 7}', SPLIT) == [("", {"notes": "none", "more": 7})]
    assert at_and_value(b'{"more": {"notes": {"a": 1}}}', ("more.notes",)) == [("more", {"notes": {"a": 1}})]


def test_of_a_key_that_stands_twice_nothing_is_lost() -> None:
    assert at_and_value(b'{"notes": [1], "a": 2, "notes": [3]}', ("notes",)) == [
        ("notes", 1), ("", {"a": 2}), ("notes", 3),
    ]  # fmt: skip
    found = split_snapshot(b'{"a": 1, "a": 2}', ("notes",))
    assert found.lines[0].raw == b'"a": 1, "a": 2'


@pytest.mark.parametrize(
    "raw", [b'{"notes": [1, 2', b'{"notes": [1, 2]', b'{"notes": [1}', b'{"notes" 1}', b"{", b"[1, 2", b'{"a": 1} {}']
)
def test_a_broken_document_is_one_record_that_is_not_json(raw: bytes) -> None:
    (line,) = split_snapshot(raw, ("notes",)).lines
    assert (line.raw, line.decoded.is_json) == (raw, False)


def test_bytes_that_are_not_utf8_bend_their_own_element_only() -> None:
    raw = b'{"title": "t", "notes": [{"id": 1, "say": "\xff"}, {"id": 2, "say": "\xc3\xa9"}]}'
    found = split_snapshot(raw, ("notes",))
    check_places(raw, found)
    assert [(line.at, line.decoded.code) for line in found.lines] == [
        ("", ""),
        ("notes", "invalid_utf8"),
        ("notes", ""),
    ]
    assert found.lines[2].decoded.value == {"id": 2, "say": "é"}


def test_numbers_that_json_has_not_and_lone_surrogates_bend_their_own_element_only() -> None:
    raw = b'{"notes": [NaN, "\\ud800", 1, 1e999]}'
    found = split_snapshot(raw, ("notes",))
    assert [bool(line.decoded.code) for line in found.lines] == [True, True, False, True]
    assert all(line.decoded.is_json for line in found.lines)


def test_a_document_nested_too_deeply_is_kept_as_one_unreadable_record() -> None:
    raw = b'{"notes": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}"
    (line,) = split_snapshot(raw, ("notes",)).lines
    assert (line.decoded.is_json, line.decoded.code) == (False, "too_deep")


# In a memory


def page(*notes: str, **members: Any) -> dict[str, Any]:
    return {"title": "t", "notes": [{"id": note.split()[0], "say": note} for note in notes], **members}


def test_a_rewritten_document_is_a_revision_of_its_own_and_unchanged_records_are_replays(desk: Desk) -> None:
    desk.put("pages/p.json", page("n1 one", "n2 two"))
    desk.sync()
    first = desk.raw("p")
    desk.put("pages/p.json", page("n1 one", "n2 TWO", "n3 three"))
    line = desk.sync()
    assert line.replays >= 1
    assert desk.said("p") == ["n1 one", "n2 TWO", "n3 three"]
    assert desk.raw("p", revision=1) == first
    assert desk.is_whole()


def test_a_document_that_is_written_while_it_is_read_is_taken_when_it_is_stable(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.put("pages/p.json", page("n1 one"))
    read = sources.SourceFile.read_at

    def read_then_write(source: sources.SourceFile, offset: int, length: int) -> bytes:
        data = read(source, offset, length)
        if length > MAX_RECORD_BYTES:
            path.write_text(json.dumps(page("n1 one", "n2 two"))[:40])
        return data

    with monkeypatch.context() as patch:
        patch.setattr(sources.SourceFile, "read_at", read_then_write)
        line = desk.sync()
    assert [(s.reason.partition(" ")[2], s.is_failure) for s in line.skipped] == [("changed while it was read", False)]
    assert desk.memory.sessions(sync=False).total == 0
    desk.put("pages/p.json", page("n1 one", "n2 two"))
    desk.sync()
    assert desk.said("p") == ["n1 one", "n2 two"]


def test_a_half_written_document_is_kept_as_it_was_and_replaced_by_the_whole_one(desk: Desk) -> None:
    path = desk.put("pages/p.json", json.dumps(page("n1 one", "n2 two"))[:60])
    half = path.read_bytes()
    assert desk.sync().defects == {"not_json": 1}
    desk.put("pages/p.json", page("n1 one", "n2 two"))
    desk.sync()
    assert desk.said("p") == ["n1 one", "n2 two"]
    assert desk.raw("p", revision=1) == half
    assert desk.is_whole()


@pytest.mark.parametrize("emptied", ["[]", "{}", '{"notes": []}', "", "  \n"])
def test_a_document_that_was_emptied_is_a_revision_without_records(desk: Desk, emptied: str) -> None:
    desk.put("pages/p.json", page("n1 one"))
    desk.sync()
    path = desk.put("pages/p.json", emptied)
    desk.sync()
    assert desk.raw("p") == path.read_bytes()
    before = desk.events("p")
    desk.memory.maintenance.rebuild("all")
    assert desk.events("p") == before
    assert desk.is_whole()
    assert desk.sync().unchanged == 1


def test_the_same_bytes_at_another_time_are_no_revision(desk: Desk, tmp_path: Path) -> None:
    path = desk.put("pages/p.json", page("n1 one"))
    desk.sync()
    os.utime(path, ns=(1, 1))
    line = desk.sync()
    assert (line.changed, line.unchanged, line.bytes) == (0, 1, 0)


def test_a_document_that_is_too_large_to_decode_is_kept_and_said(desk: Desk) -> None:
    path = desk.put("pages/p.json", b'{"notes": ["' + b"x" * (MAX_RECORD_BYTES + 10) + b'"]}')
    assert desk.sync().defects == {"too_large": 1}
    assert desk.raw("p") == path.read_bytes()
    assert desk.sync().unchanged == 1
    assert desk.is_whole()
