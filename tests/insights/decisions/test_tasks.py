"""A plain order to do something once is no decision, and how something is, is not what was chosen."""

from __future__ import annotations

import pytest

from recollect.insights import analyse, default_stages
from recollect.model.insights.nodes import Decision
from tests.insights.decisions.stories import decided, said

STAGES = default_stages(is_ranked=True)


def decided_by_person(text: str) -> list[Decision]:
    events = said(("human", "Look at the readme."), ("assistant", "I read it."), ("human", text)).events
    nodes = analyse(events, stages=STAGES).nodes
    return [node for node in nodes if isinstance(node, Decision) and node.speaker == "human"]


@pytest.mark.parametrize(
    "text",
    [
        "rename this function to parse_config",
        "Rename the class Foo to CartService please",
        "rename getUser to fetchUser everywhere",
        "fix the failing test",
        "add a test for the empty cart",
        "write tests for the new endpoint",
        'change the button label to "Save"',
        "make the header a bit smaller",
        "move this function to utils.py",
        "put a spinner on the save button",
        "convert this loop to a list comprehension",
        "Benenne die Funktion in parse_config um",
        "Füge einen Test für den leeren Warenkorb hinzu",
        "Renomme cette fonction en parse_config",
        "corrige le test qui échoue",
        "renombra esta función a parse_config",
        "The production build is broken, please repair it.",
        "The import of the prices crashes since yesterday. Can you fix that?",
        "Der Build in Produktion ist kaputt, bitte reparieren.",
    ],
)
def test_a_task_for_once_is_no_decision(text: str) -> None:
    assert decided_by_person(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Use Postgres instead of MySQL for the orders",
        "Let's go with Redis for the session cache",
        "move the auth check into middleware so that every route gets it",
        "change the primary key to UUID because we merge databases",
        "put the validation in the model, not in the view",
        "from now on, write tests for every new endpoint",
        "never commit to main",
        "switch from moment to dayjs",
        "set the timeout to 30 seconds, the bank needs that long",
        "Wir nehmen Postgres statt MySQL",
        "The cache is broken, use Redis instead of Memcached to repair it.",
        "On utilise pnpm, pas npm",
    ],
)
def test_an_order_that_somebody_may_ask_about_later_is_a_decision(text: str) -> None:
    assert decided_by_person(text) != []


@pytest.mark.parametrize(
    "text",
    [
        "The session token lives in localStorage; move it to an httpOnly cookie because of XSS.",
        "The token is stored in localStorage right now - move it to a cookie.",
        "the session token stays in localStorage, no wait, move it to a cookie",
        "Session tokens go in localStorage today. Move them to a cookie please.",
        "Wir speichern den Token im localStorage; bitte in ein Cookie verschieben.",
    ],
)
def test_what_is_changed_in_the_same_breath_was_not_chosen(text: str) -> None:
    found = decided(text)
    assert not [option for one in found for option in one.chosen if "localStorage" in option]
    assert [option for one in found for option in one.chosen if "ookie" in option]


def test_what_is_stated_and_stays_is_chosen() -> None:
    (found,) = decided("Session tokens live in localStorage, not in cookies.")
    assert found.chosen == ("localStorage",)


def test_a_new_name_is_no_choice_between_two_things() -> None:
    (found,) = decided("rename the class Foo to CartService, because it is no model")
    assert (found.chosen, found.rejected) == (("CartService",), ())


@pytest.mark.parametrize("text", ["Switch the bundler from webpack to vite", "switch from webpack to vite"])
def test_what_a_switch_is_about_is_not_what_is_turned_down(text: str) -> None:
    (found,) = decided(text)
    assert (found.chosen, found.rejected) == (("vite",), ("webpack",))
