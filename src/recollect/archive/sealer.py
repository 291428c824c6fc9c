"""Names, compresses and seals chunks with the keys of a home, and opens them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from hashlib import blake2b

import zstandard
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from recollect.archive.keys import HomeKeys
from recollect.archive.packs import SealedChunk
from recollect.errors import ArchiveCorrupt

NAME_BYTES = 16
_ZSTD_LEVEL = 3
_NONCE_BYTES = 12
_HEADER_BYTES = 1 + _NONCE_BYTES
# The form says how the plain bytes were packed; the high digit is the version of the blob.
_FORM_ZSTD = b"\x11"
_FORM_RAW = b"\x12"


class _Codecs(threading.local):
    """One compressor and decompressor a thread: they are reused, and not thread safe."""

    def __init__(self) -> None:
        self.compress: Callable[[bytes | memoryview], bytes] = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress
        self.decompress: Callable[[bytes], bytes] = zstandard.ZstdDecompressor().decompress


class Sealer:
    """Seals and opens chunks with the keys of one home. Thread safe; make one per process."""

    def __init__(self, keys: HomeKeys) -> None:
        self._name_key = keys.name_key
        self._aead = AESGCM(keys.data_key)
        self._codecs = _Codecs()

    def name(self, plain: bytes | memoryview) -> bytes:
        """Return the name of a chunk with these plain bytes."""
        return blake2b(plain, digest_size=NAME_BYTES, key=self._name_key).digest()

    def seal(self, plain: bytes | memoryview, *, is_open: bool = False) -> SealedChunk:
        """Return the sealed chunk of these bytes. The name is the same each time, the blob is not."""
        name = self.name(plain)
        form = _FORM_ZSTD
        packed: bytes | memoryview = self._codecs.compress(plain)
        if len(packed) >= len(plain):
            form, packed = _FORM_RAW, plain
        nonce = os.urandom(_NONCE_BYTES)
        blob = b"".join((form, nonce, self._aead.encrypt(nonce, packed, form + name)))
        return SealedChunk(name, blob, len(plain), is_open)

    def open(self, name: bytes, blob: bytes, *, is_named_again: bool = True) -> bytes:
        """Return the plain bytes of a sealed chunk.

        Args:
            is_named_again: whether the name is made again of the plain bytes, nearly half of the cost. Without it, that
                every byte and the name are as they were sealed is known from the tag, and not that the name was right.
        Raises:
            ArchiveCorrupt: any byte of name or blob is not as it was sealed, or the key is another home's.
        """
        form = blob[:1]
        if form not in (_FORM_ZSTD, _FORM_RAW):
            raise _corrupt(name, "is not a sealed chunk of a known form")
        try:
            plain = self._aead.decrypt(blob[1:_HEADER_BYTES], blob[_HEADER_BYTES:], form + name)
            if form == _FORM_ZSTD:
                plain = self._codecs.decompress(plain)
        except (InvalidTag, ValueError, zstandard.ZstdError) as error:
            raise _corrupt(name, "does not unseal") from error
        if is_named_again and self.name(plain) != name:
            raise _corrupt(name, "holds other bytes than its name says")
        return plain


def _corrupt(name: bytes, what: str) -> ArchiveCorrupt:
    return ArchiveCorrupt(f"chunk {name.hex()} {what}", chunk=name.hex())
