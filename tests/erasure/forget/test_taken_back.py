"""What a forgotten statement had taken back does not come back as holding, and a dry run names it."""

from __future__ import annotations

import pytest

from recollect.model.learnings.learnings import GIVEN_STATES
from tests.erasure.forget.test_along import planned
from tests.erasure.forget.test_forgetting import forget
from tests.recall.context.conftest import Shop, shop, world

__all__ = ["shop", "world"]

SAID = "Use moment for all the date stuff."
UNSAID = "I was wrong about moment, date-fns it is from here on."


def holding(shop: Shop) -> list[str]:
    return [one.text for one in shop.memory.learn.learnings() if one.state in GIVEN_STATES]


def decided(shop: Shop) -> list[str]:
    found = shop.memory.decisions(repo="shop").decisions
    return [one.decision.statement for one in found if one.state == "holds"]


def test_what_a_forgotten_word_took_back_stays_retired(shop: Shop) -> None:
    shop.session("one").work(SAID, "Noted.")
    shop.session("two").work(UNSAID, "Noted.")
    shop.memory.sync()
    assert SAID not in holding(shop)
    looked = planned(shop, pattern="wrong about moment")
    assert [one.text for one in looked.taken_back] == [SAID]
    assert UNSAID in [one.text for one in looked.learned if one.name.startswith("decision:")]
    done = forget(shop.memory, pattern="wrong about moment")
    assert [(one.name, one.text) for one in done.taken_back] == [(one.name, one.text) for one in looked.taken_back]
    assert not [one for one in done.learned if one.text]
    shop.memory.sync()
    assert (SAID in holding(shop), SAID in decided(shop)) == (False, False)
    shop.memory.maintenance.rebuild("all")
    shop.memory.sync()
    assert (SAID in holding(shop), SAID in decided(shop)) == (False, False)


def test_what_nothing_takes_back_is_as_it_was(shop: Shop) -> None:
    shop.session("one").work(SAID, "Noted.")
    shop.session("two").work("Always use the staging database when you try things out.", "Noted.")
    shop.memory.sync()
    done = forget(shop.memory, pattern="staging database")
    assert (done.taken_back, done.holds_again) == ([], [])
    assert holding(shop) == [SAID]


@pytest.mark.parametrize("selection", ["pattern", "session"])
def test_what_was_done_stays_done_when_the_word_that_said_so_is_forgotten(shop: Shop, selection: str) -> None:
    shop.session("one").work("Remind me to rotate the sentry key.", "Ok.")
    second = shop.session("two").work("I've rotated the sentry key.", "Great.")
    shop.memory.sync()
    assert [one.state for one in shop.memory.learn.learnings()] == ["done"]
    report = forget(shop.memory, **{selection: "rotated the sentry" if selection == "pattern" else second.uid})
    assert report.learned == []
    shop.memory.sync()
    (action,) = shop.memory.learn.learnings()
    assert (action.text, action.state) == ("rotate the sentry key.", "done")
    assert [e.quote for e in action.evidence] == ["rotate the sentry key."]
    shop.memory.maintenance.rebuild("all")
    shop.memory.sync()
    assert [one.state for one in shop.memory.learn.learnings()] == ["done"]


def test_an_action_that_is_forgotten_with_the_word_that_it_is_done_is_gone(shop: Shop) -> None:
    shop.session("one").work("Remind me to rotate the sentry key.", "Ok.").work(
        "I've rotated the sentry key.", "Great."
    )
    shop.memory.sync()
    forget(shop.memory, pattern="sentry")
    shop.memory.sync()
    assert shop.memory.learn.learnings() == []
