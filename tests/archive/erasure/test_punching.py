"""Whatever is taken away of whatever revision: the rest is byte for byte what it was, and the hole says so."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys, home_keys
from recollect.archive.packs import ChunkPlace, SealedChunk
from recollect.archive.sealer import Sealer
from recollect.archive.tail import Punched, Range, punch
from recollect.errors import BrokenInvariant, RawGone

KEYS: HomeKeys = home_keys(b"not a secret: the tests' data ke")
SEALER = Sealer(KEYS)


@st.composite
def ranges_in(draw: st.DrawFn, size: int) -> list[Range]:
    """Ascending ranges that do not overlap, in `size` bytes."""
    marks = sorted(draw(st.sets(st.integers(0, size), max_size=8)))
    return list(zip(marks[::2], marks[1::2], strict=False))


@st.composite
def revisions(draw: st.DrawFn) -> tuple[list[bytes], int]:
    """The pieces of a revision, and how many of the last ones are deltas of its open tail."""
    sizes = draw(st.lists(st.integers(1, 90), min_size=1, max_size=9))
    return [Random(i).randbytes(size) for i, size in enumerate(sizes)], draw(st.integers(0, len(sizes)))


def stored(archive: Archive, pieces: list[bytes], deltas: int) -> list[tuple[ChunkPlace, bool]]:
    closed = len(pieces) - deltas
    return list(
        zip(
            archive.write([SEALER.seal(piece) for piece in pieces]),
            [i >= closed for i in range(len(pieces))],
            strict=True,
        )
    )


def applied(archive: Archive, chunks: list[tuple[ChunkPlace, bool]], punched: Punched) -> list[tuple[ChunkPlace, bool]]:
    fresh = iter(archive.write([part for part, _ in punched.parts if isinstance(part, SealedChunk)]))
    parts = [(next(fresh) if isinstance(part, SealedChunk) else part, is_open) for part, is_open in punched.parts]
    return [*chunks[: punched.keep], *parts]


@given(revision=revisions(), data=st.data())
def test_outside_of_the_holes_nothing_changes_and_inside_nothing_is_given(
    tmp_path_factory: pytest.TempPathFactory, revision: tuple[list[bytes], int], data: st.DataObject
) -> None:
    pieces, deltas = revision
    whole = b"".join(pieces)
    archive = Archive.open(tmp_path_factory.mktemp("archive"), KEYS)
    chunks = stored(archive, pieces, deltas)
    ranges = data.draw(ranges_in(len(whole)))
    chunks = applied(archive, chunks, punch(chunks, ranges, sealer=SEALER, read=archive.read_chunk))
    places = [place for place, _ in chunks]
    assert sum(place.plain for place in places) == len(whole)
    offset = 0
    for place, is_open in chunks:
        gone = [r for r in ranges if r[0] < offset + place.plain and offset < r[1]]
        if place.is_hole:
            assert (offset, offset + place.plain) in ranges
            assert not is_open
        else:
            assert not gone
            assert archive.read_chunk(place) == whole[offset : offset + place.plain]
        offset += place.plain
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, len(whole) - start))
    if length and any(a < start + length and start < b for a, b in ranges):
        with pytest.raises(RawGone):
            archive.read_range(places, start, length)
    else:
        assert archive.read_range(places, start, length) == whole[start : start + length]
    archive.close()


@given(revision=revisions(), data=st.data())
def test_the_open_tail_begins_behind_the_last_hole(
    tmp_path_factory: pytest.TempPathFactory, revision: tuple[list[bytes], int], data: st.DataObject
) -> None:
    pieces, deltas = revision
    archive = Archive.open(tmp_path_factory.mktemp("archive"), KEYS)
    chunks = stored(archive, pieces, deltas)
    size = sum(map(len, pieces))
    tail = size - sum(map(len, pieces[len(pieces) - deltas :])) if deltas else size
    ranges = data.draw(ranges_in(size))
    after = applied(archive, chunks, punch(chunks, ranges, sealer=SEALER, read=archive.read_chunk))
    flags = [is_open for _, is_open in after]
    assert flags == sorted(flags)
    assert sum(place.plain for place, is_open in after if not is_open) == max(tail, ranges[-1][1] if ranges else 0)
    archive.close()


@given(revision=revisions(), data=st.data())
def test_taken_away_twice_in_two_steps_is_the_same_as_at_once(
    tmp_path_factory: pytest.TempPathFactory, revision: tuple[list[bytes], int], data: st.DataObject
) -> None:
    pieces, deltas = revision
    archive = Archive.open(tmp_path_factory.mktemp("archive"), KEYS)
    chunks = stored(archive, pieces, deltas)
    ranges = data.draw(ranges_in(sum(map(len, pieces))))
    at_once = applied(archive, chunks, punch(chunks, ranges, sealer=SEALER, read=archive.read_chunk))
    in_steps = chunks
    for one in data.draw(st.permutations(ranges)):
        in_steps = applied(archive, in_steps, punch(in_steps, [one], sealer=SEALER, read=archive.read_chunk))
    assert holes(in_steps) == holes(at_once)
    assert text(archive, in_steps) == text(archive, at_once)
    archive.close()


def holes(chunks: list[tuple[ChunkPlace, bool]]) -> list[Range]:
    found, offset = [], 0
    for place, _ in chunks:
        if place.is_hole:
            found.append((offset, offset + place.plain))
        offset += place.plain
    return found


def text(archive: Archive, chunks: list[tuple[ChunkPlace, bool]]) -> bytes:
    return b"".join(bytes(place.plain) if place.is_hole else archive.read_chunk(place) for place, _ in chunks)


def test_a_chunk_that_goes_as_a_whole_is_not_opened(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path, KEYS)
    chunks = stored(archive, [b"aaaa", b"bbbb", b"cccc"], 0)
    opened: list[ChunkPlace] = []

    def read(place: ChunkPlace) -> bytes:
        opened.append(place)
        return archive.read_chunk(place)

    punched = punch(chunks, [(2, 8)], sealer=SEALER, read=read)
    assert opened == [chunks[0][0]]
    assert punched.keep == 0
    assert [part.plain for part, _ in punched.parts] == [2, 6, 4]
    archive.close()


@pytest.mark.parametrize("ranges", [[(3, 3)], [(4, 2)], [(0, 4), (3, 6)], [(5, 13)], [(-1, 2)], [(4, 6), (0, 2)]])
def test_ranges_that_are_none_are_refused(tmp_path: Path, ranges: list[Range]) -> None:
    archive = Archive.open(tmp_path, KEYS)
    chunks = stored(archive, [b"aaaa", b"bbbb", b"cccc"], 0)
    with pytest.raises(BrokenInvariant):
        punch(chunks, ranges, sealer=SEALER, read=archive.read_chunk)
    archive.close()


def test_what_is_gone_does_not_go_again(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path, KEYS)
    chunks = stored(archive, [b"aaaa", b"bbbb"], 0)
    chunks = applied(archive, chunks, punch(chunks, [(2, 6)], sealer=SEALER, read=archive.read_chunk))
    with pytest.raises(BrokenInvariant):
        punch(chunks, [(5, 7)], sealer=SEALER, read=archive.read_chunk)
    archive.close()
