"""Replaces the wrapping key: another key, another place for it, or both.

The data key stays, so no chunk is rewritten. Killed anywhere, the home opens: the new wrapping key is durable before
the one step that makes it the one in force (the data key's file is replaced), and the old one goes after it. What
is about to come or go is written down first (`changing.json`), so that the next change deletes what was left.
One change at a time: who calls this holds a lock.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.archive import system_keyring
from recollect.archive.envelope import (
    DATA_FILE,
    WRAPPING_FILE,
    Envelope,
    KeyPlace,
    WrappingKey,
    drafts,
    new_wrapping_key,
    next_file,
    open_data_key,
    read_envelope,
    read_key_file,
    replace,
    seal,
)
from recollect.archive.files import write_errors
from recollect.errors import KeyUnavailable, RecollectError
from recollect.files import move, sync_folder

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
