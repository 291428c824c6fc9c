"""What the batches of a shared folder hold: revisions of sources as one machine archived them. Pure data."""

from __future__ import annotations

import msgspec

from recollect.model.ids import source_id as id_of_source

VERSION = 1
_FOREIGN = "@"


class SentRevision(msgspec.Struct, frozen=True, array_like=True):
    """What a batch says of a part of a revision: from_bytes..bytes_seen, where both are ends of chunks.

    closed_bytes: the end of the last closed chunk, from which a later part goes on; committed_bytes: of the last whole
    record. gone_bytes: how many bytes of the part had been forgotten when it was sent. sessions: uids of what it tells.
    """

    source_id: str
    revision: int
    agent: str
    role: str
    key: str
    path: str
    container: str
    session: str
    relative: str
    lane: int
    from_bytes: int
    closed_bytes: int
    bytes_seen: int
    committed_bytes: int
    gone_bytes: int
    sessions: tuple[str, ...]


class SentHole(msgspec.Struct, frozen=True, array_like=True):
    """What was deleted of a revision, as `archive.packs.Hole`."""

    offset: int
    length: int
    records: int
    turn: int
    reason: str
    removed_at: int


class SentRemoval(msgspec.Struct, frozen=True, array_like=True):
    """What the bytes of a revision with holes no longer tell, as `archive.journal.Removal`. state: opened."""

    holes: tuple[SentHole, ...]
    committed_bytes: int
    records: int
    is_newest: bool
    state: bytes
    parser_version: int
    turn_index: int
    trail: bytes


class SentBytes(msgspec.Struct, frozen=True, array_like=True):
    """The bytes of a part, chunk by chunk: what the chunk holds, or how long the hole in its place is; and whether it
    is of the open tail. observations: up to which byte the revision was seen when."""

    chunks: tuple[tuple[bytes | int, bool], ...]
    observations: tuple[tuple[int, int], ...]
    marks: bytes
    removal: SentRemoval | None = None


class SentTombstone(msgspec.Struct, frozen=True, array_like=True):
    """A keyed hash of what the machine forgot."""

    id: bytes
    kind: str
    forgotten_at: int


class BatchHead(msgspec.Struct, frozen=True):
    """What a batch says of itself. machine: an id; name: what people call it. forget_key: of the machine's tombstones,
    without which nobody could tell what they mean."""

    version: int
    machine: str
    name: str
    revisions: tuple[SentRevision, ...] = ()
    forget_key: bytes = b""
    tombstones: tuple[SentTombstone, ...] = ()


def foreign_key(machine: str, key: str) -> str:
    """Return the key of a source that another machine has."""
    return f"{_FOREIGN}{machine}/{key}"


def is_foreign(key: str) -> bool:
    """Return whether a source is another machine's. No agent's parser makes such a key."""
    return key.startswith(_FOREIGN) and key[17:18] == "/"


def foreign_source_id(machine: str, sent: SentRevision) -> str:
    """Return the id that another machine's source has here: the same whenever, and in whatever order, it comes."""
    return id_of_source(sent.agent, foreign_key(machine, sent.source_id), 0)
