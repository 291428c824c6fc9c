"""Adding, ending and replacing facts, in the real store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import UnknownName, UsageError
from recollect.insights.notes.facts import (
    MAX_NAME_CHARS,
    FactAdded,
    NewFact,
    add_fact,
    end_fact,
    find_fact,
    retract_fact,
    supersede_fact,
)
from recollect.model.learnings.notes import Fact
from recollect.store.notes import FactQuestion, NoteReader, NoteStore, NoteWriter

NOW = 1_000_000
INSTANTS = range(8)
EVER = len(INSTANTS)
THINGS = ("one", "two", "three")


numbers = count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> NoteStore:
    """Return notes that many examples share, each with a subject of its own."""
    return NoteStore(tmp_path_factory.mktemp("facts"))


def new(said: str = "Python 3.12", **also: object) -> NewFact:
    return NewFact(**{"subject": "shop-api", "predicate": "runs_on", "object": said, **also})  # type: ignore[arg-type]


def objects(notes: NoteReader, **where: object) -> list[str]:
    return sorted(fact.object for fact in notes.facts(FactQuestion(**where)))  # type: ignore[arg-type]


def test_a_fact_that_is_known_adds_nothing(writer: NoteWriter) -> None:
    first = add_fact(writer, new(), now_us=NOW)
    again = add_fact(writer, new("  python   3.12. ", subject="Shop-API", predicate="runs on"), now_us=NOW + 1)
    assert first.is_new
    assert again == FactAdded(first.fact, False)
    assert writer.facts(FactQuestion(is_history=True)) == [first.fact]


def test_the_same_words_in_another_repository_are_another_fact(writer: NoteWriter) -> None:
    add_fact(writer, new(), now_us=NOW)
    assert add_fact(writer, new(repo="shop"), now_us=NOW).is_new


def test_what_is_said_again_after_it_ended_holds_from_then_on(writer: NoteWriter) -> None:
    first = add_fact(writer, new(valid_from=10), now_us=NOW)
    end_fact(writer, first.fact, ended=20, now_us=NOW + 10)
    again = add_fact(writer, new(), now_us=NOW + 20)
    assert again.is_new
    assert again.fact.valid_from == NOW + 20
    assert objects(writer, at=15) == ["Python 3.12"]
    assert objects(writer, at=25) == []


def test_without_a_beginning_a_known_one_stands(writer: NoteWriter) -> None:
    add_fact(writer, new(valid_from=10, valid_to=NOW + 5), now_us=NOW)
    longer = add_fact(writer, new(), now_us=NOW)
    assert (longer.is_new, longer.fact.valid_from, longer.fact.valid_to) == (True, 10, None)


@pytest.mark.parametrize(("interval", "how"), [((5, 5), "at the instant it begins"), ((6, 5), "before it begins")])
def test_an_interval_in_which_nothing_holds_is_rejected(
    writer: NoteWriter, interval: tuple[int, int], how: str
) -> None:
    with pytest.raises(UsageError, match=how):
        add_fact(writer, new(valid_from=interval[0], valid_to=interval[1]), now_us=NOW)
    assert writer.facts(FactQuestion(is_history=True)) == []


def test_a_fact_cannot_end_before_it_began(writer: NoteWriter) -> None:
    fact = add_fact(writer, new(valid_from=10), now_us=NOW).fact
    with pytest.raises(UsageError, match="cannot end"):
        end_fact(writer, fact, ended=10, now_us=NOW)


@pytest.mark.parametrize("part", ["subject", "predicate", "object"])
@pytest.mark.parametrize("said", ["", " \t", ".", "x" * (MAX_NAME_CHARS + 1)])
def test_a_part_that_says_nothing_or_too_much_is_rejected(writer: NoteWriter, part: str, said: str) -> None:
    with pytest.raises(UsageError):
        add_fact(writer, new(**{part: said}), now_us=NOW)


def test_replacing_ends_and_begins_at_one_instant(writer: NoteWriter) -> None:
    add_fact(writer, new("Python 3.11", valid_from=1), now_us=NOW)
    done = supersede_fact(writer, new("Python 3.12"), at=50, now_us=NOW + 1)
    assert [fact.object for fact in done.replaced] == ["Python 3.11"]
    assert objects(writer, at=49) == ["Python 3.11"]
    assert objects(writer, at=50) == ["Python 3.12"]
    assert done.contradictions == ()


def test_replacing_names_the_object_that_ends(writer: NoteWriter) -> None:
    for said in ("redis", "postgres"):
        add_fact(writer, new(said, predicate="uses", valid_from=1), now_us=NOW)
    supersede_fact(writer, new("sqlite", predicate="uses"), at=50, now_us=NOW + 1, old_object="Redis")
    assert objects(writer, at=50) == ["postgres", "sqlite"]


def test_what_was_wrong_never_held_and_is_still_known_as_said(writer: NoteWriter) -> None:
    fact = add_fact(writer, new(valid_from=1), now_us=NOW).fact
    retract_fact(writer, fact, now_us=NOW + 10)
    assert objects(writer, at=5) == []
    assert objects(writer, at=5, known_at=NOW + 5) == ["Python 3.12"]
    assert objects(writer, at=5, known_at=NOW + 10) == []
    assert objects(writer, is_history=True) == ["Python 3.12"]


def test_what_somebody_says_too_is_not_the_runs_any_more(writer: NoteWriter) -> None:
    add_fact(writer, new(), now_us=NOW, batch="b1")
    said = add_fact(writer, new(), now_us=NOW + 1)
    assert (said.is_new, said.fact.batch) == (False, "")


def test_a_run_takes_nobodys_place(writer: NoteWriter) -> None:
    add_fact(writer, new(valid_from=10, valid_to=20), now_us=NOW)
    added = add_fact(writer, new(valid_from=5, valid_to=15), now_us=NOW + 1, batch="b1")
    assert (added.is_new, added.replaced) == (True, ())
    assert objects(writer, at=17) == ["Python 3.12"]


def test_a_fact_is_named_by_its_id_a_beginning_or_a_citation(writer: NoteWriter) -> None:
    fact = add_fact(writer, new(), now_us=NOW).fact
    for name in (fact.id, fact.id[:8], f"fact:{fact.id}", f"fact:{fact.id}#0"):
        assert find_fact(writer, name) == fact
    for name in ("", "nothing", "fact:"):
        with pytest.raises(UnknownName):
            find_fact(writer, name)


# Any history: what the store says holds at any instant, as known at any time, is what a set of instants says.


Step = tuple[str, object, int | None, int | None]


@dataclass
class Model:
    """By object, the pieces in which it holds: sets of instants, the last one standing for ever after."""

    subject: str
    pieces: dict[str, list[set[int]]] = field(default_factory=dict)

    def add(self, said: str, begin: int, end: int) -> None:
        piece = set(range(begin, end))
        near = [other for other in self.pieces.get(said, []) if other & piece]
        rest = [other for other in self.pieces.get(said, []) if not other & piece]
        self.pieces[said] = [*rest, piece.union(*near)]

    def cut(self, said: str, piece: set[int], at: int) -> None:
        self.pieces[said] = [p if p != piece else {t for t in p if t < at} for p in self.pieces[said]]

    def at(self, instant: int) -> set[str]:
        return {said for said, pieces in self.pieces.items() if any(instant in piece for piece in pieces)}

    def seen(self) -> list[set[str]]:
        return [self.at(instant) for instant in INSTANTS]


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("add"), st.sampled_from(THINGS), st.sampled_from(INSTANTS), st.sampled_from((*INSTANTS, None))
        ),
        st.tuples(st.just("replace"), st.sampled_from(THINGS), st.sampled_from(INSTANTS), st.none()),
        st.tuples(st.just("end"), st.integers(0, 9), st.sampled_from(INSTANTS), st.none()),
        st.tuples(st.just("retract"), st.integers(0, 9), st.none(), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=20)
@given(steps=steps)
def test_any_history_answers_what_held_and_what_was_known(store: NoteStore, steps: list[Step]) -> None:
    model = Model(f"shop {next(numbers)}")
    seen = [(0, model.seen())]
    for number, step in enumerate(steps, 1):
        with suppress(UsageError), store.writing() as notes:  # one that cannot be changes nothing
            apply(notes, model, step, number * NOW)
        seen.append((number * NOW, model.seen()))
    with store.reading() as notes:
        for now, states in seen:
            for instant, held in zip(INSTANTS, states, strict=True):
                assert set(objects(notes, subject=model.subject, at=instant, known_at=now + 1)) == held
        for instant in INSTANTS:
            assert set(objects(notes, subject=model.subject, at=instant)) == model.at(instant)


def apply(notes: NoteWriter, model: Model, step: Step, now: int) -> None:
    """Do a step to the store, then to the model."""
    what, which, begin, end = step
    if what == "add":
        add_fact(notes, new(str(which), subject=model.subject, valid_from=begin, valid_to=end), now_us=now)
        model.add(str(which), begin or 0, EVER if end is None else end)
        return
    if what == "replace":
        done = supersede_fact(notes, new(str(which), subject=model.subject), at=begin or 0, now_us=now)
        for fact in done.replaced:
            if fact.object != which:
                model.cut(fact.object, piece_of(fact, end=fact.earlier[-1].valid_to), begin or 0)
        model.add(str(which), begin or 0, EVER)
        return
    facts = [
        fact for fact in notes.facts(FactQuestion(subject=model.subject, is_history=True)) if not fact.is_retracted
    ]
    if facts and what == "end":
        fact = facts[int(str(which)) % len(facts)]
        end_fact(notes, fact, ended=begin or 0, now_us=now)
        model.cut(fact.object, piece_of(fact, end=fact.valid_to), begin or 0)
    elif facts:
        fact = facts[int(str(which)) % len(facts)]
        retract_fact(notes, fact, now_us=now)
        model.cut(fact.object, piece_of(fact, end=fact.valid_to), 0)


def piece_of(fact: Fact, *, end: int | None) -> set[int]:
    return {t for t in (*INSTANTS, EVER - 1) if (fact.valid_from or 0) <= t and (end is None or t < end)}
