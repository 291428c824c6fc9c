"""Whoever asks by hand need not wait, and may have older sessions asked about; the budget holds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.ingest.learnings.run import LearnFacet
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript
from tests.endpoints import model_server as models
from tests.endpoints.served import Behaviour
from tests.ingest.conftest import World
from tests.ingest.learnings.desk import DAY_US, FINE, RULE, T0, Desk, desk_with
from tests.ingest.learnings.stand_ins import take_in


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
