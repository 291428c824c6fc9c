"""Values as they are stored compressed: zstd, of which each thread has its own context."""

from __future__ import annotations

import threading

import zstandard

_LEVEL = 3
DAMAGED = zstandard.ZstdError
"""What is raised for bytes that are no such value."""


class _Local(threading.local):
    """zstd contexts must not be shared by threads and are dear to make."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_local = _Local()


def compress(data: bytes) -> bytes:
    """Return bytes compressed; the same bytes give the same result."""
    return _local.compress(data)


def decompress(data: bytes, most_bytes: int) -> bytes:
    """Return the bytes before compression. most_bytes: more are refused. Raises DAMAGED."""
    return _local.decompress(data, max_output_size=most_bytes)
