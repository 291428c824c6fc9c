"""What both rules and a model find is one learning, whichever came first."""

from __future__ import annotations

import pytest

from recollect.insights.learnings.identity import learning_id
from recollect.store.learnings import LearningFilter
from tests.endpoints import model_server as models
from tests.endpoints.served import Behaviour
from tests.ingest.conftest import World
from tests.ingest.learnings.desk import DAY_US, RULE, T0, desk_with
from tests.ingest.learnings.stand_ins import OneRule, take_in

SAID = "fact: The sessions of the shop are kept in Redis for two days."


def noting_both(text: str, kind: str = "fact") -> Behaviour:
    """Return a model that notes what the user said, and quotes the assistant too."""

    def note(shown: models.Shown) -> models.Said:
        found = [label for label, by, said in shown.events if by == "user" and "Redis" in said]
        if not found:
            return models.notes()
        noted = models.note(found[0], "kept in Redis for two days", kind=kind, text=text)
        answered = [{"event": label, "quote": "in Redis"} for label, by, _ in shown.events if by == "assistant"]
        return models.notes({**noted, "evidence": [*noted["evidence"], *answered]})

    return models.speaking(note)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The sessions of the shop are kept in Redis for two days", "fact"),
        ("The sessions of the shop are kept in Redis for two days.", "pattern"),
        ("Sessions are kept in Redis for two days.", "fact"),
        ("In the shop, Redis keeps sessions for two days.", "fact"),
    ],
)
@pytest.mark.parametrize("is_model_first", [False, True], ids=["rules first", "model first"])
def test_what_rules_and_a_model_find_is_one_learning_with_the_evidence_of_both(
    world: World, text: str, kind: str, is_model_first: bool
) -> None:
    with desk_with(world, noting_both(text, kind), turns=0) as desk:
        told = world.claude("redis")
        told.user(SAID)
        told.assistant("Noted: they live in Redis.")
        take_in(desk.memory)
        desk.clock[0] = T0 + DAY_US
        desk.learn.run(extractor=OneRule("one@0", without="Redis") if is_model_first else RULE)
        assert desk.learn.ask().report.turns == 1
        desk.learn.run(extractor=OneRule("one@9"))
        (one,) = desk.learn.learnings(LearningFilter(states=("active", "confirmed", "superseded")))
        assert (one.kind, one.status, one.extractor) == ("fact", "derived", "one@9")
        assert one.text == SAID.removeprefix("fact: ").rstrip(".") or one.text == SAID.removeprefix("fact: ")
        assert one.id == learning_id("fact", "repo", one.repo, "", one.text)
        assert [(e.author, e.quote) for e in one.evidence][1:] == [("assistant", "in Redis")]
        desk.memory.maintenance.rebuild("all")
        desk.learn.run(extractor=OneRule("one@10"))
        (again,) = desk.learn.learnings(LearningFilter(states=("active", "confirmed", "superseded")))
        assert (again.id, len(again.evidence)) == (one.id, 2)


@pytest.mark.parametrize(
    "text", ["The shop needs a new certificate in May.", "Redis is restarted by the shop whenever memory is short."]
)
def test_another_thing_that_a_model_says_of_the_same_event_stays_another_learning(world: World, text: str) -> None:
    with desk_with(world, noting_both(text), turns=0) as desk:
        told = world.claude("redis")
        told.user(SAID)
        told.assistant("Noted: they live in Redis.")
        desk.clock[0] = T0 + DAY_US
        desk.read()
        desk.learn.ask()
        assert {one.text for one in desk.learn.learnings()} == {text, SAID.removeprefix("fact: ")}


def test_what_a_person_said_something_of_keeps_its_name(world: World) -> None:
    with desk_with(world, noting_both("Sessions are kept in Redis for two days."), turns=0) as desk:
        told = world.claude("redis")
        told.user(SAID)
        told.assistant("Noted: they live in Redis.")
        take_in(desk.memory)
        desk.clock[0] = T0 + DAY_US
        desk.learn.run(extractor=OneRule("one@0", without="Redis"))
        desk.learn.ask()
        (one,) = desk.learn.learnings()
        desk.learn.confirm(one.id)
        desk.learn.run(extractor=OneRule("one@9"))
        assert desk.learn.learning(one.id).state == "confirmed"
        assert len(desk.learn.learning(one.id).evidence) == 2
