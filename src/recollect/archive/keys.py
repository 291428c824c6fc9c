"""The keys of a home: a random data key, kept on disk only as sealed by a wrapping key.

    keys/wrapping.key   {"version", "key_id", "key"}                0600: whoever reads it can open the archive
    keys/data.key       {"version", "wrapped_by", "nonce", "sealed"}   the data key, sealed by the wrapping key

Rotation makes a new wrapping key and seals the same data key again; no chunk is rewritten. All other keys are
derived from the data key. Nothing here ever replaces a file that exists.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recollect.archive.files import make_private_folder, sync_folder, write_all, write_error
from recollect.errors import KeyUnavailable

KEY_BYTES = 32
_NONCE_BYTES = 12
_VERSION = 1
_WRAPPING_FILE = "wrapping.key"
_DATA_FILE = "data.key"
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES})


class HomeKeys(msgspec.Struct, frozen=True):
    """The keys of one home, 32 bytes each; plain data, cheap to send to a worker process. Never shown.

    data_key seals chunks, name_key names them, marker_key makes the markers that stand for secrets, journal_key
    seals the journal.
    """

    data_key: bytes
    name_key: bytes
    marker_key: bytes
    journal_key: bytes

    def __repr__(self) -> str:
        return "HomeKeys(…)"


class _WrappingKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    key_id: str
    key: bytes


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    wrapped_by: str
    nonce: bytes
    sealed: bytes


_Kind = TypeVar("_Kind", _WrappingKey, _Envelope)


def home_keys(data_key: bytes) -> HomeKeys:
    """Derive every key of a home from its data key."""
    return HomeKeys(
        data_key=data_key,
        name_key=_derive(data_key, b"recollect/1/chunk names"),
        marker_key=_derive(data_key, b"recollect/1/secret markers"),
        journal_key=_derive(data_key, b"recollect/1/journal"),
    )


def load_keys(keys_dir: Path) -> HomeKeys:
    """Return the keys of an existing home.

    Raises:
        KeyUnavailable: a key file is missing, unreadable, damaged, of a newer version, or not the other's.
    """
    envelope = _read(keys_dir / _DATA_FILE, _Envelope)
    wrapping = _read(keys_dir / _WRAPPING_FILE, _WrappingKey)
    for name, version in ((_DATA_FILE, envelope.version), (_WRAPPING_FILE, wrapping.version)):
        if version != _VERSION:
            raise KeyUnavailable(f"{keys_dir / name} has version {version}, this Recollect knows {_VERSION}")
    if envelope.wrapped_by != wrapping.key_id:
        raise KeyUnavailable(
            f"{keys_dir / _WRAPPING_FILE} is not the key that seals {_DATA_FILE}",
            hint="restore both files of the keys folder from the same backup",
        )
    try:
        data_key = AESGCM(wrapping.key).decrypt(envelope.nonce, envelope.sealed, _associated(envelope.wrapped_by))
    except (InvalidTag, ValueError) as error:
        raise KeyUnavailable(
            f"{keys_dir / _DATA_FILE} does not unseal: it or {_WRAPPING_FILE} is damaged",
            hint="restore both files of the keys folder from the same backup",
        ) from error
    return home_keys(data_key)


def load_or_create_keys(keys_dir: Path) -> HomeKeys:
    """Return the keys of a home, making them on its first use.

    Safe for several processes at once: whoever publishes a file first wins, and all return what is on disk. The
    wrapping key is durable before the data key that it seals, and it is never made anew beside an existing one.

    Raises:
        KeyUnavailable: keys exist and cannot be loaded.
        DiskFull, ArchiveError: they cannot be written.
    """
    if not os.path.lexists(keys_dir / _DATA_FILE):
        make_private_folder(keys_dir)
        _publish_once(
            keys_dir / _WRAPPING_FILE,
            _WrappingKey(version=_VERSION, key_id=secrets.token_hex(8), key=secrets.token_bytes(KEY_BYTES)),
        )
        wrapping = _read(keys_dir / _WRAPPING_FILE, _WrappingKey)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        try:
            sealed = AESGCM(wrapping.key).encrypt(nonce, secrets.token_bytes(KEY_BYTES), _associated(wrapping.key_id))
        except ValueError as error:
            raise KeyUnavailable(f"{keys_dir / _WRAPPING_FILE} is damaged: {error}") from error
        _publish_once(
            keys_dir / _DATA_FILE,
            _Envelope(version=_VERSION, wrapped_by=wrapping.key_id, nonce=nonce, sealed=sealed),
        )
    return load_keys(keys_dir)


def _derive(data_key: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(data_key)


def _associated(key_id: str) -> bytes:
    return f"recollect data key {_VERSION} {key_id}".encode()


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError as error:
        raise KeyUnavailable(
            f"the archive's key is missing: {path}", hint="restore the keys folder from a backup of this home"
        ) from error
    except OSError as error:
        raise KeyUnavailable(f"the archive's key cannot be read: {path}: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise KeyUnavailable(
            f"the archive's key file is damaged: {path}", hint="restore the keys folder from a backup of this home"
        ) from error


def _publish_once(path: Path, value: msgspec.Struct) -> None:
    """Put `value` at `path`, whole and durable, unless something is there already."""
    if os.path.lexists(path):
        return
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        _write_new(draft, msgspec.json.encode(value))
        _move_if_absent(draft, path)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(error, path) from error
    finally:
        draft.unlink(missing_ok=True)


def _move_if_absent(draft: Path, path: Path) -> None:
    """Give `draft` its final name unless that is taken, without a moment in which the name holds half a file."""
    if os.name == "nt":
        with suppress(FileExistsError):
            draft.rename(path)  # refuses an existing target there, unlike elsewhere
        return
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # A file system without hard links (FAT, some network mounts). Still never two winners; only, who reads in
        # the moment between creating and writing finds a damaged file, and tries again.
        with suppress(FileExistsError):
            _write_new(path, draft.read_bytes())


def _write_new(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
