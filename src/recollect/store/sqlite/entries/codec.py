"""The text of an entry's part as it is stored: compressed."""

from __future__ import annotations

import threading

import zstandard

from recollect.errors import StoreCorrupt

_LEVEL = 3
_MAX_PLAIN_BYTES = 1 << 24
_HINT = "write the learning, note or document again, or restore a backup"


class _Local(threading.local):
    """zstd contexts must not be shared by threads and are dear to make."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_local = _Local()


def pack_part(text: str) -> bytes:
    """Return the stored form of a text; lone surrogates become replacement characters."""
    return _local.compress(text.encode("utf-8", "replace"))


def unpack_part(data: bytes) -> str:
    """Return the text of its stored form. Raises StoreCorrupt."""
    try:
        return _local.decompress(data, max_output_size=_MAX_PLAIN_BYTES).decode()
    except (zstandard.ZstdError, UnicodeDecodeError) as error:
        raise StoreCorrupt(f"the text of an entry is damaged: {error}", hint=_HINT) from error
