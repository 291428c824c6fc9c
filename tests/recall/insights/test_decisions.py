"""What was decided: states, what held then, what was known then, each decision once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, cast

import msgspec
import pytest

from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Decision, Evidence, Link
from recollect.recall.decisions import DecisionQuestion, DecisionsAnswer, ask_decisions, cited, path_fits
from recollect.store.insights import InsightReader, KeptDecision, KeptLink

AT = SourceLocation("s-a", 1, 0, 10, 0, "ab" * 32)


def decision(name: str, ts: int | None, *, uid: str = "claude:one", event: str = "", **more: Any) -> Decision:
    evidence = (Evidence(uid, event or name, 0, "statement", AT, 4),)
    return Decision(id=name, session_uid=uid, location=AT, ts=ts, statement=f"about {name}", evidence=evidence, **more)


class Kept:
    """A store of a few decisions."""

    def __init__(
        self, *kept: KeptDecision, paths: dict[str, tuple[str, ...]] | None = None,
        episodes: dict[str, tuple[str, ...]] | None = None,
    ) -> None:  # fmt: skip
        self._kept = list(kept)
        self._paths = paths or {}
        self._episodes = episodes or {}

    def decisions(self, **_where: tuple[str, ...]) -> list[KeptDecision]:
        return self._kept

    def episodes_of(self, decisions: Iterable[str]) -> dict[str, tuple[str, ...]]:
        return {name: self._episodes[name] for name in decisions if name in self._episodes}

    def paths_of(self, episodes: Collection[str]) -> dict[str, tuple[str, ...]]:
        return {name: self._paths.get(name, ()) for name in episodes}


def linked(
    newer: Decision, older: Decision, relation: str, *, recorded_at: int = 0, revoked_at: int | None = None
) -> KeptLink:
    return KeptLink(Link(newer.id, older.id, relation, newer.ts), recorded_at, revoked_at)  # type: ignore[arg-type]


def asked(kept: Kept, *, limit: int | None = None, each: bool = False, **question: Any) -> DecisionsAnswer:
    """Ask a store of which only the three methods that are asked for are there."""
    return ask_decisions(cast("InsightReader", kept), DecisionQuestion(**question), limit=limit, each=each)


def states(kept: Kept, **question: Any) -> dict[str, str]:
    return {view.decision.id: view.state for view in asked(kept, **question).decisions}


OLD, NEW, LATER = decision("old", 10), decision("new", 20), decision("later", 30)


def story(relation: str = "supersedes", *, seen: int = 20) -> Kept:
    link = linked(NEW, OLD, relation, recorded_at=seen)
    return Kept(KeptDecision(OLD, "r", 10, links=(link,)), KeptDecision(NEW, "r", seen, links=(link,)))


@pytest.mark.parametrize(
    ("relation", "state"), [("supersedes", "superseded"), ("reverses", "reversed"), ("contradicts", "contradicted")]
)
def test_a_newer_decision_says_what_became_of_an_older_one(relation: str, state: str) -> None:
    assert states(story(relation)) == {"new": "holds", "old": state}


def test_the_weightiest_link_counts() -> None:
    links = (linked(NEW, OLD, "contradicts"), linked(LATER, OLD, "reverses"), linked(LATER, OLD, "supersedes"))
    assert states(Kept(KeptDecision(OLD, "r", 0, links=links))) == {"old": "reversed"}


def test_what_held_at_a_time_is_what_was_decided_by_then() -> None:
    assert states(story(), at=9) == {}
    assert states(story(), at=10) == {"old": "holds"}
    assert states(story(), at=19) == {"old": "holds"}
    assert states(story(), at=20) == {"new": "holds", "old": "superseded"}


def test_what_was_known_at_a_time_is_what_had_been_taken_in_by_then() -> None:
    """The newer decision was made at 20 but seen at 99 only."""
    late = story(seen=99)
    assert states(late, known_at=98) == {"old": "holds"}
    assert states(late, known_at=99) == {"new": "holds", "old": "superseded"}
    assert states(late, at=20, known_at=50) == {"old": "holds"}
    assert states(late, at=20) == {"new": "holds", "old": "superseded"}


def test_a_revoked_decision_is_told_only_when_asked_for_and_held_before() -> None:
    kept = Kept(KeptDecision(OLD, "r", 10, revoked_at=50))
    assert states(kept) == {}
    assert states(kept, states=("revoked",)) == {"old": "revoked"}
    assert states(kept, known_at=49) == {"old": "holds"}
    assert states(kept, known_at=50, states=("revoked",)) == {"old": "revoked"}


def test_a_link_that_was_revoked_counted_until_then() -> None:
    link = linked(NEW, OLD, "supersedes", recorded_at=20, revoked_at=60)
    kept = Kept(KeptDecision(OLD, "r", 10, links=(link,)))
    assert states(kept) == {"old": "holds"}
    assert states(kept, known_at=30) == {"old": "superseded"}


def test_a_decision_without_a_time_counts_from_when_it_was_seen() -> None:
    kept = Kept(KeptDecision(decision("timeless", None), "r", 40))
    assert states(kept, at=39) == {}
    assert states(kept, at=40) == {"timeless": "holds"}


def test_other_states_are_left_out_and_counted() -> None:
    answer = asked(story(), states=("holds",))
    assert ([v.decision.id for v in answer.decisions], answer.total, answer.left_out) == (["new"], 1, {"superseded": 1})


def test_the_newest_come_first_and_no_more_than_asked() -> None:
    kept = Kept(*(KeptDecision(d, "r", 0) for d in (OLD, LATER, NEW, decision("timeless", None))))
    answer = asked(kept, limit=3)
    assert [v.decision.id for v in answer.decisions] == ["later", "new", "old"]
    assert answer.total == 4


def test_what_a_fork_repeats_is_told_once() -> None:
    first = decision("one", 5, event="e")
    copy = decision("one", 5, uid="claude:fork", event="e")
    kept = Kept(KeptDecision(copy, "r", 80), KeptDecision(first, "r", 70))
    answer = asked(kept)
    assert [v.citation for v in answer.decisions] == ["claude:one#4"]


def test_what_was_said_again_word_by_word_is_told_once_with_where_it_stood_before() -> None:
    def said(name: str, ts: int, **more: Any) -> Decision:
        return msgspec.structs.replace(decision(name, ts), statement="Use tqdm,\n  not print.", **more)

    again = said("again", 30)
    kept = [
        KeptDecision(said("first", 10), "r", 10),
        KeptDecision(said("second", 20), "r", 20),
        KeptDecision(msgspec.structs.replace(again, statement="use tqdm, not print."), "r", 30),
        KeptDecision(said("elsewhere", 15), "other", 15),
        KeptDecision(said("other speaker", 16, speaker="assistant"), "r", 16),
    ]
    answer = asked(Kept(*kept, episodes={"first": ("e1",), "again": ("e2",)}))
    assert [v.decision.id for v in answer.decisions] == ["again", "other speaker", "elsewhere"]
    assert answer.total == 3
    assert answer.decisions[0].repeats == ("claude:one#4", "claude:one#4")
    assert answer.decisions[0].episodes == ("e2", "e1")
    each = asked(Kept(*kept), each=True)
    assert each.total == 5


def test_a_repeated_decision_whose_state_differs_is_told_for_itself() -> None:
    first = msgspec.structs.replace(OLD, statement=LATER.statement)
    link = linked(NEW, first, "supersedes")
    kept = (KeptDecision(first, "r", 10, links=(link,)), KeptDecision(NEW, "r", 20), KeptDecision(LATER, "r", 30))
    assert states(Kept(*kept)) == {"old": "superseded", "new": "holds", "later": "holds"}


def test_a_path_is_found_in_the_decision_or_in_what_it_led_to() -> None:
    named, led, other = decision("named", 1, paths=("src/db.py",)), decision("led", 2), decision("other", 3)
    kept = Kept(
        KeptDecision(named, "r", 0), KeptDecision(led, "r", 0), KeptDecision(other, "r", 0),
        episodes={"led": ("e",)}, paths={"e": ("/w/demo/src/db.py",)},
    )  # fmt: skip
    assert set(states(kept, path="src/db.py")) == {"named", "led"}
    assert set(states(kept, path="src")) == {"named", "led"}
    assert states(kept, path="b.py") == {}


@pytest.mark.parametrize(
    ("wanted", "path", "fits"),
    [
        ("db.py", "/w/demo/db.py", True),
        ("./src/db.py", "src/db.py", True),
        ("src/", "/w/src/db.py", True),
        ("C:\\w\\db.py", "C:/w/db.py", True),
        ("/w/demo/db.py", "/w/demo/db.py", True),
        ("b.py", "db.py", False),
        ("src/db.py", "db.py", False),
        ("", "db.py", False),
    ],
)
def test_a_path_fits_whole_names_only(wanted: str, path: str, fits: bool) -> None:
    assert path_fits(wanted, path) is fits


def test_a_citation_names_the_first_evidence_else_the_session() -> None:
    assert cited(OLD) == "claude:one#4"
    assert cited(Decision(id="a", session_uid="claude:one", location=AT)) == "claude:one"
    assert cited(Decision(id="a", session_uid="", location=AT)) == ""
