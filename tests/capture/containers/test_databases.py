"""Agents' live databases: what is read beside a writer, what becomes of changed rows, and that nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.capture.containers import sqlite
from recollect.capture.containers.sqlite import open_database, rows_of
from recollect.capture.expand import NO_TABLES
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from tests.capture.conftest import NOTES, PARTS, STAMPED, Desk
from tests.capture.containers.databases import SCHEMA, Writer, bodies, lines, listing, made, note

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
            desk.memory.maintenance.doctor()
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
            ("in the middle of a transaction", False)
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
    assert any(NO_TABLES in c.detail for c in desk.memory.maintenance.doctor().checks)


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
