"""One decision in four shapes, each with what it alone asks for."""

from __future__ import annotations

import msgspec

from recollect.insights.shapes import Argument, Assessment, KruchtenRelation, to_ibis, to_kruchten, to_madr, to_qoc
from recollect.model.insights.nodes import Binding, Link, Marker
from tests.insights.episodes.stories import START_US, Story, decided

STATEMENT = "Use a ring buffer rather than a list, because it never grows."
DECISION = msgspec.structs.replace(
    decided(
        Story().human(STATEMENT), chosen=("a ring buffer",), rejected=("a list",), rationale="because it never grows",
        question="How do we keep the log?", consequences="old lines are lost", paths=("log.py",),
    ),
    ts=START_US,
)  # fmt: skip


def test_madr_says_what_was_decided_and_what_follows() -> None:
    madr = to_madr(DECISION, episodes=["episode:1"])
    assert (madr.status, madr.date, madr.context) == ("accepted", "2026-08-01", "How do we keep the log?")
    assert (madr.considered_options, madr.chosen) == (("a ring buffer", "a list"), ("a ring buffer",))
    assert madr.consequences == ("old lines are lost", "Not taken: a list")
    assert to_madr(DECISION, state="reversed").status == "superseded"
    assert to_madr(DECISION, state="revoked").status == "deprecated"


def test_madr_as_a_page_has_the_headings_of_its_template_and_no_empty_one() -> None:
    page = to_madr(DECISION, episodes=["episode:1"]).markdown()
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == [
        "# Use a ring buffer rather than a list, because it never grows", "## Context and Problem Statement",
        "## Considered Options", "## Decision Outcome", "### Consequences", "## More Information",
    ]  # fmt: skip
    assert 'Chosen option: "a ring buffer", because it never grows.' in page
    assert "* Led to episode:1" in page
    bare = decided(Story().human("never commit to main"), rejected=("commit to main",), polarity="ban")
    bare_page = to_madr(bare).markdown()
    assert "## Context" not in bare_page
    assert "* Must not be used: commit to main" in bare_page


def test_qoc_lets_the_reason_assess_each_option() -> None:
    qoc = to_qoc(DECISION)
    assert (qoc.question, qoc.criteria, qoc.decided) == (
        "How do we keep the log?", ("it never grows",), ("a ring buffer",),
    )  # fmt: skip
    assert qoc.assessments == (
        Assessment("a ring buffer", "it never grows", True), Assessment("a list", "it never grows", False),
    )  # fmt: skip
    assert to_qoc(msgspec.structs.replace(DECISION, rationale="")).assessments == ()


def test_ibis_argues_about_positions() -> None:
    ibis = to_ibis(DECISION)
    assert [(p.text, p.is_accepted) for p in ibis.positions] == [("a ring buffer", True), ("a list", False)]
    assert ibis.arguments == (
        Argument(STATEMENT, "a ring buffer", "supports"),
        Argument("because it never grows", "a ring buffer", "supports"),
    )
    refused = to_ibis(decided(Story().human("no lists"), rejected=("lists",), polarity="reject"))
    assert [a.relation for a in refused.arguments] == ["objects-to"]


def test_kruchten_says_the_kind_the_state_and_the_relations() -> None:
    links = [
        Link(DECISION.id, "decision:old", "supersedes"), Link("decision:other", DECISION.id, "contradicts"),
        Link("decision:x", "decision:y", "reverses"),
    ]  # fmt: skip
    binding = Binding(
        id="binding:1", session_uid="one:1", location=DECISION.location, source=DECISION.id, episode="episode:1"
    )
    shape = to_kruchten(DECISION, links=links, bindings=[binding])
    assert (shape.kind, shape.state, shape.scope, shape.author) == ("existence", "decided", "log.py", "human")
    assert shape.timestamp == "2026-08-01T16:00:00+00:00"
    assert shape.relations == (
        KruchtenRelation("is alternative to", "a list"), KruchtenRelation("overrides", "decision:old"),
        KruchtenRelation("conflicts with", "decision:other"), KruchtenRelation("traces to", "episode:1"),
    )  # fmt: skip
    assert to_kruchten(DECISION, state="contradicted").state == "challenged"
    assert to_kruchten(DECISION, state="superseded").state == "obsolesced"


def test_bans_and_rules_are_kinds_of_their_own() -> None:
    said = Story().human("never commit to main")
    ban = decided(said, rejected=("commit to main",), polarity="ban")
    rule = decided(said, chosen=("tabs",), markers=(Marker("en.always", "rule", "strong", "always", 0, 6, "en"),))
    taste = decided(said, chosen=("tabs",), polarity="prefer")
    no = decided(said, rejected=("tabs",), polarity="reject")
    assert [to_kruchten(d).kind for d in (ban, rule, taste, no)] == ["ban", "property", "property", "existence"]
    assert [to_kruchten(d).state for d in (ban, rule, taste, no)] == ["decided", "decided", "tentative", "rejected"]
    assert to_madr(no).status == "rejected"


def test_what_nobody_said_stays_empty() -> None:
    bare = decided(Story(timed=False).human("tabs"), chosen=("tabs",))
    assert (to_madr(bare).date, to_madr(bare).context, to_madr(bare).justification) == ("", "", "")
    assert to_qoc(bare).criteria == ()
    assert (to_kruchten(bare).timestamp, to_kruchten(bare).rationale) == ("", "")
