"""`recollect digest`, `recollect decisions` and the view for other programs, as people and programs use them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.model.time import to_iso
from recollect.testing.builders import ClaudeTranscript
from tests import program
from tests.ingest.conftest import World
from tests.recall.context.conftest import Shop, shop

__all__ = ["shop"]


def run(world: World, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    values = {**os.environ, **world.env, "RECOLLECT_HOME": str(world.root / "memory"), **env}
    return program.run_text(*arguments, env={k: v for k, v in values.items() if v}, cwd=world.root)


@pytest.fixture
def one(world: World) -> ClaudeTranscript:
    transcript = world.claude("one")
    transcript.user("Use Postgres instead of MySQL because it has better JSON support.")
    transcript.write("/w/demo/postgres.py", "import psycopg\n")
    transcript.tool("Bash", {"command": "pytest -q"}, "3 passed in 0.1s")
    transcript.assistant("Done.")
    return transcript


def test_of_several_sessions_that_begin_alike_all_are_named(world: World) -> None:
    names = ("alike-one", "alike-two")
    chats = [
        {
            "uuid": name, "name": name, "created_at": "2026-08-01T09:00:00Z",
            "chat_messages": [
                {"uuid": f"{name}-{n}", "sender": who, "text": "Where?", "created_at": f"2026-08-01T09:00:0{n}Z"}
                for n, who in enumerate(("human", "assistant"))
            ],
        }
        for name in names
    ]  # fmt: skip
    export = world.root / "conversations.json"
    export.write_text(json.dumps(chats), "utf-8")
    world.memory.take_in([export])
    asked = run(world, "digest", "claudeai:alike")
    assert asked.returncode == 2
    assert all(f"claudeai:{name}" in asked.stderr for name in names)


def test_a_digest_is_there_after_a_sync_and_never_before(world: World, one: ClaudeTranscript) -> None:
    missing = run(world, "digest", one.uid)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "no digest: no session called" in missing.stderr
    assert not (world.root / "memory").exists()  # nothing was taken in, or even made
    assert run(world, "digest", one.uid, "--json").stdout == "null\n"
    assert run(world, "sync").returncode == 0
    found = run(world, "digest", one.uid, "--json")
    digest = json.loads(found.stdout)
    assert (found.returncode, digest["session_uid"], digest["outcome"]) == (0, one.uid, "success")
    assert set(digest["cost"]) == {
        "input_tokens", "output_tokens", "cache_tokens", "wall_clock_s", "active_s", "turns", "retries"
    }  # fmt: skip
    one.user("and now something else")
    again = json.loads(run(world, "digest", one.uid, "--json").stdout)
    assert again == digest  # what was written since is taken in by a sync alone
    before = json.loads(run(world, "digest", one.uid, "--json", "--schema", "1").stdout)
    assert (before["schema_version"], digest["schema_version"]) == (1, 2)
    assert digest["started_at"] == to_iso(before["started_at"])
    wrong = run(world, "digest", one.uid, "--json", "--schema", "3")
    assert wrong.returncode == 2
    assert "3 is not in the range" in json.loads(wrong.stdout)["error"]["message"]
    text = run(world, "digest", one.uid[:12]).stdout
    assert "outcome: success" in text
    assert "the last test run passes" in text


def test_decisions_are_told_with_their_citation_and_what_became_of_them(world: World, one: ClaudeTranscript) -> None:
    assert run(world, "sync").returncode == 0
    shown = run(world, "decisions", "--repo", "demo")
    assert shown.returncode == 0
    assert "holds  Use Postgres instead of MySQL" in shown.stdout
    assert f"{one.uid}#1" in shown.stdout
    answer = json.loads(run(world, "decisions", "postgres", "--path", "postgres.py", "--json").stdout)
    (view,) = answer["decisions"]
    assert (view["state"], view["citation"], len(view["episodes"])) == ("holds", f"{one.uid}#1", 1)
    assert view["decision"]["options"] == [
        {"text": "Postgres", "is_chosen": True}, {"text": "MySQL", "is_chosen": False}
    ]  # fmt: skip
    assert run(world, "decisions", "kubernetes").returncode == 1
    assert run(world, "decisions", "--at", "2020-01-01").returncode == 1
    assert run(world, "decisions", "--known-at", "2020-01-01").returncode == 1
    assert run(world, "decisions", "--at", "2026-08-02").returncode == 0
    assert run(world, "decisions", "--session", one.uid).returncode == 0
    assert run(world, "decisions", "--session", "claude:nobody").returncode == 2
    assert run(world, "decisions", "--chosen", "x").returncode == 2


def test_what_only_learned_weights_tell_is_marked_and_can_be_left_out_or_switched_off(world: World) -> None:
    talk = world.claude("talk")
    talk.user("make the import robust")
    talk.assistant("I could put it behind a queue.")
    talk.user("we had that once and the deploy hung")
    talk.assistant("Then I leave it as it is.")
    assert run(world, "sync").returncode == 0
    shown = run(world, "decisions").stdout
    assert "maybe  we had that once and the deploy hung" in shown
    (view,) = json.loads(run(world, "decisions", "hung", "--json").stdout)["decisions"]
    assert (view["decision"]["status"], view["citation"]) == ("ranked", f"{talk.uid}#4")
    assert run(world, "decisions", "hung", "--sure").returncode == 1
    file = str(talk.path)
    assert '"ranked"' not in run(world, "parse", file, "--nodes").stdout
    assert '"status":"ranked"' in run(world, "parse", file, "--nodes", "--ranked").stdout
    (world.root / "memory" / "config.toml").write_text("[distill]\nranked = false\n", "utf-8")
    assert run(world, "sync").returncode == 0
    assert run(world, "decisions", "hung").returncode == 1


def test_a_decision_can_be_added_and_is_found(world: World, one: ClaudeTranscript) -> None:
    assert run(world, "sync").returncode == 0
    done = run(
        world, "decisions", "add", "We keep one file", "--chosen", "SQLite", "--rejected", "a server", "--because",
        "nobody runs servers", "--session", f"{one.uid}#1", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    assert (view["repo"], view["citation"]) == ("demo", f"{one.uid}#1")
    assert view["decision"]["origin"] == "added"
    assert "We keep one file" in run(world, "decisions", "one", "file").stdout
    assert "We keep one file" in run(world, "decisions", "--session", one.uid).stdout
    assert json.loads(run(world, "verify", "--json").stdout)["ok"]
    assert run(world, "sync").returncode == 0
    assert run(world, "rebuild", "all").returncode == 0
    assert "nobody runs servers" in run(world, "decisions", "SQLite").stdout


def test_an_added_decision_says_at_once_what_it_takes_the_place_of(world: World) -> None:
    said = ("decisions", "add", "We keep SQLite", "--chosen", "SQLite", "--rejected", "Postgres", "--repo", "shop")
    old = json.loads(run(world, *said, "--json").stdout)["decision"]["id"]
    again = run(world, "decisions", "add", "We move to Postgres", "--chosen", "Postgres", "--rejected", "SQLite",
                "--repo", "shop")  # fmt: skip
    assert f"supersedes {old}" in again.stdout
    assert again.stderr == ""
    assert "superseded" in run(world, "decisions", old).stdout


def test_a_decision_is_added_while_another_process_takes_in(world: World, one: ClaudeTranscript) -> None:
    run(world, "sync")
    with world.memory.writing():
        done = run(world, "decisions", "add", "We keep SQLite", "--repo", "shop")
    assert done.returncode == 0
    assert done.stdout.startswith("holds  We keep SQLite\n")
    assert "not compared with other decisions yet" in done.stderr


def test_a_decision_is_opened_by_its_id_whatever_became_of_it(world: World) -> None:
    for said in (("We keep SQLite", "SQLite", "Postgres"), ("We move to Postgres", "Postgres", "SQLite")):
        run(world, "decisions", "add", said[0], "--chosen", said[1], "--rejected", said[2], "--repo", "shop")
    world.claude("one").user("hello")
    run(world, "sync")
    (old,) = json.loads(run(world, "decisions", "--state", "superseded", "--json").stdout)["decisions"]
    name = old["decision"]["id"]
    assert f"supersedes {name}" in run(world, "decisions", "move").stdout
    for opened in (run(world, "show", name), run(world, "decisions", name), run(world, "decisions", name[:-4])):
        assert opened.returncode == 0
        assert opened.stdout.startswith("superseded  We keep SQLite\n")
    assert run(world, "show", "decision:none").returncode == 1
    assert json.loads(run(world, "show", name, "--json").stdout)["total"] == 1


def test_add_without_words_is_no_search(world: World) -> None:
    done = run(world, "decisions", "add")
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing argument 'STATEMENT" in done.stderr


def test_a_decision_can_be_added_to_a_memory_that_is_empty(world: World) -> None:
    token = "ghp_" + "x7Kq2mN9pR4tV8wY1zB3cD5fG6hJ0kL2aS4e"
    done = run(world, "decisions", "add", f"Never write {token} anywhere")
    assert done.returncode == 0, done.stderr
    assert token not in done.stdout
    assert token not in run(world, "decisions", "--json").stdout
    assert "Never write" in run(world, "decisions").stdout
    assert run(world, "decisions", "add", " ").returncode == 2


def test_other_programs_find_the_memory_and_read_its_digests(world: World, one: ClaudeTranscript) -> None:
    assert run(world, "sync").returncode == 0
    store = world.root / "memory" / "memory.db"
    found = run(world, "digest", one.uid, "--json", "--schema", "1", RECOLLECT_HOME="", HELIX_STORE_DB=str(store))
    assert found.returncode == 0, found.stderr
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    rows = db.execute("SELECT session_uid, json FROM digests").fetchall()
    db.close()
    ((uid, text),) = rows
    stored = json.loads(text)
    assert stored.pop("tool_kinds") == {}
    assert stored["cost"].pop("active_s") > 0
    assert (uid, stored) == (one.uid, json.loads(found.stdout))


def test_a_session_that_starts_is_told_what_was_decided(shop: Shop) -> None:
    shop.session("one").work("Use Postgres instead of MySQL because it has better JSON support.", "Fine.")
    shop.session("two", cwd=shop.world.root / "elsewhere").work("Never use Postgres.", "Fine.")
    decided = [line for line in shop.context().lines if "decided: " in line]
    assert decided[0].startswith("- decided: “Use Postgres instead of MySQL")
    assert decided[0].endswith("#1]")
    assert not any("Never use Postgres" in line for line in decided)


def test_what_was_decided_twice_in_the_same_words_is_told_once(shop: Shop) -> None:
    shop.session("one").work("Use tabs instead of spaces.", "Fine.")
    second = shop.session("two").work("use tabs instead of spaces", "Fine.")
    decided = [line for line in shop.context().lines if "decided: " in line]
    assert len(decided) == 1
    assert second.uid in decided[0]


def test_what_was_decided_below_the_repositorys_top_holds_in_it(shop: Shop) -> None:
    shop.session("one", cwd=shop.path / "web").work("Use tabs instead of spaces.", "Fine.")
    assert any("Use tabs instead of spaces" in line for line in shop.context().lines if "decided: " in line)


def test_what_was_taken_back_is_not_told_any_more(shop: Shop) -> None:
    one = shop.session("one").work("Use Postgres instead of MySQL.", "Fine.")
    assert any("decided: " in line for line in shop.context().lines)
    one.path.write_bytes(one.path.read_bytes().replace(b"Use Postgres instead of MySQL.", b"hello, what is Postgres?"))
    assert not any("decided: " in line for line in shop.context().lines)


@pytest.mark.skipif(os.name == "nt", reason="a terminal and its signals are POSIX")
def test_ctrl_c_while_distilling_leaves_what_was_done(world: World) -> None:
    """In a terminal, where the bar says how far it is; the session under way is finished, the rest waits."""
    import pty

    for number in range(300):
        transcript = world.claude(f"s{number}")
        for turn in range(4):
            transcript.user(f"Use tool{number} instead of other{turn} because it is better.")
            transcript.assistant("Fine.")
    assert run(world, "sync", "--agent", "codex").returncode in (0, 3)
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "sync"],
        env={**os.environ, **world.env, "RECOLLECT_HOME": str(world.root / "memory"), "TERM": "xterm"},
        stdin=follower, stdout=subprocess.DEVNULL, stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while b"distilling" not in seen and (piece := _read(leader)):
        seen += piece
    process.send_signal(signal.SIGINT)
    while _read(leader):
        pass
    process.wait()
    os.close(leader)
    assert process.returncode in (0, 130)
    with world.again() as memory:
        done = memory.distilled().counts(1).sessions
        assert memory.distilling.health().waiting == 300 - done
        assert all(memory.digest(item.node.session_uid) is not None for item in memory.nodes())
    assert run(world, "sync").returncode == 0
    with world.again() as memory:
        assert memory.distilling.health().waiting == 0


def _read(leader: int) -> bytes:
    """Return what a terminal shows next, b"" when its program has ended."""
    try:
        return os.read(leader, 65_536)
    except OSError:
        return b""


def test_a_sync_tells_how_many_sessions_it_analysed(world: World, one: ClaudeTranscript, tmp_path: Path) -> None:
    done = run(world, "sync")
    assert "searchable now; analysing (1 session)" in done.stderr
    assert "1 session analysed" in done.stdout
    report = json.loads(run(world, "sync", "--json").stdout)
    assert (report["distilled_sessions"], report["waiting_sessions"]) == (0, 0)


@pytest.mark.parametrize("name", ["digest", "node", "signal", "decisions"])
def test_their_schemas_are_printed(world: World, name: str) -> None:
    done = run(world, "schema", name)
    assert done.returncode == 0
    assert "$defs" in json.loads(done.stdout)
