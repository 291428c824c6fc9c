"""`recollect context` as a person and as an agent's hook runs it, and the log of what was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.config import Config
from recollect.memory import Memory
from tests import program
from tests.ingest.conftest import World
from tests.recall.context.conftest import Session, Shop, shop

__all__ = ["shop"]

FORBIDDEN = ("tantivy", "numpy", "rich", "click", "mcp", "starlette", "model2vec", "cryptography", "recollect.index")
"""What the process that a session's start waits for never loads."""


def run(world: World, *arguments: str, stdin: bytes = b"", code: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own."""
    env = {**os.environ, **world.env, "RECOLLECT_HOME": str(world.memory.home)}
    if not code:
        return program.run(*arguments, env=env, cwd=world.root, stdin=stdin)
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, input=stdin, env=env, cwd=world.root, capture_output=True, check=False)


def hooked(world: World, payload: object, *options: str, agent: str = "claude") -> subprocess.CompletedProcess[bytes]:
    return run(world, "context", "--hook", agent, *options, stdin=json.dumps(payload).encode())


def start(shop: Shop, session: str = "present") -> dict[str, Any]:
    return {
        "session_id": session,
        "cwd": str(shop.path),
        "hook_event_name": "SessionStart",
        "source": "startup",
        "transcript_path": "/nowhere",
    }


def log(memory: Memory) -> list[tuple[Any, ...]]:
    db = apsw.Connection(str(memory.home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = db.execute("SELECT agent, session, event, repo, citations, tokens > 0, note FROM firing").fetchall()
    db.close()
    return rows


@pytest.fixture
def told(shop: Shop) -> Session:
    session = shop.session("one").work("fix the cart total", "Cents are integers now.")
    shop.memory.sync()
    return session


@pytest.mark.parametrize("agent", ["claude", "cc"])
def test_a_hook_gets_the_agents_answer_and_the_log_one_entry(shop: Shop, told: Session, agent: str) -> None:
    done = hooked(shop.world, start(shop), agent=agent)
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["hookEventName"] == "SessionStart"
    assert answer["additionalContext"] == shop.memory.context(cwd=str(shop.path)).text
    cited = shop.memory.context(cwd=str(shop.path)).citations
    assert log(shop.memory) == [("claude", "claude:present", "start", "shop", json.dumps(list(cited)), 1, "")]


def test_what_was_said_to_the_present_session_is_not_what_it_said(shop: Shop, told: Session) -> None:
    done = hooked(shop.world, start(shop, told.session))
    assert (done.returncode, done.stdout) == (0, b"")
    assert log(shop.memory) == [("claude", told.uid, "start", "", "[]", 0, "")]


def test_a_start_after_a_compaction_is_told_by_its_source(shop: Shop, told: Session) -> None:
    told.compact()
    shop.memory.sync()
    done = hooked(shop.world, {**start(shop, told.session), "source": "compact"}, "--event", "start")
    assert "“fix the cart total”" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert log(shop.memory)[0][2] == "compact"


@pytest.mark.parametrize(
    "stdin",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"cwd": 7, "session_id": {}}', b"[" * 100_000, b'{"cwd": "/a\\u0000b"}'],
)
def test_whatever_comes_in_a_valid_answer_goes_out(shop: Shop, told: Session, stdin: bytes) -> None:
    done = run(shop.world, "context", "--hook", "gemini", "--event", "start", stdin=stdin)
    assert (done.returncode, done.stderr) == (0, b"")
    assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize("agent", ["claude", "gemini", "codex", "nobody-knows-it"])
def test_a_memory_that_is_not_there_is_not_made_for_a_hook(world: World, agent: str) -> None:
    done = hooked(world, {"cwd": str(world.root), "session_id": "x"}, agent=agent)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout in (b"", b"{}")
    assert not world.memory.home.exists()


def test_damage_is_answered_with_nothing_and_counted(shop: Shop, told: Session) -> None:
    db = apsw.Connection(str(shop.memory.home / "memory.db"))
    db.execute("UPDATE session SET facts = x'c1'").fetchall()
    db.close()
    done = hooked(shop.world, start(shop))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (given,) = shop.memory.context_facet.stats().given
    assert (given.spoke, given.silent, given.failed) == (0, 1, 1)


def test_a_configuration_that_is_wrong_is_answered_with_nothing_and_counted(shop: Shop, told: Session) -> None:
    (shop.memory.home / "config.toml").write_text("[contxt]\n")
    done = hooked(shop.world, start(shop), agent="gemini")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
    assert log(shop.memory) == [("gemini", "", "start", "", "[]", 0, "config")]


def test_the_process_of_a_hook_loads_nothing_that_is_slow(shop: Shop, told: Session) -> None:
    code = (
        "import sys; from recollect.__main__ import main; main(); "
        f"print(sorted(m for m in sys.modules if m.startswith({FORBIDDEN!r})), file=sys.stderr)"
    )
    for event in ("start", "compact"):
        stdin = json.dumps(start(shop)).encode()
        done = run(shop.world, "context", "--hook", "claude", "--event", event, stdin=stdin, code=code)
        assert b"fix the cart total" in done.stdout
        assert done.stderr.strip() == b"[]"


def test_the_configured_budget_holds_for_hooks_too(shop: Shop, told: Session) -> None:
    (shop.memory.home / "config.toml").write_text("[context]\nbudget_tokens = 100\n")
    assert hooked(shop.world, start(shop)).stdout == b""
    assert b"fix the cart" in hooked(shop.world, start(shop), "--budget", "1200").stdout


def test_a_prompt_is_answered_where_it_is_turned_on(shop: Shop) -> None:
    shop.session("one").work(
        "the zebrafish importer drops umlauts when reading latin1 files", "decode before splitting"
    )
    shop.memory.sync()
    prompt = "why does the zebrafish importer drop umlauts in latin1 files?"
    payload = {**start(shop), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    assert hooked(shop.world, payload, "--event", "prompt").stdout == b""
    assert log(shop.memory) == []
    (shop.memory.home / "config.toml").write_text("[context]\nper_prompt = true\n")
    done = hooked(shop.world, payload, "--event", "prompt")
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["hookEventName"] == "UserPromptSubmit"
    assert "zebrafish importer" in answer["additionalContext"]
    assert [row[2] for row in log(shop.memory)] == ["prompt"]


# The log


def test_a_locked_database_sends_the_log_to_the_spool_and_stats_bring_it_home(shop: Shop, told: Session) -> None:
    locker = apsw.Connection(str(shop.memory.home / "memory.db"))
    locker.execute("BEGIN IMMEDIATE")
    done = hooked(shop.world, start(shop))
    assert b"fix the cart total" in done.stdout
    waiting = list((shop.memory.home / "spool" / "firings").glob("*.json"))
    assert len(waiting) == 1
    assert [g.spoke for g in shop.memory.context_facet.stats().given] == [1]
    locker.execute("COMMIT")
    locker.close()
    assert [g.spoke for g in shop.memory.context_facet.stats().given] == [1]
    assert list((shop.memory.home / "spool" / "firings").glob("*.json")) == []
    assert len(log(shop.memory)) == 1


def test_a_hook_does_not_wait_for_the_ingest_lock(shop: Shop, told: Session) -> None:
    from recollect.store.writer import open_writer

    with open_writer(shop.memory.home):
        assert b"fix the cart total" in hooked(shop.world, start(shop)).stdout
    assert len(log(shop.memory)) == 1


def test_a_person_who_looks_leaves_no_trace_in_the_log(shop: Shop, told: Session) -> None:
    done = run(shop.world, "context", "--cwd", str(shop.path))
    assert (done.returncode, "fix the cart total" in done.stdout.decode()) == (0, True)
    data = json.loads(run(shop.world, "context", "--cwd", str(shop.path), "--json").stdout)
    assert data["text"] == shop.memory.context(cwd=str(shop.path)).text
    assert log(shop.memory) == []
    elsewhere = run(shop.world, "context", "--cwd", str(shop.world.root))
    assert (elsewhere.returncode, elsewhere.stdout) == (1, b"")


def test_the_log_outlives_a_rebuild(shop: Shop, told: Session) -> None:
    hooked(shop.world, start(shop))
    before = log(shop.memory)
    home_id = _home_id(shop.memory.home)
    shop.memory.maintenance.rebuild("all")
    assert (log(shop.memory), _home_id(shop.memory.home)) == (before, home_id)


def _home_id(home: Path) -> object:
    db = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    found = db.execute("SELECT value FROM meta WHERE key = 'home_id'").get
    db.close()
    return found


@pytest.mark.parametrize("use", ["opened", "cited", "repeated", "unused", "unknown"])
def test_what_became_of_a_block_is_read_off_the_session_it_was_given_to(shop: Shop, use: str) -> None:
    told = shop.session("one")
    told.user("make it green")
    told.shell("pytest -q", "E  KeyError: 'vat'", fails=True)
    told.edit(f"{shop.path}/cart/total.py")
    told.shell("pytest -q", "3 passed")
    told.assistant("green")
    shop.memory.sync()
    later = shop.session("later")
    later._at = later._at.replace(year=2099)  # after the block, whatever day it is
    hooked(shop.world, start(shop, later.session if use != "unknown" else "never-stored"))
    later.user("go on")
    if use == "opened":
        later.tool("mcp__recollect__open", {"citation": f"{told.uid}#3"}, "the event")
    said = {"cited": f"As in {told.uid}#3, the vat is missing.", "repeated": "I look at cart/total.py first."}
    later.assistant(said.get(use, "Let me see."))
    shop.memory.sync()
    (given,) = shop.memory.context_facet.stats().given
    counts = {name: getattr(given, name) for name in ("opened", "cited", "repeated", "unused", "unknown")}
    assert counts == {**dict.fromkeys(counts, 0), use: 1}
    assert given.used == (use in ("opened", "cited", "repeated"))


def test_calls_of_agents_are_counted_by_tool(shop: Shop) -> None:
    session = shop.session("one")
    session.user("look it up")
    for name, arguments in (("mcp__recollect__search", {"query": "x"}), ("Bash", {"command": "recollect search x"})):
        session.tool(name, arguments, "nothing found")
    session.tool("mcp__recollect__search", {"query": "y"}, "nothing found")
    session.shell("ls", "a")
    shop.memory.sync()
    asked = [(a.agent, a.tool, a.count) for a in shop.memory.context_facet.stats().asked]
    assert asked == [("claude", "mcp__recollect__search", 2), ("claude", "recollect (command line)", 1)]


def test_stats_recall_is_shown_to_people_and_programs(shop: Shop, told: Session) -> None:
    hooked(shop.world, start(shop))
    data = json.loads(run(shop.world, "stats", "recall", "--json").stdout)
    assert [(g["agent"], g["event"], g["spoke"]) for g in data["given"]] == [("claude", "start", 1)]
    shown = run(shop.world, "stats", "recall").stdout.decode()
    assert "claude" in shown
    assert "no agent has searched yet" in shown


def test_stats_recall_of_an_empty_memory_says_so(world: World) -> None:
    with Memory.open(world.root / "none", config=Config(), env=world.env) as memory:
        stats = memory.context_facet.stats()
    assert (stats.given, stats.asked, stats.since) == ((), (), None)
