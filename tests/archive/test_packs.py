"""Packs only grow, and a torn end costs nothing but itself."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.archive import files
from recollect.archive.packs import ChunkPlace, PackReader, PackWriter, SealedChunk, pack_numbers, pack_path, scan
from recollect.errors import ArchiveCorrupt, ArchiveError, DiskFull


def chunk(blob: bytes) -> SealedChunk:
    return SealedChunk(name=blob[:1] * 16, blob=blob, plain=3 * len(blob), is_open=False)


def write(folder: Path, blobs: list[bytes]) -> list[ChunkPlace]:
    writer = PackWriter(folder)
    places = writer.append([chunk(blob) for blob in blobs])
    writer.close()
    return places


def read(folder: Path, places: list[ChunkPlace]) -> list[bytes]:
    reader = PackReader(folder)
    return [reader.read(place) for place in places]


BLOBS = [b"first blob", b"2", b"the third blob"]


def test_blobs_come_back_from_their_places(tmp_path: Path) -> None:
    places = write(tmp_path, BLOBS)
    assert read(tmp_path, places) == BLOBS
    assert [(place.pack, place.length, place.plain) for place in places] == [(1, 10, 30), (1, 1, 3), (1, 14, 42)]


def test_a_scan_lists_a_pack_without_a_database(tmp_path: Path) -> None:
    places = write(tmp_path, BLOBS)
    assert list(scan(pack_path(tmp_path, 1))) == places


def test_a_new_writer_goes_on_in_a_whole_pack(tmp_path: Path) -> None:
    places = [*write(tmp_path, BLOBS), *write(tmp_path, BLOBS)]
    assert pack_numbers(tmp_path) == [1]
    assert list(scan(pack_path(tmp_path, 1))) == places
    assert read(tmp_path, places) == BLOBS * 2


def test_a_closed_writer_goes_on_where_it_was(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path)
    places = writer.append([chunk(b"one")])
    writer.close()
    places += writer.append([chunk(b"two")])
    writer.close()
    assert [place.pack for place in places] == [1, 1]
    assert read(tmp_path, places) == [b"one", b"two"]


def test_a_full_pack_is_followed_by_the_next(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path, roll_over_bytes=100)
    places = [place for _ in range(5) for place in writer.append([chunk(b"x" * 60)])]
    writer.close()
    assert [place.pack for place in places] == [1, 2, 3, 4, 5]
    assert read(tmp_path, places) == [b"x" * 60] * 5


def test_a_crash_at_any_byte_of_the_last_entry_loses_only_that_entry(tmp_path: Path) -> None:
    places = write(tmp_path, BLOBS)
    path = pack_path(tmp_path, 1)
    whole = path.read_bytes()
    last_start = places[1].offset + places[1].length + 8
    for size in range(last_start, len(whole)):
        folder = tmp_path / f"cut{size}"
        folder.mkdir()
        torn = pack_path(folder, 1)
        torn.write_bytes(whole[:size])
        assert list(scan(torn)) == places[:2]
        added = write(folder, [b"after the crash"])
        assert torn.read_bytes()[:size] == whole[:size]
        assert read(folder, [*places[:2], *added]) == [*BLOBS[:2], b"after the crash"]
        assert [place for number in pack_numbers(folder) for place in scan(pack_path(folder, number))] == [
            *places[:2],
            *added,
        ]


def test_a_pack_of_unknown_content_is_left_alone(tmp_path: Path) -> None:
    pack_path(tmp_path, 7).write_bytes(b"something else entirely, and longer than a header with its footer")
    places = write(tmp_path, BLOBS)
    assert {place.pack for place in places} == {8}
    assert pack_path(tmp_path, 7).read_bytes().startswith(b"something else")
    assert list(scan(pack_path(tmp_path, 7))) == []


def test_a_pack_that_ends_in_half_an_entry_and_an_old_footer_is_not_continued(tmp_path: Path) -> None:
    places = write(tmp_path, BLOBS)
    path = pack_path(tmp_path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[-8:])
    added = write(tmp_path, [b"next"])
    assert added[0].pack == 2
    assert list(scan(path)) == places


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(8, 60), garbage=st.binary(min_size=1, max_size=30))
def test_a_scan_finds_its_way_behind_any_damage(tmp_path: Path, position: int, garbage: bytes) -> None:
    folder = tmp_path / "packs"
    folder.mkdir(exist_ok=True)
    path = pack_path(folder, 1)
    path.unlink(missing_ok=True)
    places = write(folder, BLOBS)
    data = bytearray(path.read_bytes())
    data[position : position + len(garbage)] = garbage
    path.write_bytes(data)
    hit = position + len(garbage)
    assert [place for place in places if place.offset - 32 >= hit] == [
        place for place in scan(path) if place.offset - 32 >= hit
    ]


def test_an_empty_batch_makes_no_pack(tmp_path: Path) -> None:
    assert write(tmp_path, []) == []
    assert list(tmp_path.iterdir()) == []


def test_a_missing_pack_or_a_place_behind_its_end_is_corrupt(tmp_path: Path) -> None:
    (place,) = write(tmp_path, [b"blob"])
    with pytest.raises(ArchiveCorrupt, match="ends before"):
        PackReader(tmp_path).read(place._replace(offset=10_000))
    with pytest.raises(ArchiveCorrupt, match="is missing"):
        PackReader(tmp_path).read(place._replace(pack=2))


@pytest.mark.parametrize("positioned", [True, False], ids=["pread", "seek"])
def test_many_threads_read_more_packs_than_are_kept_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, positioned: bool
) -> None:
    if not positioned:
        monkeypatch.delattr(os, "pread", raising=False)
    writer = PackWriter(tmp_path, roll_over_bytes=1)
    blobs = [bytes([i]) * 100 for i in range(30)]
    places = [place for blob in blobs for place in writer.append([chunk(blob)])]
    writer.close()
    reader = PackReader(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(reader.read, places * 20)) == blobs * 20
    reader.close()


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX's")
def test_packs_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    write(tmp_path, BLOBS)
    assert stat.S_IMODE(pack_path(tmp_path, 1).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("number", "raised"), [(errno.ENOSPC, DiskFull), (errno.EIO, ArchiveError)], ids=["no room", "broken disk"]
)
def test_a_batch_that_fails_half_way_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, raised: type[Exception]
) -> None:
    def write_half(fd: int, data: bytes) -> None:
        os.write(fd, data[: len(data) // 2])
        raise OSError(number, os.strerror(number))

    writer = PackWriter(tmp_path)
    places = writer.append([chunk(b"kept")])
    with monkeypatch.context() as broken:
        broken.setattr(files, "write_all", write_half)
        with pytest.raises(raised):
            writer.append([chunk(b"lost")])
    places += writer.append([chunk(b"room again")])
    writer.close()
    assert list(scan(pack_path(tmp_path, 1))) == places
    assert read(tmp_path, places) == [b"kept", b"room again"]


def test_a_batch_that_cannot_be_taken_back_is_left_behind_in_its_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(fd: int, data: bytes) -> None:
        os.write(fd, data[: len(data) // 2])
        raise OSError(errno.EIO, "broken")

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    writer = PackWriter(tmp_path)
    places = writer.append([chunk(b"kept")])
    with monkeypatch.context() as broken:
        broken.setattr(files, "write_all", write_half)
        broken.setattr(os, "ftruncate", refuse)
        with pytest.raises(ArchiveError):
            writer.append([chunk(b"lost")])
    places += writer.append([chunk(b"next")])
    writer.close()
    assert [place.pack for place in places] == [1, 2]
    assert read(tmp_path, places) == [b"kept", b"next"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of the system on file sizes")
def test_a_real_limit_of_the_system_is_a_full_disk_and_keeps_what_was_stored(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from recollect.archive.packs import SealedChunk
from recollect.archive.packs import PackWriter
from recollect.errors import DiskFull
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
writer = PackWriter(Path(sys.argv[1]))
writer.append([SealedChunk(b"k" * 16, b"kept" * 1000, 4000, False)])
try:
    writer.append([SealedChunk(b"l" * 16, b"lost" * 2000, 8000, False)])
except DiskFull as error:
    print(error)
writer.append([SealedChunk(b"s" * 16, b"small", 5, False)])
writer.close()
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("no space to write 000001.pack")
    assert [place.name[:1] for place in scan(pack_path(tmp_path, 1))] == [b"k", b"s"]
