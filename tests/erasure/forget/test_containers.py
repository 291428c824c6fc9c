"""Single records go out of every kind of source, whatever the agent writes afterwards."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

from recollect.memory import ForgetReport, ForgetSelection
from tests.capture.conftest import Desk
from tests.erasure.forget.nowhere import holding


def forget(desk: Desk, **selection: Any) -> ForgetReport:
    desk.memory.sync()
    report = desk.memory.maintenance.forgetting.run(ForgetSelection(**selection))
    assert desk.is_whole(), desk.memory.maintenance.verify().defects
    return report


def note(name: str, text: str) -> dict[str, str]:
    return {"id": name, "say": text}


def test_a_message_of_a_document_goes_out_of_every_revision(desk: Desk) -> None:
    words = ["alpha stays", "bravo goes", "charlie stays"]
    for count in (2, 3):  # rewritten as a whole each time
        desk.put("pages/one.json", {"title": "t", "notes": [note(f"n{i}", w) for i, w in enumerate(words[:count])]})
        desk.sync()
    assert desk.said("one") == words
    report = forget(desk, pattern="bravo")
    assert (report.partial_sessions, report.records) == (1, 2)
    assert holding(desk.memory, "bravo") == []
    assert desk.said("one") == ["alpha stays", "charlie stays"]
    words.append("delta comes")
    for spacing in (None, 1):  # the same message in other bytes is the same message
        text = json.dumps({"title": "t", "notes": [note(f"n{i}", w) for i, w in enumerate(words)]}, indent=spacing)
        desk.put("pages/one.json", text)
        desk.sync()
        assert holding(desk.memory, "bravo") == []
    assert desk.said("one") == ["alpha stays", "charlie stays", "delta comes"]
    assert desk.is_whole()
    desk.memory.sync(force=True)
    assert desk.said("one") == ["alpha stays", "charlie stays", "delta comes"]
    assert holding(desk.memory, "bravo") == []


def test_a_row_of_a_database_goes_and_stays_out_when_another_changes(desk: Desk) -> None:
    path = desk.root / "book.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE note (id TEXT, book TEXT, at INTEGER, body TEXT, packed BLOB, token TEXT)")
        db.execute("CREATE TABLE part (id TEXT, note TEXT, book TEXT, at INTEGER, body TEXT)")
        for i, text in enumerate(["alpha stays", "bravo goes", "charlie stays"]):
            body = json.dumps(note(f"n{i}", text))
            db.execute("INSERT INTO note VALUES (?, 'b1', ?, ?, NULL, 'x')", (f"n{i}", i, body))
        db.commit()
        desk.sync()
        assert desk.said("b1") == ["alpha stays", "bravo goes", "charlie stays"]
        forget(desk, pattern="bravo")
        assert holding(desk.memory, "bravo") == []
        db.execute("INSERT INTO note VALUES ('n3', 'b1', 3, ?, NULL, 'x')", (json.dumps(note("n3", "delta comes")),))
        db.execute("UPDATE note SET body = ? WHERE id = 'n0'", (json.dumps(note("n0", "alpha changed")),))
        db.commit()
    desk.sync()
    assert holding(desk.memory, "bravo") == []
    assert desk.said("b1") == ["alpha changed", "charlie stays", "delta comes"]
    assert desk.is_whole()


def test_a_log_of_patches_goes_as_a_whole(desk: Desk) -> None:
    log = [
        {"kind": 0, "v": {"notes": [note("n0", "alpha")]}},
        {"kind": 2, "k": ["notes"], "v": [note("n1", "bravo")]},
    ]
    desk.put("logs/one.jsonl", "".join(json.dumps(line) + "\n" for line in log))
    desk.sync()
    assert desk.said("one") == ["alpha", "bravo"]
    assert forget(desk, pattern="bravo").whole_sessions == 1
    assert holding(desk.memory, "alpha", "bravo") == []
    log.append({"kind": 2, "k": ["notes"], "v": [note("n2", "charlie")]})
    desk.put("logs/one.jsonl", "".join(json.dumps(line) + "\n" for line in log))
    desk.sync()
    assert holding(desk.memory, "alpha", "bravo") == []


def test_a_text_of_one_record_goes_as_a_whole(desk: Desk) -> None:
    desk.put("texts/one.txt", "alpha\nbravo\n")
    desk.put("texts/two.txt", "charlie\n")
    desk.sync()
    forget(desk, pattern="bravo")
    assert holding(desk.memory, "alpha", "bravo") == []
    desk.put("texts/one.txt", "alpha\nbravo\ndelta\n")
    desk.sync()
    assert "charlie" in desk.kept()


def test_a_large_record_and_one_too_large_to_decode(desk: Desk) -> None:
    large = json.dumps(note("n0", "alpha " * 200_000 + "bravo"))
    giant = json.dumps(note("n1", "charlie " * 2_300_000 + "delta \\ echo"))
    desk.put("lines/one.jsonl", f"{large}\n{giant}\n{json.dumps(note('n2', 'foxtrot stays'))}\n")
    desk.sync()
    assert forget(desk, pattern="bravo").records == 1
    assert holding(desk.memory, "alpha", "bravo") == []
    assert forget(desk, pattern="delta \\\\ echo").records == 1
    assert holding(desk.memory, "charlie", "delta") == []
    assert desk.said("one") == ["foxtrot stays"]


def test_a_record_of_many_slices_is_kept_out_when_the_file_is_read_again(small_steps: Desk) -> None:
    desk = small_steps
    lines = [json.dumps(note(f"n{i}", f"word{i} " + "text " * 400)) for i in range(120)]
    lines[60] = json.dumps(note("n60", "bravo " + "text " * 400))
    desk.put("lines/one.jsonl", "\n".join(lines) + "\n")
    forget(desk, pattern="bravo")
    assert len(desk.said("one")) == 119
    desk.put("lines/one.jsonl", "\n".join([json.dumps(note("new", "first")), *lines]) + "\n")
    desk.sync()
    assert holding(desk.memory, "bravo") == []
    assert len(desk.said("one")) == 120
    assert desk.is_whole()


def test_new_sessions_in_a_file_of_a_forgotten_one_are_taken_in(small_steps: Desk) -> None:
    """A forgotten beginning of several slices, and something else behind it: all of it is read, the beginning goes."""
    desk = small_steps
    lines = [json.dumps(note(f"n{i}", f"bravo{i} " + "text " * 400)) for i in range(120)]
    desk.put("lines/one.jsonl", "\n".join(lines) + "\n")
    desk.sync()
    forget(desk, pattern="bravo")
    assert holding(desk.memory, "bravo") == []
    desk.put("lines/two.jsonl", "\n".join([*lines, json.dumps(note("n999", "charlie"))]) + "\n")
    desk.sync()
    assert holding(desk.memory, "bravo") == []
    assert desk.said("two") == ["charlie"]
    assert desk.is_whole()


def test_the_archive_alone_gives_what_was_not_forgotten(desk: Desk) -> None:
    lines = [json.dumps(note(f"n{i}", word)) for i, word in enumerate(("alpha", "bravo", "charlie", "delta"))]
    desk.put("lines/one.jsonl", "\n".join(lines) + "\n")
    desk.put("pages/two.json", {"notes": [note("n0", "alpha"), note("n1", "bravo"), note("n2", "charlie")]})
    forget(desk, pattern="bravo")
    desk.memory.close()
    for path in desk.memory.home.glob("memory.db*"):
        path.unlink()
    desk.memory.maintenance.rebuild("all")
    assert desk.said("one") == ["alpha", "charlie", "delta"]
    assert desk.said("two") == ["alpha", "charlie"]
    desk.put("lines/one.jsonl", "\n".join([*lines, json.dumps(note("n4", "echo"))]) + "\n")
    desk.sync()
    assert desk.said("one") == ["alpha", "charlie", "delta", "echo"]
    assert holding(desk.memory, "bravo") == []
    assert desk.is_whole()
