"""Agents' live databases: what is read beside a writer, what is never read, and that nothing is left behind."""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.containers import sqlite
from recollect.capture.containers.sqlite import open_database, rows_of
from recollect.capture.expand import NO_TABLES
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from recollect.model import rows
from recollect.model.capabilities import Table
from tests.capture.conftest import KEYS, NOTES, PARTS, STAMPED, Desk

SCHEMA = """
CREATE TABLE note (id TEXT PRIMARY KEY, book TEXT, at INTEGER, body TEXT, packed BLOB, token TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, note TEXT, book TEXT, at INTEGER, body TEXT);
CREATE TABLE credential (name TEXT, secret TEXT);
INSERT INTO credential VALUES ('api', 'synthetic-credential');
"""
WRITER = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
for line in sys.stdin:
    try:
        said = db.execute(json.loads(line)).fetchall()
    except sqlite3.Error as error:
        said = str(error)
    print(json.dumps(said), flush=True)
"""


class Writer:
    """An agent in a process of its own, that holds its database open and does what it is told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.crash()

    def run(self, *statements: str) -> Any:
        """Run statements one after the other; return what the last one gave."""
        said: Any = None
        for statement in statements:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps(statement), file=self._process.stdin, flush=True)
            said = json.loads(self._process.stdout.readline())
        return said

    def crash(self) -> None:
        """End at once, leaving everything as it is."""
        self._process.kill()
        self._process.communicate()


def note(name: str, text: str, *, book: str = "b1", at: int = 1) -> str:
    body = json.dumps({"id": name, "say": text}).replace("'", "''")
    return (
        f"INSERT INTO note (id, book, at, body, token) VALUES ('{name}', '{book}', {at}, '{body}', 'synthetic-token')"
    )


def made(path: Path, *statements: str) -> Path:
    """Make a database, or change it, and close it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    db = sqlite3.connect(path)
    if is_new:
        db.executescript(SCHEMA)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()
    return path


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what lies in a folder, with sizes and times; what is mapped into memory by its name only."""
    return {
        p.name: (0, 0) if p.name.endswith("-shm") else (p.stat().st_size, p.stat().st_mtime_ns)
        for p in folder.iterdir()
    }


def lines(path: Path, document: str = "b1", tables: tuple[Table, ...] = (NOTES, PARTS)) -> list[dict[str, Any]]:
    with open_database(str(path), tables) as database:
        return [json.loads(line) for line in database.lines(document)]


def bodies(path: Path, document: str = "b1", tables: tuple[Table, ...] = (NOTES, PARTS)) -> list[str]:
    return [json.loads(line["columns"]["body"]["$json"])["say"] for line in lines(path, document, tables)]


# Beside a writer


def test_committed_rows_of_a_live_wal_are_read_and_uncommitted_ones_are_not(desk: Desk) -> None:
    with Writer(desk.root / "book.db") as agent:
        agent.run("PRAGMA journal_mode = WAL", *filter(str.strip, SCHEMA.split(";")), note("n1", "committed"))
        agent.run("BEGIN", note("n2", "not yet", at=2))
        assert (desk.root / "book.db-shm").exists()
        desk.sync()
        assert desk.said("b1") == ["committed"]
        assert agent.run("COMMIT") == []
        desk.sync()
        assert desk.said("b1") == ["committed", "not yet"]
        assert desk.is_whole()


def test_a_read_under_way_keeps_its_view_and_never_stops_the_writer(tmp_path: Path) -> None:
    with Writer(tmp_path / "book.db") as agent:
        agent.run("PRAGMA journal_mode = WAL", *filter(str.strip, SCHEMA.split(";")), note("n1", "before"))
        with open_database(str(agent.path), (NOTES, PARTS)) as database:
            first = database.marks()
            assert agent.run("BEGIN IMMEDIATE", note("n2", "meanwhile", at=2), "COMMIT") == []
            assert agent.run("PRAGMA wal_checkpoint(PASSIVE)")[0][0] == 0
            assert database.marks() == first
            assert len(list(database.lines("b1"))) == 1
        assert bodies(agent.path) == ["before", "meanwhile"]


@pytest.mark.parametrize("state", ["live", "crashed", "wal alone", "clean", "clean wal mode", "rollback journal"])
def test_the_agents_folder_is_as_it_was_after_every_read(state: str, desk: Desk) -> None:
    with Writer(desk.root / "book.db") as agent:
        _bring_into(state, agent)
        before = listing(desk.root)
        for _ in range(2):
            desk.sync()
            desk.memory.upkeep.doctor()
            assert listing(desk.root) == before
        if state != "rollback journal":
            assert desk.said("b1") == ["one", "two"]


def _bring_into(state: str, agent: Writer) -> None:
    """Leave a database in a state; what is committed says one and two."""
    path = agent.path
    is_wal = state not in ("clean", "rollback journal")
    agent.run(f"PRAGMA journal_mode = {'WAL' if is_wal else 'DELETE'}", *filter(str.strip, SCHEMA.split(";")))
    agent.run(note("n1", "one"), "PRAGMA wal_checkpoint(TRUNCATE)", note("n2", "two", at=2))
    if state == "live":
        assert {p.name for p in path.parent.iterdir()} == {"book.db", "book.db-wal", "book.db-shm"}
        return
    if state == "rollback journal":
        agent.run("PRAGMA cache_size = 1", "BEGIN IMMEDIATE", "UPDATE note SET body = hex(zeroblob(500000))")
    agent.crash()
    if state == "wal alone":
        path.with_name("book.db-shm").unlink()
    elif state.startswith("clean"):
        sqlite3.connect(path).execute("SELECT count(*) FROM note").connection.close()
        assert {p.name for p in path.parent.iterdir()} == {"book.db"}
    elif state == "rollback journal":
        assert path.with_name("book.db-journal").stat().st_size > 0


def test_a_journal_that_was_finished_but_kept_is_no_obstacle(tmp_path: Path) -> None:
    path = made(tmp_path / "book.db", "PRAGMA journal_mode = PERSIST", note("n1", "one"))
    assert path.with_name("book.db-journal").exists()
    assert bodies(path) == ["one"]


def test_a_database_in_the_midst_of_a_transaction_waits_for_the_next_pass(desk: Desk) -> None:
    path = made(desk.root / "book.db", note("n1", "one"))
    desk.sync()
    with Writer(path) as agent:
        agent.run("PRAGMA cache_size = 1", "BEGIN IMMEDIATE", "UPDATE note SET body = hex(zeroblob(500000))")
        line = desk.sync()
        assert [(s.reason.partition(" is ")[2], s.is_failure) for s in line.skipped] == [
            ("in the midst of a transaction", False)
        ]
        assert line.gone == 0
        agent.run("ROLLBACK", note("n2", "two", at=2))
    desk.sync()
    assert desk.said("b1") == ["one", "two"]


def test_a_database_that_is_locked_exclusively_fails_alone_and_is_taken_later(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 20)
    desk.put("lines/other.jsonl", '{"id": "o1", "say": "elsewhere"}\n')
    with Writer(desk.root / "book.db") as agent:
        agent.run("PRAGMA journal_mode = WAL", *filter(str.strip, SCHEMA.split(";")), note("n1", "one"))
        agent.run("PRAGMA locking_mode = EXCLUSIVE", note("n2", "two", at=2))
        line = desk.sync()
        assert [(Path(s.path).name, s.is_failure, "locked" in s.reason) for s in line.skipped] == [
            ("book.db", True, True)
        ]
        assert desk.said("other") == ["elsewhere"]
    desk.sync()
    assert desk.said("b1") == ["one", "two"]


def test_a_wal_without_shared_memory_under_an_exclusive_writer_is_read(tmp_path: Path) -> None:
    with Writer(tmp_path / "book.db") as agent:
        agent.run("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL")
        agent.run(*filter(str.strip, SCHEMA.split(";")), note("n1", "one"))
        before = listing(tmp_path)
        assert "book.db-wal" in before
        assert "book.db-shm" not in before
        assert bodies(agent.path) == ["one"]
        assert listing(tmp_path) == before


# What changes meanwhile


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_read_during_which_the_database_was_written_is_thrown_away(tmp_path: Path, mode: str) -> None:
    path = made(tmp_path / "book.db", f"PRAGMA journal_mode = {mode}", note("n1", "one"))
    with pytest.raises(SourceChanged, match="changed while"), open_database(str(path), (NOTES,)):
        made(path, note("n2", "two", at=2))


def test_a_read_during_which_an_agent_opened_the_database_is_thrown_away(tmp_path: Path) -> None:
    path = made(tmp_path / "book.db", "PRAGMA journal_mode = WAL", note("n1", "one"))
    with (
        Writer(path) as agent,
        pytest.raises(SourceChanged, match="changed while"),
        open_database(str(path), (NOTES,)),
    ):
        agent.run("SELECT * FROM note")


def test_a_database_that_was_replaced_while_it_was_read_is_thrown_away(tmp_path: Path) -> None:
    path = made(tmp_path / "book.db", note("n1", "one"))
    other = made(tmp_path / "other.db", note("n2", "two"))
    state = path.stat()
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(SourceChanged, match="changed while"), open_database(str(path), (NOTES,)):
        os.replace(other, path)
    assert bodies(path) == ["two"]


def test_a_replaced_database_is_a_new_revision_and_the_old_one_stays(desk: Desk) -> None:
    path = made(desk.root / "book.db", note("n1", "one"))
    desk.sync()
    first = desk.raw("b1")
    os.replace(made(desk.root / "new.db", note("n9", "nine")), path)
    desk.sync()
    assert "nine" in desk.said("b1")
    assert desk.raw("b1", revision=1) == first


def test_a_document_that_changes_between_two_slices_is_left_to_the_next_pass(
    small_steps: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = small_steps
    long = "long " * 10_000
    path = made(desk.root / "book.db", *(note(f"n{i}", f"{i} {long}", at=i) for i in range(6)))
    opened = 0

    def change_then_open(*args: Any) -> Any:
        nonlocal opened
        opened += 1
        if opened == 2:
            made(path, note("n9", "meanwhile", at=9))
        return open_database(*args)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "open_database", change_then_open)
        line = desk.sync()
    assert opened == 2
    assert [s.reason.rpartition(" ")[0] for s in line.skipped] == [f"b1 in {path} changed while it was"]
    desk.sync()
    assert desk.said("b1") == [*(f"{i} {long}" for i in range(6)), "meanwhile"]
    assert desk.is_whole()


def test_lines_are_refused_when_their_document_is_not_what_was_planned(tmp_path: Path) -> None:
    path = made(tmp_path / "book.db", note("n1", "one"))
    with open_database(str(path), (NOTES,)) as database:
        mark = database.marks()["b1"]
    assert len(list(rows_of(str(path), (NOTES,), "b1", mark)())) == 1
    made(path, "UPDATE note SET at = 2")
    with pytest.raises(SourceChanged, match="b1 in"):
        list(rows_of(str(path), (NOTES,), "b1", mark)())


# Schemas


def test_tables_that_are_renamed_in_a_migration_leave_the_known_documents_as_they_are(desk: Desk) -> None:
    path = made(desk.root / "book.db", note("n1", "one"))
    desk.sync()
    made(path, "ALTER TABLE note RENAME TO note_old", "ALTER TABLE part RENAME TO part_old")
    line = desk.sync()
    assert [(s.reason, line.gone) for s in line.skipped] == [(NO_TABLES, 0)]
    assert desk.said("b1") == ["one"]
    made(path, "ALTER TABLE note_old RENAME TO note", note("n2", "two", at=2))
    desk.sync()
    assert (desk.said("b1"), desk.dropped("b1")) == (["one", "two"], [])


def test_a_database_with_none_of_the_tables_is_said_and_gives_nothing(desk: Desk) -> None:
    db = sqlite3.connect(desk.root / "book.db")
    db.execute("CREATE TABLE rewritten_in_the_future (x)")
    db.commit()
    db.close()
    assert [s.reason for s in desk.sync().skipped] == [NO_TABLES]
    assert any(NO_TABLES in c.detail for c in desk.memory.upkeep.doctor().checks)


def test_tables_and_columns_that_are_not_there_yet_read_as_nothing(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "old.db")
    db.executescript("CREATE TABLE note (id TEXT, book TEXT, body TEXT); INSERT INTO note VALUES ('n1', 'b1', '{}')")
    db.close()
    assert lines(tmp_path / "old.db") == [
        {"$row": "note", "columns": {"id": "n1", "book": "b1", "body": {"$json": "{}"}}}
    ]


def test_a_file_that_is_no_database_is_refused_and_a_cut_one_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database at all")
    with pytest.raises(SourceRefused, match="not a SQLite"), open_database(str(tmp_path / "text.db"), (NOTES,)):
        pass
    with pytest.raises(SourceUnavailable, match="cannot"), open_database(str(tmp_path / "gone.db"), (NOTES,)):
        pass
    whole = made(tmp_path / "book.db", note("n1", "x" * 50_000)).read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[: len(whole) // 2])
    with (
        pytest.raises((SourceUnavailable, SourceRefused)),
        open_database(str(tmp_path / "cut.db"), (NOTES,)) as database,
    ):
        list(database.lines("b1"))


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
        for p in desk.memory.upkeep.export_bytes(s.session_uid)
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
    """Undo the encoding of a cell, as docs/data-model.md describes it: text as its bytes, with its type."""
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


@settings(max_examples=120)
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
    codes = {d.code for d in desk.memory.upkeep.verify().defects}
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
    defects = [(d.code, d.record_index) for d in desk.memory.upkeep.verify().defects]
    assert ("too_large", 1) in defects
    assert any(index == 3 for _, index in defects)
    assert desk.is_whole()


# Histories of rows


def test_added_rows_go_on_and_changed_and_deleted_rows_keep_the_earlier_revisions(desk: Desk) -> None:
    path = made(desk.root / "book.db", note("n1", "one"), note("n2", "two", at=2))
    desk.sync()
    made(path, note("n3", "three", at=3))
    line = desk.sync()
    assert (line.changed, desk.said("b1")) == (1, ["one", "two", "three"])
    before = desk.raw("b1")
    made(path, f"UPDATE note SET body = '{json.dumps({'id': 'n2', 'say': 'TWO'})}' WHERE id = 'n2'")
    desk.sync()
    assert desk.raw("b1", revision=1) == before
    assert desk.raw("b1") == before.replace(b"two", b"TWO")
    made(path, "DELETE FROM note WHERE id = 'n1'")
    desk.sync()
    assert desk.raw("b1", revision=2) == before.replace(b"two", b"TWO")
    assert len(desk.raw("b1").splitlines()) == 2
    assert desk.said("b1") == ["one", "TWO", "three"]
    assert desk.is_whole()


def test_a_document_whose_rows_are_all_deleted_stays_in_the_memory(desk: Desk) -> None:
    path = made(desk.root / "book.db", note("n1", "one"), note("n2", "two", book="b2"))
    desk.sync()
    made(path, "DELETE FROM note WHERE book = 'b1'")
    assert desk.sync().gone == 1
    assert desk.said("b1") == ["one"]


def test_a_document_is_read_again_only_if_its_own_rows_changed(desk: Desk) -> None:
    path = made(desk.root / "book.db", note("n1", "one"), note("n2", "two", book="b2"))
    desk.sync()
    made(path, note("n3", "three", book="b2", at=3))
    line = desk.sync()
    assert (line.changed, line.unchanged, line.records) == (1, 1, 1)


def test_a_stamp_tells_changed_added_and_deleted_rows(tmp_path: Path) -> None:
    path = tmp_path / "stamped.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE note (id TEXT, book TEXT, at INTEGER, body TEXT, changed INTEGER)")
    steps = [
        "INSERT INTO note VALUES ('n1', 'b1', 1, 'one', 1)",
        "INSERT INTO note VALUES ('n2', 'b1', 2, 'two', 1)",
        "UPDATE note SET body = 'owt', changed = 2 WHERE id = 'n2'",
        "UPDATE note SET body = 'longer' WHERE id = 'n2'",
        "DELETE FROM note WHERE id = 'n1'",
    ]
    marks = []
    for step in steps:
        db.execute(step)
        db.commit()
        with open_database(str(path), (STAMPED,)) as database:
            marks.append(database.marks()["b1"])
    db.close()
    assert len(set(marks)) == len(steps)


def test_rows_of_several_tables_stand_in_one_order_and_rows_without_a_document_are_kept(desk: Desk) -> None:
    part = "INSERT INTO part VALUES ('p{0}', 'n{0}', 'b1', {1}, '{{\"id\": \"p{0}\", \"say\": \"part {0}\"}}')"
    orphan = 'INSERT INTO note (id, at, body) VALUES (\'n9\', 9, \'{"id": "n9", "say": "orphan"}\')'
    made(
        desk.root / "book.db", part.format(1, 1), part.format(2, 2), note("n2", "two", at=2), note("n1", "one"), orphan
    )
    desk.sync()
    assert desk.said("b1") == ["one", "part 1", "two", "part 2"]
    assert "orphan" in desk.kept()


@settings(max_examples=40)
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


def test_databases_taken_before_are_not_opened_while_they_look_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(desk.root / "book.db", note("n1", "one"))
    desk.sync()

    def never(*_: object) -> Iterator[None]:
        raise AssertionError("opened")

    monkeypatch.setattr("recollect.capture.expand.open_database", never)
    assert desk.sync().unchanged == 1


def test_a_database_that_cannot_be_read_now_keeps_its_documents(desk: Desk) -> None:
    path = made(desk.root / "book.db", note("n1", "one"))
    desk.sync()
    shutil.copyfile(path, desk.root / "kept.db")
    path.write_bytes(b"damaged for a while")
    line = desk.sync()
    assert (line.gone, len(line.skipped)) == (0, 1)
    os.replace(desk.root / "kept.db", path)
    made(path, note("n2", "two", at=2))
    desk.sync()
    assert desk.said("b1") == ["one", "two"]


def test_the_keys_table_is_one_document_of_the_whole_file(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "keys.db")
    db.executescript("CREATE TABLE kv (key TEXT, value TEXT); INSERT INTO kv VALUES ('title', '1'), ('other', '2')")
    db.close()
    with open_database(str(tmp_path / "keys.db"), (KEYS,)) as database:
        assert list(database.marks()) == [""]
        assert len(list(database.lines(""))) == 1
