"""The ledger counts what came in once; chunks, defects, blobs and the change log are kept with it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from recollect.archive.packs import ChunkPlace, SealedChunk
from recollect.errors import BrokenInvariant
from recollect.model.records import Defect
from recollect.store.reader import Reader
from recollect.store.rows import BlobSighting, SliceResult
from recollect.store.writer import Writer
from tests.store.slices import START, Line, Source, make_slices, write_all

LINES = [Line(f"line {n}") for n in range(4)]


def write_chunks(writer: Writer, slice_: SliceResult, names: Sequence[str], *, keep: int, opens: str = "") -> None:
    chunks = [SealedChunk(name.encode(), b"sealed", 10, name in opens) for name in names]
    places = [ChunkPlace(name.encode(), 1, n, 6, 10) for n, name in enumerate(names)]
    changed = msgspec.structs.replace(slice_, chunks=chunks, keep_chunks=keep)
    with writer.transaction():
        writer.write(changed, places, observed_at=START)


def names_of(reader: Reader) -> list[tuple[bytes, bool]]:
    return [(place.name, is_open) for place, is_open in reader.chunks("s-a", 1)]


def with_defects(slice_: SliceResult, count: int) -> SliceResult:
    defects = [Defect("not_json", f"no {n}", n, n) for n in range(count)]
    return msgspec.structs.replace(slice_, defects=defects, redactions={"token": 2}, unknown_count=3)


def test_the_ledger_adds_up_over_slices(writer: Writer, reader: Reader) -> None:
    write_all(writer, [with_defects(s, 1) for s in make_slices(LINES, cuts=[1, 3])])
    [row] = reader.ledgers()
    assert (row.records, row.events, row.replays, row.unknown, row.defects) == (4, 4, 0, 9, 3)
    assert row.committed_bytes == row.bytes_seen == sum(len(line.raw) + 1 for line in LINES)
    assert (row.session_uid, row.revision, row.observed_at) == ("claude:one", 1, START)
    assert reader.stats().defects == {"not_json": 3}
    assert reader.stats().redactions == {"token": 6}


def test_a_repeated_slice_is_not_counted_again(writer: Writer, reader: Reader) -> None:
    slices = [with_defects(s, 1) for s in make_slices(LINES, cuts=[2])]
    write_all(writer, slices)
    before = (list(reader.ledgers()), reader.sources(), reader.stats())
    outcomes = write_all(writer, slices)
    assert [o.replays for o in outcomes] == [2, 2]
    assert (list(reader.ledgers()), reader.sources()) == before[:2]
    assert reader.stats().defects == before[2].defects


def test_sources_and_ledgers_are_asked_for_one_session_and_one_source(writer: Writer, reader: Reader) -> None:
    odd = "na\udcffme"  # a file name that is not UTF-8
    for source in (Source("a"), Source("b", session=odd), Source("c", agent="codex")):
        write_all(writer, make_slices([Line(f"of {source.key}")], source))
    assert {row.source_id for row in reader.sources("claude", session="one")} == {"s-a"}
    assert {row.source_id for row in reader.sources(session="one")} == {"s-a", "s-c"}
    assert {row.source_id for row in reader.sources("claude", session=odd)} == {"s-b"}
    assert reader.sources("claude", session="two") == []
    assert [row.source_id for row in reader.ledgers("s-b")] == ["s-b"]
    assert list(reader.ledgers("s-d")) == []


def test_a_slice_that_begins_inside_what_was_committed_is_a_bug(writer: Writer) -> None:
    write_all(writer, make_slices(LINES[:2]))
    with pytest.raises(BrokenInvariant):
        write_all(writer, make_slices(LINES, cuts=[1])[1:])


def test_writing_outside_a_transaction_is_a_bug(writer: Writer) -> None:
    with pytest.raises(BrokenInvariant):
        writer.write(make_slices(LINES)[0], [], observed_at=START)


def test_the_cursor_of_a_source_is_where_its_last_record_ends(writer: Writer) -> None:
    first, _second = make_slices(LINES, cuts=[2])
    write_all(writer, [first])
    row = writer.sources("claude")["s-a"]
    assert (row.committed_bytes, row.records, row.observed_at) == (first.to_bytes, 2, START)
    assert writer.sources("codex") == {}


def test_a_source_can_be_touched_without_new_bytes(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices(LINES))
    row = writer.sources("claude")["s-a"]
    row.status, row.state = "gone", b"state"
    writer.touch_source(row)
    [found] = reader.sources("claude")
    assert (found.status, found.state, found.number) == ("gone", b"", row.number)
    assert writer.sources("claude")["s-a"].state == b"state"


def test_open_deltas_are_replaced_when_their_chunk_closes(writer: Writer, reader: Reader) -> None:
    slices = make_slices(LINES, cuts=[1, 2, 3])
    write_chunks(writer, slices[0], ["closed", "delta1"], keep=0, opens="delta1")
    write_chunks(writer, slices[1], ["delta2"], keep=2, opens="delta2")
    assert names_of(reader) == [(b"closed", False), (b"delta1", True), (b"delta2", True)]
    write_chunks(writer, slices[2], ["folded"], keep=1)
    assert names_of(reader) == [(b"closed", False), (b"folded", False)]
    assert writer.open_chunks("s-a", 1) == reader.chunks("s-a", 1)
    assert writer.known_chunks([b"closed", b"delta1"]).keys() == {b"closed"}


def test_a_repeated_slice_leaves_the_chunks_alone(writer: Writer, reader: Reader) -> None:
    slices = make_slices(LINES, cuts=[1])
    write_chunks(writer, slices[0], ["one"], keep=0)
    write_chunks(writer, slices[1], ["two"], keep=1)
    write_chunks(writer, slices[0], ["one"], keep=0)
    assert names_of(reader) == [(b"one", False), (b"two", False)]


def test_stored_defects_are_bounded_and_all_are_counted(writer: Writer, reader: Reader) -> None:
    write_all(writer, [with_defects(make_slices(LINES)[0], 1500)])
    assert len(reader.defects(limit=5000)) == 1000
    assert reader.stats().defects == {"not_json": 1500}
    assert reader.defects("s-a", limit=1)[0].detail == "no 0"
    assert reader.defects("s-other") == []


def test_a_blob_is_kept_once(writer: Writer) -> None:
    blob = BlobSighting(b"h" * 32, "image/png", 900, 0, "/image")
    first = msgspec.structs.replace(make_slices(LINES)[0], blobs=[blob])
    second = msgspec.structs.replace(make_slices(LINES, Source("b"))[0], blobs=[blob, blob])
    write_all(writer, [first, second])
    assert writer._db.execute("SELECT count(*), min(source) FROM blob").fetchall() == [(1, 1)]


def test_event_places_cover_every_record_once(writer: Writer, reader: Reader) -> None:
    [slice_] = make_slices([Line("a", parts=3), Line("b")])
    write_all(writer, [slice_])
    places = list(reader.event_places("s-a"))
    assert [(p.record_index, p.offset_bytes, p.length_bytes) for p in places] == [
        (r.index, r.offset, r.length) for r in slice_.records
    ]
    assert all(r.sha256.startswith(p.sha256) for p, r in zip(places, slice_.records, strict=True))
    assert list(reader.event_places("s-unknown")) == []


def test_a_consumer_gets_each_change_until_it_acknowledges(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices(LINES, cuts=[1, 3]))
    changes = reader.changes_after("index")
    assert [(c.session, c.first_seq, c.last_seq) for c in changes] == [(1, 0, 0), (1, 1, 2), (1, 3, 3)]
    writer.acknowledge("index", changes[1].id)
    assert reader.changes_after("index") == changes[2:]
    assert reader.last_change() == writer.last_change() == changes[2].id
    writer.acknowledge("index", changes[2].id)
    writer.acknowledge("index", 1)
    assert reader.changes_after("index") == []
    assert reader.last_change() == changes[2].id


def test_a_change_waits_for_the_slowest_consumer(writer: Writer, reader: Reader) -> None:
    writer.acknowledge("slow", 0)
    write_all(writer, make_slices(LINES))
    writer.acknowledge("fast", reader.last_change())
    assert reader.changes_after("fast") == []
    assert len(reader.changes_after("slow")) == 1


def test_the_change_log_names_events_that_became_hidden(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("old", "n")]))
    writer.acknowledge("index", reader.last_change())
    write_all(writer, make_slices([Line("new", "n")], Source(revision=2)))
    found = [(e.key & 0xFFFFFF, e.is_hidden) for e in reader.events_for_index(reader.changes_after("index"))]
    assert found == [(0, True), (1, False)]
    assert [e.event.summary for e in reader.events_for_index()] == ["new"]


def test_a_rewound_source_is_counted_anew(writer: Writer, reader: Reader) -> None:
    slices = [with_defects(s, 1) for s in make_slices(LINES, cuts=[2])]
    write_all(writer, slices)
    with writer.transaction():
        writer.rewind("s-a")
        writer.rewind("s-unknown")
    assert writer.sources("claude")["s-a"].committed_bytes == 0
    write_all(writer, slices)
    [row] = reader.ledgers()
    assert (row.records, row.events, row.replays, row.unknown, row.defects) == (4, 0, 4, 6, 2)
    assert reader.stats().defects == {"not_json": 2}
