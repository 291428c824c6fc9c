"""A run that shares its sessions with helper processes gives what a run alone gives, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from recollect.config import Config, DistillConfig, GateConfig, GateRuleConfig, IngestConfig
from recollect.errors import ConfigError
from recollect.ingest import analysis_helpers as sharing
from recollect.ingest.analysis import Analysed, Analyst, SessionTask
from recollect.ingest.analysis_helpers import AnalysisAnswer, AnalysisGreeting
from recollect.ingest.distill import MANY_SESSIONS
from recollect.memory import Memory
from recollect.privacy.redact import Redactor
from recollect.store.home import Home
from recollect.store.insight_feed import SessionFeed
from tests.ingest.conftest import World
from tests.ingest.insights.test_distilling import told

SESSIONS = MANY_SESSIONS + 4


def with_workers(number: int, config: Config | None = None) -> Config:
    return msgspec.structs.replace(config or Config(), ingest=IngestConfig(workers=number))


def tell_many_stories(world: World) -> None:
    for number in range(SESSIONS):
        one = world.claude(f"story{number}")
        one.user(f"Let's use Postgres {number} instead of MySQL, because it is free.")
        one.write(f"/w/demo/db{number}.py", "import postgres\n" * 200)
        one.tool("Bash", {"command": "pytest -q"}, "3 passed")
    by_hand = Config(distill=DistillConfig(enabled=False))
    with world.again(by_hand) as memory:
        memory.sync()


def uids_of(memory: Memory) -> list[str]:
    return [s.session_uid for s in memory.sessions(limit=100, sync=False).sessions]


class Shelf:
    """What `shared` needs of a stored memory, read as a run reads it."""

    def __init__(self, memory: Memory, *, home: Path | None = None) -> None:
        folders = Home(memory.home)
        with memory.writing() as (_, _, _, _, keys):
            pass
        self.wanted = [SessionTask(uid, is_learned_from=True) for uid in uids_of(memory)]
        self._archive = memory.archive()
        self.feed = SessionFeed(memory.home, self._archive.__enter__(), Redactor(keys.marker_key))
        self.analyst = Analyst(self.feed, Config())
        self.greeting = AnalysisGreeting(keys, str(home or memory.home), str(folders.archive), Config())

    def alone(self) -> list[Analysed]:
        return [self.analyst.analyse(one) for one in self.wanted]

    def close(self) -> None:
        self.feed.close()
        self._archive.__exit__(None, None, None)


@pytest.fixture
def shelf(world: World) -> Iterator[Shelf]:
    tell_many_stories(world)
    with closing(Shelf(world.memory)) as shelf:
        yield shelf


def same(one: Sequence[Analysed], other: Sequence[Analysed]) -> bool:
    return [msgspec.json.encode(a) for a in one] == [msgspec.json.encode(a) for a in other]


def test_many_sessions_are_shared_and_give_what_one_process_gives(world: World) -> None:
    tell_many_stories(world)
    found = []
    for workers in (1, 3):
        with world.again(with_workers(workers)) as memory:
            assert memory.distilling.run(sessions=None if workers == 1 else uids_of(memory)).sessions == SESSIONS
            found.append(told(memory))
    assert found[0] == found[1]
    assert len(found[0]["decisions"]) == SESSIONS


def test_helpers_analyse_and_results_come_in_the_order_of_the_question(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[AnalysisAnswer] = []
    has_answered = threading.Event()
    decode, analyse = sharing._decode, Analyst.analyse

    def heard(message: bytes) -> AnalysisAnswer:
        answers.append(decode(message))
        has_answered.set()
        return answers[-1]

    def after_a_helper(self: Analyst, wanted: SessionTask) -> Analysed:
        assert has_answered.wait(60), "no helper ever answered"
        return analyse(self, wanted)

    monkeypatch.setattr(sharing, "_decode", heard)
    monkeypatch.setattr(Analyst, "analyse", after_a_helper)
    spent: list[float] = []
    shared = sharing.shared(shelf.wanted, shelf.analyst, shelf.greeting, helpers=2, spent=spent.append)
    with closing(shared) as analyses:
        found = list(analyses)
    assert [a.uid for a in found] == [one.uid for one in shelf.wanted]
    assert any(answer.analysed is not None for answer in answers)
    assert len(spent) == 2
    assert sum(spent) > 0
    assert same(found, shelf.alone())


def test_helpers_that_are_killed_cost_nothing_but_time(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    popen = sharing.subprocess.Popen

    def watched(*args: object, **options: object) -> object:
        process = popen(*args, **options)  # type: ignore[call-overload]
        started.append(process.pid)
        return process

    monkeypatch.setattr(sharing.subprocess, "Popen", watched)
    found: list[Analysed] = []
    with closing(sharing.shared(shelf.wanted, shelf.analyst, shelf.greeting, helpers=2)) as analyses:
        for number, analysed in enumerate(analyses):
            found.append(analysed)
            if number == 3:
                for pid in started:
                    os.kill(pid, signal.SIGKILL)
    assert len(started) == 2
    assert same(found, shelf.alone())


def test_helpers_that_cannot_read_the_home_give_everything_back(world: World, tmp_path: Path) -> None:
    tell_many_stories(world)
    with closing(Shelf(world.memory, home=tmp_path / "nowhere")) as shelf:
        with closing(sharing.shared(shelf.wanted, shelf.analyst, shelf.greeting, helpers=2)) as analyses:
            found = list(analyses)
        assert same(found, shelf.alone())


def test_a_rule_that_cannot_be_used_ends_the_run_before_helpers_are_started(world: World) -> None:
    tell_many_stories(world)
    wrong = Config(gate=GateConfig(rules=(GateRuleConfig(id="own.wrong", pattern="(unclosed"),)))
    with world.again(with_workers(2, wrong)) as memory, pytest.raises(ConfigError, match=r"own\.wrong"):
        memory.distilling.run()


def test_closing_early_leaves_no_process_behind(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    processes: list[sharing.subprocess.Popen[bytes]] = []
    popen = sharing.subprocess.Popen

    def watched(*args: object, **options: object) -> object:
        processes.append(popen(*args, **options))  # type: ignore[call-overload]
        return processes[-1]

    monkeypatch.setattr(sharing.subprocess, "Popen", watched)
    with closing(sharing.shared(shelf.wanted, shelf.analyst, shelf.greeting, helpers=2)) as analyses:
        next(analyses)
    assert [p.poll() is not None for p in processes] == [True, True]
