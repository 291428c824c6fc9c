"""The keys of a home: a random data key, stored only as sealed by a wrapping key, which can be replaced.

    keys/wrapping.key   {"version", "key_id", "key"}                0600: whoever reads it can open the archive
    keys/data.key       {"version", "wrapped_by", "nonce", "sealed"}   the data key, sealed by the wrapping key

Instead of in the first file the wrapping key may be in the keyring of the operating system (`"kept": "keyring"` in the
second). All other keys are derived from the data key.

Rotation makes a new wrapping key and seals the same data key again; no chunk is rewritten. While another wrapping key
takes its place there are two of them, and the new one lies in a file of its own; readers look in both places. Killed
anywhere, the home opens: the new wrapping key is durable before the one step that makes it the one in force (the data
key's file is replaced), and the old one goes after it. What is about to come or go is written down first
(`changing.json`), so that the next change deletes what was left. Nothing else replaces a file that exists.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recollect.archive import system_keyring
from recollect.archive.files import make_private_folder, write_errors
from recollect.errors import KeyUnavailable, RecollectError
from recollect.files import DRAFT_SUFFIX, create_file, move, sync_folder, write_file

KEY_BYTES = 32
WRAPPING_FILE = "wrapping.key"
DATA_FILE = "data.key"
KeyPlace = Literal["file", "keyring"]
"""Where a wrapping key is kept: beside the data key, or in the keyring of the operating system."""
_NONCE_BYTES = 12
_VERSION = 1
_VERSION_OF_KEYRING = 2
"""A Recollect that knows no keyring must say that it is too old, not that a file is damaged."""
_READS = 5
"""A reader may meet a change of keys half-way: it reads again, at most so often."""
_BOTH_FROM_BACKUP = "restore both files of the keys folder from the same backup"
_FROM_BACKUP = "restore the keys folder from a backup of this home; until then you can still search"


class WrappingKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key that seals the data key; plain data. key_id: 16 hex digits, random."""

    version: int
    key_id: str
    key: bytes

    def __repr__(self) -> str:
        return f"WrappingKey({self.key_id}, …)"


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The data key, sealed. wrapped_by: the id of the wrapping key; kept: where that is."""

    version: int
    wrapped_by: str
    nonce: bytes
    sealed: bytes
    kept: KeyPlace = "file"


_Kind = TypeVar("_Kind", WrappingKey, Envelope)


def new_wrapping_key() -> WrappingKey:
    """Return a random wrapping key."""
    return WrappingKey(version=_VERSION, key_id=os.urandom(8).hex(), key=os.urandom(KEY_BYTES))


def seal(data_key: bytes, wrapping: WrappingKey, kept: KeyPlace) -> Envelope:
    """Return the data key sealed by a wrapping key. Raises KeyUnavailable for a wrapping key of a wrong length."""
    nonce = os.urandom(_NONCE_BYTES)
    try:
        sealed = AESGCM(wrapping.key).encrypt(nonce, data_key, _associated(wrapping.key_id))
    except ValueError as error:
        raise KeyUnavailable(f"{WRAPPING_FILE} is damaged: {error}") from error
    version = _VERSION if kept == "file" else _VERSION_OF_KEYRING
    return Envelope(version=version, wrapped_by=wrapping.key_id, nonce=nonce, sealed=sealed, kept=kept)


def read_envelope(keys_dir: Path) -> Envelope:
    """Return the sealed data key. Raises KeyUnavailable: missing, unreadable, damaged, of a newer version."""
    return _checked(keys_dir / DATA_FILE, read_key_file(keys_dir / DATA_FILE, Envelope))


def open_data_key(keys_dir: Path) -> bytes:
    """Return the data key of a home. Never asks anybody anything.

    Raises:
        KeyUnavailable: a key file is missing, unreadable, damaged, of a newer version, or not the other's; the keyring
            is locked, absent, or doesn't have the key.
    """
    envelope = read_envelope(keys_dir)
    for _ in range(_READS):
        try:
            return unseal(keys_dir, envelope)
        except KeyUnavailable:
            again = read_envelope(keys_dir)
            if again == envelope:
                raise
            envelope = again
    return unseal(keys_dir, envelope)


def unseal(keys_dir: Path, envelope: Envelope) -> bytes:
    """Return the data key in an envelope. Raises KeyUnavailable."""
    wrapping = _wrapping_key(keys_dir, envelope)
    try:
        return AESGCM(wrapping.key).decrypt(envelope.nonce, envelope.sealed, _associated(envelope.wrapped_by))
    except (InvalidTag, ValueError) as error:
        raise KeyUnavailable(
            f"{keys_dir / DATA_FILE} does not unseal: it or its wrapping key is damaged", hint=_BOTH_FROM_BACKUP
        ) from error


def next_file(keys_dir: Path, key_id: str) -> Path:
    """Return the place of a wrapping key that is about to replace another one."""
    return keys_dir / f"wrapping.{key_id}.key"


def read_key_file(path: Path, kind: type[_Kind]) -> _Kind:
    """Return a decoded key file. Raises KeyUnavailable."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError as error:
        raise KeyUnavailable(f"the archive's key is missing: {path}", hint=_FROM_BACKUP) from error
    except OSError as error:
        raise KeyUnavailable(f"the archive's key cannot be read: {path}: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise KeyUnavailable(f"the archive's key file is damaged: {path}", hint=_FROM_BACKUP) from error


def publish_once(path: Path, value: msgspec.Struct) -> None:
    """Write `value` to `path`, whole and durable, unless the file exists. Raises DiskFull, ArchiveError."""
    with write_errors(path):
        create_file(path, msgspec.json.encode(value), durable=True)


def replace(path: Path, value: msgspec.Struct) -> None:
    """Write `value` to `path`, whole and durable, replacing any file. Raises DiskFull, ArchiveError."""
    with write_errors(path):
        write_file(path, msgspec.json.encode(value), durable=True)


def drafts(keys_dir: Path) -> list[Path]:
    """Return what a killed write left, also one of an earlier version: it may be a copy of a key."""
    patterns = (f"*{DRAFT_SUFFIX}", "*.key*.tmp", "*.json.tmp")
    return sorted(path for pattern in patterns for path in keys_dir.glob(pattern))


def _wrapping_key(keys_dir: Path, envelope: Envelope) -> WrappingKey:
    """Return the wrapping key that an envelope names. Raises KeyUnavailable."""
    if envelope.kept == "keyring":
        return WrappingKey(_VERSION, envelope.wrapped_by, system_keyring.read(envelope.wrapped_by))
    incoming = next_file(keys_dir, envelope.wrapped_by)
    try:
        wrapping = _checked(keys_dir / WRAPPING_FILE, read_key_file(keys_dir / WRAPPING_FILE, WrappingKey))
    except KeyUnavailable:
        if not incoming.exists():
            raise
        wrapping = _checked(incoming, read_key_file(incoming, WrappingKey))
    if wrapping.key_id != envelope.wrapped_by and incoming.exists():
        wrapping = _checked(incoming, read_key_file(incoming, WrappingKey))
    if wrapping.key_id != envelope.wrapped_by:
        raise KeyUnavailable(
            f"{keys_dir / WRAPPING_FILE} is not the key that seals {DATA_FILE}", hint=_BOTH_FROM_BACKUP
        )
    return wrapping


def _checked(path: Path, value: _Kind) -> _Kind:
    """Return a key file's value. Raises KeyUnavailable for one of a version that is not known."""
    known = _VERSION_OF_KEYRING if isinstance(value, Envelope) and value.kept == "keyring" else _VERSION
    if value.version != known:
        raise KeyUnavailable(f"{path} has version {value.version}, this Recollect knows {known}")
    return value


def _associated(key_id: str) -> bytes:
    return f"recollect data key 1 {key_id}".encode()


PENDING_FILE = "changing.json"


class KeyStatus(msgspec.Struct, frozen=True):
    """Which wrapping key seals a home's data key.

    key_id: its id, which reveals nothing about the key. kept: where. opens: whether it is readable now; problem, hint:
    why not. keyring: the system keyring's name for itself, empty without a usable one. is_unfinished: a change was
    interrupted; the home opens, and the next change deletes the leftovers.
    """

    key_id: str
    kept: KeyPlace
    opens: bool
    problem: str = ""
    hint: str = ""
    keyring: str = ""
    is_unfinished: bool = False


class KeyChange(msgspec.Struct, frozen=True):
    """A completed change of the wrapping key. notes: what could not be deleted yet, and will be next time."""

    key_id: str
    kept: KeyPlace
    key_id_before: str
    kept_before: KeyPlace
    notes: tuple[str, ...] = ()


class _KeptKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wrapping key that comes or goes."""

    key_id: str
    kept: KeyPlace


class _Pending(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What comes and goes in a change."""

    places: tuple[_KeptKey, ...]


def key_status(keys_dir: Path) -> KeyStatus:
    """Return what is known of a home's keys, from reading them now. Raises KeyUnavailable if there are none."""
    envelope = read_envelope(keys_dir)
    try:
        keyring = system_keyring.name()
    except KeyUnavailable:
        keyring = ""
    problem = hint = ""
    try:
        open_data_key(keys_dir)
    except KeyUnavailable as error:
        problem, hint = str(error), error.hint
    return KeyStatus(
        key_id=envelope.wrapped_by,
        kept=envelope.kept,
        opens=not problem,
        problem=problem,
        hint=hint,
        keyring=keyring,
        is_unfinished=os.path.lexists(keys_dir / PENDING_FILE),
    )


def change_wrapping(keys_dir: Path, kept: KeyPlace, *, is_shared: bool = False) -> KeyChange:
    """Seal the data key by a new wrapping key, kept where it is said, and take the old one away.

    is_shared: another home is sealed by the old one too, so it stays where it is.

    Raises:
        KeyUnavailable: the present key cannot be read, or the keyring doesn't take the new one. Nothing has changed.
        DiskFull, ArchiveError: a file cannot be written. The present key is still in force.
    """
    finish_change(keys_dir)
    before = read_envelope(keys_dir)
    data_key = open_data_key(keys_dir)
    if kept == "keyring":
        system_keyring.name()  # if there is none, nothing is begun that only a keyring could end
    wrapping = new_wrapping_key()
    old, new = _KeptKey(before.wrapped_by, before.kept), _KeptKey(wrapping.key_id, kept)
    replace(keys_dir / PENDING_FILE, _Pending((new,) if is_shared else (old, new)))
    try:
        _keep(keys_dir, wrapping, kept)
        replace(keys_dir / DATA_FILE, seal(data_key, wrapping, kept))
    except RecollectError:
        with suppress(RecollectError):  # the first error tells more
            finish_change(keys_dir)
        raise
    notes = finish_change(keys_dir)
    return KeyChange(wrapping.key_id, kept, before.wrapped_by, before.kept, notes)


def finish_change(keys_dir: Path) -> tuple[str, ...]:
    """Delete the leftovers of a change, finished or not; return notes on what could not be deleted. Does nothing
    without leftovers.

    Raises KeyUnavailable, DiskFull, ArchiveError.
    """
    with write_errors(keys_dir):
        for draft in drafts(keys_dir):
            draft.unlink()
    pending = keys_dir / PENDING_FILE
    if not os.path.lexists(pending):
        return ()
    try:
        places = msgspec.json.decode(pending.read_bytes(), type=_Pending).places
    except OSError as error:
        raise KeyUnavailable(f"{pending} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise KeyUnavailable(f"{pending} is damaged", hint="delete it: no key is in it") from error
    present = read_envelope(keys_dir)
    left: list[_KeptKey] = []
    notes: list[str] = []
    with write_errors(keys_dir):
        _settle_file(keys_dir, present)
        for place in places:
            if place.key_id == present.wrapped_by:
                continue
            try:
                _take_away(keys_dir, place)
            except KeyUnavailable as error:
                left.append(place)
                notes.append(f"the old key is still in the keyring ({error}); the next key rotation removes it")
        if left:
            replace(pending, _Pending(tuple(left)))
        else:
            pending.unlink()
        sync_folder(keys_dir)
    return tuple(notes)


def _keep(keys_dir: Path, wrapping: WrappingKey, kept: KeyPlace) -> None:
    if kept == "keyring":
        system_keyring.store(wrapping.key_id, wrapping.key)
    else:
        replace(next_file(keys_dir, wrapping.key_id), wrapping)


def _settle_file(keys_dir: Path, present: Envelope) -> None:
    """Give the wrapping key in force its usual name; the old one is gone by that."""
    incoming = next_file(keys_dir, present.wrapped_by)
    if present.kept == "file" and incoming.exists():
        move(incoming, keys_dir / WRAPPING_FILE, durable=True)


def _take_away(keys_dir: Path, place: _KeptKey) -> None:
    """Delete a wrapping key that is not in force, wherever it is. Raises OSError, KeyUnavailable."""
    if place.kept == "keyring":
        system_keyring.delete(place.key_id)
        return
    next_file(keys_dir, place.key_id).unlink(missing_ok=True)
    usual = keys_dir / WRAPPING_FILE
    with suppress(KeyUnavailable):  # not there, or not one that we could know to be the old one
        if read_key_file(usual, WrappingKey).key_id == place.key_id:
            usual.unlink()


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
