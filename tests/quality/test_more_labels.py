"""The written turns and the outcomes of sessions are well formed, fall into halves by their rules, and are in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from recollect.config import Config, DistillConfig
from recollect.memory import Memory
from tests.quality.judged import (
    FRESH,
    GERMAN,
    LATER,
    LONGEST_REASON,
    WRITTEN,
    JudgedOutcome,
    Language,
    WrittenTurn,
    read_outcomes,
    read_written,
)
from tests.quality.labelled import PositiveClass, split_of

FEWEST_PER_LANGUAGE = 40
FEWEST_PER_OUTCOME = 15
FEWEST_OUTCOMES = 100
MOST_SUBAGENTS = 15


@pytest.fixture(scope="module")
def turns() -> list[WrittenTurn]:
    return [turn for path in (WRITTEN, FRESH, LATER, GERMAN) for turn in read_written(path)]


@pytest.fixture(scope="module")
def outcomes() -> list[JudgedOutcome]:
    return read_outcomes()


def twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def number(turn: WrittenTurn) -> int:
    return int(turn.id.rpartition("-")[2])


def set_of(turn: WrittenTurn) -> str:
    """Return what the ids of its file begin with: n- (fresh), l- (later), g- (German), nothing (the first)."""
    return turn.id.rpartition("-")[0].removesuffix(turn.language)


def test_no_id_and_no_turn_occurs_twice(turns: list[WrittenTurn], outcomes: list[JudgedOutcome]) -> None:
    assert twice([*(turn.id for turn in turns), *(outcome.id for outcome in outcomes)]) == []
    assert twice(f"{turn.before}\n{turn.text}" for turn in turns) == []


def test_a_written_turn_decides_exactly_when_its_class_says_so(turns: list[WrittenTurn]) -> None:
    decides = get_args(PositiveClass)
    assert [t.id for t in turns if not t.is_decision == bool(t.decisions) == (t.kind in decides)] == []


def test_every_decision_names_an_option(turns: list[WrittenTurn]) -> None:
    assert [t.id for t in turns for d in t.decisions if not (d.chosen or d.rejected)] == []


def test_options_and_reasons_are_words_of_the_turn_or_of_what_it_answers(turns: list[WrittenTurn]) -> None:
    said = [(t, words) for t in turns for d in t.decisions for words in (*d.chosen, *d.rejected, d.rationale)]
    assert [(t.id, words) for t, words in said if words not in t.text and words not in t.before] == []


def test_a_confirmation_is_a_humans_answer_to_a_proposal(turns: list[WrittenTurn]) -> None:
    confirmations = [t for t in turns if t.kind == "confirmation"]
    assert [t.id for t in confirmations if not t.before or t.speaker != "human"] == []


def test_written_turns_fall_into_halves_by_their_number(turns: list[WrittenTurn]) -> None:
    first = [t for t in turns if set_of(t) == ""]
    assert [t.id for t in first if t.split != ("test" if number(t) % 2 else "dev")] == []
    assert {set_of(t) for t in turns} == {"", "n-", "l-", "g-"}


@pytest.mark.parametrize("language", get_args(Language))
def test_both_halves_of_a_language_hold_as_many_decisions(turns: list[WrittenTurn], language: str) -> None:
    for prefix in ("", "n-"):
        of_set = [t for t in turns if set_of(t) == prefix and t.language == language]
        dev, test = ([t for t in of_set if t.split == half] for half in ("dev", "test"))
        assert len(dev) == len(test) >= FEWEST_PER_LANGUAGE // 2
        assert len([t for t in dev if t.is_decision]) == len([t for t in test if t.is_decision])


@pytest.mark.parametrize("language", get_args(Language))
def test_later_turns_decide_in_half_of_all_and_are_mostly_for_measuring(
    turns: list[WrittenTurn], language: str
) -> None:
    of_set = [t for t in turns if set_of(t) == "l-" and t.language == language]
    for half, fewest in (("dev", 30), ("test", 40)):
        of_half = [t for t in of_set if t.split == half]
        assert len(of_half) >= fewest
        assert 2 * len([t for t in of_half if t.is_decision]) == len(of_half)


def test_german_turns_decide_in_two_of_five_and_the_last_are_for_measuring(turns: list[WrittenTurn]) -> None:
    of_set = [t for t in turns if set_of(t) == "g-"]
    assert {t.language for t in of_set} == {"de"}
    for half, fewest in (("dev", 470), ("test", 150)):
        of_half = [t for t in of_set if t.split == half]
        assert len(of_half) >= fewest
        assert len([t for t in of_half if t.is_decision]) >= 0.4 * len(of_half)


def test_outcomes_fall_into_halves_by_their_session(outcomes: list[JudgedOutcome]) -> None:
    assert [o.id for o in outcomes if o.split != split_of(o.session_uid)] == []


def test_no_session_is_judged_twice_and_every_judgement_has_a_short_reason(outcomes: list[JudgedOutcome]) -> None:
    assert twice(o.session_uid for o in outcomes) == []
    assert [o.id for o in outcomes if not 0 < len(o.reason) <= LONGEST_REASON] == []


def test_there_are_enough_of_every_outcome_and_few_subagents(outcomes: list[JudgedOutcome]) -> None:
    counts = Counter(o.outcome for o in outcomes)
    assert len(counts) == 4
    assert min(counts.values()) >= FEWEST_PER_OUTCOME
    assert counts.total() >= FEWEST_OUTCOMES
    assert len([o for o in outcomes if "/agent-" in o.session_uid or "/read_" in o.session_uid]) <= MOST_SUBAGENTS


@pytest.fixture(scope="module")
def files(
    shared: Path, outcomes: list[JudgedOutcome], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, set[str]]]:
    """Yield the files of each session, relative to the corpus, as they are after taking in what was judged."""
    corpus = shared / "corpus"
    work = tmp_path_factory.mktemp("outcomes")
    trajectories = corpus / "swe-agent"  # Their uid is the path below the folder that is taken in.
    named = {corpus / o.file for o in outcomes}
    config = Config(distill=DistillConfig(enabled=False))  # where a session lies is known before it is analysed
    with Memory.open(work / "home", config=config, env={"HOME": str(work)}) as memory:
        memory.take_in([trajectories, *sorted(path for path in named if trajectories not in path.parents)])
        below = f"{corpus.absolute()}/"
        page = memory.sessions(limit=10_000, sync=False)
        yield {s.session_uid: {p.partition("#")[0].removeprefix(below) for p in s.sources} for s in page.sessions}


@pytest.mark.corpus
def test_every_judged_session_is_in_its_file(outcomes: list[JudgedOutcome], files: dict[str, set[str]]) -> None:
    assert [o.id for o in outcomes if o.file not in files.get(o.session_uid, ())] == []
