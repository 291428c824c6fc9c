"""Batches that lie in a folder which others can read and write: sealed with a key that comes from a passphrase.

    file = magic (8) · salt (16) · key check (16) · length of sealed head (4) · of sealed body (8) · head · body
    head, body = nonce (12) · AES-256-GCM(zstd(bytes)) · tag (16)

What stands before a sealed part is its associated data, so nothing can be put together of two batches. A nonce is a
keyed hash of what is sealed: the same bytes give the same file, whose name is the hash of its content.
"""

from __future__ import annotations

import os
import struct
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple

import zstandard
from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recollect.archive.envelope import KEY_BYTES
from recollect.errors import ArchiveCorrupt, KeyUnavailable

SUFFIX = ".batch"
SALT_BYTES = 16
_MAGIC = b"RCLSYNC1"
_CHECK_BYTES = 16
_FIELDS = struct.Struct(f"<8s{SALT_BYTES}s{_CHECK_BYTES}sIQ")
_NONCE_BYTES = 12
_NAME_BYTES = 16
_PASSES, _LANES, _MEMORY_KIB = 3, 4, 64 * 1024
"""Of Argon2id: what RFC 9106 recommends where memory is not plenty. Another choice is another magic."""
_MAX_HEAD_BYTES = 64 << 20
MAX_BATCH_BYTES = 512 << 20
"""A larger file is none of ours: it would be held whole."""
_ZSTD_LEVEL = 3


class BatchKey:
    """The key of one passphrase and one salt."""

    def __init__(self, salt: bytes, master: bytes) -> None:
        self.salt = salt
        self.master = master
        """What the passphrase and the salt give. Never shown."""
        self._aead = AESGCM(_derived(master, b"recollect/1/sync batches"))
        self._nonce_key = _derived(master, b"recollect/1/sync nonces")
        self.check = _derived(master, b"recollect/1/sync check")[:_CHECK_BYTES]
        """Tells whether a batch was sealed with this key, and nothing else."""

    @classmethod
    def of_passphrase(cls, passphrase: str, salt: bytes) -> BatchKey:
        """Make the key; takes 64 MiB and a moment. Raises KeyUnavailable where the system has no Argon2id."""
        try:
            kdf = Argon2id(salt=salt, length=KEY_BYTES, iterations=_PASSES, lanes=_LANES, memory_cost=_MEMORY_KIB)
        except UnsupportedAlgorithm as error:
            raise KeyUnavailable(
                "this system's OpenSSL has no Argon2id", hint="pip install --upgrade cryptography"
            ) from error
        return cls(salt, kdf.derive(passphrase.encode("utf-8", "surrogatepass")))

    def sealed(self, head: bytes, body: bytes) -> bytes:
        """Return the content of a batch's file. The same head and body give the same bytes."""
        packed = [zstandard.compress(part, _ZSTD_LEVEL) for part in (head, body)]
        lengths = [_NONCE_BYTES + len(part) + 16 for part in packed]
        start = _FIELDS.pack(_MAGIC, self.salt, self.check, *lengths)
        sealed_head = self._seal(packed[0], start)
        return start + sealed_head + self._seal(packed[1], start + sealed_head)

    def _seal(self, plain: bytes, before: bytes) -> bytes:
        nonce = blake2b(
            plain, digest_size=_NONCE_BYTES, key=self._nonce_key, salt=blake2b(before, digest_size=16).digest()
        )
        return nonce.digest() + self._aead.encrypt(nonce.digest(), plain, before)

    def opened(self, sealed: bytes, before: bytes) -> bytes:
        """Return what a part holds. Raises ArchiveCorrupt for one that was changed."""
        try:
            plain = self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], before)
            with zstandard.ZstdDecompressor().stream_reader(plain) as reader:
                found = reader.read(MAX_BATCH_BYTES + 1)
        except (InvalidTag, ValueError, zstandard.ZstdError) as error:
            raise ArchiveCorrupt("it was changed after it was sealed") from error
        if len(found) > MAX_BATCH_BYTES:
            raise ArchiveCorrupt("it is larger than any batch")
        return found


class BatchStart(NamedTuple):
    """The open part of a batch's file. raw: its bytes."""

    raw: bytes
    salt: bytes
    check: bytes
    head_bytes: int
    body_bytes: int

    @property
    def size(self) -> int:
        """How long the file is."""
        return len(self.raw) + self.head_bytes + self.body_bytes


def batch_name(content: bytes) -> str:
    """Return the name of the file with this content."""
    return blake2b(content, digest_size=_NAME_BYTES).hexdigest() + SUFFIX


def is_batch_name(name: str) -> bool:
    """Return whether a file could be a batch: copies that a sync service made beside one are not."""
    stem = name.removesuffix(SUFFIX)
    return stem != name and len(stem) == 2 * _NAME_BYTES and all(c in "0123456789abcdef" for c in stem)


def read_start(file: BinaryIO) -> BatchStart:
    """Read the open part of a batch. Raises ArchiveCorrupt where it is none, or not all of it is there; OSError."""
    raw = file.read(_FIELDS.size)
    if len(raw) < _FIELDS.size or not raw.startswith(_MAGIC):
        raise ArchiveCorrupt("it is no batch, or of a newer Recollect" if raw else "it is empty")
    _magic, salt, check, head_bytes, body_bytes = _FIELDS.unpack(raw)
    start = BatchStart(raw, salt, check, head_bytes, body_bytes)
    if head_bytes > _MAX_HEAD_BYTES or start.size > MAX_BATCH_BYTES:
        raise ArchiveCorrupt("it is larger than any batch")
    size = os.fstat(file.fileno()).st_size
    if size != start.size:
        raise ArchiveCorrupt(f"{size:,} of its {start.size:,} bytes are here")
    return start


def read_head(file: BinaryIO, start: BatchStart, key: BatchKey) -> bytes:
    """Read what a batch says of itself. Raises ArchiveCorrupt, OSError."""
    return key.opened(file.read(start.head_bytes), start.raw)


def read_body(path: Path, key: BatchKey) -> bytes:
    """Read what a batch holds. Raises ArchiveCorrupt where a byte of the file is not as it was written; OSError."""
    data = path.read_bytes()
    if batch_name(data) != path.name:
        raise ArchiveCorrupt("its content is not what its name says")
    head_bytes = _FIELDS.unpack(data[: _FIELDS.size])[3]
    split = _FIELDS.size + head_bytes
    return key.opened(data[split:], data[:split])


def _derived(master: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(master)
