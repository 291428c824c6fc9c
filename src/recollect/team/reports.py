"""What `recollect team` prints. Its schemas are also shown where the driver of the database is not installed."""

from __future__ import annotations

import msgspec

from recollect.model.team_messages import TeamRole


class TeamMade(msgspec.Struct, frozen=True):
    """A new team. server_url: what `team serve` takes, with a password where it is a new one. code: the first owner's
    invitation."""

    team: str
    person: str
    code: str
    server_url: str


class Invitation(msgspec.Struct, frozen=True):
    """A code that lets one machine of a person join, once. days: how long."""

    person: str
    role: TeamRole
    code: str
    days: int


class DatabaseView(msgspec.Struct, frozen=True):
    """What a team's database holds."""

    team: str
    schema_version: int
    members: int
    machines: int
    sessions: int
    events: int


class BulkReport(msgspec.Struct):
    """What an import came to. machine: that owns the sessions. unnamed: sessions of no repository, which cannot be
    shared. left_out: sources that only repeat others. failed: parts that could not be read, and why."""

    machine: str
    level: str
    parts: int
    bytes: int = 0
    sessions: int = 0
    events: int = 0
    unnamed: int = 0
    left_out: int = 0
    seconds: float = 0.0
    skipped: list[str] = []
    failed: list[str] = []
