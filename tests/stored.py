"""Values of the database as they were before they were compressed."""

from __future__ import annotations

from functools import cache

import zstandard

from recollect.store.bodies import DICTIONARY_FILE, DICTIONARY_ID


def inflated(frame: bytes) -> bytes:
    """Return the value that begins here; what follows it is left out. Raises ZstdError."""
    needed = zstandard.get_frame_parameters(frame).dict_id
    return _reader(has_dictionary=needed == DICTIONARY_ID).decompressobj().decompress(frame)


@cache
def _reader(*, has_dictionary: bool) -> zstandard.ZstdDecompressor:
    known = zstandard.ZstdCompressionDict(DICTIONARY_FILE.read_bytes()) if has_dictionary else None
    return zstandard.ZstdDecompressor(dict_data=known)
