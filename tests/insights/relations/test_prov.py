"""Nodes as PROV-JSON: what the submission asks of a document, and what PROV asks of the times in it."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from recollect.insights.decisions.bindings import PathAndTimeBinder
from recollect.insights.episodes import EditGrouper
from recollect.insights.prov_export import to_prov
from recollect.model.insights.nodes import Link, Node
from tests.insights.episodes.stories import Story, decided

_QUALIFIED = re.compile(r"[A-Za-z_][\w.-]*:(?:[\w./-]|%[0-9A-F]{2})+")
"""A qualified name whose local part needs no escape (PROV-N, production QUALIFIED_NAME)."""
_ENDS = {
    "used": ("prov:activity", "prov:entity"),
    "wasGeneratedBy": ("prov:entity", "prov:activity"),
    "wasAttributedTo": ("prov:entity", "prov:agent"),
    "wasAssociatedWith": ("prov:activity", "prov:agent"),
    "wasDerivedFrom": ("prov:generatedEntity", "prov:usedEntity"),
    "wasInfluencedBy": ("prov:influencee", "prov:influencer"),
}


def story() -> tuple[list[Node], list[Link]]:
    told = Story("one:a/b c:1")
    first = decided(told.human("use Redis in cache.py"), chosen=("Redis",), conversation="conversation:0a")
    told.edits("cache.py", "import redis")
    told.runs("git commit -am x", text="[main 1a2b3c4] x")
    agent = told.says("I keep Memcached out")
    second = decided(agent, rejected=("Memcached",), speaker="assistant", polarity="reject")
    stream = told.stream()
    episodes = EditGrouper().episodes(stream, ())
    bindings = PathAndTimeBinder().bindings(stream, (), [first, second], episodes)
    links = [
        Link(second.id, first.id, "supersedes", second.ts), Link(first.id, "decision:ffff", "contradicts"),
    ]  # fmt: skip
    return [first, second, *episodes, *bindings], links


def names_in(document: dict[str, Any]) -> set[str]:
    return {name for kind in ("entity", "activity", "agent") for name in document[kind]}


def test_a_document_has_entities_activities_agents_and_relations_between_them() -> None:
    nodes, links = story()
    document = to_prov(nodes, links)
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"prefix", "entity", "activity", "agent", *_ENDS}
    for kind, ends in _ENDS.items():
        for name, record in document[kind].items():
            assert name.startswith("_:")
            assert all(record[end] in names_in(document) for end in ends)


def test_every_name_is_qualified_by_a_prefix_that_is_declared() -> None:
    nodes, links = story()
    document = to_prov(nodes, links)
    for name in names_in(document):
        assert _QUALIFIED.fullmatch(name), name
        assert name.partition(":")[0] in document["prefix"]
    assert "session:one%3Aa%2Fb%20c%3A1" in document["activity"]


def test_a_decision_is_used_before_its_episode_is_generated() -> None:
    document = to_prov(story()[0])
    (use,) = document["used"].values()
    (derived,) = [d for d in document["wasDerivedFrom"].values() if "prov:activity" in d]
    generated = {g["prov:entity"]: g["prov:time"] for g in document["wasGeneratedBy"].values()}
    assert generated[use["prov:entity"]] <= use["prov:time"] <= generated[derived["prov:generatedEntity"]]
    assert use["prov:time"].endswith("+00:00")


def test_people_and_agents_are_told_apart() -> None:
    nodes, _ = story()
    document = to_prov(nodes)
    said = {a["prov:entity"]: a["prov:agent"] for a in document["wasAttributedTo"].values()}
    assert said == {nodes[0].id: "agent:person", nodes[1].id: "agent:one"}
    assert document["agent"]["agent:one"] == {"prov:type": {"$": "prov:SoftwareAgent", "type": "xsd:QName"}}


def test_links_are_revisions_or_influences() -> None:
    nodes, links = story()
    document = to_prov(nodes, links)
    (revision,) = [d for d in document["wasDerivedFrom"].values() if "prov:type" in d]
    assert (revision["prov:generatedEntity"], revision["prov:usedEntity"]) == (nodes[1].id, nodes[0].id)
    (influence,) = document["wasInfluencedBy"].values()
    assert influence["prov:influencer"] == "decision:ffff"
    assert document["entity"]["decision:ffff"] == {}


def test_the_order_of_the_nodes_does_not_matter_and_nothing_is_left_out() -> None:
    nodes, links = story()
    document = to_prov(nodes, links)
    shuffled = list(nodes)
    random.Random(1).shuffle(shuffled)
    assert json.dumps(to_prov(shuffled, reversed(links))) == json.dumps(document)
    assert {n.id for n in nodes if not n.id.startswith("binding")} <= set(document["entity"])
    assert set(to_prov([])) == {"prefix"}
