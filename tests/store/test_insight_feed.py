"""Which sessions are due, and their events as distilling reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import pytest

from recollect.archive.packs import ChunkPlace
from recollect.model.payloads import KINDS
from recollect.store import insight_feed as feeding
from recollect.store.insight_feed import SessionFeed
from recollect.store.insights import AnalysisDraft
from recollect.store.reader import Reader
from recollect.store.row_keys import FLAG_OWN
from recollect.store.rows import SliceResult
from recollect.store.writer import Writer
from tests.store.conftest import home, reader, writer
from tests.store.slices import START, Line, Source, make_slices, write_all

__all__ = ["home", "reader", "writer"]

MINUTE = 60_000_000
LINES = [Line("do it", "a", is_human=True, minute=1), Line("done", "b", minute=2)]


class Bytes:
    """An archive of one revision whose bytes are the given lines."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.data = b"".join(line.raw + b"\n" for line in lines)

    def read_range(self, places: Sequence[ChunkPlace], offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


@pytest.fixture
def feed(home: Path, writer: Writer) -> Iterator[SessionFeed]:
    feed = SessionFeed(home, Bytes(LINES), None)
    yield feed
    feed.close()


def due(feed: SessionFeed, *, minutes: float, scheme: int = 1) -> tuple[list[str], int]:
    found = feed.due(scheme=scheme, now_us=START + int(minutes * MINUTE), idle_us=5 * MINUTE)
    return found.uids, found.under_way


def with_kind(slices: list[SliceResult], kind: str) -> list[SliceResult]:
    """Make the last event one of another kind."""
    slices[-1].sessions[-1].events[-1].kind = KINDS.index(kind)
    return slices


def analyse(writer: Writer, feed: SessionFeed, uid: str, *, scheme: int = 1) -> None:
    source = feed.read(uid)
    assert source is not None
    with writer.transaction():
        writer.distilled.note_changes()
    draft = AnalysisDraft(source.session, scheme, None, [], [], {}, source.change_id, len(source.events))
    with writer.transaction():
        writer.distilled.save(draft, now_us=START)


def test_a_session_is_due_when_it_has_been_idle(writer: Writer, feed: SessionFeed) -> None:
    write_all(writer, make_slices(LINES))
    assert due(feed, minutes=6.9) == ([], 1)
    assert due(feed, minutes=7) == (["claude:one"], 0)


def test_a_session_that_says_that_it_ended_is_due_at_once(writer: Writer, feed: SessionFeed) -> None:
    write_all(writer, with_kind(make_slices(LINES), "session_end"))
    assert due(feed, minutes=2) == (["claude:one"], 0)


def test_a_session_that_went_on_after_its_end_is_under_way(writer: Writer, feed: SessionFeed) -> None:
    ended = with_kind(make_slices(LINES), "session_end")
    write_all(writer, ended)
    more = [*LINES, Line("once more", "c", is_human=True, minute=3)]
    write_all(writer, make_slices(more, cuts=[2])[1:])
    assert due(feed, minutes=3) == ([], 1)


def test_a_time_in_the_future_does_not_keep_a_session_waiting(writer: Writer, feed: SessionFeed) -> None:
    """A clock that was wrong: when the session was taken in counts."""
    write_all(writer, make_slices([Line("do it", "a", is_human=True, minute=500_000)]), observed_at=START)
    assert due(feed, minutes=4) == ([], 1)
    assert due(feed, minutes=5) == (["claude:one"], 0)


def test_what_was_analysed_is_due_again_when_it_changes_or_the_scheme_does(writer: Writer, feed: SessionFeed) -> None:
    write_all(writer, make_slices(LINES))
    analyse(writer, feed, "claude:one")
    assert due(feed, minutes=9) == ([], 0)
    assert due(feed, minutes=9, scheme=2) == (["claude:one"], 0)
    write_all(writer, make_slices([*LINES, Line("more", "c", minute=3)], cuts=[2])[1:])
    with writer.transaction():
        writer.distilled.note_changes()
    assert due(feed, minutes=9) == (["claude:one"], 0)


def test_the_change_log_keeps_nothing_for_distilling_that_it_has_noted(home: Path, writer: Writer) -> None:
    write_all(writer, make_slices(LINES))
    with writer.transaction():
        for other in ("index", "learn"):
            writer.acknowledge(other, writer.last_change())
    db = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert db.execute("SELECT count(*) FROM change").get == 1
    with writer.transaction():
        writer.distilled.note_changes()
    assert db.execute("SELECT count(*) FROM change").get == 0
    assert db.execute("SELECT count(*) FROM waiting").get == 1
    db.close()


def test_events_come_light_and_evidence_gets_its_whole_hash(writer: Writer, feed: SessionFeed) -> None:
    write_all(writer, make_slices(LINES))
    source = feed.read("claude:one")
    assert source is not None
    first, second = source.events
    assert [event.payload.text for event in source.events] == ["do it", "done"]  # type: ignore[union-attr]
    assert len(first.location.record_sha256) == 16
    places = source.completed({first.location, second.location})
    assert places[first.location].record_sha256 == hashlib.sha256(LINES[0].raw).hexdigest()
    assert places[second.location].record_sha256 == hashlib.sha256(LINES[1].raw).hexdigest()


def test_own_and_replaced_events_stay_out(writer: Writer, feed: SessionFeed) -> None:
    (slice_,) = make_slices([*LINES, Line("own", "c", minute=3), Line("new words", "d", minute=4, replaces=("b", 0))])
    slice_.sessions[0].events[2].flags = FLAG_OWN
    write_all(writer, [slice_])
    source = feed.read("claude:one")
    assert source is not None
    assert [event.payload.text for event in source.events] == ["do it", "new words"]  # type: ignore[union-attr]


def test_of_an_endless_session_the_beginning_and_the_end_are_read(
    writer: Writer, feed: SessionFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "MAX_EVENTS", 10)
    write_all(writer, make_slices([Line(f"line {i}", f"e{i}") for i in range(50)]))
    source = feed.read("claude:one")
    assert source is not None
    assert [event.seq for event in source.events] == [0, 1, 2, 3, 4, 45, 46, 47, 48, 49]
    assert source.left_out == 40


@pytest.mark.parametrize(("most", "read"), [(10_000, [*range(12)]), (1_700, [0, 1, 2, 9, 10, 11]), (80, [])])
def test_of_a_flood_of_text_the_beginning_and_the_end_are_read(
    writer: Writer, feed: SessionFeed, monkeypatch: pytest.MonkeyPatch, most: int, read: list[int]
) -> None:
    monkeypatch.setattr(feeding, "MAX_BODY_BYTES", most)
    write_all(writer, make_slices([Line(f"{i:03d}{'x' * 197}", f"e{i}") for i in range(12)]))
    source = feed.read("claude:one")
    assert source is not None
    assert [event.seq for event in source.events] == read
    assert [event.payload.text[:3] for event in source.events] == [f"{i:03d}" for i in read]  # type: ignore[union-attr]
    assert source.left_out == 12 - len(read)


def test_one_text_that_is_a_flood_by_itself_leaves_the_rest(
    writer: Writer, feed: SessionFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "MAX_BODY_BYTES", 1_000)
    write_all(writer, make_slices([Line("x" * 1_500, "e0"), *(Line(f"line {i}", f"e{i}") for i in range(1, 5))]))
    source = feed.read("claude:one")
    assert source is not None
    assert [event.seq for event in source.events] == [1, 2, 3, 4]
    assert source.left_out == 1


A, B = Source("a"), Source("b", lane=1)
TALK = [Line("one", "a1", minute=1), Line("two", "a2", minute=3), Line("three", "a3", minute=5)]
BESIDE = [Line("between", "b1", minute=4), Line("no time", "b2", minute=None), Line("after", "b3", minute=9)]


@pytest.mark.parametrize("order", [(A, B), (B, A)])
def test_what_another_source_adds_stands_where_its_time_says(
    writer: Writer, feed: SessionFeed, order: tuple[Source, Source]
) -> None:
    for source in order:
        write_all(writer, make_slices(TALK if source is A else BESIDE, source))
    found = feed.read("claude:one")
    assert found is not None
    said = [event.payload.text for event in found.events]  # type: ignore[union-attr]
    assert said == ["one", "two", "between", "no time", "three", "after"]


def test_what_was_seen_when_is_told_to_the_byte(writer: Writer, feed: SessionFeed) -> None:
    first, second = make_slices(LINES, cuts=[1])
    write_all(writer, [first], observed_at=START)
    write_all(writer, [second], observed_at=START + MINUTE)
    source = feed.read("claude:one")
    assert source is not None
    one, two = (event.location for event in source.events)
    assert (source.observed_at({one}), source.observed_at({two})) == (START, START + MINUTE)
    assert source.observed_at({one, two}) == START + MINUTE


def test_reading_the_same_slice_again_is_no_new_sight(writer: Writer, feed: SessionFeed) -> None:
    slices = make_slices(LINES)
    write_all(writer, slices, observed_at=START)
    write_all(writer, slices, observed_at=START + MINUTE)
    source = feed.read("claude:one")
    assert source is not None
    assert source.observed_at({source.events[-1].location}) == START


def test_an_unknown_session_is_none(feed: SessionFeed, reader: Reader) -> None:
    assert feed.read("claude:nobody") is None
