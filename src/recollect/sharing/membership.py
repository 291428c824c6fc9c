"""What a home keeps of sharing, each in one private file: its team and the repositories that it shares with it; what
this machine is called in shared folders, and the keys that it was told to remember."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TypeVar

import msgspec

from recollect.errors import StoreError, TeamRefused
from recollect.files import write_file
from recollect.model.team_messages import Level

NAME, FOLDER_NAME = "team.json", "sync-folder.json"
_Kept = TypeVar("_Kept", bound=msgspec.Struct)


class Membership(msgspec.Struct, frozen=True):
    """A membership. shares: the level of each repository that was named; nothing else is ever sent."""

    url: str
    token: str
    team: str
    person: str
    machine: str
    expires_at: int
    shares: dict[str, Level] = {}


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


def read_membership(home: Path) -> Membership:
    """Return the membership of a home. Raises TeamRefused if there is none, StoreError."""
    found = _read(home / NAME, Membership, hint="join the team again")
    if found is None:
        raise TeamRefused("this memory belongs to no team", hint="`recollect team join URL` with an invitation")
    return found


def read_folder_state(home: Path) -> FolderState:
    """Return what is kept of shared folders; a new machine's if there is nothing. Raises StoreError."""
    found = _read(home / FOLDER_NAME, FolderState, hint="remove it; this machine then sends its sessions again")
    return found or FolderState(secrets.token_hex(8))


def write_membership(home: Path, membership: Membership) -> None:
    """Keep a membership. Raises StoreError."""
    _write(home / NAME, msgspec.json.format(msgspec.json.encode(membership)))


def write_folder_state(home: Path, state: FolderState) -> None:
    """Keep what is known of shared folders, for its owner alone. Raises StoreError."""
    _write(home / FOLDER_NAME, msgspec.json.encode(state))


def remove_membership(home: Path) -> None:
    """Forget the team. Raises StoreError."""
    try:
        (home / NAME).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{home / NAME} cannot be removed: {error}") from error


def _read(path: Path, kind: type[_Kept], *, hint: str) -> _Kept | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(f"{path} cannot be read: {error}", hint=hint) from error


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, data, durable=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}") from error
