"""A forgetting, tried or done, names what was learned that goes with it and the files that still hold it."""

from __future__ import annotations

from recollect.memory import ForgetReport, ForgetSelection
from tests.erasure.forget.test_forgetting import forget
from tests.recall.context.conftest import Shop, shop, world

__all__ = ["shop", "world"]


def planned(shop: Shop, **selection: str) -> ForgetReport:
    return shop.memory.maintenance.forgetting.plan(ForgetSelection(**selection))


def test_it_names_the_learnings_that_rest_on_what_goes(shop: Shop) -> None:
    session = shop.session("one").work("Remember: deploys of the shop go through staging. zapbox said so.", "Noted.")
    shop.session("two").work("Remember: releases of the shop need a tag.", "Noted.")
    shop.memory.sync()
    learnings = {one.text: f"learning:{one.id}" for one in shop.memory.learn.learnings()}
    name = learnings["deploys of the shop go through staging."]
    for selection in ({"pattern": "zapbox"}, {"session": session.uid}):
        looked = planned(shop, **selection)
        assert [(one.name, one.text) for one in looked.learned] == [(name, "deploys of the shop go through staging.")]
        assert looked.files == [str(session.path)]
    done = forget(shop.memory, pattern="zapbox")
    assert [(one.name, one.text) for one in done.learned] == [(name, "")]
    assert done.files == [str(session.path)]
    left = {f"learning:{one.id}" for one in shop.memory.learn.learnings()}
    assert left == set(learnings.values()) - {name}


def test_an_action_that_goes_is_called_one(shop: Shop) -> None:
    shop.session("one").work("Add the zapbox.", "Done. Still to do: rotate the zapbox key.")
    shop.memory.sync()
    (action,) = shop.memory.learn.learnings()
    assert [one.name for one in planned(shop, pattern="zapbox").learned] == [f"action:{action.id}"]
    assert [one.name for one in forget(shop.memory, pattern="zapbox").learned] == [f"action:{action.id}"]


def test_what_another_session_says_too_does_not_go(shop: Shop) -> None:
    for name in ("one", "two"):
        shop.session(name).work("Remember: deploys of the shop go through staging.", "Noted.")
    shop.memory.sync()
    first = shop.memory.sessions().sessions[0].session_uid
    assert planned(shop, session=first).learned == []


def test_a_file_that_its_agent_deleted_is_not_named(shop: Shop) -> None:
    session = shop.session("one").work("please call it zapbox", "ok")
    shop.memory.sync()
    session.path.unlink()
    shop.memory.sync()
    assert planned(shop, pattern="zapbox").files == []
