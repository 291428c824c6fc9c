"""Agents' databases: only what is declared is read, every value is given back exactly, rows stand in their order."""

from __future__ import annotations

import base64
import json
import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.containers.sqlite import open_database
from recollect.errors import SourceUnavailable
from recollect.model import rows
from recollect.model.capabilities import Table
from tests.capture.conftest import KEYS, NOTES, PARTS, Desk
from tests.capture.containers.databases import bodies, lines, made, note
from tests.examples import tried

# What may be read


def test_neither_other_tables_nor_excluded_columns_are_ever_read(desk: Desk) -> None:
    made(desk.root / "book.db", note("n1", "one"))
    desk.sync()
    stored = desk.kept() + desk.raw("b1").decode()
    assert "one" in stored
    assert "synthetic-token" not in stored
    assert "synthetic-credential" not in stored


def test_only_declared_keys_are_read_in_a_key_value_table(desk: Desk) -> None:
    db = sqlite3.connect(desk.root / "keys.db")
    db.execute("CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT, owner TEXT)")
    found = {"title": "a title", "titles": "not a key", "chat:1": "one", "chat:2": "two", "chat": "no", "secret": "no!"}
    rows_in = [(k, json.dumps({"id": k, "say": v}), "synthetic-owner") for k, v in found.items()]
    db.executemany("INSERT INTO kv VALUES (?, ?, ?)", rows_in)
    db.commit()
    db.close()
    desk.sync()
    assert desk.said("keys") == ["one", "two", "a title"]
    assert not any(text in desk.raw("keys").decode() for text in ("not a key", "no!", "synthetic-owner"))


TRICKS = {
    "a view of the declared name": """
        DROP TABLE note; CREATE VIEW note AS SELECT name AS id, 'b1' AS book, 1 AS at, secret AS body FROM credential;
    """,
    "a view of the name of another declared table": """
        DROP TABLE part; CREATE VIEW part AS
        SELECT name AS id, name AS note, 'b1' AS book, 1 AS at, secret AS body FROM credential;
    """,
    "a trigger on the table": """
        CREATE TRIGGER note BEFORE INSERT ON note
        BEGIN INSERT INTO note SELECT name, 'b1', 1, secret FROM credential; END;
    """,
    "a table of somebody else's content": """
        DROP TABLE note; CREATE VIRTUAL TABLE note USING fts5(name, secret, content='credential');
    """,
    "a column computed of an excluded one": """
        DROP TABLE note; CREATE TABLE note (id TEXT, book TEXT, at INTEGER, token TEXT, body TEXT AS (token));
        INSERT INTO note (id, book, at, token) VALUES ('n1', 'b1', 1, 'synthetic-credential');
    """,
    "an index on an excluded column": "CREATE INDEX note_token ON note (token, body);",
    "a name in quotes": """
        CREATE TABLE "note"" UNION SELECT secret FROM credential --" (id, book, at, body);
    """,
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_schema_cannot_make_us_read_what_is_not_declared(trick: str, desk: Desk) -> None:
    path = made(desk.root / "book.db")
    db = sqlite3.connect(path)
    db.executescript(TRICKS[trick])
    db.close()
    desk.sync()
    assert "synthetic-credential" not in desk.kept()
    everything = b"".join(
        p for s in desk.memory.sessions(limit=100, sync=False).sessions
        for p in desk.memory.maintenance.export_bytes(s.session_uid, format="raw")
    )  # fmt: skip
    assert b"synthetic-credential" not in everything


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT secret FROM credential",
        "SELECT token FROM note",
        "SELECT * FROM note",
        "SELECT sql FROM sqlite_master",
        "SELECT (SELECT secret FROM credential) FROM note",
        "WITH c AS (SELECT secret FROM credential) SELECT * FROM c",
        "SELECT id FROM note WHERE token > 'a'",
        "SELECT id FROM note ORDER BY token",
        "DELETE FROM note",
        "CREATE TEMP TABLE t (x)",
        "ATTACH ':memory:' AS other",
        "PRAGMA table_info(credential)",
        "SELECT * FROM pragma_table_info('credential')",
    ],
)
def test_the_open_database_itself_denies_every_other_statement(statement: str, tmp_path: Path) -> None:
    path = made(tmp_path / "book.db", note("n1", "one"))
    with pytest.raises(SourceUnavailable), open_database(str(path), (NOTES, PARTS)) as database:
        database._run(statement)


def test_names_of_documents_are_values_never_statements(desk: Desk) -> None:
    nasty = "b1' OR 1=1; DROP TABLE note; --"
    quoted = nasty.replace("'", "''")
    path = made(desk.root / "book.db", note("n1", "one"), note("n2", "two", book=quoted))
    assert bodies(path, nasty) == ["two"]
    assert bodies(path, "b1") == ["one"]


# Exact bytes


def _restored(cell: Any) -> Any:
    """Undo the encoding of a cell, as docs/reference/data-model.md describes it: text as its bytes, with its type."""
    if isinstance(cell, str):
        return "text", cell.encode()
    if not isinstance(cell, dict):
        return {int: "integer", float: "real", type(None): "null"}[type(cell)], cell
    ((tag, body),) = cell.items()
    match tag:
        case "$json":
            return "text", body.encode()
        case "$text":
            return "text", base64.b64decode(body)
        case "$real":
            return "real", float(body)
    return "blob", base64.b64decode(body)


VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
    | st.binary(max_size=30)
)
_KINDS = {int: "integer", float: "real", type(None): "null", str: "text", bytes: "blob"}


@settings(max_examples=tried(120))
@given(value=VALUES, as_text=st.binary(max_size=20))
def test_every_columns_value_is_given_back_exactly(value: Any, as_text: bytes, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("exact") / "book.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE note (id, book, at, body, packed, extra)")
    db.execute("INSERT INTO note VALUES (1, 'b1', 1, ?, ?, CAST(? AS TEXT))", (value, value, as_text))
    db.commit()
    db.close()
    (line,) = lines(path, tables=(NOTES,))
    for name in ("body", "packed"):
        kind, restored = _restored(line["columns"][name])
        wanted = value.encode() if isinstance(value, str) else value
        assert restored == wanted
        # A column of JSON is one, whether it is stored as text or as a blob.
        assert kind == _KINDS[type(value)] or (name == "body" and {kind, _KINDS[type(value)]} == {"text", "blob"})
        if isinstance(value, float):
            assert math.copysign(1, restored) == math.copysign(1, value)
    assert _restored(line["columns"]["extra"]) == ("text", as_text)


def test_values_that_json_has_not_survive_export_and_reach_the_parser_bent(desk: Desk) -> None:
    db = sqlite3.connect(desk.root / "book.db")
    db.execute("CREATE TABLE note (id, book, at, body, packed)")
    db.execute("INSERT INTO note VALUES ('n1', 'b1', 1, ?, ?)", (math.inf, b"\x00\xff"))
    db.execute("INSERT INTO note VALUES ('n2', 'b1', ?, CAST(? AS TEXT), NULL)", (2**63 - 1, b"\xff\xfe"))
    db.commit()
    db.close()
    desk.sync()
    first, second = (json.loads(line)["columns"] for line in desk.raw("b1").splitlines())
    assert [_restored(c) for c in (first["body"], first["packed"])] == [("real", math.inf), ("blob", b"\x00\xff")]
    assert [_restored(c) for c in (second["at"], second["body"])] == [("integer", 2**63 - 1), ("text", b"\xff\xfe")]
    codes = {d.code for d in desk.memory.maintenance.verify().defects}
    assert {"number_out_of_range", "invalid_utf8"} <= codes
    assert desk.is_whole()


def test_compressed_cells_are_decoded_and_a_bomb_stays_a_blob(desk: Desk) -> None:
    told = zstandard.compress(json.dumps({"id": "n1", "say": "packed"}).encode())
    bomb = zstandard.compress(b"[" + b" " * (rows.MAX_CELL_BYTES + 1) + b"]")
    assert len(bomb) < 20_000
    db = sqlite3.connect(made(desk.root / "book.db"))
    db.executemany(
        "INSERT INTO note (id, book, at, packed) VALUES (?, 'b1', ?, ?)",
        [("n1", 1, told), ("n2", 2, bomb), ("n3", 3, b'{"id": "n3", "say": "plain"}'), ("n4", 4, told[:-4])],
    )
    db.commit()
    db.close()
    desk.sync()
    assert desk.said("b1") == ["packed", "plain"]
    defects = [(d.code, d.record_index) for d in desk.memory.maintenance.verify().defects]
    assert ("too_large", 1) in defects
    assert any(index == 3 for _, index in defects)
    assert desk.is_whole()


# Order


def test_rows_of_several_tables_stand_in_one_order_and_rows_without_a_document_are_kept(desk: Desk) -> None:
    part = "INSERT INTO part VALUES ('p{0}', 'n{0}', 'b1', {1}, '{{\"id\": \"p{0}\", \"say\": \"part {0}\"}}')"
    orphan = 'INSERT INTO note (id, at, body) VALUES (\'n9\', 9, \'{"id": "n9", "say": "orphan"}\')'
    made(
        desk.root / "book.db", part.format(1, 1), part.format(2, 2), note("n2", "two", at=2), note("n1", "one"), orphan
    )
    desk.sync()
    assert desk.said("b1") == ["one", "part 1", "two", "part 2"]
    assert "orphan" in desk.kept()


@settings(max_examples=tried(40))
@given(written=st.lists(st.tuples(st.sampled_from(("note", "part")), VALUES, VALUES), max_size=8))
def test_the_order_of_rows_is_that_of_the_database_whatever_its_values(
    written: list[tuple[str, Any, Any]], tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("order") / "book.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE note (n, book, at, id)")
    db.execute("CREATE TABLE part (n, book, at, id)")
    for number, (table, at, name) in enumerate(written):
        db.execute(f"INSERT INTO {table} VALUES (?, 'b1', ?, ?)", (number, at, name))
    db.commit()
    wanted = db.execute(
        "SELECT n FROM (SELECT n, at, id, 0 AS t FROM note UNION ALL SELECT n, at, id, 1 FROM part) ORDER BY at, id, t"
    ).fetchall()
    keys = db.execute("SELECT at, id, n FROM note UNION ALL SELECT at, id, n FROM part").fetchall()
    db.close()
    tables = (
        Table(name="note", document="book", order=("at", "id")),
        Table(name="part", document="book", order=("at", "id")),
    )
    got = [line["columns"]["n"] for line in lines(path, tables=tables)]
    by_number = {n: (at, name) for at, name, n in keys}
    assert [by_number[n] for n in got] == [by_number[n] for (n,) in wanted]


def test_the_keys_table_is_one_document_of_the_whole_file(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "keys.db")
    db.executescript("CREATE TABLE kv (key TEXT, value TEXT); INSERT INTO kv VALUES ('title', '1'), ('other', '2')")
    db.close()
    with open_database(str(tmp_path / "keys.db"), (KEYS,)) as database:
        assert list(database.marks()) == [""]
        assert len(list(database.lines(""))) == 1


def test_of_a_table_of_which_only_some_columns_are_read_a_row_without_them_is_none(tmp_path: Path) -> None:
    path = made(
        tmp_path / "book.db", note("n1", "one"), note("n2", "two"), "UPDATE note SET packed = 'x' WHERE id = 'n2'"
    )
    only = Table(name="note", document="book", order=("id",), only=("packed", "missing"))
    assert [line["columns"] for line in lines(path, tables=(only,))] == [{"packed": "x"}]
    nothing = Table(name="note", document="book", order=("id",), only=("missing",))
    with open_database(str(path), (nothing,)) as database:
        assert database.marks() == {}
        assert list(database.lines("b1")) == []


def test_only_what_is_read_of_a_table_tells_that_a_document_changed(tmp_path: Path) -> None:
    path = made(tmp_path / "book.db", note("n1", "one"), "UPDATE note SET packed = 'x'")
    only = Table(name="note", document="book", order=("id",), only=("packed",))

    def mark() -> bytes:
        with open_database(str(path), (only,)) as database:
            return database.marks()["b1"]

    before = mark()
    made(path, "UPDATE note SET at = 9, body = 'other'")
    assert mark() == before
    made(path, "UPDATE note SET packed = 'y'")
    assert mark() != before
