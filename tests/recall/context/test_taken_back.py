"""What a person corrected or retired is told by nothing, also not as the decision that the same words gave."""

from __future__ import annotations

import pytest

from recollect.memory import DecisionQuestion, NewLearning
from recollect.model.learnings.learnings import Learning
from tests.recall.context.conftest import Shop

RULE = "From now on always use pnpm for installs in this repository, never npm."


@pytest.fixture
def rule(shop: Shop) -> Learning:
    """A learning from words that are a decision, too."""
    shop.session("one").work("Look at the readme.", "It is fine.").work(RULE, "Done.")
    shop.memory.sync()
    assert [view.state for view in shop.memory.decisions().decisions] == ["holds"]
    (found,) = shop.memory.learn.learnings()
    return found


def test_a_corrected_learning_takes_its_decision_along(shop: Shop, rule: Learning) -> None:
    shop.memory.learn.correct(rule.id, "always use bun for installs in this repository")
    block = shop.context().text
    assert "bun" in block
    assert "pnpm" not in block
    assert shop.memory.decisions().decisions == ()


def test_every_decision_of_a_corrected_message_goes_along(shop: Shop) -> None:
    shop.session("one").work("Look at the readme.", "I use exponential backoff.").work(
        "No, do not use exponential backoff here. Always use a fixed delay of two seconds, the bank asks for it.", "Ok."
    )
    shop.memory.sync()
    assert len(shop.memory.decisions().decisions) == 2
    (found,) = [one for one in shop.memory.learn.learnings() if one.kind == "correction"]
    shop.memory.learn.correct(found.id, "Use exponential backoff after all")
    assert shop.memory.decisions().decisions == ()
    assert "do not use" not in shop.context().text.partition("Worked on here")[0]


def test_a_retired_learning_takes_its_decision_along_until_it_is_confirmed(shop: Shop, rule: Learning) -> None:
    shop.memory.learn.retire(rule.id)
    assert "pnpm" not in shop.context().text
    (revoked,) = shop.memory.decisions_facet.find(DecisionQuestion(states=("revoked",))).decisions
    assert revoked.decision.statement == RULE
    shop.memory.learn.confirm(rule.id)
    assert [view.state for view in shop.memory.decisions().decisions] == ["holds"]


def test_what_else_was_decided_in_the_message_holds_on(shop: Shop) -> None:
    shop.session("one").work("Look at the readme.", "Fine.").work(f"{RULE} Let's use Redis for the cart cache.", "Ok.")
    shop.memory.sync()
    (found,) = [one for one in shop.memory.learn.learnings() if "pnpm" in one.text]
    shop.memory.learn.retire(found.id)
    assert ["Redis" in view.decision.statement for view in shop.memory.decisions().decisions] == [True]


def test_a_learning_added_by_hand_takes_back_nothing(shop: Shop, rule: Learning) -> None:
    added = shop.memory.learn.add(NewLearning(text="Use pnpm for installs", kind="preference", repo="shop"))
    shop.memory.learn.retire(added.id)
    assert [view.state for view in shop.memory.decisions().decisions] == ["holds"]


def test_until_it_was_taken_back_a_decision_held(shop: Shop, rule: Learning) -> None:
    made = shop.memory.decisions().decisions[0].decision.ts
    assert made is not None
    shop.memory.learn.correct(rule.id, "always use bun for installs in this repository")
    find = shop.memory.decisions_facet.find
    every = ("holds", "revoked")
    assert [one.state for one in find(DecisionQuestion(states=every)).decisions] == ["revoked"]
    assert [one.state for one in find(DecisionQuestion(states=every, at=made + 1)).decisions] == ["holds"]


LABELS = "From now on label printing jobs live in Postgres, not Redis."
RESTATED = (
    "Decision: label printing jobs live in Postgres rather than Redis, because the queue must survive a restart.",
    "Decision: the label service keeps its printing jobs in Postgres, because the queue must survive a restart.",
)
RIGHT = "Label printing jobs go through Redis with rq, not Postgres"


def _labels(shop: Shop, *decided: str) -> Learning:
    session = shop.session("labels").work("Look at the readme.", "It is fine.").work(LABELS, "Ok.")
    for one in decided:
        session.work("Go on.", one).work("Thanks.", "Done.")
    shop.memory.sync()
    (found,) = [one for one in shop.memory.learn.learnings() if "Postgres" in one.text]
    return found


@pytest.mark.parametrize("decided", RESTATED)
def test_a_correction_ends_what_an_agent_had_said_in_other_words(shop: Shop, decided: str) -> None:
    wrong = _labels(shop, decided)
    assert {view.decision.statement for view in shop.memory.decisions().decisions} == {LABELS, decided}
    shop.memory.learn.correct(wrong.id, RIGHT)
    assert shop.memory.decisions().decisions == ()
    assert decided not in shop.context().text
    assert RIGHT in shop.context().text


def test_a_retired_learning_ends_its_restatement_too(shop: Shop) -> None:
    shop.memory.learn.retire(_labels(shop, RESTATED[0]).id)
    assert shop.memory.decisions().decisions == ()


@pytest.mark.parametrize(
    "decided",
    [
        "Decision: label printing jobs live in Redis rather than Postgres, because rq needs it.",
        "Decision: invoices live in Postgres rather than Mongo, because they are joined with orders.",
    ],
)
def test_a_correction_leaves_what_agrees_with_it_or_is_about_something_else(shop: Shop, decided: str) -> None:
    wrong = _labels(shop, decided)
    before = [view.decision.statement for view in shop.memory.decisions().decisions]
    shop.memory.learn.correct(wrong.id, RIGHT)
    held = [view.decision.statement for view in shop.memory.decisions().decisions]
    assert decided in before
    assert held == [decided]
