"""Where a revision is cut depends on its records alone."""

from __future__ import annotations

from bisect import bisect_right
from hashlib import sha256
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from recollect.archive.packs import FORCE_BYTES, HARD_BYTES, MIN_BYTES, closed_boundaries

KIB = 1 << 10
lengths = st.lists(
    st.one_of(st.integers(1, 8 * KIB), st.integers(8 * KIB, 200 * KIB), st.integers(200 * KIB, 3000 * KIB)),
    max_size=40,
).flatmap(lambda some: st.integers(1, 8).map(lambda n: some * n))
UNCHOSEN = b"\xff"
CHOSEN = b"\x00"


def hashes_of(count: int, salt: int = 0) -> list[bytes]:
    return [sha256(f"{salt}/{i}".encode()).digest() for i in range(count)]


def fed_in_pieces(ends: list[int], hashes: list[bytes], cuts: list[int]) -> list[int]:
    """Cut a stream that arrives in pieces, keeping only the length of the open tail between them."""
    closed = 0
    boundaries: list[int] = []
    for start, stop in pairwise(cuts):
        first, last = bisect_right(ends, start), bisect_right(ends, stop)
        found = closed_boundaries(
            stop - start,
            [end - start for end in ends[first:last]],
            hashes[first:last],
            tail_bytes=start - closed,
        )
        boundaries += [start + boundary for boundary in found]
        closed = boundaries[-1] if boundaries else 0
    return boundaries


@given(lengths=lengths, tail=st.integers(0, 1200 * KIB), salt=st.integers(0, 99), data=st.data())
def test_any_split_of_a_stream_closes_the_same_chunks(
    lengths: list[int], tail: int, salt: int, data: st.DataObject
) -> None:
    ends = list(accumulate(lengths))
    total = (ends[-1] if ends else 0) + tail
    hashes = hashes_of(len(ends), salt)
    cuts = data.draw(st.lists(st.integers(0, total), max_size=12).map(sorted))
    assert fed_in_pieces(ends, hashes, [0, *cuts, total]) == closed_boundaries(total, ends, hashes)


@given(lengths=lengths, tail=st.integers(0, 1200 * KIB))
def test_every_chunk_keeps_within_its_limits(lengths: list[int], tail: int) -> None:
    ends = list(accumulate(lengths))
    total = (ends[-1] if ends else 0) + tail
    boundaries = closed_boundaries(total, ends, hashes_of(len(ends)))
    for start, stop in pairwise([0, *boundaries]):
        assert MIN_BYTES <= stop - start <= HARD_BYTES
        assert stop in ends or stop - start == HARD_BYTES
    assert total - (boundaries[-1] if boundaries else 0) < HARD_BYTES


def test_a_chunk_closes_at_the_first_chosen_record_after_the_minimum() -> None:
    ends = [100 * KIB, 200 * KIB, 300 * KIB, 400 * KIB]
    assert closed_boundaries(400 * KIB, ends, [CHOSEN, CHOSEN, UNCHOSEN, CHOSEN]) == [400 * KIB]


def test_without_a_chosen_record_a_chunk_closes_before_1_mib() -> None:
    ends = list(range(KIB, 1200 * KIB, KIB))
    assert closed_boundaries(ends[-1], ends, [UNCHOSEN] * len(ends)) == [FORCE_BYTES]
    assert FORCE_BYTES < HARD_BYTES


def test_a_record_longer_than_1_mib_is_cut_at_exactly_1_mib() -> None:
    assert closed_boundaries(3 * HARD_BYTES, [3 * HARD_BYTES], [CHOSEN]) == [HARD_BYTES, 2 * HARD_BYTES, 3 * HARD_BYTES]


def test_an_unfinished_record_is_cut_hard_before_its_end_is_seen() -> None:
    assert closed_boundaries(HARD_BYTES - 1, [], []) == []
    assert closed_boundaries(HARD_BYTES, [], []) == [HARD_BYTES]
    assert closed_boundaries(1, [], [], tail_bytes=HARD_BYTES - 1) == [1]


def test_boundaries_are_found_again_after_a_change_in_the_middle() -> None:
    lengths = [2000 + 37 * (i % 50) for i in range(3000)]
    hashes = hashes_of(3000)
    ends = list(accumulate(lengths))
    before = closed_boundaries(ends[-1], ends, hashes)
    longer = list(accumulate([*lengths[:1000], 777, *lengths[1000:]]))
    after = closed_boundaries(longer[-1], longer, [*hashes[:1000], sha256(b"new").digest(), *hashes[1000:]])
    moved = {boundary + 777 for boundary in before}
    assert len(moved.intersection(after)) > len(before) / 3


def test_chunks_of_common_records_are_about_512_kib() -> None:
    ends = list(accumulate(200 + 4000 * (i * 7919 % 101) // 100 for i in range(40_000)))
    boundaries = closed_boundaries(ends[-1], ends, hashes_of(len(ends)))
    assert 400 * KIB < ends[-1] / len(boundaries) < 576 * KIB
