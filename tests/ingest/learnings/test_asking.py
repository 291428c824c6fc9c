"""A model is asked about finished turns: kept once, paused where that would meet everybody, within the budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

from recollect.config import Config, DistillConfig, LearningConfig
from recollect.ingest.learnings.ask import Asking
from recollect.memory import Memory
from recollect.memory.learnings import LearnFacet
from recollect.store.learnings import LearningFilter
from recollect.store.sqlite.learnings.jobs import MAX_ATTEMPTS
from recollect.testing.builders import ClaudeTranscript
from tests.endpoints import model_server as models
from tests.endpoints.served import Answer, Behaviour, Server, serving
from tests.ingest.conftest import World
from tests.ingest.learnings.stand_ins import OneRule, take_in

T0 = 1_785_574_800_000_000
"""When the transcripts of tests begin."""
DAY_US = 86_400_000_000
RULE = OneRule()
FINE = models.speaking(models.noting)


class Desk(NamedTuple):
    """A memory with a model, and a clock that goes as the test says."""

    world: World
    memory: Memory
    learn: LearnFacet
    clock: list[int]
    server: Server

    def read(self) -> None:
        """Take in what agents wrote, and have the rules read it as after a day's rest."""
        take_in(self.memory)
        self.learn.run(extractor=RULE)

    def counts(self) -> tuple[int, int, int, int]:
        """Return how many turns wait, are parked, done, dead."""
        status = self.learn.status()
        return status.turns_waiting, status.turns_parked, status.turns_done, status.dead


def configured(url: str, **fields: object) -> LearningConfig:
    plain: dict[str, object] = {
        "provider": "openai", "url": url, "model": "m", "input_usd_per_million": 1.0, "output_usd_per_million": 1.0,
        "key_variable": "THE_KEY", "timeout_s": 5,
    }  # fmt: skip
    return LearningConfig(**(plain | fields))  # type: ignore[arg-type]


@contextmanager
def desk_with(
    world: World, behaviour: Behaviour, *, turns: int = 1, key: str = "k-1", **fields: object
) -> Iterator[Desk]:
    """Yield a memory whose model behaves so, with as many sessions of one turn as are to be asked about."""
    with serving(behaviour) as server:
        env = {**world.env, "THE_KEY": key}
        config = Config(learning=configured(server.url, **fields))
        with Memory.open(world.root / "memory", config=config, env=env) as memory:
            clock = [T0 - DAY_US]
            desk = Desk(world, memory, LearnFacet(memory, lambda: clock[0]), clock, server)
            take_in(memory)
            desk.learn.run(extractor=RULE)  # from now on a model is configured
            for number in range(turns):
                told = world.claude(f"turn {number}")
                told.user(f"In part {number} we name every table in the singular, please.")
                told.assistant(f"Understood, part {number} has singular names from now on.")
            clock[0] = T0 + DAY_US
            desk.read()
            yield desk


def test_finished_turns_are_asked_about_once_and_what_comes_is_kept_as_a_hypothesis(world: World) -> None:
    with desk_with(world, FINE, turns=3) as desk:
        assert desk.counts() == (3, 0, 0, 0)
        answered = desk.learn.ask()
        assert (answered.failure, answered.report.turns, answered.report.new) == (None, 3, 6)
        assert len(desk.server.asked) == 3
        found = desk.learn.learnings(LearningFilter(statuses=("hypothesis",)))
        assert len(found) == 6
        for one in found:
            for seen in desk.learn.why(one.id).evidence:
                assert seen.event is not None
        assert desk.learn.ask().report.turns == 0
        desk.read()
        assert desk.counts() == (0, 0, 3, 0)
        assert desk.learn.status().last_answer_at == desk.clock[0]


def test_what_happened_before_a_model_was_configured_is_not_sent(world: World) -> None:
    old = ClaudeTranscript(world.claude_home, "old", start=datetime(2026, 7, 1, tzinfo=UTC))
    old.user("An old secret of the past that nobody agreed to send anywhere.")
    take_in(world.memory)
    with desk_with(world, FINE, turns=1) as desk:
        desk.memory.rebuild("all")
        desk.learn.run(extractor=OneRule("one@2"))
        desk.learn.ask()
        assert "old secret" not in str([asked.body for asked in desk.server.asked])
        assert len(desk.server.asked) == 1


def test_a_session_that_goes_on_is_asked_about_turn_by_turn_and_nothing_twice(world: World) -> None:
    with desk_with(world, FINE, turns=1, session_budget_usd=1.0) as desk:
        desk.learn.ask()
        told = world.claude("long")
        for number in range(5):
            told.user(f"Question {number}: " + "what about the names of tables? " * 250)
            told.assistant("They stay as they are. " * 100)
            desk.clock[0] = T0 + 60_000_000
            desk.read()
            desk.learn.ask()
        desk.clock[0] = T0 + 2 * DAY_US
        desk.read()
        desk.learn.ask()
        events = [event for asked in desk.server.asked for event in models.shown_in(asked).events]
        asked_about = [text[:10] for _, by, text in events if by == "user" and text.startswith("Question")]
        assert asked_about == [f"Question {number}" for number in range(5)]
        assert desk.counts()[0] == 0


def test_without_a_provider_there_is_nothing_to_ask_and_no_job_is_made(world: World) -> None:
    world.claude("one").user("Please name every table in the singular.")
    world.memory.sync()
    assert world.memory.learn.ask().report.state == "off"
    assert world.memory.learn.status().turns_waiting == 0


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (models.UNAUTHORIZED, "authentication"),
        (models.NO_CREDIT, "quota"),
        (models.RATE_LIMITED, "rate"),
        (models.OVERLOADED, "unavailable"),
        (models.always(Answer(is_closed=True)), "unavailable"),
        (models.failing(404, message="no such model"), "configuration"),
    ],
    ids=["key", "credit", "rate", "overloaded", "gone", "model"],
)
def test_what_every_question_would_meet_pauses_all_of_them_and_costs_none_an_attempt(
    world: World, behaviour: Behaviour, reason: str
) -> None:
    with desk_with(world, behaviour, turns=3, session_budget_usd=10.0, day_budget_usd=100.0) as desk:
        for _ in range(MAX_ATTEMPTS + 1):
            answered = desk.learn.ask()
            assert answered.failure is not None
            pause = desk.learn.pause()
            assert pause is not None
            assert pause.reason == reason
            before = len(desk.server.asked)
            assert desk.learn.ask().failure is not None
            assert len(desk.server.asked) == before  # nobody is asked during a pause
            desk.clock[0] = pause.until
        assert desk.counts() == (3, 0, 0, 0)
        (failures, since) = (pause.failures, pause.since)
        assert failures == MAX_ATTEMPTS + 1
        assert since == T0 + DAY_US


def test_a_server_that_says_how_long_is_asked_no_earlier(world: World) -> None:
    with desk_with(world, models.at_first(models.RATE_LIMITED, FINE), turns=2) as desk:
        desk.learn.ask()
        pause = desk.learn.pause()
        assert pause is not None
        assert pause.until - pause.at >= 7_000_000
        desk.clock[0] = pause.until
        assert desk.learn.ask().report.turns == 2
        assert desk.learn.pause() is None


def test_another_key_is_tried_at_once(world: World) -> None:
    with desk_with(world, models.UNAUTHORIZED) as desk:
        desk.learn.ask()
        assert desk.learn.pause() is not None
    with desk_with(world, FINE, turns=0, key="k-2") as desk:
        desk.clock[0] = T0 + DAY_US
        assert desk.learn.pause() is None
        assert desk.learn.ask().report.turns == 1
        assert "k-2" not in str(desk.learn.status())


@pytest.mark.parametrize("off", [{"enabled": False}, {"provider": ""}], ids=["learning", "the model"])
def test_once_switched_off_nobody_is_told_of_a_pause_and_what_waited_is_asked_later(
    world: World, off: dict[str, Any]
) -> None:
    told = "learning is paused"
    with desk_with(world, models.UNAUTHORIZED) as desk:
        desk.learn.ask()
        assert told in desk.memory.context(cwd="/w").text
        assert desk.counts() == (0, 1, 0, 0) or desk.counts() == (1, 0, 0, 0)
        config = Config(learning=configured(desk.server.url, **off))
        with Memory.open(world.root / "memory", config=config, env=desk.memory.env) as without:
            without.sync()
            assert told not in without.context(cwd="/w").text
            assert LearnFacet(without, lambda: desk.clock[0]).pause() is None
        asked = len(desk.server.asked)
        desk.learn.run(extractor=RULE)
        desk.learn.ask()
        assert len(desk.server.asked) == asked + 1
        assert told in desk.memory.context(cwd="/w").text


def test_a_model_server_that_is_gone_for_a_day_loses_nothing(world: World) -> None:
    with desk_with(world, models.at_first(models.OVERLOADED, FINE, times=9), turns=4) as desk:
        turns = 0
        for _ in range(14):
            turns += desk.learn.ask().report.turns
            pause = desk.learn.pause()
            desk.clock[0] = pause.until if pause is not None else desk.clock[0] + 1
        assert turns == 4
        assert desk.counts() == (0, 0, 4, 0)


def test_one_question_that_no_server_can_bear_is_given_up_and_holds_nothing_up(world: World) -> None:
    def behave(asked: models.Asked, before: int) -> Answer:
        is_bad = "part 1 " in str(asked.body)
        return Answer(status=500, body=b"{}") if is_bad else FINE(asked, before)

    with desk_with(world, behave, turns=3) as desk:
        for number in range(MAX_ATTEMPTS + 2):
            desk.learn.ask()
            told = world.claude(f"more {number}")  # answered between the attempts of the one that cannot be borne
            told.user("And we keep the columns in alphabetical order, everywhere.")
            desk.clock[0] += 120_000_000
            desk.read()
        _, _, done, dead = desk.counts()
        assert dead == 1
        assert "HTTP 500" in desk.learn.status().newest_dead[0].reason
        assert done >= MAX_ATTEMPTS


def test_a_question_that_is_too_long_is_given_up_with_the_reason(world: World) -> None:
    with desk_with(world, models.failing(413, code="request_too_large"), turns=1) as desk:
        desk.learn.ask()
        assert desk.counts() == (0, 0, 0, 1)
        assert "413" in desk.learn.status().newest_dead[0].reason


def test_the_budget_of_a_day_pauses_until_the_next_and_is_no_failure(world: World) -> None:
    with desk_with(world, FINE, turns=6, day_budget_usd=0.006, session_budget_usd=0.02) as desk:
        first = desk.learn.ask()
        assert first.failure is None
        assert 0 < first.report.turns < 6
        pause = desk.learn.pause()
        assert pause is not None
        assert (pause.reason, pause.until % DAY_US) == ("budget", 0)
        assert desk.learn.ask().failure is None
        turns = first.report.turns
        for _ in range(10):
            desk.clock[0] += DAY_US
            turns += desk.learn.ask().report.turns
        assert turns == 6
        assert desk.counts() == (0, 0, 6, 0)


def test_a_session_over_its_budget_is_parked_until_the_configuration_allows_more(world: World) -> None:
    with desk_with(world, FINE, turns=2, session_budget_usd=0.000001) as desk:
        assert desk.learn.ask().report.turns == 0
        assert desk.counts() == (0, 2, 0, 0)
        assert desk.learn.pause() is None
    with desk_with(world, FINE, turns=0, session_budget_usd=1.0) as desk:
        desk.clock[0] = T0 + DAY_US
        assert desk.learn.ask().report.turns == 2


def test_lies_are_held_back_and_nothing_of_them_is_given(world: World) -> None:
    with desk_with(world, models.speaking(models.lying_about_evidence)) as desk:
        assert desk.learn.ask().report.new == 0
        assert desk.counts() == (0, 0, 1, 0)
        assert desk.learn.status().held_back == 3
        assert desk.memory.search("compiler").learned == ()


def test_what_a_model_said_goes_when_its_evidence_goes(world: World) -> None:
    with desk_with(world, FINE, turns=1) as desk:
        desk.learn.ask()
        assert {one.state for one in desk.learn.learnings()} == {"active"}
        told = world.claude("turn 0")
        told.path.write_bytes(b"")
        told.user("Something else altogether, from the beginning of the file.")
        desk.read()
        gone = [one for one in desk.learn.learnings() if one.status == "hypothesis"]
        events = {event.event_id for event in desk.memory.events(told.uid)}
        for one in gone:
            held = all(e.event_id in events for e in one.evidence)
            assert one.state == ("active" if one.evidence and held else "retired")


def test_two_workers_at_once_ask_and_keep_everything_once(world: World) -> None:
    with desk_with(world, FINE, turns=12) as desk:
        reports = []

        def work() -> None:
            reports.append(desk.learn.ask().report)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sum(report.turns for report in reports) == 12
        assert len(desk.server.asked) == 12
        assert desk.counts() == (0, 0, 12, 0)
        assert len(desk.learn.learnings()) == 24


def test_a_worker_that_lost_its_lease_keeps_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk_with(world, FINE, turns=1) as desk:
        keep: Callable[..., None] = Asking._keep
        taken = []

        def lose(self: Asking, *rest: object) -> None:
            desk.clock[0] += DAY_US
            if not taken:
                taken.append(1)
                assert desk.learn.ask().report.turns == 1  # another worker takes it meanwhile
            keep(self, *rest)

        monkeypatch.setattr(Asking, "_keep", lose)
        desk.learn.ask()
        assert len(desk.server.asked) == 2
        assert len(desk.learn.learnings()) == 2
        assert len(desk.learn.learnings()[0].evidence) == 1
        assert desk.counts() == (0, 0, 1, 0)


class Killed(BaseException):
    """Ends a run where it stands."""


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 8, 11])
def test_killed_between_any_two_steps_it_goes_on_and_nothing_is_kept_twice(
    world: World, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    from recollect.insights.learnings.questions import model as running
    from recollect.store.sqlite.learnings.jobs import SqliteJobQueue
    from recollect.store.sqlite.learnings.writer import SqliteLearningStore

    steps = [0]

    def counted(method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            steps[0] += 1
            if steps[0] == step:
                raise Killed
            return method(*arguments, **named)

        return call

    with desk_with(world, FINE, turns=2) as desk:
        with monkeypatch.context() as patch:
            for owner, names in (
                (SqliteJobQueue, ("claim", "finish", "want")),
                (SqliteLearningStore, ("put_sightings", "save", "set_note", "add_batch", "known")),
                (running, ("judge",)),
            ):
                for name in names:
                    patch.setattr(owner, name, counted(getattr(owner, name)))
            with pytest.raises(Killed):
                desk.learn.ask()
        for _ in range(3):
            desk.clock[0] += 10 * 60_000_000  # the lease of whoever was killed ends
            desk.learn.ask()
        assert desk.counts() == (0, 0, 2, 0)
        assert len(desk.learn.learnings()) == 4
        assert {len(one.evidence) for one in desk.learn.learnings()} == {1}
        assert 2 <= len(desk.server.asked) <= 3


def test_a_sync_asks_too_and_says_what_kept_it_from_it(world: World) -> None:
    with serving(models.at_first(models.UNAUTHORIZED, FINE)) as server:
        for key, notes, turns in (("k-1", 1, 0), ("k-2", 0, 1)):
            config = Config(learning=configured(server.url), distill=DistillConfig(enabled=False))
            with Memory.open(world.root / "memory", config=config, env={**world.env, "THE_KEY": key}) as memory:
                memory.sync()
                told = ClaudeTranscript(world.claude_home, "now", start=datetime.now(UTC) + timedelta(seconds=1))
                if not told.path.exists():
                    told.user("We name tables in the singular. " + "It reads better that way, we found. " * 250)
                    told.assistant("Singular names it is, in every table from now on.")
                    told.user("Good. Go on.")
                report = memory.sync()
                assert len([note for note in report.notes if "not asked" in note]) == notes, report.notes
                assert memory.learn.status().turns_done == turns


def test_a_session_from_the_future_is_read_once_and_asked_about_when_its_time_has_come(world: World) -> None:
    with desk_with(world, FINE, turns=0) as desk:
        told = world.claude("future")
        told.user("In this part we name every table in the singular, please.")
        told.assistant("Understood, singular names from now on.")
        desk.clock[0] = T0 - 30 * DAY_US
        take_in(desk.memory)
        assert desk.learn.run(extractor=RULE).sessions == 1
        assert desk.learn.run(extractor=RULE).sessions == 0
        desk.clock[0] = T0 + DAY_US
        desk.read()
        assert desk.learn.ask().report.turns == 1


def test_without_any_idle_time_a_session_that_is_ahead_of_the_clock_is_read_once_a_run(world: World) -> None:
    with serving(FINE) as server:
        config = Config(learning=configured(server.url), distill=DistillConfig(idle_seconds=0))
        with Memory.open(world.root / "memory", config=config, env={**world.env, "THE_KEY": "k-1"}) as memory:
            learn = LearnFacet(memory, lambda: T0 - DAY_US)
            take_in(memory)
            learn.run(extractor=RULE)
            told = world.claude("ahead")
            told.user("We name every table in the singular, please.")
            told.assistant("Understood, singular names from now on.")
            take_in(memory)
            looks = iter(range(1000))
            report = learn.run(extractor=RULE, should_stop=lambda: next(looks) > 5)
            assert (report.sessions, report.state) == (1, "done")


def older_sessions(world: World, number: int) -> None:
    """Write sessions of one turn each, from July 2026: before a model is configured."""
    for day in range(1, number + 1):
        told = ClaudeTranscript(world.claude_home, f"old {day}", start=datetime(2026, 7, day, tzinfo=UTC))
        told.user(f"On day {day} we name every table in the singular, please.")
        told.assistant(f"Understood, day {day} has singular names from now on.")


def asked_about(desk: Desk) -> list[str]:
    """Return what the questions were about, in the order in which they were asked."""
    firsts = (models.shown_in(asked).events[0][2] for asked in desk.server.asked)
    return [" ".join(text.split()[1:3]) for text in firsts]


def test_older_sessions_are_asked_about_on_demand_the_newest_first_and_after_all_that_is_new(world: World) -> None:
    older_sessions(world, 4)
    with desk_with(world, FINE, turns=2) as desk:
        assert desk.learn.want_older() == 4
        assert desk.learn.status().older_sessions_waiting == 4
        answered = desk.learn.ask()
        assert asked_about(desk) == ["part 0", "part 1", "day 4", "day 3", "day 2", "day 1"]
        assert (answered.failure, answered.report.new, answered.next_at) == (None, 12, None)
        assert desk.counts() == (0, 0, 6, 0)
        assert desk.learn.want_older() == 0, "nobody is asked about a session twice"
        assert desk.learn.ask().report.turns == 0


def test_a_period_says_which_older_sessions_are_asked_about(world: World) -> None:
    older_sessions(world, 4)
    with desk_with(world, FINE, turns=0) as desk:
        day = [int(datetime(2026, 7, number, tzinfo=UTC).timestamp() * 1_000_000) for number in range(1, 5)]
        assert desk.learn.want_older(after=day[1], before=day[3]) == 2
        desk.learn.ask()
        assert asked_about(desk) == ["day 3", "day 2"]
        assert desk.learn.want_older(before=day[3]) == 1
        desk.learn.ask()
        assert asked_about(desk) == ["day 3", "day 2", "day 1"]


def test_the_budget_of_a_day_holds_for_older_sessions_whatever_restarts(world: World) -> None:
    older_sessions(world, 5)
    turns = []
    with desk_with(world, FINE, turns=0, day_budget_usd=0.006) as desk:
        desk.learn.want_older()
        turns.append(desk.learn.ask().report.turns)
        assert 0 < turns[0] < 5
        for _ in range(8):
            with Memory.open(desk.memory.home, config=desk.memory.config, env=desk.memory.env) as again:
                learn = LearnFacet(again, lambda: desk.clock[0])
                assert learn.ask().report.turns == 0
                assert learn.status().spent_micro_dollars <= 6_000
            new = world.claude(f"new {desk.clock[0]}")
            new.user(f"Of today {len(turns)} we name every table in the singular, please.")
            new.assistant(f"Understood, today {len(turns)} has singular names from now on.")
            desk.clock[0] += DAY_US
            desk.read()
            before = len(desk.server.asked)
            turns.append(desk.learn.ask().report.turns)
            assert asked_about(desk)[before].startswith("today"), "what is new comes first on every day"
        assert sum(turns) == 13
        older = [about for about in asked_about(desk) if about.startswith("day")]
        assert older == [f"day {number}" for number in range(5, 0, -1)]


def test_of_a_session_that_goes_on_the_turns_before_are_asked_about_on_demand(world: World) -> None:
    told = ClaudeTranscript(world.claude_home, "long", start=datetime(2026, 7, 1, tzinfo=UTC))
    told.user("On day 1 we name every table in the singular, please.")
    told.assistant("Understood, singular it is for day 1.")
    with desk_with(world, FINE, turns=0) as desk:
        told.user("In part 9 we name every table in the plural, please.", timestamp="2026-08-01T09:00:10.000Z")
        desk.read()
        desk.learn.want_older()
        desk.learn.ask()
        assert asked_about(desk) == ["part 9", "day 1"]


def test_whoever_asks_by_hand_need_not_wait_until_a_session_rests(world: World) -> None:
    with desk_with(world, FINE, turns=0) as desk:
        told = world.claude("goes on")
        told.user("In part 1 we name every table in the singular, please.")
        told.assistant("Understood, part 1 has singular names from now on.")
        desk.clock[0] = T0 + 10_000_000
        take_in(desk.memory)
        desk.learn.run(extractor=RULE)
        assert desk.learn.ask().report.turns == 0, "by itself it waits for five minutes"
        desk.learn.run(extractor=RULE, at_once=True)
        assert desk.learn.ask(at_once=True).report.turns == 1
        told.user("In part 2 we name every table in the plural, please.")
        told.tool("Bash", {"command": "make"}, "ok")
        take_in(desk.memory)
        desk.learn.run(extractor=RULE, at_once=True)
        assert desk.learn.ask(at_once=True).report.turns == 0, "the agent is still at it"
        told.assistant("Understood, part 2 has plural names from now on.")
        desk.clock[0] += DAY_US
        desk.read()
        desk.learn.ask()
        assert asked_about(desk) == ["part 1", "part 2"]


@pytest.mark.parametrize("behaviour", [models.OVERLOADED, models.UNAUTHORIZED], ids=["overloaded", "key"])
def test_whoever_asks_by_hand_ends_a_pause(world: World, behaviour: Behaviour) -> None:
    with desk_with(world, models.at_first(behaviour, FINE), turns=2) as desk:
        assert desk.learn.ask().failure is not None
        assert desk.learn.ask().report.turns == 0
        assert desk.learn.ask(at_once=True).report.turns == 2
        assert desk.learn.pause() is None


def test_whoever_asks_by_hand_ends_no_budget(world: World) -> None:
    with desk_with(world, FINE, turns=6, day_budget_usd=0.006, session_budget_usd=0.02) as desk:
        assert 0 < desk.learn.ask(at_once=True).report.turns < 6
        asked = len(desk.server.asked)
        again = desk.learn.ask(at_once=True)
        assert (again.report.turns, again.failure, len(desk.server.asked)) == (0, None, asked)
        assert again.report.notes == ["the day's budget is spent ($0.006)"]
        assert desk.learn.status().spent_micro_dollars <= 6_000
