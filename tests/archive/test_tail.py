"""A revision's chunks are exactly the bytes that were seen of it."""

from __future__ import annotations

from bisect import bisect_right
from hashlib import sha256
from itertools import accumulate, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.archive.packs import HARD_BYTES, MIN_BYTES, SealedChunk
from recollect.archive.sealer import Sealer
from recollect.archive.tail import MAX_DELTAS, CutSlice, OpenTail, cut_slice
from recollect.errors import BrokenInvariant
from tests.examples import tried

KIB = 1 << 10
record_lengths = st.lists(st.one_of(st.integers(1, 4 * KIB), st.integers(4 * KIB, 150 * KIB)), max_size=30)


class Revision:
    """The model: what a store keeps of a revision, and how the next slice goes on from it."""

    def __init__(self, sealer: Sealer) -> None:
        self.sealer = sealer
        self.chunks: list[SealedChunk] = []
        self.state = CutSlice([], 0, b"", 0, ())
        self.written = 0

    def see(self, data: bytes, ends: list[int], hashes: list[bytes], *, is_last: bool = True) -> None:
        state = self.state
        self.state = cut_slice(
            self.sealer,
            OpenTail(state.open_tail, state.open_chunks, state.kept_chunks),
            memoryview(data),
            ends=ends,
            hashes=hashes,
            is_last=is_last,
        )
        self.chunks[self.state.keep_chunks :] = self.state.chunks
        self.written += sum(chunk.plain for chunk in self.state.chunks)

    def content(self) -> bytes:
        return b"".join(self.sealer.open(chunk.name, chunk.blob) for chunk in self.chunks)

    def closed_names(self) -> list[bytes]:
        return [chunk.name for chunk in self.chunks if not chunk.is_open]


def see_in_pieces(revision: Revision, stream: bytes, ends: list[int], cuts: list[int], lasts: list[bool]) -> None:
    starts = [0, *ends]
    hashes = [sha256(stream[start:end]).digest() for start, end in pairwise(starts)]
    for (start, stop), is_last in zip(pairwise(cuts), lasts, strict=True):
        first, last = bisect_right(ends, start), bisect_right(ends, stop)
        revision.see(stream[start:stop], [end - start for end in ends[first:last]], hashes[first:last], is_last=is_last)


@settings(max_examples=tried(60))
@given(lengths=record_lengths, tail=st.integers(0, 100 * KIB), seed=st.integers(0, 9), data=st.data())
def test_any_cuts_of_any_stream_keep_exactly_its_bytes_and_close_the_same_chunks(
    sealer: Sealer, lengths: list[int], tail: int, seed: int, data: st.DataObject
) -> None:
    ends = list(accumulate(lengths))
    stream = Random(seed).randbytes((ends[-1] if ends else 0) + tail)
    cuts = [0, *data.draw(st.lists(st.integers(0, len(stream)), max_size=40).map(sorted)), len(stream)]
    lasts = [*data.draw(st.lists(st.booleans(), min_size=len(cuts) - 2, max_size=len(cuts) - 2)), True]
    whole, pieces = Revision(sealer), Revision(sealer)
    see_in_pieces(whole, stream, ends, [0, len(stream)], [True])
    see_in_pieces(pieces, stream, ends, cuts, lasts)
    assert pieces.content() == whole.content() == stream
    assert pieces.closed_names() == whole.closed_names()
    assert pieces.state.open_tail == whole.state.open_tail


@settings(max_examples=tried(60))
@given(lengths=record_lengths, seed=st.integers(0, 9), data=st.data())
def test_records_known_only_by_the_byte_after_them_close_the_same_chunks(
    sealer: Sealer, lengths: list[int], seed: int, data: st.DataObject
) -> None:
    """A line's end lies before its newline: a cut between the two makes the end known in the next slice."""
    newlines = list(accumulate(length + 1 for length in lengths))
    ends = [end - 1 for end in newlines]
    stream = Random(seed).randbytes(newlines[-1] if newlines else 0)
    hashes = [bytes([seed % 3 * 16]) for _ in ends]
    near_ends = st.sampled_from(ends) if ends else st.just(0)
    cuts = data.draw(st.lists(st.one_of(near_ends, st.integers(0, len(stream))), max_size=20).map(sorted))
    whole, pieces = Revision(sealer), Revision(sealer)
    whole.see(stream, ends, hashes)
    for start, stop in pairwise([0, *cuts, len(stream)]):
        first, last = bisect_right(newlines, start), bisect_right(newlines, stop)
        pieces.see(stream[start:stop], [end - start for end in ends[first:last]], hashes[first:last])
        assert pieces.content() == stream[:stop]
    assert pieces.closed_names() == whole.closed_names()


def test_a_chunk_may_close_inside_the_open_tail(sealer: Sealer) -> None:
    revision = Revision(sealer)
    revision.see(b"a" * MIN_BYTES + b"bb", [], [])
    revision.see(b"\nc", [-2, 0], [b"\x00", b"\x00"])
    assert [(chunk.plain, chunk.is_open) for chunk in revision.chunks] == [(MIN_BYTES, False), (4, True)]
    assert revision.content() == b"a" * MIN_BYTES + b"bb\nc"


@given(steps=st.lists(st.integers(1, 3 * KIB), max_size=60))
def test_after_every_append_the_chunks_are_all_bytes_seen_and_the_deltas_few(sealer: Sealer, steps: list[int]) -> None:
    revision = Revision(sealer)
    seen = b""
    for i, step in enumerate(steps):
        data = bytes([i]) * step
        seen += data
        revision.see(data, [step], [sha256(data).digest()])
        deltas = [chunk.plain for chunk in revision.chunks if chunk.is_open]
        assert revision.content() == seen
        assert len(deltas) <= MAX_DELTAS
        assert tuple(deltas) == revision.state.open_chunks
        assert revision.state.kept_chunks + len(deltas) == len(revision.chunks)


def test_writing_line_by_line_costs_only_a_few_copies_of_the_tail(sealer: Sealer) -> None:
    revision = Revision(sealer)
    for i in range(120):
        revision.see(i.to_bytes(1000), [1000], [b"\xff"])
    assert revision.written < 4 * 120_000


def test_an_append_writes_a_delta_with_the_new_bytes_only(sealer: Sealer) -> None:
    revision = Revision(sealer)
    revision.see(b"one\n", [4], [b"\xff"])
    revision.see(b"two\nthr", [4], [b"\xff"])
    assert [(chunk.plain, chunk.is_open) for chunk in revision.chunks] == [(4, True), (7, True)]
    assert revision.content() == b"one\ntwo\nthr"


def test_a_closing_chunk_replaces_its_deltas(sealer: Sealer) -> None:
    revision = Revision(sealer)
    revision.see(b"a" * 100, [100], [b"\xff"])
    revision.see(b"b" * 100, [100], [b"\xff"])
    revision.see(b"c" * MIN_BYTES + b"rest", [MIN_BYTES], [b"\x00"])
    assert revision.state.keep_chunks == 0
    assert [(chunk.plain, chunk.is_open) for chunk in revision.chunks] == [(MIN_BYTES + 200, False), (4, True)]


def test_a_slice_that_is_not_the_last_leaves_the_tail_to_the_next(sealer: Sealer) -> None:
    revision = Revision(sealer)
    revision.see(b"a" * 100, [100], [b"\xff"], is_last=False)
    assert revision.chunks == []
    assert revision.state.open_tail == b"a" * 100
    revision.see(b"", [], [], is_last=True)
    assert revision.content() == b"a" * 100


def test_seeing_nothing_new_writes_nothing(sealer: Sealer) -> None:
    revision = Revision(sealer)
    revision.see(b"one\n", [4], [b"\xff"])
    revision.see(b"", [], [])
    assert revision.state.chunks == []
    assert revision.state.keep_chunks == 1


def test_deltas_that_cannot_be_of_this_tail_are_refused(sealer: Sealer) -> None:
    with pytest.raises(BrokenInvariant):
        cut_slice(sealer, OpenTail(b"abc", (4,)), b"", ends=[], hashes=[])


def test_a_record_of_many_mib_is_kept_in_pieces(sealer: Sealer) -> None:
    revision = Revision(sealer)
    piece = bytes(700 * KIB)
    for _ in range(9):
        revision.see(piece, [], [], is_last=False)
        assert len(revision.state.open_tail) < HARD_BYTES
    revision.see(b"\n", [1], [sha256(b"").digest()])
    assert revision.content() == piece * 9 + b"\n"
