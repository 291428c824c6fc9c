"""Packs and journal written anew: what is needed is there, what is not is gone, and trouble changes nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recollect.archive import files
from recollect.archive.archive import Archive
from recollect.archive.journal import (
    ArchivedRevision,
    JournalEntry,
    JournalTombstone,
    Removal,
    burying,
    cutting,
    dropping,
)
from recollect.archive.keys import home_keys
from recollect.archive.packs import ChunkPlace, Hole, pack_numbers
from recollect.archive.sealer import Sealer
from recollect.errors import ArchiveCorrupt, ArchiveError, BrokenInvariant, DiskFull

KEYS = home_keys(b"not a secret: the tests' data ke")
SEALER = Sealer(KEYS)
STONES = [JournalTombstone(b"\x01" * 16, "session", 5), JournalTombstone(b"\x02" * 16, "record", 6)]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive.open(tmp_path, KEYS)
    yield archive
    archive.close()


def take(
    archive: Archive, source: str, pieces: list[bytes], *, keep: int = 0, start: int = 0, tail: int = 0
) -> list[ChunkPlace]:
    """Take pieces in as chunks of a source's first revision; the last `tail` bytes are of no whole record yet."""
    at = 9 if start else 1
    places = archive.write([SEALER.seal(piece) for piece in pieces])
    end = start + sum(map(len, pieces))
    archive.record(
        [
            JournalEntry(
                source, "claude", "r", source, f"/{source}", "jsonl", "s", 1, at, start, end - tail, end, keep,
                [(place, False) for place in places], relative=source, lane=1, marks=bytes(32),
            )
        ]
    )  # fmt: skip
    archive.flush()
    return places


def noise(seed: int) -> bytes:
    return b"".join(os.urandom(1) for _ in range(50)) * 4 + bytes([seed]) * 800


def numbers(archive_folder: Path) -> list[int]:
    return pack_numbers(archive_folder / "packs")


def test_the_journal_folds_to_the_same_with_the_chunks_at_their_new_places(archive: Archive, tmp_path: Path) -> None:
    pieces = [noise(i) for i in range(6)]
    one = take(archive, "one", pieces[:3], tail=len(pieces[2]))
    take(archive, "two", pieces[3:4])
    take(archive, "one", pieces[4:], keep=2, start=len(pieces[0]) + len(pieces[1]))
    before = archive.revisions()
    live = [place for r in before for place, _ in r.chunks]
    assert one[2] not in live
    plan = archive.compact(live)
    assert plan is not None
    assert archive.end_compaction(plan) == 1
    after = archive.revisions()
    moved = dict(plan.moves)
    assert [r.entry.source_id for r in after] == ["one", "two"]
    for old, new in zip(before, after, strict=True):
        assert new.chunks == [(moved[place], is_open) for place, is_open in old.chunks]
        assert msgspec.structs.replace(new, chunks=[], entry=None) == msgspec.structs.replace(
            old, chunks=[], entry=None
        )
        assert bare(new.entry) == bare(old.entry)
    assert archive.read_chunk(after[0].chunks[1][0]) == pieces[1]
    assert plan.bytes_freed > 200
    assert archive.dead_bytes([place for r in after for place, _ in r.chunks]) == {numbers(tmp_path)[0]: 0}


def bare(entry: JournalEntry) -> JournalEntry:
    return msgspec.structs.replace(entry, chunks=[], bytes_seen=0, marks=b"")


def test_a_removal_is_kept_by_the_journal_that_is_written_anew(archive: Archive) -> None:
    take(archive, "one", [noise(1), noise(2)])
    (revision,) = archive.revisions()
    size = revision.bytes_seen
    removal = Removal([Hole(0, size // 2, 3, 2, "evicted", 7)], size, 9, True, b"state", 4, 5, b"trail")
    hole_place = ChunkPlace(b"hole" + bytes(12), 0, 0, 0, size // 2)
    chunks = [(hole_place, False), revision.chunks[1]]
    archive.record([cutting(revision, keep=0, chunks=chunks, removal=removal)])
    archive.flush()
    before = archive.revisions()
    plan = archive.compact([chunks[1][0]])
    assert plan is not None
    archive.end_compaction(plan)
    (after,) = archive.revisions()
    assert after.removal == before[0].removal == removal
    assert after.chunks[0] == (hole_place, False)
    assert after.observations == before[0].observations == [(size, 1)]


def test_of_a_forgotten_source_no_entry_is_left_and_tombstones_stay(archive: Archive, tmp_path: Path) -> None:
    take(archive, "secret", [noise(1)])
    kept = take(archive, "kept", [noise(2)])
    archive.record([dropping("secret", 3), burying(STONES[:1])])
    archive.record([burying(STONES)])
    archive.flush()
    assert [r.entry.source_id for r in archive.revisions()] == ["kept"]
    plan = archive.compact(kept)
    assert plan is not None
    archive.end_compaction(plan)
    entries = list(archive.entries())
    assert {entry.source_id for entry in entries} == {"kept", ""}
    assert not any(entry.is_dropped for entry in entries)
    assert archive.tombstones() == STONES
    assert len(numbers(tmp_path)) == 1
    assert archive.compact([place for r in archive.revisions() for place, _ in r.chunks]) is None


def test_where_everything_is_forgotten_an_empty_archive_remains_that_can_be_written(
    archive: Archive, tmp_path: Path
) -> None:
    take(archive, "secret", [noise(1)])
    archive.record([dropping("secret", 3)])
    plan = archive.compact([])
    assert plan is not None
    archive.end_compaction(plan)
    assert list(archive.entries()) == []
    assert archive.size_bytes() == 0
    take(archive, "new", [noise(2)])
    assert min(numbers(tmp_path)) > max(plan.packs)
    assert [r.entry.source_id for r in archive.revisions()] == ["new"]


def test_what_only_the_journal_still_needs_is_kept(archive: Archive) -> None:
    """A crash may leave observations in the journal that the database does not know yet."""
    take(archive, "one", [noise(1)])
    take(archive, "two", [noise(2)])
    archive.record([dropping("one", 3)])
    plan = archive.compact([])
    assert plan is not None
    archive.end_compaction(plan)
    (revision,) = archive.revisions()
    assert archive.read_chunk(revision.chunks[0][0]) == noise_of(archive, revision)


def noise_of(archive: Archive, revision: ArchivedRevision) -> bytes:
    return b"".join(archive.iter_bytes([place for place, _ in revision.chunks]))


def test_a_damaged_journal_is_left_as_it_is(archive: Archive, tmp_path: Path) -> None:
    take(archive, "one", [noise(1)])
    take(archive, "two", [noise(2)])
    path = tmp_path / "journal.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArchiveCorrupt):
        archive.compact([])
    assert path.read_bytes() == data
    assert numbers(tmp_path) == [1]


def test_a_pack_that_lost_its_end_is_not_written_anew(archive: Archive, tmp_path: Path) -> None:
    take(archive, "one", [noise(1)])
    take(archive, "one", [noise(2)], keep=0)
    archive.close()
    pack = tmp_path / "packs" / "000001.pack"
    pack.write_bytes(pack.read_bytes()[:-200])
    assert archive.compact([]) is None
    assert numbers(tmp_path) == [1]


@pytest.mark.parametrize("failing", range(6))
def test_a_full_disk_changes_nothing_and_the_next_time_it_is_done(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    take(archive, "one", [noise(1), noise(2)])
    kept = take(archive, "one", [noise(3)], keep=1, start=len(noise(1)))
    before = archive.revisions()
    live = [place for place, _ in before[0].chunks]
    assert kept[0] in live
    calls = 0
    fsync, write = os.fsync, files.write_all

    def full() -> None:
        nonlocal calls
        calls += 1
        if calls == failing + 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", lambda fd: (full(), fsync(fd))[1])
        broken.setattr(files, "write_all", lambda fd, data: (full(), write(fd, data))[1])
        with pytest.raises((DiskFull, ArchiveError)):
            archive.compact(live)
    plan = archive.unfinished_compaction()
    if plan is None:
        assert archive.revisions() == before
        plan = archive.compact(live)
    assert plan is not None
    archive.end_compaction(plan)
    (after,) = archive.revisions()
    assert [archive.read_chunk(place)[-1] for place, _ in after.chunks] == [1, 3]


def test_an_interrupted_one_is_finished_before_the_next(archive: Archive) -> None:
    take(archive, "one", [noise(1)])
    archive.record([dropping("one", 3)])
    plan = archive.compact([])
    archive.record([dropping("one", 4)])
    with pytest.raises(BrokenInvariant):
        archive.compact([])
    assert archive.unfinished_compaction() == plan


@pytest.mark.skipif(os.name == "nt" or not Path("/proc/self/fd").exists(), reason="asks Linux what is open")
def test_who_reads_on_lets_go_of_packs_that_are_gone(archive: Archive, tmp_path: Path) -> None:
    (old,) = take(archive, "one", [noise(1)])
    reader = Archive.open(tmp_path, KEYS, read_only=True)
    reader.read_chunk(old)
    take(archive, "two", [noise(2)])
    archive.record([dropping("one", 3)])
    plan = archive.compact([])
    assert plan is not None
    archive.end_compaction(plan)
    (revision,) = archive.revisions()
    reader.read_chunk(revision.chunks[0][0])
    held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if fd_is_open(fd)]
    assert not [name for name in held if str(tmp_path) in name and "(deleted)" in name]
    reader.close()


def fd_is_open(fd: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{fd}")
