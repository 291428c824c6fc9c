"""Compresses stored values: zstd, with a dictionary for small ones. Each thread has its own contexts.

Most nodes are a few hundred bytes of JSON whose field names are half of it: the dictionary has these once. A frame
names the dictionary that it needs; large ones, and all of before schema 9, need none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

import zstandard

from recollect.errors import StoreCorrupt

_LEVEL = 3
DICTIONARY_ID = 0x5243_4C31
"""`RCL1`. Another dictionary needs another number and a file of its own beside this one: old frames need theirs."""
DICTIONARY_FILE = Path(__file__).with_name("values.zdict")
"""Made by `scripts/build_dictionary.py`."""
DAMAGED = zstandard.ZstdError
"""What is raised for bytes that are no such value."""
_MAX_PLAIN_BYTES = 1 << 30
_SMALL_BYTES = 16 * 1024
"""A longer value learns its own field names: with the dictionary it takes a third more time and no less room."""
_Value = TypeVar("_Value")


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(DICTIONARY_FILE.read_bytes(), dict_type=zstandard.DICT_TYPE_FULLDICT)


@cache
def _compression_dictionary() -> zstandard.ZstdCompressionDict:
    dictionary = _dictionary()
    dictionary.precompute_compress(level=_LEVEL)
    return dictionary


class _Local(threading.local):
    """zstd contexts must not be shared by threads and are dear to make."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compress
        self.decompress = zstandard.ZstdDecompressor().decompress

    @cached_property
    def compress_small(self) -> Callable[[bytes], bytes]:
        dictionary = _compression_dictionary()
        return zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary, write_checksum=False).compress

    @cached_property
    def decompress_small(self) -> Callable[..., bytes]:
        return zstandard.ZstdDecompressor(dict_data=_dictionary()).decompress


_local = _Local()


def compress(data: bytes) -> bytes:
    """Return bytes compressed; the same bytes give the same result."""
    return _local.compress_small(data) if len(data) < _SMALL_BYTES else _local.compress(data)


def unpack(data: bytes, decode: Callable[[bytes], _Value], what: str, *, hint: str) -> _Value:
    """Return the value whose bytes were compressed. what: begins the error, "a node is". Raises StoreCorrupt."""
    try:
        return decode(decompress(data))
    except (DAMAGED, ValueError) as error:
        raise StoreCorrupt(f"{what} damaged: {error}", hint=hint) from error


def decompress(data: bytes) -> bytes:
    """Return the bytes before compression. Raises DAMAGED."""
    needed = zstandard.get_frame_parameters(data).dict_id
    codec = _local.decompress_small if needed == DICTIONARY_ID else _local.decompress
    return codec(data, max_output_size=_MAX_PLAIN_BYTES)
