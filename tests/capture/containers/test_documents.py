"""Folders of small files that make one document, and documents that are read like files."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture import sources
from recollect.capture.containers.directory import DirectoryDocument, DirectoryFile, documents_of, glob_of, lines_of
from recollect.capture.sources import DocumentSource
from recollect.errors import SourceChanged
from recollect.model.capabilities import Member
from tests.capture.conftest import Desk

MEMBERS = (
    Member(table="book", pattern="store/book/{shelf}/{document}.json"),
    Member(table="note", pattern="store/note/{document}/{note}.json"),
    Member(table="part", pattern="store/part/{note}/{part}.json"),
)


def grouped(*names: str, members: tuple[Member, ...] = MEMBERS) -> dict[str, list[str]]:
    found = documents_of(members, [(name, f"/r/{name}", 1, 1) for name in names])
    return {document.name: [file.relative for file in document.files] for document in found}


def told(desk: Desk, name: str, text: str) -> Path:
    return desk.put(name, {"id": Path(name).stem, "say": text})


def stocked(desk: Desk) -> None:
    """A document of a book, two notes and their parts, and a second document."""
    desk.put("store/book/s1/b1.json", {"title": "of notes"})
    told(desk, "store/note/b1/n2.json", "second")
    told(desk, "store/note/b1/n1.json", "first")
    told(desk, "store/part/n1/p2.json", "second part of the first")
    told(desk, "store/part/n1/p1.json", "first part of the first")
    told(desk, "store/part/n2/p9.json", "part of the second")
    told(desk, "store/note/b2/n7.json", "of another document")


# Which files belong together


def test_files_are_joined_by_the_names_that_earlier_members_bound() -> None:
    assert grouped(
        "store/part/n1/p1.json", "store/note/b1/n1.json", "store/book/s1/b1.json", "store/note/b2/n2.json",
        "store/part/n2/p1.json", "store/part/nobody/p1.json", "store/other/n1.json",
    ) == {
        "b1": ["store/book/s1/b1.json", "store/note/b1/n1.json", "store/part/n1/p1.json"],
        "b2": ["store/note/b2/n2.json", "store/part/n2/p1.json"],
    }  # fmt: skip


def test_a_message_stands_before_its_parts_and_before_the_next_message() -> None:
    files = [f"store/part/n{n}/p{p}.json" for n in (2, 1) for p in (2, 1)] + [f"store/note/b/n{n}.json" for n in (2, 1)]
    assert [name.removeprefix("store/") for name in grouped(*files)["b"]] == [
        "note/b/n1.json", "part/n1/p1.json", "part/n1/p2.json", "note/b/n2.json", "part/n2/p1.json", "part/n2/p2.json",
    ]  # fmt: skip


def test_names_that_are_numbers_are_put_in_order_by_their_value() -> None:
    events = (Member(table="event", pattern="{document}/{number}.json"),)
    numbers = ["10", "2", "1", "0", "100", "007", "z", "a10", "a2"]
    found = grouped(*(f"d/{number}.json" for number in numbers), members=events)
    assert [Path(name).stem for name in found["d"]] == ["0", "1", "2", "007", "10", "100", "a10", "a2", "z"]


def test_a_number_in_the_midst_of_a_name_counts_too() -> None:
    events = (Member(table="event", pattern="{document}/event-{number}-{id}.json"),)
    found = grouped("d/event-10-aa.json", "d/event-9-zz.json", "d/event-9-aa.json", members=events)
    assert found["d"] == ["d/event-9-aa.json", "d/event-9-zz.json", "d/event-10-aa.json"]


def test_a_pattern_takes_one_folder_a_name_and_nothing_else() -> None:
    member = (Member(table="note", pattern="notes/{document}/x*.{note}.json"),)
    assert grouped(
        "notes/b/x1.n.json", "notes/b/c/x1.n.json", "notes/b/y1.n.json", "notes/b/x1.n.jsonl", members=member
    ) == {"b": ["notes/b/x1.n.json"]}
    assert glob_of(member[0].pattern) == "notes/*/x*.*.json"


@given(st.permutations([f"store/note/b{b}/n{n}.json" for b in "12" for n in ("9", "10", "a")]))
def test_documents_do_not_depend_on_the_order_in_which_files_are_found(files: list[str]) -> None:
    assert grouped(*files) == grouped(*sorted(files))


def _marks(*files: tuple[str, int, int]) -> bytes:
    found: list[DirectoryDocument] = documents_of(MEMBERS, [(name, name, size, time) for name, size, time in files])
    return found[0].mark


def test_a_documents_mark_tells_an_added_a_removed_and_a_changed_file() -> None:
    first, second = ("store/note/b/n1.json", 5, 100), ("store/note/b/n2.json", 5, 100)
    marks = [
        _marks(first), _marks(first, second), _marks(second), _marks(first, (second[0], 6, 100)),
        _marks(first, (second[0], 5, 101)),
    ]  # fmt: skip
    assert len(set(marks)) == len(marks)
    assert _marks(second, first) == _marks(first, second)


# In a memory


def test_the_files_of_a_document_are_taken_in_their_order(desk: Desk) -> None:
    stocked(desk)
    line = desk.sync()
    assert line.found == 2
    assert desk.said("b1") == [
        "first", "first part of the first", "second part of the first", "second", "part of the second",
    ]  # fmt: skip
    assert desk.said("b2") == ["of another document"]
    assert desk.sync().unchanged == 2
    assert desk.is_whole()


def test_a_document_gives_back_each_files_exact_bytes(desk: Desk) -> None:
    odd = b'{"id":"n1",  "say": "\xff not UTF-8 "}\r\n\r\n'
    path = desk.put("store/note/b1/n1.json", odd)
    desk.put("store/note/b1/n2.json", b"")
    desk.put("store/note/b1/n3.json", b"{cut")
    desk.sync()
    cells = [json.loads(line) for line in desk.raw("b1").splitlines()]
    assert [cell["file"] for cell in cells] == [f"store/note/b1/n{n}.json" for n in (1, 2, 3)]
    assert base64.b64decode(cells[0]["content"]["$text"]) == path.read_bytes()
    assert [cell["content"]["$json"] for cell in cells[1:]] == ["", "{cut"]
    assert desk.is_whole()


def test_a_file_that_is_added_at_the_end_goes_on_in_the_revision(desk: Desk) -> None:
    stocked(desk)
    desk.sync()
    told(desk, "store/note/b1/n3.json", "third")
    line = desk.sync()
    assert (line.changed, line.records) == (1, 1)
    assert desk.said("b1")[-1] == "third"


def test_a_file_in_the_midst_that_changes_or_goes_is_a_new_revision_and_the_old_ones_stay(desk: Desk) -> None:
    stocked(desk)
    desk.sync()
    first = desk.raw("b1")
    told(desk, "store/part/n1/p1.json", "written anew")
    desk.sync()
    second = desk.raw("b1")
    (desk.root / "store/note/b1/n2.json").unlink()
    desk.sync()
    assert desk.raw("b1", revision=1) == first
    assert desk.raw("b1", revision=2) == second
    assert b"written anew" in second
    assert b"written anew" not in first
    # What was once said stays; the part that was written anew has taken its place.
    assert sorted(desk.said("b1")) == sorted(
        ["first", "second", "written anew", "second part of the first", "part of the second"]
    )
    assert desk.is_whole()


def test_a_part_without_its_message_is_no_document_and_joins_when_the_message_comes(desk: Desk) -> None:
    told(desk, "store/part/n1/p1.json", "early")
    assert desk.sync().found == 0
    told(desk, "store/note/b1/n1.json", "first")
    desk.sync()
    assert desk.said("b1") == ["first", "early"]


def test_a_document_whose_files_are_all_gone_stays_in_the_memory(desk: Desk) -> None:
    told(desk, "store/note/b1/n1.json", "first")
    told(desk, "store/note/b2/n2.json", "other")
    desk.sync()
    (desk.root / "store/note/b1/n1.json").unlink()
    assert desk.sync().gone == 1
    assert desk.said("b1") == ["first"]


def test_a_file_that_vanishes_while_it_is_read_is_said_and_the_document_waits(tmp_path: Path) -> None:
    path = tmp_path / "n1.json"
    path.write_text("{}")
    (document,) = documents_of(MEMBERS, [("store/note/b/n1.json", str(path), 2, path.stat().st_mtime_ns)])
    assert len(list(lines_of(document.files))) == 1
    path.write_text("{ }")
    with pytest.raises(SourceChanged, match="changed"):
        list(lines_of(document.files))
    path.unlink()
    with pytest.raises(SourceChanged, match="vanished"):
        list(lines_of(document.files))


def test_a_document_that_changes_between_two_slices_is_left_to_the_next_pass(
    small_steps: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = small_steps
    for number in range(6):
        desk.put(f"store/note/b1/{number}.json", {"id": f"n{number}", "say": f"{number} " + "long " * 10_000})
    opened = 0

    def change_then_read(files: Sequence[DirectoryFile]) -> Iterator[bytes]:
        nonlocal opened
        opened += 1
        if opened == 2:
            desk.put("store/note/b1/0.json", {"id": "n0", "say": "meanwhile"})
        return lines_of(files)

    with monkeypatch.context() as patch:
        patch.setattr(sources, "lines_of", change_then_read)
        line = desk.sync()
    assert [(s.reason.rpartition("0.json ")[2], s.is_failure) for s in line.skipped] == [
        ("changed while it was read", False)
    ]
    desk.sync()
    assert [text.split(" ")[0] for text in desk.said("b1")] == ["meanwhile", "1", "2", "3", "4", "5"]
    assert desk.is_whole()


def test_a_document_larger_than_a_slice_is_read_whole(small_steps: Desk) -> None:
    desk = small_steps
    for number in range(12):
        desk.put(f"store/note/b1/{number}.json", {"id": f"n{number}", "say": f"{number} " + "long " * 4000})
    desk.sync()
    assert [text.split(" ")[0] for text in desk.said("b1")] == [str(n) for n in range(12)]
    assert len(desk.raw("b1")) > 200_000
    assert desk.sync().unchanged == 1
    assert desk.is_whole()


# Reading a document like a file


@given(
    st.lists(st.binary(min_size=1, max_size=9), max_size=9), st.data(), st.integers(1, 12),
)  # fmt: skip
def test_any_range_of_a_document_is_that_of_its_lines_whatever_is_kept(
    pieces: list[bytes], data: st.DataObject, keep_bytes: int
) -> None:
    whole = b"".join(pieces)
    before = sources.KEEP_BYTES
    sources.KEEP_BYTES = keep_bytes
    try:
        source = DocumentSource(lambda: iter(pieces))
        for _ in range(6):
            offset = data.draw(st.integers(0, len(whole) + 3))
            length = data.draw(st.integers(0, len(whole) + 3))
            assert source.read_at(offset, length) == whole[offset : offset + length]
    finally:
        sources.KEEP_BYTES = before


def test_a_document_that_goes_on_behind_what_was_read_has_changed() -> None:
    source = DocumentSource(lambda: iter([b"one", b"two"]))
    assert source.read_at(0, 3) == b"one"
    with pytest.raises(SourceChanged, match="goes on"):
        source.check_unchanged()
    whole = DocumentSource(lambda: iter([b"one", b"two"]))
    assert whole.read_at(0, 100) == b"onetwo"
    whole.check_unchanged()


def test_closing_ends_the_read_under_way() -> None:
    ended: list[str] = []

    def lines() -> Iterator[bytes]:
        try:
            yield b"one"
            yield b"two"
        finally:
            ended.append("ended")

    source = DocumentSource(lines)
    source.read_at(0, 1)
    source.close()
    assert ended == ["ended"]
