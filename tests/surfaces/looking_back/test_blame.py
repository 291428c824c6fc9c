"""`blame`: which session, turn and decision led to a line; the real program, a repository on disk, recorded edits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.surfaces.looking_back.desk import Desk, a_fixed_error, edit, make_desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def test_a_line_is_told_with_its_session_turn_and_words(desk: Desk) -> None:
    session = a_fixed_error(desk)
    answer = desk.run("blame", "shop-api/src/app.py:1", "--json").data
    found = answer["blame"]["found"]
    assert (found["session_uid"], found["how"], found["turn_index"]) == (session.uid, "added", 1)
    assert answer["citation"] == f"{session.uid}#{found['seq']}"
    assert answer["asked"].startswith("Make the tests pass.")
    shown = desk.run("show", answer["citation"], "--json", "--no-sync").data
    (event,) = [e for e in shown["events"] if e["seq"] == found["seq"]]
    assert "stdlib_json" in str(event["payload"])


def test_the_decision_that_led_to_a_line_is_named(desk: Desk) -> None:
    session = a_fixed_error(desk)
    answer = desk.run("blame", "shop-api/src/app.py:1", "--json").data
    (bound,) = answer["blame"]["found"]["decisions"]
    assert "orjson" in bound["statement"]
    (citation,) = answer["decision_citations"]
    assert citation.partition("#")[0] == session.uid
    text = desk.run("blame", "shop-api/src/app.py:1", "--no-sync").out
    assert f"decision: {bound['statement']} (adopt" in text, "it names its option itself"
    assert citation in text


def test_a_decision_that_is_a_bare_yes_is_told_with_what_it_took(desk: Desk) -> None:
    session = desk.claude()
    session.user("Make the tests pass.")
    session.assistant("orjson has no wheels. Would you like me to use stdlib_json instead of orjson?")
    session.user("yes")
    path = desk.repo / "src" / "app.py"
    edit(session, path, "import orjson\n", "import json as stdlib_json\n")
    session.assistant("Done.")
    path.write_text("import json as stdlib_json\n", "utf-8")
    assert "decision: yes: stdlib_json (adopt" in desk.run("blame", "shop-api/src/app.py:1").out


@pytest.mark.parametrize("place", [("src/app.py:1", "."), ("app.py:1", "src"), ("../src/app.py:1", "src")])
def test_it_works_from_any_folder_of_the_repository(desk: Desk, place: tuple[str, str]) -> None:
    session = a_fixed_error(desk)
    path, folder = place
    done = desk.run("blame", path, cwd=desk.repo / folder)
    assert done.code == 0, done.err
    assert session.uid in done.out
    assert done.out.startswith("src/app.py:1  import json as stdlib_json")


def test_a_line_that_no_edit_shows_has_no_proof(desk: Desk) -> None:
    a_fixed_error(desk)
    done = desk.run("blame", "shop-api/src/app.py:3")
    assert (done.code, done.err) == (1, "")
    assert "no proof" in done.out
    answer = desk.run("blame", "shop-api/src/app.py:3", "--json", "--no-sync")
    assert (answer.code, answer.data["blame"]["found"], answer.data["citation"]) == (1, None, "")


@pytest.mark.parametrize("place", ["shop-api/src/ap.py", "shop-api/src/app.py#1", "shop-api/app.py:x"])
def test_the_edited_file_that_is_most_like_a_misspelt_one_is_named(desk: Desk, place: str) -> None:
    a_fixed_error(desk)
    done = desk.run("blame", place)
    assert (done.code, "did you mean src/app.py?" in done.out) == (1, True), done


def test_a_misspelt_file_of_which_a_line_is_asked_is_named_too(desk: Desk) -> None:
    a_fixed_error(desk)
    desk.run("sync")
    done = desk.run("blame", "shop-api/src/ap.py:1")
    assert done.code == 2
    assert done.err.strip() == "recollect: there is no file shop-api/src/ap.py; did you mean src/app.py?"


@pytest.mark.parametrize("line", ["1-2", "abc"])
def test_what_is_not_the_number_of_a_line_is_refused(desk: Desk, line: str) -> None:
    (desk.repo / "src" / "app.py").write_text("import json\n", "utf-8")
    done = desk.run("blame", f"shop-api/src/app.py:{line}")
    assert done.code == 2
    assert f"'{line}' is not the number of a line" in done.err


def test_the_newest_edit_that_wrote_the_line_is_told(desk: Desk) -> None:
    path = desk.repo / "src" / "app.py"
    first = desk.claude("first")
    first.user("start")
    edit(first, path, "a = 0", "timeout_seconds = 30")
    second = desk.claude("second", start=first._at)
    second.user("change")
    edit(second, path, "timeout_seconds = 30", "timeout_seconds = 60")
    edit(second, path, "timeout_seconds = 60", "timeout_seconds = 30")
    path.write_text("timeout_seconds = 30\n", "utf-8")
    found = desk.run("blame", str(path) + ":1", "--json").data["blame"]["found"]
    assert found["session_uid"] == second.uid
    path.write_text("timeout_seconds = 60\n", "utf-8")
    removed = desk.run("blame", str(path) + ":1", "--json").data["blame"]
    assert removed["found"] is None
    assert "removed" in removed["reason"]


def test_a_file_of_the_same_name_elsewhere_in_the_repository_is_another_file(desk: Desk) -> None:
    session = desk.claude()
    session.user("write both")
    session.write(str(desk.repo / "src" / "notes.md"), "hello world\n")
    for path in (desk.repo / "notes.md", desk.repo / "src" / "notes.md"):
        path.write_text("hello world\n", "utf-8")
    assert desk.run("blame", "shop-api/src/notes.md:1").code == 0
    assert desk.run("blame", "shop-api/notes.md:1").code == 1


def test_another_repository_is_not_asked(desk: Desk) -> None:
    session = desk.claude(cwd="/w/elsewhere")
    session.user("write")
    session.write("/w/elsewhere/src/app.py", "import json as stdlib_json\n")
    (desk.repo / "src" / "app.py").write_text("import json as stdlib_json\n", "utf-8")
    assert desk.run("blame", "shop-api/src/app.py:1").code == 1


def test_a_linked_worktree_is_the_same_repository(desk: Desk) -> None:
    session = a_fixed_error(desk)
    kept = desk.repo / ".git" / "worktrees" / "fix"
    kept.mkdir(parents=True)
    (kept / "commondir").write_text("../..\n", "utf-8")
    tree = desk.root / "elsewhere"
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {kept}\n", "utf-8")
    (tree / "src" / "app.py").write_text("import json as stdlib_json\n", "utf-8")
    answer = desk.run("blame", "app.py:1", "--json", cwd=tree / "src").data
    assert (answer["blame"]["path"], answer["blame"]["found"]["session_uid"]) == ("src/app.py", session.uid)


def test_a_repository_that_was_moved_since_is_the_same(desk: Desk) -> None:
    session = a_fixed_error(desk)
    moved = desk.root / "archive" / "shop-api"
    moved.parent.mkdir()
    desk.repo.rename(moved)
    found = desk.run("blame", "src/app.py:1", "--json", cwd=moved).data["blame"]["found"]
    assert found["session_uid"] == session.uid


def test_a_file_in_no_repository_is_told_by_its_whole_path(desk: Desk) -> None:
    path = desk.root / "loose" / "notes.txt"
    path.parent.mkdir()
    session = desk.claude(cwd=str(path.parent))
    session.user("write it down")
    session.write(str(path), "remember the milk\n")
    path.write_text("remember the milk\n", "utf-8")
    assert desk.run("blame", "notes.txt:1", "--json", cwd=path.parent).data["blame"]["found"]["how"] == "added"
    other = desk.root / "other" / "notes.txt"
    other.parent.mkdir()
    other.write_text("remember the milk\n", "utf-8")
    assert desk.run("blame", str(other) + ":1").code == 1


def test_a_session_that_has_not_ended_counts(desk: Desk) -> None:
    from datetime import UTC, datetime

    session = desk.claude(start=datetime.now(UTC))
    session.user("write")
    session.write(str(desk.repo / "src" / "app.py"), "import json as stdlib_json\n")
    (desk.repo / "src" / "app.py").write_text("import json as stdlib_json\n", "utf-8")
    assert desk.run("blame", "shop-api/src/app.py:1").code == 0


def test_without_a_line_it_is_the_last_edit_of_a_file_even_of_one_that_is_gone(desk: Desk) -> None:
    a_fixed_error(desk)
    os.unlink(desk.repo / "src" / "app.py")
    answer = desk.run("blame", "shop-api/src/app.py", "--json").data
    assert answer["blame"]["found"]["how"] == "last_edit"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("shop-api/src", "is a folder"),
        ("shop-api/src/app.py:99", "no line 99"),
        ("shop-api/gone.py:1", "cannot read"),
        ("shop-api/src/__init__.py:1", "has 0 lines"),
    ],
)
def test_what_cannot_be_asked_is_said(desk: Desk, place: str, said: str) -> None:
    (desk.repo / "src" / "app.py").write_text("x = 1\n", "utf-8")
    (desk.repo / "src" / "__init__.py").touch()
    done = desk.run("blame", place)
    assert done.code == 2
    assert said in done.err
