"""Cells of any size: read in pieces, encoded as if they had been read whole."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.containers import sqlite_cells
from recollect.capture.containers.directory import DirectoryFile, lines_of
from recollect.capture.containers.sqlite import open_database
from recollect.model.capabilities import Table
from recollect.model.rows import LargeCell, blob_cell, decode_row, encode_file, encode_large_row, encode_row, text_cell
from tests.capture.conftest import NOTES, Desk
from tests.capture.containers.databases import made, note

LARGE_BYTES = 40_000_000
ROWS = Table(name="kept", document="book", order=("at",), json=("body",), zstd_json=("packed",))
LAYOUTS = {
    "rowid": "CREATE TABLE kept (book TEXT, at INTEGER, body TEXT, packed BLOB)",
    "integer key": "CREATE TABLE kept (at INTEGER PRIMARY KEY, book TEXT, body TEXT, packed BLOB)",
    "without rowid": "CREATE TABLE kept (book TEXT, at INTEGER, body TEXT, packed BLOB, PRIMARY KEY (book, at)) "
    "WITHOUT ROWID",
    "a column named rowid": "CREATE TABLE kept (rowid TEXT, book TEXT, at INTEGER, body TEXT, packed BLOB)",
    "generated column": "CREATE TABLE kept (book TEXT, at INTEGER, body TEXT, packed BLOB, more AS (at + 1))",
}


@given(
    content=st.one_of(st.binary(max_size=60), st.text(max_size=30).map(lambda text: text.encode("utf-8", "replace"))),
    piece_bytes=st.integers(1, 9),
    is_text=st.booleans(),
    is_json=st.booleans(),
    is_zstd=st.booleans(),
)
def test_a_row_in_pieces_is_the_row_in_one(
    content: bytes, piece_bytes: int, is_text: bool, is_json: bool, is_zstd: bool
) -> None:
    whole = (
        text_cell(content, is_json=is_json or is_zstd)
        if is_text
        else blob_cell(content, is_json=is_json, is_zstd=is_zstd)
    )
    large = LargeCell(
        lambda: (content[at : at + piece_bytes] for at in range(0, len(content), piece_bytes)),
        is_text=is_text, is_json=is_json, is_zstd=is_zstd,
    )  # fmt: skip
    columns = {"id": 7, 'na"me': None, "cell": whole, "last": "ä\n"}
    assert b"".join(encode_large_row("tä", columns, {"cell": large})) == encode_row("tä", columns)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_and_marks_are_the_same_however_cells_are_read(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.db"
    db = sqlite3.connect(path)
    db.execute(LAYOUTS[layout])
    for at in range(4):
        body = json.dumps({"say": f"ä {at} " * 40})
        packed = zstandard.compress(body.encode()) if at % 2 else None
        db.execute("INSERT INTO kept (book, at, body, packed) VALUES ('b1', ?, ?, ?)", (at, body, packed))
    db.execute("INSERT INTO kept (book, at, body) VALUES ('b1', 9, CAST(x'ff00fe' || zeroblob(99) AS TEXT))")
    db.execute("INSERT INTO kept (book, at, body) VALUES ('b1', 10, zeroblob(99))")
    db.commit()
    db.close()

    def read() -> tuple[bytes, dict[str, bytes]]:
        with open_database(str(path), (ROWS,)) as database:
            return b"".join(database.lines("b1")), database.marks()

    whole = read()
    monkeypatch.setattr(sqlite_cells, "INLINE_BYTES", 10)
    monkeypatch.setattr(sqlite_cells, "PIECE_BYTES", 7)
    monkeypatch.setattr(sqlite_cells, "_LOADED_PIECE_BYTES", 7)
    assert read() == whole


def test_no_piece_of_a_large_cell_is_large(tmp_path: Path) -> None:
    path = made(tmp_path / "book.db", note("n1", "before"), note("n2", "x" * LARGE_BYTES, at=2), note("n3", "y", at=3))
    with open_database(str(path), (NOTES,)) as database:
        sizes = [len(piece) for piece in database.lines("b1")]
        assert sum(sizes) > LARGE_BYTES
        assert max(sizes) < 4 * sqlite_cells.PIECE_BYTES
        before = database.marks()
    db = sqlite3.connect(path)
    db.execute("UPDATE note SET body = replace(body, 'xxx\"}', 'xxz\"}') WHERE id = 'n2'")
    db.commit()
    db.close()
    with open_database(str(path), (NOTES,)) as database:
        assert database.marks() != before


def test_a_cell_of_40_megabytes_is_one_unknown_event_beside_the_others(desk: Desk) -> None:
    made(
        desk.root / "book.db", note("n1", "before"), note("n2", "needle " + "x" * LARGE_BYTES, at=2),
        note("n3", "after", at=3), note("n4", "elsewhere", book="b2"),
    )  # fmt: skip
    report = desk.sync()
    assert report.defects == {"too_large": 1}
    assert desk.said("b1") == ["before", "after"]
    assert desk.said("b2") == ["elsewhere"]
    assert desk.memory.search("needle", sync=False).total == 1
    assert desk.is_whole()


@pytest.mark.parametrize("size", [sqlite_cells.INLINE_BYTES - 20, sqlite_cells.INLINE_BYTES + 20, LARGE_BYTES])
def test_a_file_of_any_size_is_read_in_pieces_and_encoded_as_in_one(size: int, tmp_path: Path) -> None:
    path = tmp_path / "n1.json"
    path.write_text(json.dumps({"say": "ä\n" * (size // 8)}))
    info = path.stat()
    file = DirectoryFile("note", "store/n1.json", str(path), info.st_size, info.st_mtime_ns)
    pieces = list(lines_of([file]))
    assert b"".join(pieces) == encode_file("note", "store/n1.json", path.read_bytes()) + b"\n"
    assert max(map(len, pieces)) < 4 * sqlite_cells.PIECE_BYTES


def test_a_cell_that_unpacks_to_more_than_a_record_may_be_is_shown_by_its_beginning() -> None:
    packed = zstandard.compress(b'{"say": "' + b"much of it " * 2_000_000 + b'"}')
    row = decode_row(
        msgspec.json.decode(encode_row("note", {"packed": blob_cell(packed, is_json=False, is_zstd=True)}))
    )
    assert row is not None
    assert row.defect == "too_large"
    assert row.value["packed"].startswith('{"say": "much of it much')
    assert len(row.value["packed"]) == 64 * 1024
