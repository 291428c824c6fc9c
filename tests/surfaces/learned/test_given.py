"""The person's own files, what agents were given and when, and what doctor and the daemon say of learning."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from rich.console import Console

from recollect.cli.commands.config import result_types
from recollect.cli.render.maintenance import print_status
from recollect.config import Config, ContextConfig, LearningConfig
from recollect.ingest.daemon_status import Counters
from recollect.ingest.learnings.status import learning_now
from recollect.insights.learnings.pause import Pause, keep_pause
from recollect.insights.learnings.user_file import find_region
from recollect.memory import LearningNow, LiveStatus
from recollect.recall.context.person_files import SOUL_TEXT, fronts, person_files
from recollect.serve.daemon_control import DaemonAnswer
from recollect.store.learnings import open_learning_store
from tests.recall.context.conftest import Session, Shop
from tests.recall.context.learned import keep, learned

Recollect = Callable[..., Any]
HOUR_US = 3_600_000_000


def files(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.glob("*.md")}


def test_init_writes_the_two_files_where_there_are_none(told: Session, recollect: Recollect, shop: Shop) -> None:
    home = shop.memory.home
    planned = recollect("context", "init", "--dry-run", "--json")
    assert {file["state"] for file in planned.data["files"]} == {"missing"}
    assert files(home) == {}
    (home / "soul.md").write_text("mine")
    done = recollect("context", "init", "--json")
    begun = msgspec.json.decode(done.out, type=result_types()["context-init"])
    assert (done.code, [(file.name, file.state) for file in begun.files]) == (
        0, [("soul.md", "there"), ("user.md", "written")],
    )  # fmt: skip
    assert (home / "soul.md").read_text() == "mine"
    assert find_region((home / "user.md").read_text()) is not None
    before = files(home)
    assert recollect("context", "init").code == 0
    assert files(home) == before
    assert os.name == "nt" or stat.S_IMODE((home / "user.md").stat().st_mode) == 0o600
    assert sorted(path.name for path in home.glob("*half*")) == []


def test_soul_md_as_it_begins_fits_whole_into_the_budget(told: Session, recollect: Recollect, shop: Shop) -> None:
    recollect("context", "init")
    for heading in ("## Your Memory", "## Autonomy Rules", "## Tool Guidance"):
        assert heading in SOUL_TEXT
    leading = fronts(person_files(shop.memory.home, shop.world.env), budget=ContextConfig().budget_tokens)
    assert [front.name for front in leading] == ["soul.md"]  # nobody has filled in the template of user.md
    assert not any("goes on" in line for front in leading for line in front.lines)
    assert "fix the cart total" in shop.memory.context(cwd=str(shop.path)).text


def test_a_preference_that_the_persons_file_states_is_not_said_twice(
    told: Session, recollect: Recollect, shop: Shop
) -> None:
    recollect("learnings", "add", "Use uv, not pip", "--kind", "preference", "--scope", "user")
    assert "“Use uv, not pip” (confirmed)" in shop.memory.context(cwd=str(shop.path)).text
    recollect("context", "init")
    assert "- Use uv, not pip" in (shop.memory.home / "user.md").read_text()
    text = shop.memory.context(cwd=str(shop.path)).text
    assert text.count("Use uv, not pip") == 1
    assert "  | - Use uv, not pip" in text


def test_a_place_that_cannot_be_written_is_told(told: Session, recollect: Recollect, shop: Shop) -> None:
    (shop.memory.home / "config.toml").write_text("[context]\nuser_file = '/dev/null/user.md'\n")
    done = recollect("context", "init")
    assert done.code == 3
    assert "/dev/null/user.md cannot be written" in done.err


def test_what_was_given_is_shown_with_what_it_cites_and_its_use(
    told: Session, recollect: Recollect, shop: Shop
) -> None:
    assert recollect("context", "log").code == 1
    keep(shop.memory.home, fact := learned("cents are integers", session=told.uid))
    facet = shop.memory.context_facet
    block = facet.block(cwd=str(shop.path), agent="claude", session="claude:next")
    facet.record(block, agent="claude", event="start", session="claude:next", took_us=12_300)
    done = recollect("context", "log", "--json")
    (shown,) = msgspec.json.decode(done.out, type=result_types()["context-shown"]).blocks
    assert (shown.agent, shown.session, shown.event, shown.repo) == ("claude", "claude:next", "start", "shop")
    assert (shown.tokens, shown.left_out, shown.took_ms, shown.used) == (block.tokens, block.left_out, 12.3, "unknown")
    lines = {line.citation: line.text for line in shown.lines}
    assert tuple(lines) == block.citations
    assert lines[f"learning:{fact.id}"] == "cents are integers"
    assert "Cents are integers now." in lines[block.citations[-1]]
    assert "cents are integers  learning:l" in recollect("context", "log").out
    assert recollect("context", "log", "--session", told.uid).code == 1


def test_opening_a_learning_counts_as_use_of_the_block(told: Session, recollect: Recollect, shop: Shop) -> None:
    keep(shop.memory.home, fact := learned("cents are integers", session=told.uid))
    later = shop.session("later").work("go on", "Sure.")
    shop.memory.sync()
    facet = shop.memory.context_facet
    block = facet.block(cwd=str(shop.path), agent="claude", session=later.uid)
    facet.record(block, agent="claude", event="start", session=later.uid, took_us=1)
    assert recollect("context", "log", "--json").data["blocks"][0]["used"] == "unused"
    later._at = later._at.replace(year=2099)
    later.tool("mcp__recollect__open", {"hit": f"learning:{fact.id}"}, "…")
    shop.memory.sync()
    assert recollect("context", "log", "--json").data["blocks"][0]["used"] == "opened"


# A model that cannot be asked

KEY_REFUSED = Pause(reason="authentication", message="the key was refused", since=1, at=1, until=1 << 60)
SLOW_START = Pause(reason="unavailable", message="nobody answers", since=HOUR_US, at=HOUR_US + 5, until=1 << 60)
AWAY = Pause(reason="unavailable", message="nobody answers", since=HOUR_US, at=2 * HOUR_US, until=1 << 60)
SPENT = Pause(reason="budget", message="the day's budget is spent ($0.25)", since=1, at=1, until=1 << 60)


def pause(shop: Shop, now: Pause | None) -> None:
    with open_learning_store(shop.memory.home) as store, store.transaction():
        keep_pause(store, now)


@pytest.mark.parametrize(("now", "is_told"), [(KEY_REFUSED, True), (SLOW_START, False), (AWAY, True), (SPENT, False)])
def test_a_start_says_in_one_line_that_learning_stands_still(
    told: Session, shop: Shop, now: Pause, is_told: bool
) -> None:
    pause(shop, now)
    lines = shop.memory.context(cwd=str(shop.path)).text.splitlines()
    found = [line for line in lines if line.startswith("Recollect: learning is paused: ")]
    assert len(found) == is_told
    assert all(now.message in line and "recollect doctor" in line for line in found)
    pause(shop, None)
    assert "learning is paused" not in shop.memory.context(cwd=str(shop.path)).text


def test_such_a_line_is_alone_where_there_is_nothing_else_to_say_and_never_above_the_budget(
    told: Session, shop: Shop, tmp_path: Path
) -> None:
    pause(shop, KEY_REFUSED)
    elsewhere = shop.memory.context(cwd=str(tmp_path / "new"))
    assert "learning is paused" in elsewhere.text
    assert elsewhere.lines == ()
    for budget in (1, 20, 40, 60, 90):
        assert shop.memory.context(cwd=str(shop.path), budget=budget).tokens <= budget


@pytest.mark.parametrize(
    ("now", "state", "hint"),
    [
        (KEY_REFUSED, "warn", "key_variable"), (AWAY, "warn", "url"), (SLOW_START, "ok", "url"), (SPENT, "ok", ""),
        (None, "ok", ""),
    ],
)  # fmt: skip
def test_doctor_says_what_holds_the_model_up_and_what_to_do(
    told: Session, shop: Shop, now: Pause | None, state: str, hint: str
) -> None:
    from recollect.ingest.learnings.ask import fingerprint_of

    settings = LearningConfig(provider="ollama", model="small")
    if now is not None:
        at = {"fingerprint": fingerprint_of(settings, shop.memory.env)}
        pause(shop, msgspec.structs.replace(now, **at))
    with shop.world.again(Config(learning=settings)) as memory:
        checks = {check.id: check for check in memory.maintenance.doctor().checks}
    check = checks["learning model"]
    assert check.state == state
    assert hint in check.hint
    assert now is None or now.message in check.detail
    assert checks["learning"].state == "ok"


def printed(learning: LearningNow) -> str:
    status = LiveStatus(
        pid=1, version="1", home="/home", phase="watching", started_at=1, now=HOUR_US, counters=Counters(),
        learning=learning,
    )  # fmt: skip
    said = io.StringIO()
    print_status(Console(file=said, width=200), DaemonAnswer("running", "/home", pid=1, status=status))
    return said.getvalue()


def test_the_daemons_status_tells_how_learning_is(told: Session, shop: Shop) -> None:
    with shop.world.again(Config(learning=LearningConfig(provider="ollama", model="small"))) as memory:
        now = learning_now(memory.learn.status)
    assert (now.enabled, now.provider, now.paused) == (True, "ollama", "")
    assert "learning       0 learnings, 0 sessions waiting, last run " in printed(LearningNow())
    busy = LearningNow(provider="ollama", learnings=1, turns_waiting=2, dead=1, spent_today_usd=0.0123)
    assert "1 learning, 0 sessions waiting" in printed(busy)
    assert "ollama: 2 questions waiting, $0.0123 spent today; 1 given up" in printed(busy)
    assert "fails" not in printed(LearningNow(provider="ollama", paused="the day's budget is spent"))
    assert "fails: learning is paused: the key was refused" in printed(
        LearningNow(provider="ollama", paused="the key was refused", is_failing=True)
    )
    assert "switched off" in printed(LearningNow(enabled=False))


def test_a_store_that_cannot_be_read_is_told_by_its_error(told: Session, shop: Shop) -> None:
    db = apsw.Connection(str(shop.memory.home / "memory.db"))
    db.execute("ALTER TABLE job RENAME COLUMN reason TO why")
    db.close()
    assert learning_now(shop.memory.learn.status).paused.startswith("not known: ")


def test_what_was_given_up_and_what_was_held_back_is_told(told: Session, recollect: Recollect, shop: Shop) -> None:
    from recollect.store.jobs import Job
    from recollect.store.learnings import Quarantined

    with open_learning_store(shop.memory.home) as store, store.transaction():
        store.queue.add([Job("model:1", "model", told.uid, made_at=1, due_at=1)])
        job = store.queue.claim("model", holder="a", now_us=2, lease_us=5)
        assert job is not None
        store.queue.give_up(job, holder="a", reason="the question is too large")
        store.add_quarantined([Quarantined("k", told.uid, 1, "no such event", "curl …")])
    checks = {check.id: check for check in shop.memory.maintenance.doctor().checks}
    assert checks["dead-letters"].state == "warn"
    assert checks["dead-letters"].details == (f"{told.uid}: the question is too large",)
    assert "1 text of a model's answers" in checks["quarantine"].detail
    status = recollect("learnings", "status", "--json")
    told_status = msgspec.json.decode(status.out, type=result_types()["learnings-status"])
    assert (told_status.dead, told_status.held_back) == (1, 1)
    assert f"given up: {told.uid}: the question is too large" in recollect("learnings", "status").out
    held = recollect("learnings", "held-back", "--json")
    (one,) = msgspec.json.decode(held.out, type=result_types()["learnings-held-back"]).texts
    assert (one.reason, one.text, one.session_uid) == ("no such event", "curl …", told.uid)
    assert "no such event" in recollect("learnings", "held-back").out


def test_doctor_misses_a_file_that_the_configuration_names(told: Session, shop: Shop, tmp_path: Path) -> None:
    with shop.world.again(Config(context=ContextConfig(soul_file=str(tmp_path / "none.md")))) as memory:
        checks = {check.id: check for check in memory.maintenance.doctor().checks}
    assert checks["own-files"].state == "warn"
    (shop.memory.home / "soul.md").write_text("Ask before you push.")
    checks = {check.id: check for check in shop.memory.maintenance.doctor().checks}
    assert (checks["own-files"].state, checks["own-files"].detail) == (
        "ok",
        "soul.md comes first in what agents are given",
    )
