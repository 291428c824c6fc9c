"""What was learned and noted: asked for by kind, else shown apart, and silent where it is not surely about it."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.memory import Memory, SearchAnswer
from recollect.model.learnings.notes import Fact
from recollect.store.connection import open_database
from recollect.store.notes import put_fact
from tests.ingest.conftest import World
from tests.ingest.entries.noted import cited, draft, put

LONG_AGO = 1_600_000_000_000_000


@pytest.fixture
def memory(world: World) -> Memory:
    session = world.claude("one")
    session.user("the retry policy of the payment worker is broken")
    session.assistant("The payment worker retries for ever; I capped its retry policy at five attempts.")
    world.memory.sync()
    put(
        world.memory.home,
        draft("learning:l1", "The payment worker retries five times, then parks the job", repo="shop", state="active"),
        draft("learning:l2", "Never retry a payment by hand", repo="shop", state="retired", ts=LONG_AGO),
        draft("learning:l3", "Commit messages are in German", state="confirmed", status="derived"),
        draft("fact:f1", "payment worker runs_on heron", repo="other", ts=LONG_AGO),
        draft("diary:d1", "Spent the day on the payment worker", agent="codex", repo="shop"),
        draft("action:a1", "Rotate the payment key", repo="shop", state="done"),
        draft("document:docs/pay.md", *(f"Payment worker part {n}" for n in range(6)), repo="shop", path="docs/pay.md"),
    )
    return world.memory


def ask(memory: Memory, query: str, **options: Any) -> SearchAnswer:
    return memory.search(query, **options)


def test_a_kind_confines_to_entries_and_nothing_then_stands_beside(memory: Memory) -> None:
    for kind, uid in (("fact", "fact:f1"), ("diary", "diary:d1"), ("action", "action:a1")):
        answer = ask(memory, f"payment kind:{kind}")
        assert cited(answer) == [f"{uid}#0"], kind
        assert (answer.learned, answer.hits[0].kind) == ((), kind)
    assert {hit.kind for hit in ask(memory, "payment kind:learning,user").hits} == {"learning", "user_message"}
    assert {hit.kind for hit in ask(memory, "payment kind:document").hits} == {"document"}
    assert "document" not in {hit.kind for hit in ask(memory, "payment -kind:document").hits}


def test_without_a_kind_notes_stand_apart_and_documents_among_the_hits(memory: Memory) -> None:
    answer = ask(memory, "payment worker")
    kinds = [hit.kind for hit in answer.hits]
    assert not set(kinds) & {"learning", "fact", "diary", "action"}
    assert kinds.count("document") == 6
    assert {"user_message", "assistant_message"} <= set(kinds)
    assert len(answer.learned) == 3
    assert {hit.session_uid for hit in answer.learned} == {"learning:l1", "fact:f1", "diary:d1"}
    assert all(hit.status for hit in answer.learned)
    assert len(ask(memory, "payment session:document:docs/pay.md").hits) == 6


def test_notes_that_are_not_surely_about_the_question_are_silent(memory: Memory) -> None:
    for query in (
        "which payment provider did we choose for Kubernetes",
        "the worker that resizes pictures of penguins",
        "gizmo",
        "payment tool:shell",
        "payment session:claude",
        "payment is:subagent",
        "payment kind:user",
    ):
        assert ask(memory, query).learned == (), query
    assert [h.session_uid for h in ask(memory, "in which language are commit messages?").learned] == ["learning:l3"]


def test_an_answer_of_notes_alone_is_none_that_found_nothing(memory: Memory) -> None:
    answer = ask(memory, "heron")
    assert (answer.hits, answer.total, answer.abstained) == ((), 0, False)
    assert cited(answer) == ["fact:f1#0"]
    assert not any("nowhere in the memory" in note for note in answer.notes)
    assert ask(memory, "gizmo").abstained


def test_filters_hold_for_entries_and_what_holds_everywhere_is_in_every_repository(memory: Memory) -> None:
    assert {h.session_uid for h in ask(memory, "kind:learning,fact repo:shop payment").hits} == {
        "learning:l1", "learning:l2",
    }  # fmt: skip
    assert cited(ask(memory, "repo:shop commit messages")) == ["learning:l3#0"]
    assert cited(ask(memory, "-repo:shop commit messages")) == ["learning:l3#0"]
    assert cited(ask(memory, "kind:diary agent:codex payment")) == ["diary:d1#0"]
    assert cited(ask(memory, "kind:diary agent:claude payment")) == []
    assert cited(ask(memory, "kind:fact before:2021-01-01 payment")) == ["fact:f1#0"]
    assert cited(ask(memory, "kind:fact after:2021-01-01 payment")) == []
    assert {h.session_uid for h in ask(memory, "path:docs/pay.md payment").hits} == {"document:docs/pay.md"}


def test_what_does_not_hold_any_more_is_found_says_so_and_comes_later(memory: Memory) -> None:
    hits = ask(memory, "kind:learning retry payment").hits
    assert [(hit.session_uid, hit.state) for hit in hits] == [("learning:l1", "active"), ("learning:l2", "retired")]


def test_a_tag_confines_to_the_sessions_and_entries_that_have_it(world: World, memory: Memory) -> None:
    uid = world.claude("one").uid
    with open_database(memory.home, "write") as db:
        for tagged in (uid, "diary:d1"):
            db.execute("INSERT INTO tag VALUES ('release-2', ?, 1)", (tagged,))
    assert {hit.session_uid for hit in ask(memory, 'payment tag:"Release 2"').hits} == {uid}
    assert cited(ask(memory, "payment tag:release-2 kind:diary")) == ["diary:d1#0"]
    assert uid not in {hit.session_uid for hit in ask(memory, "payment -tag:release-2").hits}
    assert ask(memory, "payment tag:none").hits == ()


def test_the_glossary_finds_what_is_called_otherwise_and_says_so(world: World, memory: Memory) -> None:
    facts = (
        Fact(id="g1", subject="PW", predicate="means", object="payment worker", recorded_at=1),
        Fact(id="g2", subject="heron", predicate="means", object="gizmo", recorded_at=1, valid_to=2),
        Fact(id="g3", subject="zwitsch", predicate="means", object="policy", recorded_at=1),
    )
    with open_database(world.memory.home, "write") as db:
        for fact in facts:
            put_fact(db, fact)
    one = world.claude("one").uid
    answer = ask(memory, "PW")
    assert {hit.session_uid for hit in answer.hits} == {one, "document:docs/pay.md"}
    assert "also looked for payment worker" in answer.notes
    assert answer.match_level == "stemmed"
    assert {hit.session_uid for hit in ask(memory, "broken zwitsch").hits} == {one}
    assert ask(memory, '"PW"').hits == ()
    assert ask(memory, "gizmo").hits == ()
    session = world.claude("two")
    session.user("the PW crashed again")
    memory.sync()
    assert session.uid in {hit.session_uid for hit in ask(memory, "payment worker crashed").hits}
    assert session.uid not in {hit.session_uid for hit in ask(memory, '"payment worker" crashed').hits}
