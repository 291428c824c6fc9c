"""Exports of conversations: every element of the array is a document, wherever reading stops in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.containers import export
from recollect.capture.containers.export import Element, elements_of, lines_of_element
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from recollect.model.rows import decode_row
from recollect.testing.strategies import any_json
from tests.capture.conftest import Desk
from tests.examples import tried

KEYS = ("conversation_id", "id")
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def tiny_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_STEP_BYTES", 7)


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def names(path: str) -> list[str]:
    return [element.document for element in elements_of(path, KEYS)]


def content_of(path: str, element: Element) -> Any:
    (line,) = lines_of_element(path, element)
    row = decode_row(json.loads(line))
    assert row is not None
    assert (row.at, row.value["document"]) == ("conversation", element.document)
    return row.value["content"]


@settings(max_examples=tried(60))
@given(
    value=st.lists(st.dictionaries(st.sampled_from(("id", "title", "é")), any_json(), max_size=3), max_size=5),
    indent=st.sampled_from((None, 1, "\t")), is_ascii=st.booleans(),
    before=st.sampled_from((b"", BOM, b"\n  ", BOM + b" ")), step=st.integers(1, 40),
)  # fmt: skip
def test_any_array_gives_each_element_once_with_its_own_bytes_wherever_reading_stops(
    value: list[Any], indent: Any, is_ascii: bool, before: bytes, step: int, tmp_path_factory: Any
) -> None:
    raw = before + json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    path = written(tmp_path_factory.mktemp("export") / "export.json", raw)
    usual = export._STEP_BYTES
    export._STEP_BYTES = len(before) + step
    try:
        found = elements_of(path, KEYS)
    finally:
        export._STEP_BYTES = usual
    got = [json.loads(raw[e.offset_bytes : e.offset_bytes + e.length_bytes]) for e in found]
    once = {json.dumps(item): item for item in value}
    assert [json.dumps(item) for item in got] == list(once)
    assert len({e.document for e in found}) == len(found)


def test_a_conversation_is_named_by_the_first_key_that_is_there(tmp_path: Path) -> None:
    path = written(
        tmp_path / "export.json", b'[{"id": "b", "conversation_id": "a"}, {"id": "b"}, {"id": 7}, {"id": {}}, {}]'
    )
    found = names(path)
    assert found[:3] == ["a", "b", "7"]
    assert all(name.startswith("file-") for name in found[3:])
    assert len(set(found)) == 5


def test_a_conversation_of_megabytes_is_read_over_many_steps(tmp_path: Path, tiny_steps: None) -> None:
    long = {"id": "long", "text": "é" * 3000}
    path = written(tmp_path / "export.json", json.dumps([long, {"id": "b"}], ensure_ascii=False).encode())
    found = elements_of(path, KEYS)
    assert [e.document for e in found] == ["long", "b"]
    assert content_of(path, found[0]) == long


def test_a_conversation_that_is_cut_at_the_end_is_kept_as_it_is(tmp_path: Path, tiny_steps: None) -> None:
    path = written(tmp_path / "export.json", b'[{"id": "a"}, {"id": "b", "text": "cut he')
    found = elements_of(path, KEYS)
    assert (len(found), found[0].document) == (2, "a")
    assert content_of(path, found[1]) == '{"id": "b", "text": "cut he'


def test_an_object_of_conversations_and_a_single_one_are_exports_too(tmp_path: Path) -> None:
    assert names(written(tmp_path / "one.json", b'{"id": "a", "title": "t"}')) == ["a"]
    assert names(written(tmp_path / "many.json", b' {"conversations" : [{"id": "a"}, {"id": "b"}]}')) == ["a", "b"]


@pytest.mark.parametrize("data", [b"", b"   ", b"no list [1]", b"\xff\xfe[1]", b'"["'])
def test_what_is_no_list_of_conversations_is_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="no list"):
        elements_of(written(tmp_path / "export.json", data), KEYS)


def test_an_element_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, tiny_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MAX_ELEMENT_BYTES", 1000)
    path = written(tmp_path / "export.json", b'[{"id": "' + b"a" * 5000 + b'"}]')
    with pytest.raises(SourceRefused, match="more than"):
        elements_of(path, KEYS)


def test_an_export_that_changed_since_it_was_listed_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "export.json", b'[{"id": "a"}]')
    (element,) = elements_of(path, KEYS)
    written(tmp_path / "export.json", b'[{"id": "b"}]')
    with pytest.raises(SourceChanged):
        list(lines_of_element(path, element))
    (tmp_path / "export.json").unlink()
    with pytest.raises(SourceUnavailable):
        list(lines_of_element(path, element))


# In a memory


def conversation(name: str, *notes: str) -> dict[str, Any]:
    return {"id": name, "notes": [{"id": note.split()[0], "say": note} for note in notes]}


def test_each_conversation_is_a_session_and_a_later_export_goes_on(desk: Desk) -> None:
    desk.put("export.json", [conversation("a", "n1 one"), conversation("b", "n1 two")])
    assert desk.sync().new == 2
    first = desk.raw("a")
    desk.put(
        "export.json",
        [conversation("c", "n1 three"), conversation("a", "n1 one", "n2 more"), conversation("b", "n1 two")],
    )
    line = desk.sync()
    assert (line.new, line.changed, line.unchanged) == (1, 1, 1)
    assert desk.said("a") == ["n1 one", "n2 more"]
    assert desk.raw("a", revision=1) == first
    desk.put("export.json", [conversation("c", "n1 three")])
    assert desk.sync().gone == 2
    assert desk.said("a") == ["n1 one", "n2 more"]
    assert desk.is_whole()


def test_a_conversation_that_stands_twice_in_an_export_is_taken_once_and_both_forms_are_kept(desk: Desk) -> None:
    same, other = conversation("a", "n1 one"), conversation("a", "n1 one", "n2 two")
    desk.put("export.json", [same, same, other])
    desk.sync()
    assert desk.sync().bytes == 0
    assert "n2 two" in desk.kept()
    assert desk.kept().count("n1 one") >= 1
    assert desk.is_whole()


def test_a_broken_conversation_stops_none_of_the_others(desk: Desk) -> None:
    desk.put("export.json", b'[{"id": "a", "say": "sound"}, {"id": "b", "say": "sound too"}, {"id": "c", "say": cut}]')
    desk.sync()
    assert (desk.said("a"), desk.said("b")) == (["sound"], ["sound too"])
    assert "cut}" in desk.kept()
    assert desk.is_whole()
