"""The judged pairs of decisions and edits are well formed and are where they say they are."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from recollect.insights.session_events import by_session
from recollect.model.events import Event
from recollect.model.payloads import FileEdit, ToolCall, UserMessage
from tests.quality.conftest import EventsOf
from tests.quality.labelled import Polarity, Split, split_of

FILE = Path(__file__).with_name("labels") / "bindings.ndjson"
FEWEST = 60
FEWEST_FRESH = {"fresh": 80, "fresh2": 60}
LONGEST_QUOTE = 100
LONGEST_REASON = 160


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The deciding words: characters start to end of the text of an event. quote: their beginning."""

    record: int
    event_id: str
    part: int
    start: int
    end: int
    quote: str


class Edited(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An edit of the episode."""

    record: int
    event_id: str
    part: int
    path: str


class Brought(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the deciding words decide, where no labelled turn says so and the pipeline does not find it."""

    speaker: Literal["human", "assistant"]
    polarity: Polarity
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]


class JudgedBinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision and an edit, and whether the edit carries it out. file: relative to the shared transcripts.

    batch: "fresh" or "fresh2" where it was judged before anything was tuned on it. episode_is_right: of a pair that is
    not right, that another edit of the same episode carries the decision out.
    """

    id: str
    file: str
    session_uid: str
    source: Said
    episode: Edited
    is_right: bool
    reason: str
    split: Split
    batch: Literal["tuned", "fresh", "fresh2"] = "tuned"
    decision: Brought | None = None
    episode_is_right: bool = False


@pytest.fixture(scope="module")
def pairs() -> list[JudgedBinding]:
    decode = msgspec.json.Decoder(JudgedBinding, strict=True).decode
    return [decode(line) for line in FILE.read_bytes().splitlines()]


def test_every_pair_is_judged_once_and_with_a_reason(pairs: list[JudgedBinding]) -> None:
    assert len({pair.id for pair in pairs}) == len(pairs)
    places = Counter(
        (p.session_uid, p.source.event_id, p.source.part, p.source.start, p.episode.event_id, p.episode.part)
        for p in pairs
    )
    assert [place for place, count in places.items() if count > 1] == []
    assert [p.id for p in pairs if not 0 < len(p.reason) <= LONGEST_REASON] == []
    assert [p.id for p in pairs if len(p.source.quote) > LONGEST_QUOTE] == []


def test_there_are_enough_of_both_kinds_in_both_halves(pairs: list[JudgedBinding]) -> None:
    assert [p.id for p in pairs if p.split != split_of(p.session_uid)] == []
    assert len(pairs) >= FEWEST
    assert min(Counter((p.split, p.is_right) for p in pairs).values()) >= 5


def test_only_of_a_wrong_edit_it_is_said_that_its_episode_is_right(pairs: list[JudgedBinding]) -> None:
    assert [p.id for p in pairs if p.episode_is_right and (p.is_right or not re.search("edits? of", p.reason))] == []


def test_only_fresh_pairs_bring_their_decision(pairs: list[JudgedBinding]) -> None:
    assert [p.id for p in pairs if p.decision is not None and p.batch == "tuned"] == []
    assert [p.id for p in pairs if p.decision is not None and not p.decision.chosen + p.decision.rejected] == []
    batches = Counter(p.batch for p in pairs)
    assert [name for name, fewest in FEWEST_FRESH.items() if batches[name] < fewest] == []


def test_a_third_of_the_second_fresh_batch_are_decisions_of_people(pairs: list[JudgedBinding]) -> None:
    speakers = [p.decision.speaker for p in pairs if p.batch == "fresh2" and p.decision is not None]
    assert speakers.count("human") * 3 >= len(speakers)


def test_pairs_of_the_same_words_bring_the_same_decision(pairs: list[JudgedBinding]) -> None:
    brought: dict[Said, Brought] = {}
    for pair in pairs:
        if pair.decision is not None:
            assert brought.setdefault(pair.source, pair.decision) == pair.decision, pair.id


@pytest.mark.corpus
def test_every_pair_is_in_its_transcript(pairs: list[JudgedBinding], events_of: EventsOf) -> None:
    parsed: dict[str, dict[str, list[Event]]] = {}
    for pair in pairs:
        if pair.file not in parsed:
            parsed[pair.file] = by_session(events_of(pair.file))
        events = {(e.event_id, e.part): e for e in parsed[pair.file][pair.session_uid]}
        said = events[pair.source.event_id, pair.source.part]
        text = getattr(said.payload, "text", "")
        assert text[pair.source.start : pair.source.end].startswith(pair.source.quote), pair.id
        assert said.location.record_index == pair.source.record, pair.id
        if pair.decision is not None:
            assert pair.decision.speaker == ("human" if isinstance(said.payload, UserMessage) else "assistant"), pair.id
            assert [o for o in pair.decision.chosen + pair.decision.rejected if o not in text] == [], pair.id
        edit = events[pair.episode.event_id, pair.episode.part]
        assert isinstance(edit.payload, FileEdit | ToolCall), pair.id
        assert edit.location.record_index == pair.episode.record, pair.id
