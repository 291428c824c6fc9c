"""A model is asked about finished turns: kept once, paused where that would meet everybody, within the budget."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect.config import Config, DistillConfig
from recollect.ingest.learnings.ask import Asking
from recollect.ingest.learnings.run import LearnFacet
from recollect.memory import Memory
from recollect.store.jobs import MAX_ATTEMPTS
from recollect.store.learnings import LearningFilter
from recollect.testing.builders import ClaudeTranscript
from tests.endpoints import model_server as models
from tests.endpoints.served import Answer, Behaviour, serving
from tests.ingest.conftest import World
from tests.ingest.learnings.desk import DAY_US, FINE, RULE, T0, configured, desk_with
from tests.ingest.learnings.stand_ins import OneRule, take_in


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
        desk.memory.maintenance.rebuild("all")
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
    from recollect.store.jobs import JobQueue
    from recollect.store.learnings import LearningStore

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
                (JobQueue, ("claim", "finish", "want")),
                (LearningStore, ("put_sightings", "save", "set_note", "add_batch", "known")),
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
