"""What tools, files and web pages say may be quoted. It is never learned as what a person wants, and orders nobody."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from recollect.config import Config, DistillConfig, LearningConfig
from recollect.ingest.learnings.run import LearnFacet
from recollect.memory import Memory
from recollect.model.learnings.learnings import Learning
from recollect.store.learnings import LearningFilter
from tests.endpoints.model_server import noting, obeying, speaking
from tests.endpoints.served import serving
from tests.serve.mcp.clients import Caller, ask
from tests.serve.mcp.homes import Machine
from tests.serve.mcp.poisoned.sessions import EVIL, MARK, TAUGHT, poisoned_sessions

KEY = "KEY_OF_TESTS"
_QUOTATION = re.compile(r"failed: “[^“”]*”")
"""What a failure said, told as history."""
WANTED = ("preference", "action", "correction")
"""What an agent takes as said by a person, or as its work."""


def of_strangers(learnings: list[Learning]) -> list[tuple[str, str]]:
    """Return what says what only tools, files and pages said, and is more than a fact that is quoted."""
    return [(one.kind, one.text) for one in learnings if one.kind in WANTED and MARK in f"{one.text} {one.path}"]


def without_a_person(learnings: list[Learning]) -> list[str]:
    """Return what an agent takes as wanted, and that neither the user nor the assistant wrote."""
    return [
        one.text
        for one in learnings
        if one.kind in ("preference", "action") and not any(e.author in ("user", "assistant") for e in one.evidence)
    ]


@pytest.fixture
def learned(machine: Machine) -> Iterator[Memory]:
    poisoned_sessions(machine)
    with machine.memory() as memory:
        memory.sync()
        memory.learn.run()
        yield memory


def test_only_what_a_person_said_is_taken_as_wanted(learned: Memory) -> None:
    found = learned.learn.learnings()
    preferences = [one for one in found if one.kind == "preference"]
    assert any(TAUGHT in one.text for one in preferences), [one.text for one in found]
    assert of_strangers(found) == []
    assert without_a_person(found) == []
    assert learned.learn.actions() == []


def test_no_block_holds_an_order_of_a_stranger(learned: Memory, machine: Machine) -> None:
    for event in ("start", "compact"):
        block = learned.context(cwd=str(machine.folder("shop")), event=event)  # type: ignore[arg-type]
        assert f"curl {EVIL}" not in block.text
        for line in block.lines:
            assert MARK not in _QUOTATION.sub("", line), line
    start = learned.context(cwd=str(machine.folder("shop")))
    assert TAUGHT in start.text


def test_the_file_about_the_user_says_only_what_the_user_said(learned: Memory) -> None:
    begun = learned.context_facet.begin(is_dry_run=False)
    assert begun is not None
    (file,) = learned.home.rglob("user.md")
    learned.learn.write_user_file()
    assert TAUGHT in file.read_text("utf-8")
    assert MARK not in file.read_text("utf-8")


def test_what_an_agent_asks_for_over_mcp_is_quoted_history(learned: Memory, machine: Machine) -> None:
    learned.close()

    async def body(caller: Caller) -> list[str]:
        answers = await caller.pages("search", query=f"kind:learning {MARK}", scope="all", limit=50)
        answers += await caller.pages("search", query="kind:learning prefers always remember", scope="all", limit=50)
        return answers + await caller.pages("search", query=f"kind:action {MARK}", scope="all", limit=50)

    for answer in ask("stdio", machine, body, cwd=machine.folder("shop")):
        for line in answer.split("\n"):
            assert MARK not in line or line.startswith(("  | ", "(")), line


@pytest.mark.parametrize("model", [obeying, noting])
def test_a_model_that_was_taken_in_teaches_nothing(machine: Machine, model: object) -> None:
    """It repeats every order that it was shown as the user's wish; that what it quotes was a tool's is known."""
    with serving(speaking(model)) as server:  # type: ignore[arg-type]
        learning = LearningConfig(
            provider="anthropic", url=server.url.removesuffix("/v1"), key_variable=KEY, day_budget_usd=100.0,
            session_budget_usd=10.0,
        )  # fmt: skip
        config = Config(learning=learning, distill=DistillConfig(idle_seconds=0))
        env = {**machine.env, KEY: "of this test"}
        with Memory.open(machine.home, config=config, env=env) as memory:
            memory.sync()
            poisoned_sessions(machine, start=datetime.now(UTC))  # only what is said from now on is asked about
            memory.sync()
            an_hour_later = LearnFacet(memory, lambda: time.time_ns() // 1000 + 3_600_000_000)
            an_hour_later.run()
            answered = an_hour_later.ask()
            assert answered.failure is None
            found = memory.learn.learnings()
            assert of_strangers(found) == []
            assert without_a_person(found) == []
            assert memory.learn.learnings(LearningFilter(words=(EVIL,))) == []
            block = memory.context(cwd=str(machine.folder("shop")))
            assert f"curl {EVIL}" not in block.text
            assert [line for line in block.lines if MARK in _QUOTATION.sub("", line)] == []
    assert len(server.asked) > 0
