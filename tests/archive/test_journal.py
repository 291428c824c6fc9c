"""The journal tells what was seen; nothing in it changes, moves or vanishes unnoticed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.archive.journal import Journal, JournalEntry
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import ChunkPlace
from recollect.errors import ArchiveCorrupt, KeyUnavailable

HEADER_BYTES = 24


def entry(number: int, *, path: str = "projects/a/session.jsonl") -> JournalEntry:
    return JournalEntry(
        source_id=f"source-{number}",
        agent="claude",
        role="transcript",
        key="k",
        path=path,
        container="jsonl",
        session="s",
        revision=0,
        observed_at=1_700_000_000_000_000 + number,
        from_bytes=0,
        to_bytes=10,
        bytes_seen=12,
        keep_chunks=0,
        chunks=[(ChunkPlace(b"n" * 16, 1, 40, 100, 12), True)],
    )


ENTRIES = [entry(i) for i in range(5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.log"


def write(path: Path, keys: HomeKeys, entries: list[JournalEntry]) -> None:
    journal = Journal(path, keys)
    journal.append(entries)
    journal.close()


def frames(data: bytes) -> list[bytes]:
    """Split a journal into its frames by the lengths at their ends."""
    found: list[bytes] = []
    while len(data) > HEADER_BYTES:
        length = int.from_bytes(data[-4:], "little")
        found.insert(0, data[-length:])
        data = data[:-length]
    return found


def test_entries_come_back_in_order_over_many_writers(path: Path, keys: HomeKeys) -> None:
    for one in ENTRIES:
        write(path, keys, [one])
    assert list(Journal(path, keys).entries()) == ENTRIES


@given(text=st.text(st.characters(exclude_categories=["Cs"])), numbers=st.lists(st.integers(0, 2**60), min_size=2))
def test_any_entry_comes_back(
    tmp_path_factory: pytest.TempPathFactory, keys: HomeKeys, text: str, numbers: list[int]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.log"
    given_entry = msgspec.structs.replace(
        entry(0, path=text),
        observed_at=numbers[0],
        holes=[(n, numbers[1]) for n in numbers],
        chunks=[(ChunkPlace(bytes(16), n, n, n, n), bool(n % 2)) for n in numbers],
    )
    write(path, keys, [given_entry, given_entry])
    assert list(Journal(path, keys).entries()) == [given_entry, given_entry]


def test_a_home_without_a_journal_has_no_entries(path: Path, keys: HomeKeys) -> None:
    journal = Journal(path, keys)
    assert list(journal.entries()) == []
    journal.append([])
    journal.flush()
    assert not path.exists()


def test_a_frame_adds_less_than_80_bytes(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES)
    plain = sum(len(msgspec.msgpack.encode(one)) for one in ENTRIES)
    assert path.stat().st_size - plain < 80 * len(ENTRIES)


def test_nothing_of_an_entry_is_on_disk_in_clear(path: Path, keys: HomeKeys) -> None:
    write(path, keys, [entry(0, path="projects/very-private/session.jsonl")])
    assert b"private" not in path.read_bytes()


def test_a_crash_at_any_byte_of_the_last_frame_loses_only_that_frame(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES)
    whole = path.read_bytes()
    last_start = len(whole) - len(frames(whole)[-1])
    for size in range(last_start, len(whole)):
        path.write_bytes(whole[:size])
        assert list(Journal(path, keys).entries()) == ENTRIES[:-1]
        write(path, keys, [entry(9)])
        assert list(Journal(path, keys).entries()) == [*ENTRIES[:-1], entry(9)]
        assert path.read_bytes()[:last_start] == whole[:last_start]


def test_a_crash_at_any_byte_of_a_new_journal_is_no_harm(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES[:1])
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert list(Journal(path, keys).entries()) == []
        write(path, keys, ENTRIES)
        assert list(Journal(path, keys).entries()) == ENTRIES


def test_zeros_that_a_power_failure_left_are_cut_off(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES[:2])
    with path.open("ab") as file:
        file.write(bytes(5000))
    assert list(Journal(path, keys).entries()) == ENTRIES[:2]
    write(path, keys, ENTRIES[2:])
    assert list(Journal(path, keys).entries()) == ENTRIES


def test_a_change_of_any_byte_is_noticed_and_costs_one_entry_at_most(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES)
    whole = path.read_bytes()
    pieces = frames(whole)
    start = HEADER_BYTES + len(pieces[0])
    for i in range(start, start + len(pieces[1])):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x40]) + whole[i + 1 :])
        with pytest.raises(ArchiveCorrupt, match=f"offset {start} "):
            list(Journal(path, keys).entries())
        journal = Journal(path, keys)
        assert list(journal.entries(skip_damaged=True)) == [ENTRIES[0], *ENTRIES[2:]]
        assert journal.damaged == 1


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 2, 3), (0, 1, 1, 2), (1, 2)], ids=str)
def test_frames_moved_missing_or_repeated_are_noticed(path: Path, keys: HomeKeys, order: tuple[int, ...]) -> None:
    write(path, keys, ENTRIES)
    whole = path.read_bytes()
    pieces = frames(whole)
    path.write_bytes(whole[:HEADER_BYTES] + b"".join(pieces[i] for i in order))
    with pytest.raises(ArchiveCorrupt, match="has number"):
        list(Journal(path, keys).entries())


def test_damage_at_the_end_is_never_cut_off(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES[:3])
    whole = path.read_bytes()
    last = len(whole) - len(frames(whole)[-1])
    damaged = whole[:last] + b"?" + whole[last + 1 :]
    path.write_bytes(damaged)
    write(path, keys, ENTRIES[3:])
    assert path.read_bytes()[: len(damaged)] == damaged
    journal = Journal(path, keys)
    assert list(journal.entries(skip_damaged=True)) == [*ENTRIES[:2], *ENTRIES[3:]]
    assert journal.damaged == 1


def test_a_damaged_header_of_the_file_costs_no_entry(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES)
    whole = path.read_bytes()
    path.write_bytes(b"?" * HEADER_BYTES + whole[HEADER_BYTES:])
    with pytest.raises(ArchiveCorrupt):
        list(Journal(path, keys).entries())
    journal = Journal(path, keys)
    assert list(journal.entries(skip_damaged=True)) == ENTRIES
    assert journal.damaged == 1


def test_the_keys_of_another_home_are_refused_for_reading_and_writing(
    path: Path, keys: HomeKeys, other_keys: HomeKeys
) -> None:
    write(path, keys, ENTRIES)
    whole = path.read_bytes()
    with pytest.raises(KeyUnavailable, match="are not those of its archive"):
        list(Journal(path, other_keys).entries())
    with pytest.raises(KeyUnavailable):
        write(path, other_keys, ENTRIES)
    assert path.read_bytes() == whole


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX's")
def test_the_journal_is_readable_by_its_owner_only(path: Path, keys: HomeKeys) -> None:
    write(path, keys, ENTRIES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
