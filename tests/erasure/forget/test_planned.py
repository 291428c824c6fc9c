"""A dry run says what the run does, to the last count: one selection serves both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
import pytest

from recollect.errors import UnknownName
from recollect.memory import ForgetReport, ForgetSelection, Memory
from recollect.model.learnings.notes import Fact
from recollect.store.connection import open_database
from recollect.store.notes import put_fact
from recollect.testing.builders import ClaudeTranscript
from tests.erasure.forget.test_evicted import evicted
from tests.erasure.forget.test_learned import add_learning, add_waiting
from tests.ingest.conftest import World

START = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)
COUNTS = ("whole_sessions", "partial_sessions", "sources", "records", "events", "written", "bytes")
WORD = "zanzibarquux"


def noon() -> int:
    return int((START + timedelta(hours=3)).timestamp() * 1_000_000)


@pytest.fixture
def many(world: World) -> World:
    """Sessions that a text goes out of in every way: whole, in part, in an old revision, twice, and by all it says."""
    across = ClaudeTranscript(world.claude_home, "across", start=START, cwd="/w/shop")
    across.user(f"please call it {WORD}")
    across.tool("Bash", {"command": "make"}, "built\n" * 2_000)
    across._at = START + timedelta(hours=5)
    across.user("and now the rest of it")
    across.tool("Read", {"file_path": "/w/shop/prod.env"}, f"NAME={WORD}")
    across.assistant("done")
    only = world.claude("only", cwd="/w/shop")
    only.user(f"{WORD} is all that is said here")
    rewritten = world.claude("rewritten", cwd="/w/other")
    rewritten.user("first words")
    rewritten.user(f"words of before, about {WORD}")
    world.codex("three").turn("why does the gizmo leak", f"because of {WORD}")
    world.memory.sync()
    rewritten.path.write_bytes(rewritten.path.read_bytes().replace(b"first words", b"other words"))
    world.memory.sync()
    with open_database(world.memory.home, "write") as db:
        _write(db, across.uid, only.uid)
    world.memory.sync()
    return world


def _write(db: apsw.Connection, one: str, two: str) -> None:
    add_learning(db, "l-one", {one: f"it is called {WORD}"})
    add_learning(db, "l-both", {one: "it is fast", two: f"{WORD} is fast"})
    add_waiting(db, one, f"held back {WORD}")
    put_fact(db, Fact(id="f-one", subject="it", predicate="is called", object=WORD, recorded_at=1))
    put_fact(db, Fact(id="f-shop", subject="it", predicate="is", object="open", repo="shop", recorded_at=1))
    db.execute("INSERT INTO tag VALUES (?, ?, 1)", (f"about-{WORD}", two))


def counts(report: ForgetReport) -> dict[str, int]:
    return {name: getattr(report, name) for name in COUNTS}


def both(memory: Memory, **selection: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Return what the dry run counts, and what the run does."""
    planned = memory.maintenance.forgetting.plan(ForgetSelection(**selection))
    assert planned.state == "planned"
    told = [session.events for session in planned.sessions]
    assert (sum(told), len(told)) == (planned.events, planned.whole_sessions + planned.partial_sessions)
    done = memory.maintenance.forgetting.run(ForgetSelection(**selection))
    assert (done.state, done.notes) == ("done", [])
    try:
        assert memory.maintenance.forgetting.plan(ForgetSelection(**selection)).state == "nothing"
    except UnknownName:
        assert selection.keys() == {"repo"}  # nothing of it is left, not even its name
    return counts(planned), counts(done)


@pytest.mark.parametrize(
    "selection",
    [
        {"pattern": WORD},
        {"pattern": WORD, "repo": "shop"},
        {"repo": "shop"},
        {"before": noon()},
        {"path": "/w/shop/prod.env"},
    ],
    ids=["pattern", "pattern and repo", "repo", "time", "path"],
)
def test_a_dry_run_counts_what_the_run_takes(many: World, selection: dict[str, Any]) -> None:
    planned, done = both(many.memory, **selection)
    assert planned == done
    assert done["events"]
    verified = many.memory.maintenance.verify_deep()
    assert verified.ok, [part for part in verified.deep if not part.ok]


@pytest.mark.parametrize("words", ["the first words", "Postgres"], ids=["first record", "second record"])
def test_a_session_that_loses_a_record_still_tells_where_it_worked(world: World, words: str) -> None:
    one = world.claude("one", cwd="/w/payroll")
    one.user("the first words")
    one.user("Postgres it is")
    one.assistant("what stays")
    world.memory.sync()
    before = world.memory.session(one.uid)
    both(world.memory, pattern=words)
    after = world.memory.session(one.uid)
    assert (after.repo, after.cwd, after.git_branch) == (before.repo, before.cwd, before.git_branch)
    assert after.cwd == "/w/payroll"
    assert world.memory.maintenance.forgetting.plan(ForgetSelection(repo="payroll")).whole_sessions == 1
    assert world.memory.maintenance.verify_deep().ok


def test_everything_that_says_a_text_is_counted(many: World) -> None:
    planned, _ = both(many.memory, pattern=WORD)
    # two learnings (of one of them only another session's words say it), a fact, a tag
    assert (planned["written"], planned["whole_sessions"]) == (4, 1)


def test_a_dry_run_counts_what_an_eviction_left(world: World) -> None:
    with evicted(world) as memory:
        planned, done = both(memory, pattern=WORD)
        assert planned == done
