"""The judged turns are well formed, fall into halves by the rule, and are where they say they are."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest

from recollect.model.events import Event
from tests.quality.conftest import EventsOf
from tests.quality.labelled import (
    COUNTED,
    FILE,
    LONGEST_DECIDING_QUOTE,
    LONGEST_QUOTE,
    LabelledTurn,
    NegativeClass,
    PositiveClass,
    answered_by,
    counted,
    read_turns,
    said_by,
    split_of,
)

FEWEST = 420
FEWEST_PER_HALF = 180
HUMAN_CLASSES = ("human_rule", "human_choice", "human_preference", "confirmation")
ASSISTANT_CLASSES = ("assistant_choice", "assistant_rejection")


@pytest.fixture(scope="module")
def turns() -> list[LabelledTurn]:
    return read_turns()


@pytest.fixture(scope="module")
def events(events_of: EventsOf, turns: list[LabelledTurn]) -> dict[str, Sequence[Event]]:
    """Return the events of every file with a label."""
    return {file: events_of(file) for file in sorted({t.file for t in turns})}


def test_every_line_is_one_label_of_the_exact_shape(turns: list[LabelledTurn]) -> None:
    again = [json.loads(msgspec.json.encode(turn)) for turn in turns]
    for line, turn in zip(FILE.read_text("utf-8").splitlines(), again, strict=True):
        for decision in turn["decisions"]:
            if decision["answers"] is None:
                del decision["answers"]
        assert json.loads(line) == turn


def test_ids_are_unique_and_name_the_language(turns: list[LabelledTurn]) -> None:
    assert [i for i, n in Counter(turn.id for turn in turns).items() if n > 1] == []
    assert [turn.id for turn in turns if turn.id.split("-")[0] != turn.language] == []


def test_a_message_is_judged_once(turns: list[LabelledTurn]) -> None:
    places = Counter((t.file, t.session_uid, t.record, t.part, t.speaker, t.quote) for t in turns)
    assert [place for place, n in places.items() if n > 1] == []


def test_sessions_are_halved_by_their_hash_and_both_halves_are_large_enough(turns: list[LabelledTurn]) -> None:
    assert [turn.id for turn in turns if turn.split != split_of(turn.session_uid)] == []
    assert len(turns) >= FEWEST
    halves = Counter(turn.split for turn in turns)
    assert min(halves["dev"], halves["test"]) >= FEWEST_PER_HALF


def test_a_decision_has_options_and_its_class_and_nothing_else_has(turns: list[LabelledTurn]) -> None:
    for turn in turns:
        assert turn.is_decision == bool(turn.decisions) == (turn.kind in get_args(PositiveClass)), turn.id
        assert turn.is_decision != (turn.kind in get_args(NegativeClass)), turn.id
        assert all(decision.chosen or decision.rejected for decision in turn.decisions), turn.id


def test_a_class_fits_its_speaker_and_only_a_human_answers(turns: list[LabelledTurn]) -> None:
    for turn in turns:
        assert turn.kind not in (ASSISTANT_CLASSES if turn.speaker == "human" else HUMAN_CLASSES), turn.id
        has_answer = any(decision.answers is not None for decision in turn.decisions)
        assert not has_answer or turn.speaker == "human", turn.id
        assert has_answer or turn.kind != "confirmation", turn.id


def test_quotes_are_short(turns: list[LabelledTurn]) -> None:
    for turn in turns:
        assert 0 < len(turn.quote) <= LONGEST_QUOTE, turn.id
        assert all(0 < len(decision.quote) <= LONGEST_DECIDING_QUOTE for decision in turn.decisions), turn.id


def test_the_page_about_them_has_the_counts(turns: list[LabelledTurn]) -> None:
    page = FILE.with_name("README.md").read_text("utf-8")
    assert [name for name, key in COUNTED.items() if counted(turns, key, name) not in page] == []


@pytest.mark.corpus
def test_the_record_of_every_label_is_in_its_file(
    turns: list[LabelledTurn], events: dict[str, Sequence[Event]]
) -> None:
    places = {
        file: {(e.session_uid, e.location.record_index, e.location.record_sha256, e.part) for e in found}
        for file, found in events.items()
    }
    lost = [t.id for t in turns if (t.session_uid, t.record, t.sha256, t.part) not in places[t.file]]
    assert lost == []


@pytest.mark.corpus
def test_every_quote_and_option_is_in_the_words_of_the_message(
    turns: list[LabelledTurn], events: dict[str, Sequence[Event]]
) -> None:
    by_session: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for file, found in events.items():
        for event in found:
            by_session[file, event.session_uid].append(event)
    for turn in turns:
        session = by_session[turn.file, turn.session_uid]
        text = said_by(turn, session)
        assert text is not None, turn.id
        for decision in turn.decisions:
            assert decision.quote in text, turn.id
            words = text
            if decision.answers is not None:
                proposal = answered_by(turn, decision.answers, session)
                assert proposal is not None, turn.id
                words = f"{text}\n{proposal}"
            assert [option for option in (*decision.chosen, *decision.rejected) if option not in words] == [], turn.id
