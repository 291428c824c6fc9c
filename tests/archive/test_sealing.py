"""What was sealed comes back exactly, or not at all."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.archive.keys import HomeKeys
from recollect.archive.sealer import Sealer
from recollect.errors import ArchiveCorrupt


@given(plain=st.binary(max_size=4096))
def test_any_bytes_come_back(sealer: Sealer, plain: bytes) -> None:
    chunk = sealer.seal(plain)
    assert sealer.open(chunk.name, chunk.blob) == plain
    assert chunk.plain == len(plain)


def test_equal_bytes_have_equal_names_and_different_blobs(sealer: Sealer) -> None:
    first, second = sealer.seal(b"text" * 50), sealer.seal(memoryview(b"text" * 50))
    assert first.name == second.name
    assert first.blob != second.blob


def test_names_tell_nothing_to_another_home(keys: HomeKeys, other_keys: HomeKeys) -> None:
    assert Sealer(keys).name(b"guess") != Sealer(other_keys).name(b"guess")


@pytest.mark.parametrize("plain", [b"compressible " * 20, bytes(range(64))], ids=["zstd", "raw"])
def test_a_change_of_any_byte_is_noticed(sealer: Sealer, plain: bytes) -> None:
    chunk = sealer.seal(plain)
    for i in range(len(chunk.blob)):
        tampered = bytearray(chunk.blob)
        tampered[i] ^= 0x03
        with pytest.raises(ArchiveCorrupt):
            sealer.open(chunk.name, bytes(tampered))


def test_a_blob_cut_off_anywhere_is_noticed(sealer: Sealer) -> None:
    chunk = sealer.seal(b"compressible " * 20)
    for length in range(len(chunk.blob)):
        with pytest.raises(ArchiveCorrupt):
            sealer.open(chunk.name, chunk.blob[:length])


def test_a_blob_does_not_open_under_another_name(sealer: Sealer) -> None:
    one, two = sealer.seal(b"one"), sealer.seal(b"two")
    with pytest.raises(ArchiveCorrupt) as caught:
        sealer.open(two.name, one.blob)
    assert caught.value.chunk == two.name.hex()


def test_another_homes_keys_open_nothing(sealer: Sealer, other_keys: HomeKeys) -> None:
    chunk = sealer.seal(b"text")
    with pytest.raises(ArchiveCorrupt):
        Sealer(other_keys).open(chunk.name, chunk.blob)


def test_bytes_sealed_under_a_name_that_is_not_theirs_are_refused(
    sealer: Sealer, keys: HomeKeys, other_keys: HomeKeys
) -> None:
    misnamed = Sealer(msgspec.structs.replace(keys, name_key=other_keys.name_key)).seal(b"text")
    with pytest.raises(ArchiveCorrupt, match="other bytes than its name says"):
        sealer.open(misnamed.name, misnamed.blob)
    assert sealer.open(misnamed.name, misnamed.blob, is_named_again=False) == b"text"


@given(plain=st.binary(min_size=1, max_size=400), at=st.integers(min_value=0), bit=st.integers(0, 7))
def test_no_byte_changes_unseen_where_the_name_is_not_made_again(
    sealer: Sealer, plain: bytes, at: int, bit: int
) -> None:
    chunk, other = sealer.seal(plain), sealer.seal(b"other" + plain)
    blob = bytearray(chunk.blob)
    blob[at % len(blob)] ^= 1 << bit
    for name, changed in ((chunk.name, bytes(blob)), (other.name, chunk.blob)):
        with pytest.raises(ArchiveCorrupt):
            sealer.open(name, changed, is_named_again=False)


def test_text_is_compressed_and_noise_is_not_made_longer(sealer: Sealer) -> None:
    noise = os.urandom(10_000)
    assert len(sealer.seal(b"the same line\n" * 1000).blob) < 200
    assert len(sealer.seal(noise).blob) == len(noise) + 29


def test_many_threads_share_a_sealer(sealer: Sealer) -> None:
    plains = [os.urandom(2000) * 5 for _ in range(64)]
    with ThreadPoolExecutor(8) as pool:
        chunks = list(pool.map(sealer.seal, plains))
        assert list(pool.map(lambda chunk: sealer.open(chunk.name, chunk.blob), chunks)) == plains


def test_keys_travel_to_workers_and_are_never_shown(keys: HomeKeys) -> None:
    assert pickle.loads(pickle.dumps(keys)) == keys
    assert repr(keys) == "HomeKeys(…)"
    assert len({keys.data_key, keys.name_key, keys.marker_key, keys.journal_key}) == 4
