"""The keys of a home: a random data key, kept on disk only as sealed by a wrapping key.

    keys/wrapping.key   {"version", "key_id", "key"}                0600: whoever reads it can open the archive
    keys/data.key       {"version", "wrapped_by", "nonce", "sealed"}   the data key, sealed by the wrapping key

Instead of in the first file the wrapping key may be in the keyring of the operating system (`"kept": "keyring"` in the
second). Rotation makes a new wrapping key and seals the same data key again; no chunk is rewritten
(`recollect.archive.wrapping.changing`). All other keys are derived from the data key. Nothing here ever replaces a file
that exists.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recollect.archive.files import make_private_folder
from recollect.archive.wrapping.envelope import (
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


class HomeKeys(msgspec.Struct, frozen=True):
    """The keys of one home, 32 bytes each; plain data, cheap to send to a worker process. Never shown.

    data_key seals chunks, name_key names them, marker_key makes the markers that stand for secrets, journal_key
    seals the journal, forget_key makes the tombstones of what was forgotten.
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
    """Return the keys of an existing home. Never asks anybody anything, whatever keeps the wrapping key.

    Raises:
        KeyUnavailable: a key file is missing, unreadable, damaged, of a newer version, or not the other's; or the
            system's keyring has the wrapping key and cannot give it.
    """
    return home_keys(open_data_key(keys_dir))


def load_or_create_keys(keys_dir: Path) -> HomeKeys:
    """Return the keys of a home, making them on its first use.

    Safe for several processes at once: whoever publishes a file first wins, and all return what is on disk. The
    wrapping key is durable before the data key that it seals, and it is never made anew beside an existing one.

    Raises:
        KeyUnavailable: keys exist and cannot be loaded.
        DiskFull, ArchiveError: they cannot be written.
    """
    if not os.path.lexists(keys_dir / DATA_FILE):
        make_private_folder(keys_dir)
        publish_once(keys_dir / WRAPPING_FILE, new_wrapping_key())
        wrapping = read_key_file(keys_dir / WRAPPING_FILE, WrappingKey)
        publish_once(keys_dir / DATA_FILE, seal(secrets.token_bytes(KEY_BYTES), wrapping, "file"))
    return load_keys(keys_dir)


def _derive(data_key: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(data_key)
