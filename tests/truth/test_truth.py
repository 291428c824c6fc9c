"""What the memory states of forty histories is so: in the context, decisions, learnings, actions, blame and retro."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.memory import BlameQuestion, Memory
from recollect.model.learnings.learnings import GIVEN_STATES
from tests.truth.histories import HISTORIES, History, Play

_HISTORY = "Worked on here before, oldest first:"
_OPEN = "Failed here, and not seen to pass since:"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Return a memory of all histories, synced after each of their steps."""
    root = tmp_path_factory.mktemp("truth")
    with Memory.open(root / "memory", config=Config(), env={"HOME": str(root)}) as opened:
        playing = []
        for history in HISTORIES:
            repo = root / "repos" / repo_of(history)
            (repo / ".git").mkdir(parents=True)
            playing.append(history.play(Play(root, repo, history.agent)))
        while playing:
            playing = [play for play in playing if next(play, "over") != "over"]
            opened.sync()
        opened.distilling.run(sessions=[one.session_uid for one in opened.sessions(limit=1000).sessions])
        opened.sync()
        yield opened


def repo_of(history: History) -> str:
    return history.name.replace(" ", "-").lower()


def block_of(memory: Memory, history: History) -> list[str]:
    """Return the lines of the block of a session that starts in the repository."""
    block = memory.context(cwd=str(root_of(memory, history)), budget=4000)
    assert block.left_out == 0, block.text
    return block.text.splitlines()


def root_of(memory: Memory, history: History) -> Path:
    return memory.home.parent / "repos" / repo_of(history)


def under(heading: str, lines: list[str]) -> list[str]:
    """Return the lines of one section of a block."""
    if heading not in lines:
        return []
    start = lines.index(heading) + 1
    return [line for line in lines[start:] if line.startswith("- ")][: _length(lines[start:])]


def _length(lines: list[str]) -> int:
    return next((at for at, line in enumerate(lines) if not line.startswith("- ")), len(lines))


def stated(memory: Memory, history: History) -> dict[str, list[str]]:
    """Return what is stated as being so now, by surface. What was asked in a session is history, and no statement."""
    repo = repo_of(history)
    lines = block_of(memory, history)
    worked_on = under(_HISTORY, lines)
    learnings = [one for one in memory.learn.learnings() if one.state in GIVEN_STATES and one.repo in ("", repo)]
    retro = memory.retro(since=0, until=4_000_000_000_000_000, repos=(f"={repo}",), sync=False)
    found = {
        "context": [line for line in lines if line not in worked_on],
        "decisions": [
            view.decision.statement
            for view in memory.decisions(repo=f"={repo}", states=("holds", "contradicted")).decisions
        ],
        "learnings": [one.text for one in learnings if one.kind != "action"],
        "actions": [one.text for one in memory.learn.actions(repos=(repo,))],
        "retro": [line.statement for line in retro.decided.decisions if line.state == "holds"],
    }
    if history.facts.line:
        question = BlameQuestion("settings.py", root=str(root_of(memory, history)), line=history.facts.line)
        answer = memory.blame(question, sync=False).blame
        assert answer.found is not None, answer.reason
        found["blame"] = [decision.statement for decision in answer.found.decisions]
    return found


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.name.replace(" ", "-"))
def test_nothing_is_stated_that_is_not_so(memory: Memory, history: History) -> None:
    facts = history.facts
    told = stated(memory, history)
    false = [(surface, word, line) for word in facts.never for surface, lines in told.items()
             for line in lines if word.lower() in line.lower()]  # fmt: skip
    assert false == []
    assert [word for word in facts.done if any(word in text for text in told["actions"])] == []
    still_open = under(_OPEN, told["context"])
    assert [command for command in facts.fixed if any(command in line for line in still_open)] == []


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.name.replace(" ", "-"))
def test_what_is_so_is_stated(memory: Memory, history: History) -> None:
    facts = history.facts
    told = stated(memory, history)
    assert [word for word in facts.holds if not any(word in text for text in told["decisions"])] == []
    assert [word for word in facts.pending if not any(word in text for text in told["actions"])] == []
    still_open = under(_OPEN, told["context"])
    assert [command for command in facts.open if not any(command in line for line in still_open)] == []
    assert len(told["actions"]) == len(facts.pending)


def test_nothing_of_one_repository_is_told_in_another(memory: Memory) -> None:
    for history in HISTORIES:
        learned = [one for one in memory.learn.learnings() if one.repo not in ("", repo_of(history))]
        lines = block_of(memory, history)
        assert [one.text for one in learned if any(one.id in line for line in lines)] == []


def test_there_are_forty_histories_of_six_agents() -> None:
    assert len(HISTORIES) == 40
    assert len({history.agent for history in HISTORIES}) == 6
