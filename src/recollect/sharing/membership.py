"""This memory's team and shared repositories: one private file in the home."""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.errors import StoreError, TeamRefused
from recollect.files import write_file
from recollect.model.team_messages import Level

NAME = "team.json"


class Membership(msgspec.Struct, frozen=True):
    """A membership. shares: the level of each repository that was named; nothing else is ever sent."""

    url: str
    token: str
    team: str
    person: str
    machine: str
    expires_at: int
    shares: dict[str, Level] = {}


def read_membership(home: Path) -> Membership:
    """Return the membership of a home. Raises TeamRefused if there is none, StoreError."""
    try:
        return msgspec.json.decode((home / NAME).read_bytes(), type=Membership)
    except FileNotFoundError:
        raise TeamRefused(
            "this memory belongs to no team", hint="`recollect team join URL` with an invitation"
        ) from None
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(f"{home / NAME} cannot be read: {error}", hint="join the team again") from error


def write_membership(home: Path, membership: Membership) -> None:
    """Keep a membership. Raises StoreError."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(home / NAME, msgspec.json.format(msgspec.json.encode(membership)), durable=True)
    except OSError as error:
        raise StoreError(f"{home / NAME} cannot be written: {error}") from error


def remove_membership(home: Path) -> None:
    """Forget the team. Raises StoreError."""
    try:
        (home / NAME).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{home / NAME} cannot be removed: {error}") from error
