"""Facts that follow from decisions and learnings, and facts as JSON-LD."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from recollect.insights.notes.facts import Decided, fact_of_learning, facts_of_decision
from recollect.insights.notes.linked_data import CONTEXT, linked_data
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Decision, Option
from recollect.model.learnings.learnings import Learning
from recollect.model.learnings.notes import Fact

PLACE = SourceLocation("s", 0, 0, 1, 0, "0" * 64)


def decision(**also: Any) -> Decision:
    return Decision(id="decision:1", session_uid="claude:1", location=PLACE, ts=10, confidence=0.8, **also)


def triples(decided: Decided) -> list[tuple[str, str, str]]:
    return [(f.subject, f.predicate, f.object) for f in facts_of_decision(decided)]


def test_a_decision_says_what_its_repository_took_and_turned_down() -> None:
    chosen = decision(options=(Option("Postgres", True), Option("MySQL", False)), statement="Use Postgres.")
    (took, refused) = facts_of_decision(Decided(chosen, "shop", 99))
    assert (took.subject, took.predicate, took.object) == ("shop", "adopted", "Postgres")
    assert (refused.predicate, refused.object) == ("rejected", "MySQL")
    assert (took.valid_from, took.valid_to, took.reference, took.source) == (10, None, "decision:1", "decision")
    assert (took.status, took.confidence) == ("derived", 0.8)


def test_a_ban_and_a_preference_are_told_apart() -> None:
    banned = decision(polarity="ban", options=(Option("eval", False),))
    assert triples(Decided(banned, "shop", 1)) == [("shop", "banned", "eval")]
    preferred = decision(polarity="prefer", options=(Option("tabs", True),))
    assert triples(Decided(preferred, "", 1)) == [("user", "prefers", "tabs")]


def test_a_decision_without_options_is_told_in_its_words() -> None:
    assert triples(Decided(decision(statement="Keep  it simple"), "shop", 1)) == [("shop", "decided", "Keep it simple")]


@pytest.mark.parametrize(
    ("option", "statement"),
    [("timestamps", "Keep timestamps in UTC"), ("printing jobs live", "From now on printing jobs live in Redis")],
)
def test_an_option_that_only_names_what_a_choice_is_about_is_told_by_the_statement(option: str, statement: str) -> None:
    about = decision(options=(Option(option, True),), statement=statement)
    assert triples(Decided(about, "shop", 1)) == [("shop", "decided", statement)]


@pytest.mark.parametrize("statement", ["Use redis in production", "Let's go with redis on staging", "redis it is"])
def test_an_option_that_was_taken_is_told_alone(statement: str) -> None:
    assert triples(Decided(decision(options=(Option("redis", True),), statement=statement), "shop", 1)) == [
        ("shop", "adopted", "redis")
    ]


def test_a_decision_that_was_replaced_holds_until_then_and_one_replaced_at_once_never_held() -> None:
    chosen = decision(options=(Option("Postgres", True),))
    assert facts_of_decision(Decided(chosen, "shop", 1, ended_at=50))[0].valid_to == 50
    assert facts_of_decision(Decided(chosen, "shop", 1, ended_at=10)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The build needs Node 20.", ("The build", "needs", "Node 20")),
        ("Tests are in tests/", ("Tests", "is", "in tests/")),
        ("staging listens on port 8443", ("staging", "listens on", "port 8443")),
        ("The cache is not shared", ("shop", "states", "The cache is not shared")),
        ("Run make before pushing", ("shop", "states", "Run make before pushing")),
    ],
)
def test_a_learned_fact_is_split_where_its_words_turn(text: str, said: tuple[str, str, str]) -> None:
    found = fact_of_learning(Learning(id="l1", kind="fact", text=text, scope="repo", repo="shop", confidence=0.6))
    assert found is not None
    assert (found.subject, found.predicate, found.object) == said
    assert (found.reference, found.source, found.status) == ("learning:l1", "learning", "derived")


def test_only_short_learned_facts_become_facts() -> None:
    assert fact_of_learning(Learning(id="l", kind="preference", text="use tabs", scope="user")) is None
    assert fact_of_learning(Learning(id="l", kind="fact", text="x" * 400, scope="user")) is None


def test_linked_data_says_what_a_fact_says_with_terms_that_are_all_defined() -> None:
    fact = Fact(
        id="f1", subject="shop-api", predicate="runs_on", object="Python 3.12 / é", valid_from=1_785_574_800_000_000,
        recorded_at=1, reference="claude:1#2", batch="b1", is_retracted=True,
    )  # fmt: skip
    document = json.loads(json.dumps(linked_data([fact])))
    (node,) = document["@graph"]
    assert node["subject"] == {"id": "urn:recollect:name:shop-api", "name": "shop-api"}
    assert node["object"]["id"] == "urn:recollect:name:python%203.12%20%2F%20%C3%A9"
    assert node["validFrom"] == "2026-08-01T09:00:00.000Z"
    assert "validUntil" not in node
    assert set(node) <= set(CONTEXT)
    for name, value in expanded(node, document["@context"]):
        assert re.match(r"@|https?://|urn:", name), name
        if name == "@id":
            assert re.fullmatch(r"urn:[\w:.%-]+", value)


def expanded(node: dict[str, Any], context: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the properties of a node, and of those in it, as the context defines them: absolute, or keywords."""
    found = []
    for term, value in node.items():
        meant = context[term]["@id"] if isinstance(context[term], dict) else context[term]
        prefix, colon, rest = meant.partition(":")
        iri = meant if meant.startswith("@") else context[prefix] + rest if colon else meant
        found.append((iri, value))
        if isinstance(value, dict):
            found += expanded(value, context)
    return found
