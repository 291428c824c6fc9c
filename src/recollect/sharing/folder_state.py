"""What this machine is called in shared folders, and the keys that it was told to remember: one private file."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from recollect.errors import StoreError
from recollect.files import write_file

NAME = "sync-folder.json"


class FolderState(msgspec.Struct, frozen=True):
    """machine: 16 hex digits, drawn once. applied: a hash of the other machines' tombstones that were applied last; ""
    where they are to be applied again. keys: what the passphrase gave, by salt (hex), where they are remembered.
    folder: with which the daemon then syncs, under the name `name`."""

    machine: str
    applied: str = ""
    keys: dict[str, bytes] = {}
    folder: str = ""
    name: str = ""

    def __repr__(self) -> str:
        return f"FolderState({self.machine}, …)"


def read_state(home: Path) -> FolderState:
    """Return the state of a home; a new one if there is none. Raises StoreError."""
    try:
        return msgspec.json.decode((home / NAME).read_bytes(), type=FolderState)
    except FileNotFoundError:
        return FolderState(secrets.token_hex(8))
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"{home / NAME} cannot be read: {error}", hint="remove it; this machine then sends its sessions again"
        ) from error


def write_state(home: Path, state: FolderState) -> None:
    """Keep the state, for its owner alone. Raises StoreError."""
    try:
        write_file(home / NAME, msgspec.json.encode(state), durable=True)
    except OSError as error:
        raise StoreError(f"{home / NAME} cannot be written: {error}") from error
