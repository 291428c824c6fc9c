"""Nothing that is told rests on a record that was forgotten, and what an assistant said is never told as a person's."""

from __future__ import annotations

import pytest

from recollect.memory import Memory
from recollect.model.learnings.learnings import Learning
from tests.erasure.forget.test_forgetting import forget
from tests.recall.context.conftest import Session, Shop, shop, world

__all__ = ["shop", "world"]

CLAIM = "We use floats for the amounts, that is the best choice here."
CORRECTIONS = "Corrections the person made:"


@pytest.fixture
def corrected(shop: Shop) -> Session:
    """A session in which a person corrects the assistant, and names a client (zapbox) in the same message."""
    session = shop.session("one")
    session.user("Look at the orders export please.")
    session.assistant(CLAIM)
    session.user("No, use integer cents for the amounts, not floats. The client zapbox wants it.")
    session.assistant("The amounts are whole numbers now, as quuxcorp wants it.")
    session.shell("make check", "1 failed: zapfail", fails=True)
    session.edit("/w/shop/orders.py")
    session.shell("make check", "all passed")
    session.user("Please also look at the readme.")
    session.assistant("It is fine.")
    shop.memory.sync()
    assert CORRECTIONS in told(shop)
    return session


def told(shop: Shop) -> str:
    """Return everything that is stated of the repository, without syncing first."""
    memory = shop.memory
    return "\n".join(
        [
            memory.context(cwd=str(shop.path), budget=4000).text,
            *(one.text for one in memory.learn.learnings()),
            *(one.decision.statement for one in memory.decisions().decisions),
        ]
    )


def test_with_the_record_of_a_correction_goes_the_correction(shop: Shop, corrected: Session) -> None:
    assert forget(shop.memory, pattern="zapbox").state == "done"
    assert CORRECTIONS not in told(shop)
    assert "floats" not in told(shop)
    shop.memory.sync()
    assert "floats" not in told(shop)


def test_with_what_was_corrected_only_that_goes(shop: Shop, corrected: Session) -> None:
    assert forget(shop.memory, pattern="best choice").state == "done"
    assert "integer cents" in told(shop)
    assert CLAIM not in told(shop)


@pytest.mark.parametrize("step", ["zapfail", "all passed"])
def test_no_fix_is_told_whose_failure_or_pass_was_forgotten(shop: Shop, corrected: Session, step: str) -> None:
    assert forget(shop.memory, pattern=step).state == "done"
    assert "it passed after" not in told(shop)
    assert "what made it pass" not in told(shop)


def test_what_another_session_says_too_is_told_in_its_words(shop: Shop, corrected: Session) -> None:
    other = shop.session("two")
    other.user("Go on with the orders.")
    other.assistant("I take floats again.")
    other.user("No, use integer cents for the amounts, not floats.")
    shop.memory.sync()
    assert forget(shop.memory, session=corrected.uid).state == "done"
    (correction,) = [one for one in shop.memory.learn.learnings() if one.kind == "correction"]
    assert {(e.session_uid, e.author) for e in correction.evidence} == {
        (other.uid, "user"), (other.uid, "assistant"),
    }  # fmt: skip
    assert "floats" in correction.text


def test_what_is_left_of_a_session_is_learned_at_once(shop: Shop) -> None:
    session = shop.session("one")
    session.user("Remember: deploys of the shop go through staging first.")
    session.assistant("Noted.")
    session.user("Remember: deploys of the shop go through staging first. And zapbox is the client.")
    shop.memory.sync()
    assert forget(shop.memory, pattern="zapbox").state == "done"
    assert [one.text for one in facts(shop.memory)] == ["deploys of the shop go through staging first."]
    assert {e.seq for one in facts(shop.memory) for e in one.evidence} == {1}


def facts(memory: Memory) -> list[Learning]:
    return [one for one in memory.learn.learnings() if one.kind == "fact"]
