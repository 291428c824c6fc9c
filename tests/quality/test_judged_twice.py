"""The turns that two people judged, and those written as people talk, are well formed and in place."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.quality.conftest import EventsOf
from tests.quality.judged_twice import JUDGED, JudgedDecision, Judgement, read_judged, read_natural
from tests.quality.labelled import LONGEST_DECIDING_QUOTE, LONGEST_QUOTE

FEWEST_UNSEEN = 700


def test_there_are_enough_and_each_is_there_once() -> None:
    turns = read_judged()
    assert Counter(turn.id for turn in turns).most_common(1)[0][1] == 1
    assert Counter(turn.id for turn in read_natural()).most_common(1)[0][1] == 1
    unseen = [turn for turn in turns if turn.split == "test"]
    assert len(unseen) >= FEWEST_UNSEEN
    assert {len(turn.judges) for turn in unseen} == {2}


@pytest.mark.parametrize("path", JUDGED, ids=lambda path: path.name)
def test_a_session_is_of_one_split(path: Path) -> None:
    splits = defaultdict(set)
    for turn in read_judged([path]):
        splits[turn.session_uid].add(turn.split)
    assert [uid for uid, of_it in splits.items() if len(of_it) > 1] == []


def test_quotes_are_short_and_a_reason_stands_where_nothing_is_decided() -> None:
    for turn in read_judged():
        assert 0 < len(turn.quote) <= LONGEST_QUOTE, turn.id
        for judge in turn.judges:
            quotes = [*(d.quote for d in judge.decisions), *(one.quote for one in judge.learnings), *judge.actions]
            assert all(0 < len(quote) <= LONGEST_DECIDING_QUOTE for quote in quotes), turn.id
            assert bool(judge.decisions) != bool(judge.none), turn.id


def test_what_is_quoted_of_a_written_turn_stands_in_it() -> None:
    for turn in read_natural():
        quotes = [*(d.quote for d in turn.decisions), *(one.quote for one in turn.learnings), *turn.actions]
        assert [quote for quote in quotes if quote not in turn.text] == [], turn.id
        options = [option for d in turn.decisions for option in (*d.chosen, *d.rejected)]
        assert [option for option in options if option not in turn.text and option not in turn.before] == [], turn.id


def test_a_judged_turn_and_what_is_quoted_of_it_stand_where_it_says(events_of: EventsOf) -> None:
    for turn in read_judged():
        place = (turn.session_uid, turn.record, turn.part)
        texts = [
            getattr(event.payload, "text", "")
            for event in events_of(turn.file)
            if (event.session_uid, event.location.record_index, event.part) == place
        ]
        (text, *_) = [text for text in texts if text.strip().startswith(turn.quote)]
        for judge in turn.judges:
            assert [quote for quote in _quotes(judge) if quote not in text] == [], turn.id


def _quotes(judge: Judgement) -> list[str]:
    decided: tuple[JudgedDecision, ...] = judge.decisions
    return [*(one.quote for one in decided), *(one.quote for one in judge.learnings), *judge.actions]
