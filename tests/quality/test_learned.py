"""The labels of learnings are well formed, and the rules keep to their bar on what was written for them."""

from __future__ import annotations

from collections import Counter

from benchmarks.learning.quality import PRECISION, of_runs, of_written, score
from recollect.ingest.learnings.rule_extractor import extract_session
from recollect.model.learnings.learnings import GIVEN_STATES
from tests.quality.judged import read_written
from tests.quality.labelled import read_turns as read_decisions
from tests.quality.labelled import split_of
from tests.quality.learned import read_found, read_messages, read_runs, read_turns, session_doing, session_saying

FEWEST = 150
FEWEST_POSITIVE = 60


def test_every_message_of_a_person_is_judged_once_and_in_its_half() -> None:
    halves = {turn.id: turn.split for turn in read_decisions() if turn.speaker == "human"}
    halves |= {turn.id: turn.split for turn in read_written() if turn.speaker == "human"}
    messages = read_messages()
    assert {message.id: message.split for message in messages} == halves
    assert len(messages) == len(halves)


def test_there_are_enough_turns_of_both_kinds_in_both_halves() -> None:
    turns = [*read_messages(), *read_turns()]
    for split in ("dev", "test"):
        half = [turn for turn in turns if turn.split == split]
        assert len(half) >= FEWEST
        assert sum(bool(turn.learns) for turn in half) >= FEWEST_POSITIVE


def test_written_turns_and_sessions_are_named_once_and_fall_into_halves_by_their_number() -> None:
    named = [*read_turns(), *read_runs()]
    assert [name for name, count in Counter(one.id for one in named).items() if count > 1] == []
    assert [one.id for one in named if one.split != ("test" if int(one.id.rpartition("-")[2]) % 2 else "dev")] == []


def test_quotes_are_words_of_the_turn() -> None:
    assert [(turn.id, w.quote) for turn in read_turns() for w in turn.learns if w.quote not in turn.text] == []


def test_findings_are_judged_once_with_a_reason_and_in_their_half() -> None:
    found = read_found()
    assert len({(one.session_uid, one.id) for one in found}) == len(found)
    assert [one.id for one in found if not one.reason or one.split != split_of(one.session_uid)] == []


def test_what_is_dangerous_is_never_given_to_agents() -> None:
    for turn in read_turns():
        if turn.is_held_back:
            alone = [one.state for one in extract_session(session_saying(turn.text), is_ranked=False).learnings]
            states = [one.state for one in extract_session(session_saying(turn.text)).learnings]
            assert alone, turn.id
            assert not {*alone, *states} & set(GIVEN_STATES), turn.id
    for run in read_runs():
        if run.is_held_back:
            assert {one.state for one in extract_session(session_doing(run.steps)).learnings} == {"quarantined"}


def test_the_rules_are_precise_on_written_turns_in_both_halves() -> None:
    judged = list(of_written())
    for split, fewest in (("dev", 0.7), ("test", 0.7)):
        counts = score(one for one in judged if one.split == split)
        assert (counts.precision or 0) >= PRECISION
        assert (counts.recall or 0) >= fewest


def test_the_rules_are_precise_on_written_sessions() -> None:
    counts = score(of_runs())
    assert (counts.precision or 0) >= PRECISION
    assert (counts.recall or 0) >= PRECISION
