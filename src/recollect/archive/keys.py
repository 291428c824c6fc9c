"""The keys of a home: a random data key, stored only as sealed by a wrapping key.

    keys/wrapping.key   {"version", "key_id", "key"}                0600: whoever reads it can open the archive
    keys/data.key       {"version", "wrapped_by", "nonce", "sealed"}   the data key, sealed by the wrapping key

Instead of in the first file the wrapping key may be in the keyring of the operating system (`"kept": "keyring"` in the
second). Rotation makes a new wrapping key and seals the same data key again; no chunk is rewritten
(`recollect.archive.envelope`). All other keys are derived from the data key. Nothing here ever replaces a file
that exists.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import msgspec
import zstandard
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recollect.archive.envelope import (
    DATA_FILE,
    KEY_BYTES,
    WRAPPING_FILE,
    WrappingKey,
    new_wrapping_key,
    open_data_key,
    publish_once,
    read_key_file,
    seal,
)
from recollect.archive.files import make_private_folder
from recollect.archive.packs import SealedChunk
from recollect.errors import ArchiveCorrupt


class HomeKeys(msgspec.Struct, frozen=True):
    """The keys of one home, 32 bytes each; plain data, cheap to send to a worker process. Never shown.

    data_key seals chunks, name_key names them, marker_key makes the markers that replace secrets, journal_key seals the
    journal, forget_key makes the tombstones of what was forgotten.
    """

    data_key: bytes
    name_key: bytes
    marker_key: bytes
    journal_key: bytes
    forget_key: bytes

    def __repr__(self) -> str:
        return "HomeKeys(…)"


def home_keys(data_key: bytes) -> HomeKeys:
    """Derive every key of a home from its data key."""
    return HomeKeys(
        data_key=data_key,
        name_key=_derive(data_key, b"recollect/1/chunk names"),
        marker_key=_derive(data_key, b"recollect/1/secret markers"),
        journal_key=_derive(data_key, b"recollect/1/journal"),
        forget_key=_derive(data_key, b"recollect/1/tombstones"),
    )


def load_keys(keys_dir: Path) -> HomeKeys:
    """Return the keys of an existing home. Never prompts, wherever the wrapping key is kept.

    Raises:
        KeyUnavailable: a key file is missing, unreadable, damaged, of a newer version, or does not fit the other one;
            or the system keyring has the wrapping key and cannot return it.
    """
    return home_keys(open_data_key(keys_dir))


def load_or_create_keys(keys_dir: Path, *, data_key: bytes = b"") -> HomeKeys:
    """Return the keys of a home, making them on its first use. data_key: what a home is to have that others are like.

    Safe for several processes at once: whoever publishes a file first wins, and all return what is on disk. The
    wrapping key is durable before the data key that it seals, and it is never made again beside an existing one.

    Raises:
        KeyUnavailable: keys exist and cannot be loaded.
        DiskFull, ArchiveError: they cannot be written.
    """
    if not os.path.lexists(keys_dir / DATA_FILE):
        make_private_folder(keys_dir)
        publish_once(keys_dir / WRAPPING_FILE, new_wrapping_key())
        wrapping = read_key_file(keys_dir / WRAPPING_FILE, WrappingKey)
        publish_once(keys_dir / DATA_FILE, seal(data_key or os.urandom(KEY_BYTES), wrapping, "file"))
    return load_keys(keys_dir)


def archives_key(keys: HomeKeys) -> bytes:
    """Return the data key of memories that a bulk import makes for a while: its markers say nothing of this home's."""
    return _derive(keys.data_key, b"recollect/1/imported archives")


def _derive(data_key: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(data_key)


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
