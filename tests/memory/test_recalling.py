"""What a session was about, and where a caller works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.config import AgentConfig, Config
from recollect.errors import UnknownName, UsageError
from recollect.memory import Memory
from recollect.recall import overview as overview_module
from recollect.testing.builders import ClaudeTranscript
from recollect.testing.fixtures import fixtures_in, lay_out


@pytest.fixture
def transcript(tmp_path: Path) -> ClaudeTranscript:
    session = ClaudeTranscript(tmp_path / "claude", "one", cwd=str(tmp_path / "shop"))
    session.user("Make the clock injectable")
    for number in range(4):
        session.tool("Bash", {"command": f"pytest -k part{number}"}, f"{number} failed", is_error=number != 2)
    session.assistant("The clock is injectable now.")
    return session


@pytest.fixture
def memory(tmp_path: Path, transcript: ClaudeTranscript) -> Iterator[Memory]:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "RECOLLECT_BACKGROUND": "0"}
    with Memory.open(tmp_path / "home", env=env) as opened:
        opened.sync()
        yield opened


def test_an_overview_has_the_beginning_the_end_and_what_failed(memory: Memory, transcript: ClaudeTranscript) -> None:
    found = memory.recall.overview(transcript.uid)
    assert found.first_prompt is not None
    assert found.last_answer is not None
    assert found.first_prompt.text == "Make the clock injectable"
    assert found.last_answer.text == "The clock is injectable now."
    assert [failure.text for failure in found.failures] == [
        f"Bash pytest -k part{number} → failed: {number} failed" for number in (0, 1, 3)
    ]
    assert found.failure_count == 3
    assert found.is_whole


def test_an_overview_has_the_files_that_were_edited(tmp_path: Path, repository: Path) -> None:
    fixture = next(
        f for f in fixtures_in(repository / "tests/conformance/fixtures", "codewhale") if f.scenario == "edit"
    )
    lay_out(fixture, tmp_path / "agent")
    config = Config(agents={"codewhale": AgentConfig(roots=(str(tmp_path / "agent"),))})
    with Memory.open(tmp_path / "home", config=config, env={"HOME": str(tmp_path)}) as opened:
        opened.sync()
        (session,) = opened.sessions(sync=False).sessions
        (edited,) = opened.recall.overview(session.session_uid).files
        assert edited.path.endswith("a.py")
        assert edited.edits == 1
        assert next(opened.events(session.session_uid, first_seq=edited.seq)).kind == "file_edit"


def test_a_long_session_still_has_its_last_answer(
    memory: Memory, transcript: ClaudeTranscript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview_module, "MAX_ROWS", 4)
    monkeypatch.setattr(overview_module, "_PAGE", 2)
    found = memory.recall.overview(transcript.uid)
    assert not found.is_whole
    assert found.last_answer is not None
    assert found.last_answer.text == "The clock is injectable now."


def test_an_overview_of_nothing_is_an_error(memory: Memory) -> None:
    with pytest.raises(UnknownName):
        memory.recall.overview("claude:nobody")


def test_filters_are_understood_without_words(memory: Memory) -> None:
    where, after, before = memory.recall.confined('agent:claude-code repo:"=shop" after:2026-08-01 before:2026-09')
    assert (where.agents, where.repos) == (("claude",), ("=shop",))
    assert after is not None
    assert before is not None
    assert before - after == 31 * 86_400_000_000


def test_a_date_that_is_none_is_an_error(memory: Memory) -> None:
    memory.recall.check_date("last week", name="after")
    with pytest.raises(UsageError, match="after: 'soon'"):
        memory.recall.check_date("soon", name="after")


def test_an_exact_name_is_not_a_part_of_one(memory: Memory) -> None:
    assert memory.sessions(where=memory.recall.confined("repo:=shop").where, sync=False).total == 1
    assert memory.sessions(where=memory.recall.confined("repo:sho").where, sync=False).total == 1
    with pytest.raises(UnknownName, match="did you mean shop"):
        memory.sessions(where=memory.recall.confined("repo:=sho").where, sync=False)


def test_a_folder_is_named_by_its_top_its_remote_and_itself(memory: Memory, tmp_path: Path) -> None:
    inside = tmp_path / "clone" / "src"
    inside.mkdir(parents=True)
    assert memory.recall.repositories(str(inside)) == ("src",)
    (tmp_path / "clone" / ".git").mkdir()
    assert memory.recall.repositories(str(inside)) == ("clone", "src")
    config = tmp_path / "clone" / ".git" / "config"
    config.write_text('[remote "up"]\nurl = x/y.git\n[remote "origin"]\n  url=https://example.com/team/shop.git\n')
    assert memory.recall.repositories(str(inside)) == ("clone", "shop", "src")
    config.write_bytes(b"\xff\xfe[remote")
    assert memory.recall.repositories(str(inside)) == ("clone", "src")
    assert memory.recall.repositories("") == ()


def test_coverage_is_whole_after_a_refresh_that_took_everything(memory: Memory) -> None:
    memory.refresh()
    assert memory.recall.coverage().is_whole
