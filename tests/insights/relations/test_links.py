"""Decisions of a repository that answer the same question differently, and which of them holds at a time."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from recollect.insights.decisions.relations import MAX_OPEN, SubjectRelator
from recollect.insights.stages import Lineage, Relations
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Decision, Evidence, Option, Polarity, node_id

DAY_US = 24 * 60 * 60 * 1_000_000


def decision(
    session: str,
    day: int | None,
    chosen: str = "",
    rejected: str = "",
    *,
    polarity: Polarity = "adopt",
    record: int = 0,
    **more: Any,
) -> Decision:
    """Return a decision taken on a day; options with commas between them."""
    options = [*((o, True) for o in chosen.split(",") if o), *((o, False) for o in rejected.split(",") if o)]
    more = {"statement": f"{polarity} {chosen} {rejected}", **more}
    return Decision(
        id=node_id("decision", session, record, day or 0, chosen, rejected, polarity), session_uid=session,
        location=SourceLocation(f"s-{session}", 1, record * 10, 9, record, "00"), polarity=polarity,
        ts=None if day is None else day * DAY_US, options=tuple(Option(*o) for o in options), **more,
    )  # fmt: skip


def relate(*decisions: Decision, **repos: str) -> Relations:
    """Relate decisions; sessions are of the repository `shop` where `repos` says nothing else."""
    sessions = {d.session_uid for d in decisions}
    lineage = {s: Lineage("", s, repos.get(s, "shop")) for s in sessions}
    return SubjectRelator().relate(decisions, (), lineage)


def told(relations: Relations) -> set[tuple[str, str, str]]:
    return {(link.newer, link.relation, link.older) for link in relations.links}


def test_another_answer_to_the_same_question_supersedes_the_old_one() -> None:
    old, new = decision("a", 1, "Redis"), decision("b", 5, "Memcached", "Redis")
    (link,) = relate(new, old).links
    assert (link.newer, link.older, link.relation, link.since) == (new.id, old.id, "supersedes", new.ts)
    assert link.features == {"same_option": 0.45, "explicit": 0.15, "named": 0.20}
    assert link.confidence == 0.80


def test_words_of_reversal_reverse() -> None:
    old, new = decision("a", 1, "Redis"), decision("b", 5, "", "Redis", polarity="reverse")
    assert told(relate(old, new)) == {(new.id, "reverses", old.id)}


def test_what_was_banned_can_be_taken_again_and_the_other_way_round() -> None:
    ban, taken, again = (
        decision("a", 1, "", "Redis", polarity="ban"), decision("b", 2, "Redis"),
        decision("c", 3, "", "Redis", polarity="ban"),
    )  # fmt: skip
    assert told(relate(ban, taken, again)) == {(taken.id, "supersedes", ban.id), (again.id, "supersedes", taken.id)}


def test_the_same_decision_again_is_no_conflict() -> None:
    assert relate(decision("a", 1, "Redis"), decision("b", 2, "redis", "Memcached")).links == []


def test_without_an_order_decisions_contradict_each_other() -> None:
    one, other = decision("a", None, "Redis"), decision("b", None, "", "Redis", polarity="ban")
    (link,) = relate(one, other).links
    assert (link.relation, link.since) == ("contradicts", None)
    same_time = relate(decision("a", 3, "Redis"), decision("b", 3, "", "Redis", polarity="ban"))
    assert [link.relation for link in same_time.links] == ["contradicts"]


def test_within_one_source_the_place_is_the_order_where_times_are_missing() -> None:
    old, new = decision("a", None, "Redis"), decision("a", None, "Memcached", "Redis", record=7)
    assert told(relate(new, old)) == {(new.id, "supersedes", old.id)}


def test_within_one_record_the_number_of_the_event_is_the_order() -> None:
    old, new = decision("a", 1, "Redis"), decision("a", 1, "Memcached", "Redis")
    later = Evidence("a", "said/9", 0, "statement", new.location, seq=9)
    first = Evidence("a", "said/10", 0, "statement", old.location, seq=3)
    old, new = msgspec.structs.replace(old, evidence=(first,)), msgspec.structs.replace(new, evidence=(later,))
    assert told(relate(new, old)) == {(new.id, "supersedes", old.id)}


def test_the_assistant_does_not_overrule_a_person() -> None:
    person, agent = decision("a", 1, "Redis"), decision("b", 2, "Memcached", "Redis", speaker="assistant")
    assert told(relate(person, agent)) == {(agent.id, "contradicts", person.id)}
    back = decision("b", 2, "", "Redis", polarity="reverse", speaker="assistant")
    assert told(relate(person, back)) == {(back.id, "reverses", person.id)}


def test_a_common_word_alone_joins_nothing() -> None:
    assert relate(decision("a", 1, "a list"), decision("b", 2, "a tuple", "a list")).links == []
    old = decision("a", 1, "tabs", "spaces")
    new = decision("b", 2, "spaces", "tabs")
    assert told(relate(old, new)) == {(new.id, "supersedes", old.id)}
    paths = {"paths": ("src/log.py",)}
    old, new = decision("a", 1, "a list", **paths), decision("b", 2, "a tuple", "a list", **paths)
    assert told(relate(old, new)) == {(new.id, "supersedes", old.id)}


def test_the_same_question_with_another_answer() -> None:
    asked = {"question": "Which database do we use?"}
    old, new = decision("a", 1, "Postgres", **asked), decision("b", 2, "SQLite", **asked)
    assert told(relate(old, new)) == {(new.id, "supersedes", old.id)}


def test_what_one_message_says_does_not_conflict_with_itself() -> None:
    here, there = (
        decision("a", 1, "Redis", conversation="conversation:1"),
        decision("a", 2, "", "Redis", polarity="ban", conversation="conversation:1"),
    )
    assert relate(here, there).links == []


def test_an_answer_does_not_conflict_with_the_proposal_that_it_takes() -> None:
    proposed, answered = decision("a", 1, "Redis", speaker="assistant"), decision("a", 2, "", "Redis", polarity="ban")
    message = Evidence("a", "e1", 0, "proposal", proposed.location)
    answer = Evidence("a", "e2", 0, "confirmation", answered.location, seq=2)
    proposed = msgspec.structs.replace(proposed, evidence=(message,))
    assert relate(proposed, msgspec.structs.replace(answered, evidence=(answer,))).links
    assert relate(proposed, msgspec.structs.replace(answered, evidence=(message, answer))).links == []


def test_decisions_meet_within_a_repository_and_those_of_the_user_everywhere() -> None:
    one, other = decision("a", 1, "Redis"), decision("b", 2, "", "Redis", polarity="ban")
    assert relate(one, other, a="shop", b="blog").links == []
    everywhere = decision("b", 2, "", "Redis", polarity="ban", scope="user")
    assert told(relate(one, everywhere, a="shop", b="blog")) == {(everywhere.id, "supersedes", one.id)}


def test_a_decision_for_a_session_or_for_files_stays_there() -> None:
    one, other = decision("a", 1, "Redis"), decision("b", 2, "", "Redis", polarity="ban", scope="session")
    assert relate(one, other).links == []
    here = decision("a", 1, "Redis", scope="path", paths=("a.py",))
    assert relate(here, decision("b", 2, "", "Redis", polarity="ban", paths=("b.py",))).links == []
    assert relate(here, decision("b", 2, "", "Redis", polarity="ban", paths=("src/a.py",))).links


def test_the_answer_does_not_depend_on_the_order_in_which_decisions_are_given() -> None:
    rng = random.Random(5)
    names = ("Redis", "Memcached", "Postgres", "SQLite")
    given = [
        decision(
            rng.choice("abcd"), rng.choice((None, 1, 2, 3)), rng.choice(names), rng.choice(("", *names)),
            polarity=rng.choice(("adopt", "ban", "reverse", "prefer")), record=i,
        )
        for i in range(60)
    ]  # fmt: skip
    first = relate(*given)
    assert first.links
    for _ in range(5):
        rng.shuffle(given)
        assert relate(*given) == first


def test_many_decisions_on_one_subject_are_bounded() -> None:
    given = [
        decision(f"s{i}", None, "Redis") if i % 2 else decision(f"s{i}", None, "", "Redis", polarity="ban")
        for i in range(2_000)
    ]
    assert len(relate(*given).links) <= 2_000 * MAX_OPEN


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        ("Let's use argon2 for password hashing in the auth module.",
         "Actually, let's switch to scrypt for the auth module and tune the cost.", ("argon2", "scrypt")),
        ("Let's use MongoDB for the document store.",
         "Actually let's use Postgres for the document store instead.", ("MongoDB", "Postgres")),
        ("Wir nehmen Redis für die Warteschlange.",
         "Doch lieber RabbitMQ für die Warteschlange.", ("Redis", "RabbitMQ")),
    ],
)  # fmt: skip
def test_a_change_for_the_same_purpose_supersedes_what_was_decided_for_it(
    old: str, new: str, options: tuple[str, str]
) -> None:
    one, other = decision("a", 1, options[0], statement=old), decision("a", 2, options[1], statement=new, record=1)
    assert told(relate(one, other)) == {(other.id, "supersedes", one.id)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use pydantic in the auth module.", "Use argon2 in the auth module."),
        ("Use argon2 for the auth module.", "Actually, switch to tantivy for the search index."),
    ],
)
def test_more_for_the_same_place_or_a_change_elsewhere_supersedes_nothing(old: str, new: str) -> None:
    one, other = decision("a", 1, "pydantic", statement=old), decision("a", 2, "argon2", statement=new, record=1)
    assert told(relate(one, other)) == set()


def test_of_several_decisions_for_one_place_a_change_supersedes_only_the_newest() -> None:
    first = decision("a", 1, "rustls", statement="Use rustls in the gateway.")
    second = decision("a", 2, "tokio", statement="Use tokio in the gateway.", record=1)
    change = decision("a", 3, "smol", statement="Actually, switch to smol in the gateway.", record=2)
    assert told(relate(first, second, change)) == {(change.id, "supersedes", second.id)}


def test_a_change_of_mind_in_the_next_message_supersedes_within_one_conversation() -> None:
    first = decision("a", 1, "argon2", statement="Use argon2 in the auth module.", conversation="one")
    change = decision(
        "a", 1, "scrypt", statement="Actually, use scrypt in the auth module.", record=1, conversation="one"
    )
    assert told(relate(first, change)) == {(change.id, "supersedes", first.id)}
