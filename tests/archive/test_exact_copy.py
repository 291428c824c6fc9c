"""The archive as a whole: what went in comes out, from any place and in any piece."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.archive import files
from recollect.archive.archive import Archive
from recollect.archive.files import AppendFile
from recollect.archive.journal import JournalEntry
from recollect.archive.keys import HomeKeys, load_or_create_keys
from recollect.archive.packs import ChunkPlace, PackReader, SealedChunk, pack_path
from recollect.archive.sealer import Sealer
from recollect.archive.tail import OpenTail, cut_slice
from recollect.errors import ArchiveCorrupt, ArchiveError, DiskFull


def entry(places: list[ChunkPlace]) -> JournalEntry:
    seen = sum(place.plain for place in places)
    return JournalEntry(
        source_id="source",
        agent="codex",
        role="rollout",
        key="k",
        path="sessions/a.jsonl",
        container="jsonl",
        session="s",
        revision=0,
        observed_at=1,
        from_bytes=0,
        to_bytes=seen,
        bytes_seen=seen,
        keep_chunks=0,
        chunks=[(place, False) for place in places],
    )


def stored(archive: Archive, sealer: Sealer, pieces: list[bytes]) -> list[ChunkPlace]:
    places = archive.write([sealer.seal(piece) for piece in pieces])
    archive.flush()
    return places


def test_a_whole_source_comes_back_from_packs_and_journal_alone(
    tmp_path: Path, archive: Archive, keys: HomeKeys, sealer: Sealer
) -> None:
    lines = [Random(i).randbytes(3000).hex().encode() + b"\n" for i in range(400)]
    data = b"".join(lines)
    ends = [len(lines[0]) * (i + 1) for i in range(len(lines))]
    cut = cut_slice(
        sealer,
        OpenTail(),
        data,
        ends=ends,
        hashes=[sha256(line).digest() for line in lines],
    )
    archive.record([entry(archive.write(cut.chunks))])
    archive.close()
    reopened = Archive.open(tmp_path / "archive", keys, read_only=True)
    (found,) = reopened.entries()
    places = [place for place, _ in found.chunks]
    assert len(places) > 3
    assert b"".join(reopened.iter_bytes(places)) == data
    assert reopened.read_range(places, 0, len(data)) == data
    reopened.close()


@given(sizes=st.lists(st.integers(0, 300), max_size=12), data=st.data())
def test_any_range_is_exactly_its_bytes(
    tmp_path_factory: pytest.TempPathFactory, keys: HomeKeys, sealer: Sealer, sizes: list[int], data: st.DataObject
) -> None:
    archive = Archive.open(tmp_path_factory.mktemp("archive"), keys)
    pieces = [Random(i).randbytes(size) for i, size in enumerate(sizes)]
    places = stored(archive, sealer, pieces)
    whole = b"".join(pieces)
    offset = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, len(whole) - offset))
    assert archive.read_range(places, offset, length) == whole[offset : offset + length]
    archive.close()


@pytest.mark.parametrize(("offset", "length"), [(0, 9), (8, 1), (-1, 2), (4, -1)])
def test_a_range_outside_of_the_revision_is_an_error(
    archive: Archive, sealer: Sealer, offset: int, length: int
) -> None:
    places = stored(archive, sealer, [b"1234", b"5678"])
    with pytest.raises(ArchiveError, match="outside"):
        archive.read_range(places, offset, length)


def test_a_range_opens_only_the_chunks_it_touches(archive: Archive, sealer: Sealer) -> None:
    places = stored(archive, sealer, [b"aaaa", b"bbbb", b"cccc"])
    lost = ChunkPlace(bytes(16), 99, 0, 10, 4)
    assert archive.read_range([lost, places[1], lost], 4, 4) == b"bbbb"
    with pytest.raises(ArchiveCorrupt):
        archive.read_range([lost, places[1], lost], 3, 4)


def test_equal_chunks_are_written_once(archive: Archive, sealer: Sealer) -> None:
    places = stored(archive, sealer, [b"same", b"other", b"same"])
    size = archive.size_bytes()
    assert places[0] == places[2]
    again = archive.write([sealer.seal(b"same")], known={place.name: place for place in places})
    assert again == places[:1]
    assert archive.size_bytes() == size


def test_a_chunk_of_another_length_than_recorded_is_corrupt(archive: Archive, sealer: Sealer) -> None:
    (place,) = stored(archive, sealer, [b"text"])
    with pytest.raises(ArchiveCorrupt, match="has 4 bytes, not 5"):
        archive.read_chunk(place._replace(plain=5))


def test_damage_in_a_pack_is_noticed_when_read(archive: Archive, sealer: Sealer, tmp_path: Path) -> None:
    (place,) = stored(archive, sealer, [b"text"])
    path = pack_path(tmp_path / "archive" / "packs", place.pack)
    data = bytearray(path.read_bytes())
    data[place.offset + place.length - 1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArchiveCorrupt) as caught:
        archive.read_chunk(place)
    assert caught.value.chunk == place.name.hex()


def test_the_cache_is_bounded_by_bytes(
    tmp_path: Path, keys: HomeKeys, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[ChunkPlace] = []
    read = PackReader.read

    def counted(reader: PackReader, place: ChunkPlace) -> bytes:
        reads.append(place)
        return read(reader, place)

    monkeypatch.setattr(PackReader, "read", counted)
    archive = Archive.open(tmp_path / "small", keys, cache_bytes=250)
    one, two, three = stored(archive, sealer, [b"1" * 100, b"2" * 100, b"3" * 100])
    for place in (one, two, one, three, one, two):
        archive.read_chunk(place)
    assert reads == [one, two, three, two]


def test_many_threads_read_at_once(archive: Archive, sealer: Sealer) -> None:
    pieces = [Random(i).randbytes(5000) for i in range(50)]
    places = stored(archive, sealer, pieces)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(archive.read_chunk, places * 10)) == pieces * 10


def test_an_entry_is_in_the_journal_only_after_its_chunks_are_flushed(
    tmp_path: Path, archive: Archive, sealer: Sealer
) -> None:
    archive.record([entry(archive.write([sealer.seal(b"text")]))])
    assert list(archive.entries()) == []
    archive.flush()
    assert len(list(archive.entries())) == 1


def test_chunks_are_durable_before_the_journal_names_them(
    archive: Archive, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, str]] = []
    append, flush = AppendFile.append, AppendFile.flush

    def logged_append(file: AppendFile, data: bytes) -> int:
        calls.append(("append", file.path.suffix))
        return append(file, data)

    def logged_flush(file: AppendFile) -> None:
        calls.append(("flush", file.path.suffix))
        flush(file)

    monkeypatch.setattr(AppendFile, "append", logged_append)
    monkeypatch.setattr(AppendFile, "flush", logged_flush)
    archive.record([entry(archive.write([sealer.seal(b"text")]))])
    archive.flush()
    assert calls == [("append", ".pack"), ("flush", ".pack"), ("append", ".log"), ("flush", ".log")]


def test_a_flush_syncs_the_file_and_the_folder_of_a_new_name(
    archive: Archive, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def logged(fd: int) -> None:
        synced.append(fd)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", logged)
    stored(archive, sealer, [b"first"])
    assert len(synced) == (1 if os.name == "nt" else 2)
    stored(archive, sealer, [b"second"])
    assert len(synced) == (2 if os.name == "nt" else 3)


def test_entries_that_found_no_room_are_written_by_the_next_flush(
    archive: Archive, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    archive.record([entry(archive.write([sealer.seal(b"text")]))])
    with monkeypatch.context() as broken:
        broken.setattr(files, "write_all", full)
        with pytest.raises(DiskFull, match=r"no space to write journal\.log"):
            archive.flush()
    archive.flush()
    assert len(list(archive.entries())) == 1


_ENDLESS_WRITER = """
import itertools, sys
from pathlib import Path
from recollect.archive.archive import Archive
from recollect.archive.journal import JournalEntry
from recollect.archive.keys import load_keys
from recollect.archive.sealer import Sealer
keys = load_keys(Path(sys.argv[1]) / "keys")
archive, sealer = Archive.open(Path(sys.argv[1]) / "archive", keys), Sealer(keys)
for n in itertools.count():
    (place,) = archive.write([sealer.seal(str(n).encode() * 5000)])
    size = place.plain
    chunks = [(place, False)]
    archive.record([JournalEntry(str(n), "codex", "r", "k", "p", "jsonl", "s", 0, n, 0, size, size, 0, chunks)])
    archive.flush()
    print(n, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 20, 60])
def test_what_was_flushed_before_a_kill_is_there_and_the_next_writer_goes_on(tmp_path: Path, acknowledged: int) -> None:
    keys = load_or_create_keys(tmp_path / "keys")
    command = [sys.executable, "-c", _ENDLESS_WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(acknowledged):
            writer.stdout.readline()
        writer.kill()
    archive = Archive.open(tmp_path / "archive", keys)
    last = entry(archive.write([Sealer(keys).seal(b"after the kill")]))
    archive.record([last])
    archive.close()
    found = list(archive.entries())
    assert len(found) > acknowledged
    assert found[-1] == last
    for n, one in enumerate(found[:-1]):
        assert b"".join(archive.iter_bytes([place for place, _ in one.chunks])) == str(n).encode() * 5000


def test_a_reader_sees_what_a_writer_adds(tmp_path: Path, archive: Archive, keys: HomeKeys, sealer: Sealer) -> None:
    reader = Archive.open(tmp_path / "archive", keys, read_only=True)
    for text in (b"one", b"two"):
        (place,) = stored(archive, sealer, [text])
        assert reader.read_chunk(place) == text


def test_an_archive_open_for_reading_only_writes_nothing(tmp_path: Path, keys: HomeKeys, sealer: Sealer) -> None:
    archive = Archive.open(tmp_path / "none", keys, read_only=True)
    chunks: list[SealedChunk] = [sealer.seal(b"text")]
    with pytest.raises(ArchiveError, match="reading only"):
        archive.write(chunks)
    with pytest.raises(ArchiveError, match="reading only"):
        archive.record([entry([])])
    assert list(archive.entries()) == []
    assert archive.size_bytes() == 0
    archive.close()
    assert not (tmp_path / "none").exists()


def test_damaged_entries_are_counted(tmp_path: Path, archive: Archive, sealer: Sealer, keys: HomeKeys) -> None:
    first = entry(archive.write([sealer.seal(b"text")]))
    second = msgspec.structs.replace(first, observed_at=2)
    archive.record([first, second])
    archive.close()
    path = tmp_path / "archive" / "journal.log"
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    reopened = Archive.open(tmp_path / "archive", keys)
    assert list(reopened.entries(skip_damaged=True)) == [second]
    assert reopened.journal.damaged == 1


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX's")
def test_an_archive_is_open_to_its_owner_only(tmp_path: Path, archive: Archive, sealer: Sealer) -> None:
    archive.record([entry(archive.write([sealer.seal(b"text")]))])
    archive.close()
    for path in [tmp_path / "archive", *(tmp_path / "archive").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
