"""Which events are new, which are replays, versions or views, and what the readers see of them."""

from __future__ import annotations

import hashlib
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.events import Event
from recollect.model.ids import record_event_id
from recollect.store.reader import Reader, open_reader
from recollect.store.rows import EventFilter
from recollect.store.writer import Writer, open_writer
from tests.store.slices import Line, Source, make_slices, write_all

ONE = "claude:one"
NAMES = [str(UUID(int=n)) for n in range(4)]
LINES = st.lists(
    st.builds(
        Line,
        text=st.sampled_from(["a", "b", "c"]),
        name=st.none() | st.sampled_from(NAMES),
        parts=st.integers(1, 2),
        session=st.sampled_from(["one", "two"]),
        is_human=st.booleans(),
        tool=st.sampled_from(["", "Bash"]),
        replaces=st.none() | st.tuples(st.sampled_from(NAMES), st.integers(0, 1)),
        parent=st.none() | st.sampled_from(NAMES),
        usage=st.none(),
        minute=st.none() | st.integers(0, 3),
    ),
    max_size=12,
)
CUTS = st.sets(st.integers(1, 11), max_size=5)


def seen(reader: Reader, *, hidden: bool = True) -> list[Event]:
    """Return every event of every session, in order of session and seq."""
    found, _total = reader.sessions(EventFilter(), limit=100)
    return [
        event
        for uid in sorted(session.session_uid for session in found)
        for event in reader.events(uid, limit=None, include_hidden=hidden)
    ]


def texts(reader: Reader, uid: str = ONE) -> list[str]:
    return [event.payload.text for event in reader.events(uid)]  # type: ignore[union-attr]


def test_events_come_back_in_the_order_of_writing(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("first", "x"), Line("second"), Line("third", "z")]))
    assert [(e.seq, e.summary) for e in reader.events(ONE)] == [(0, "first"), (1, "second"), (2, "third")]


def test_an_event_without_a_native_id_is_named_by_its_record(writer: Writer, reader: Reader) -> None:
    line = Line("same")
    write_all(writer, make_slices([line, line], cuts=[1]))
    sha = hashlib.sha256(line.raw).digest()
    assert [e.event_id for e in reader.events(ONE)] == [record_event_id("one", sha, n) for n in (0, 1)]


def test_the_parent_of_an_event_is_kept_in_and_over_slices(writer: Writer, reader: Reader) -> None:
    lines = [Line("a", NAMES[0]), Line("b", NAMES[1], parent=NAMES[0]), Line("c", NAMES[2], parent=NAMES[1])]
    write_all(writer, make_slices([*lines, Line("d", parent="elsewhere")], cuts=[2]))
    assert [e.parent_id for e in reader.events(ONE)] == [None, NAMES[0], NAMES[1], "elsewhere"]


def test_other_bytes_under_the_same_name_are_a_new_version(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("draft", NAMES[0]), Line("other")]))
    changed = make_slices([Line("final", NAMES[0]), Line("other")], Source(revision=2))
    outcome = write_all(writer, changed)[0]
    assert (outcome.new_events, outcome.replays, len(outcome.stale_keys)) == (1, 1, 1)
    assert texts(reader) == ["final", "other"], "a newer version stands where the first one stood"
    assert reader.order(ONE) == [2, 1] == [e.seq for e in reader.events(ONE)]
    around = reader.transcript(ONE, first_seq=1, behind=1, limit=5, max_chars=9)
    assert [e.seq for e in around] == [2, 1], "a window has the same order"
    assert [[e.seq for e in reader.page(ONE, first=first, limit=1)] for first in (0, 2, 1, 3)] == [[2], [2], [1], []]
    assert [e.replaced_by for e in reader.events(ONE, include_hidden=True)] == [NAMES[0], None, None]


def test_bytes_that_come_back_are_a_replay_also_within_one_slice(writer: Writer, reader: Reader) -> None:
    lines = [Line("a", NAMES[0]), Line("b", NAMES[0]), Line("a", NAMES[0])]
    outcome = write_all(writer, make_slices(lines))[0]
    assert (outcome.new_events, outcome.replays, texts(reader)) == (2, 1, ["b"])


def test_an_equal_record_is_counted_once_though_it_is_both_old_and_new(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("c")]))
    write_all(writer, make_slices([Line("c", parts=2), Line("x"), Line("c")], Source(revision=2), cuts=[2]))
    sha = hashlib.sha256(Line("c").raw).digest()
    assert {e.event_id for e in reader.events(ONE) if e.summary == "c"} == {
        record_event_id("one", sha, 0),
        record_event_id("one", sha, 1),
    }


def test_a_longer_snapshot_replaces_the_event_that_it_names(writer: Writer, reader: Reader) -> None:
    lines = [Line("he", NAMES[0]), Line("hello", NAMES[1], replaces=(NAMES[0], 0))]
    for cuts in ((), (1,)):
        write_all(writer, make_slices(lines, cuts=cuts))
    assert texts(reader) == ["hello"]
    assert [e.replaced_by for e in reader.events(ONE, include_hidden=True)] == [NAMES[1], None]


def test_a_replaced_event_gives_no_document(writer: Writer) -> None:
    lines = [Line("he", NAMES[0]), Line("hello", NAMES[1], replaces=(NAMES[0], 0))]
    assert [doc.json for doc in write_all(writer, make_slices(lines))[0].docs] == ['"text":"hello"}']


def test_a_prompt_history_is_a_view_whichever_comes_first(writer: Writer, reader: Reader) -> None:
    history = make_slices([Line("do it", is_human=True)], Source("history", lane=1))
    transcript = make_slices([Line("do it", NAMES[0], is_human=True)], Source("transcript"))
    other = Source("late history", lane=1, session="two")
    write_all(writer, [*history, *transcript])
    write_all(writer, make_slices([Line("do it", session="two", is_human=True)], Source("t2", session="two")))
    write_all(writer, make_slices([Line("do it ", session="two", is_human=True)], other))
    late = write_all(writer, make_slices([Line("do it", "h", session="two", is_human=True)], Source("h3", lane=1)))
    assert [e.event_id for e in reader.events(ONE)] == [NAMES[0]]
    assert texts(reader, "claude:two") == ["do it", "do it "]
    assert late[0].docs == []


def test_hidden_events_are_not_counted(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("do it", is_human=True)], Source("history", lane=1)))
    write_all(writer, make_slices([Line("do it", NAMES[0], is_human=True), Line("done")], Source("transcript")))
    session = reader.session(ONE)
    assert session is not None
    assert (session.event_count, session.kind_counts) == (2, {"user_message": 1, "assistant_message": 1})


def test_many_small_appends_do_not_make_many_blocks(writer: Writer, reader: Reader, tmp_path: object) -> None:
    lines = [Line(f"line {n}") for n in range(60)]
    write_all(writer, make_slices(lines, cuts=range(60)))
    assert writer._db.execute("SELECT count(*) FROM block").get == 1
    assert texts(reader) == [line.text for line in lines]


def test_a_newer_parser_changes_events_but_not_their_seq(writer: Writer, reader: Reader) -> None:
    before = [Line("a", NAMES[0], parts=2), Line("b"), Line("c", NAMES[2])]
    write_all(writer, make_slices(before, cuts=[2]))
    with writer.transaction():
        writer.rewind("s-a")
    after = [Line("a", NAMES[0], is_human=True), Line("b", tool="Bash", parts=2), Line("c", NAMES[2])]
    outcomes = write_all(writer, make_slices(after, cuts=[1]))
    assert [(e.seq, e.kind) for e in reader.events(ONE)] == [
        (0, "user_message"),
        (2, "assistant_message"),
        (3, "assistant_message"),
        (4, "assistant_message"),
    ]
    session = reader.session(ONE)
    assert session is not None
    assert session.event_count == 4
    assert session.kind_counts == {"user_message": 1, "assistant_message": 3}
    assert {key & 0xFFFFFF for outcome in outcomes for key in outcome.stale_keys} >= {0, 1, 2, 3}


@settings(max_examples=25)
@given(lines=LINES, cuts=CUTS)
def test_events_do_not_depend_on_where_the_source_was_cut(
    tmp_path_factory: object, lines: list[Line], cuts: set[int]
) -> None:
    found = []
    for some in (set[int](), cuts):
        home = tmp_path_factory.mktemp("home")  # type: ignore[attr-defined]
        with open_writer(home) as writer, open_reader(home, None, None) as reader:
            write_all(writer, make_slices(lines, cuts=some))
            found.append((seen(reader), _counts(reader)))
    assert found[0] == found[1]


@settings(max_examples=25)
@given(lines=LINES, cuts=CUTS, again=CUTS)
def test_writing_twice_changes_nothing(
    tmp_path_factory: object, lines: list[Line], cuts: set[int], again: set[int]
) -> None:
    home = tmp_path_factory.mktemp("home")  # type: ignore[attr-defined]
    with open_writer(home) as writer, open_reader(home, None, None) as reader:
        write_all(writer, make_slices(lines, cuts=cuts))
        before = (seen(reader), reader.sessions(EventFilter()), list(reader.ledgers()), reader.last_change())
        outcomes = write_all(writer, make_slices(lines, cuts=again))
        assert sum(outcome.new_events for outcome in outcomes) == 0
        assert (seen(reader), reader.sessions(EventFilter()), list(reader.ledgers()), reader.last_change()) == before


@settings(max_examples=25)
@given(first=LINES, second=LINES, cuts=CUTS)
def test_a_rewrite_gives_the_same_events_however_it_was_cut(
    tmp_path_factory: object, first: list[Line], second: list[Line], cuts: set[int]
) -> None:
    found = []
    for some in (set[int](), cuts):
        home = tmp_path_factory.mktemp("home")  # type: ignore[attr-defined]
        with open_writer(home) as writer, open_reader(home, None, None) as reader:
            write_all(writer, make_slices(first))
            write_all(writer, make_slices(second, Source(revision=2), cuts=some))
            found.append((seen(reader), _counts(reader)))
    assert found[0] == found[1]


@settings(max_examples=25)
@given(lines=LINES, cuts=CUTS)
def test_a_second_copy_of_a_source_adds_nothing(tmp_path_factory: object, lines: list[Line], cuts: set[int]) -> None:
    home = tmp_path_factory.mktemp("home")  # type: ignore[attr-defined]
    with open_writer(home) as writer, open_reader(home, None, None) as reader:
        write_all(writer, make_slices(lines))
        before = seen(reader)
        write_all(writer, make_slices(lines, Source("copy"), cuts=cuts))
        assert seen(reader) == before


def _counts(reader: Reader) -> list[tuple[str, int, dict[str, int]]]:
    found, _total = reader.sessions(EventFilter(), limit=100)
    return sorted((s.session_uid, s.event_count, s.kind_counts) for s in found)
