"""A memory asks the configured model about what was taken in: only redacted words leave, and evidence resolves."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect.config import AgentConfig, Config, LearningConfig
from recollect.errors import ConfigError, UnknownName
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript
from tests.endpoints.model_server import Said, Shown, note, notes, shown_in, speaking
from tests.endpoints.served import serving
from tests.privacy.planted_secrets import kinds_in

TOKEN = "ghp_" + "Zz9" * 12  # made up


def memory_of(root: Path, env: dict[str, str] | None = None, **learning: Any) -> Memory:
    config = Config(
        agents={"claude": AgentConfig(variables={"CLAUDE_CONFIG_DIR": str(root / "claude")})},
        learning=LearningConfig(**learning),
    )
    return Memory.open(root / "memory", config=config, env={"HOME": str(root), **(env or {})})


def told(root: Path, turns: int = 10) -> ClaudeTranscript:
    # Turns from before a model was configured are not asked about: these begin now.
    one = ClaudeTranscript(root / "claude", "one", start=datetime.now(UTC))
    for number in range(turns):
        one.user(f"Step {number}: the token is {TOKEN}, and please run the tests with make check only.")
        one.tool(
            "Bash", {"command": f"curl -H 'authorization: Bearer {TOKEN}' x"}, f"denied for {TOKEN}", is_error=True
        )
        one.assistant(f"Step {number} is done; make check passes.")
    return one


def taken_in(memory: Memory) -> None:
    """Take in what is new and have the rules read it. A sync would ask the model as well."""
    assert memory.refresh() == ()
    memory.learn.run()


def learner(shown: Shown) -> Said:
    label, _, text = next(event for event in shown.events if event[1] == "user")
    assert "make check" in text
    return notes(
        note(label, "run the tests with make check only", kind="preference", text="Tests are run with `make check`."),
        note("e99", "nowhere", text="Something that nobody said at all."),
    )


def test_what_a_model_finds_is_kept_with_evidence_that_resolves_and_no_secret_leaves(tmp_path: Path) -> None:
    with serving(speaking(learner)) as server:
        with memory_of(tmp_path, provider="anthropic", url=server.url) as memory:
            memory.sync()
            one = told(tmp_path)
            taken_in(memory)
            answered = memory.learn.ask()
            assert (answered.failure, answered.report.turns) == (None, 1)
            (found,) = [one for one in memory.learn.learnings() if one.status == "hypothesis"]
            assert (found.kind, found.state, found.repo) == ("preference", "active", "demo")
            (evidence,) = memory.learn.why(found.id).evidence
            assert evidence.event is not None
            assert evidence.evidence.quote in evidence.event.payload.text  # type: ignore[union-attr]
            assert evidence.citation.startswith(one.uid)
            status = memory.learn.status()
            assert (status.turns_done, status.held_back) == (1, 1)
            assert status.spent_micro_dollars > 0
            times = len(server.asked)
            memory.sync()
            assert memory.learn.ask().report.turns == 0
            assert len(server.asked) == times, "the same turns are not asked about twice"
        sent = json.dumps([asked.body for asked in server.asked])
    assert TOKEN not in sent
    assert kinds_in(sent)


def test_a_preview_sends_nothing_and_shows_what_would_be_sent(tmp_path: Path) -> None:
    with serving(speaking(learner)) as server:
        with memory_of(tmp_path, provider="anthropic", url=server.url) as memory:
            memory.sync()
            one = told(tmp_path)
            taken_in(memory)
            before = memory.learn.preview(one.uid)
            assert server.asked == []
            assert memory.learn.status().spent_micro_dollars == 0
            memory.learn.ask()
        (asked,) = server.asked
        shown = shown_in(asked)
    assert (before.questions[0].system, before.questions[0].user) == (shown.system, shown.user)
    assert (before.is_configured, before.provider, before.model) == (True, "anthropic", "claude-haiku-5-5")
    assert (before.key_variable, before.is_key_set) == ("", True)
    assert [len(question.turns) for question in before.questions] == [8, 2]
    assert 0 < before.most_usd == pytest.approx(sum(question.most_usd for question in before.questions))
    assert TOKEN not in str(before)


def test_a_preview_can_be_read_before_anything_is_turned_on(tmp_path: Path) -> None:
    one = told(tmp_path)
    with memory_of(tmp_path) as memory:
        memory.sync()
        shown = memory.learn.preview(one.uid)
        assert (shown.is_configured, shown.url, shown.is_key_set) == (False, "https://api.anthropic.com", False)
        assert shown.questions
        with pytest.raises(UnknownName):
            memory.learn.preview("claude:nobody")
    with memory_of(tmp_path, provider="openai", model="nobody-knows-it") as memory, pytest.raises(ConfigError):
        memory.learn.preview(one.uid)
    with memory_of(tmp_path, provider="ollama", model="qwen3:8b") as memory:
        assert memory.learn.preview(one.uid).most_usd == 0


def test_without_a_provider_nothing_is_asked(tmp_path: Path) -> None:
    with serving(speaking(learner)) as server:
        told(tmp_path)
        with memory_of(tmp_path, url=server.url) as memory:
            memory.sync()
            assert memory.learn.ask().report.state == "off"
    assert server.asked == []
