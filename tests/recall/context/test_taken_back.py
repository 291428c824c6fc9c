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


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (
            "Always put new tests beside the module they test, in src/.",
            "Scrap that, I was wrong about where tests live: they all belong in tests/, nothing beside the module.",
        ),
        ("Always run the whole suite before you push.", "You don't need to run the whole suite before a push, "
         "the smoke tests are enough."),
        ("Always use pip to install packages in this repository.", "We moved to uv, so stop calling pip here."),
    ],
)  # fmt: skip
def test_what_the_person_takes_back_in_other_words_is_told_no_more(shop: Shop, rule: str, change: str) -> None:
    shop.session("one").work("Look at the readme.", "It is fine.").work(rule, "All right.")
    assert rule in shop.context().text.partition("Worked on here")[0]
    shop.session("two").work("Go on with the report.", "I do as you asked before.").work(change, "Understood.")
    told = shop.context().text.partition("Worked on here")[0]
    assert change in told
    assert rule not in told
    states = {view.decision.statement: view.state for view in shop.memory.decisions().decisions}
    assert states == {rule: "superseded", change: "holds"}


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (
            "I want you to ask me before you install any new dependency.",
            "stop asking me about every package, just install what you need",
        ),  # the later word is a learning only
        (
            "Mets toujours les commentaires en français.",
            "Les commentaires, on les écrit en anglais maintenant, oublie le français.",
        ),
        (
            "Don't touch anything under vendor/, ever.",
            "It's ok to edit the files in vendor now, we own that code since last week.",
        ),
        ("Always run the linter before you commit.", "You can stop running the linter."),  # neither of both
    ],
)
def test_learnings_and_decisions_agree_on_what_was_taken_back(shop: Shop, rule: str, change: str) -> None:
    shop.session("one").work("Look at the readme.", "It is fine.").work(rule, "All right.")
    shop.session("two").work("Go on with the report.", "I do as you asked before.").work(change, "Understood.")
    assert rule not in shop.context().text.partition("Worked on here")[0]
    assert rule not in [one.text for one in shop.memory.learn.learnings() if one.state == "active"]
    assert rule not in [one.decision.statement for one in shop.memory.decisions().decisions if one.state == "holds"]


def test_the_words_that_end_a_decision_are_told_as_the_decision_that_they_are(shop: Shop) -> None:
    shop.session("one").work("Look at the readme.", "It is fine.").work(
        "Always run the linter before you commit.", "Ok."
    )
    shop.session("two").work("Show the issues.", "Three.").work("You can stop running the linter.", "Ok.")
    shop.session("three").work("Show the pulls.", "Two.").work("You can stop running the profiler.", "Ok.")
    shop.memory.sync()
    held, over = shop.memory.decisions().decisions
    assert (held.decision.statement, held.state) == ("You can stop running the linter.", "holds")
    assert (over.state, [link.newer for link in over.links]) == ("superseded", [held.decision.id])
    shop.memory.maintenance.rebuild("all")
    shop.memory.sync()
    assert shop.memory.decisions().decisions == (held, over)


def test_until_it_was_taken_back_a_decision_held(shop: Shop, rule: Learning) -> None:
    made = shop.memory.decisions().decisions[0].decision.ts
    assert made is not None
    shop.memory.learn.correct(rule.id, "always use bun for installs in this repository")
    find = shop.memory.decisions_facet.find
    every = ("holds", "revoked")
    assert [one.state for one in find(DecisionQuestion(states=every)).decisions] == ["revoked"]
    assert [one.state for one in find(DecisionQuestion(states=every, at=made + 1)).decisions] == ["holds"]
