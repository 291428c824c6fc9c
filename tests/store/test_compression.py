"""Stored values are compressed, small ones with a dictionary, and older ones without it are read."""

from __future__ import annotations

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from recollect.store.bodies import DAMAGED, DICTIONARY_ID, compress, decompress

NODE = b'{"node":"decision","statement":"use tabs","evidence":[{"session_uid":"claude:1","event_id":"e","part":0}]}'


@given(st.binary(max_size=40_000))
def test_any_bytes_come_back(data: bytes) -> None:
    assert decompress(compress(data)) == data == decompress(zstandard.compress(data))


def test_a_small_value_takes_less_room_with_the_dictionary() -> None:
    assert zstandard.get_frame_parameters(compress(NODE)).dict_id == DICTIONARY_ID
    assert len(compress(NODE)) < len(zstandard.compress(NODE)) * 0.8


@pytest.mark.parametrize("data", [b"", b"no frame", compress(NODE)[:-1], zstandard.compress(NODE)[:-1]])
def test_what_is_damaged_is_refused(data: bytes) -> None:
    with pytest.raises(DAMAGED):
        decompress(data)
