"""Tombstones: keyed hashes of what was forgotten. Without the home's key they reveal nothing.

Kinds: `session` (its uid), `event` (session and event id, where the agent gave one: the same thing with other bytes),
`record` (the beginning of the hash of its exact bytes, in its session; of what a pattern found, in any). `excluded` is
a session's uid too, of a repository that the configuration excludes: it goes when the configuration changes, and is
kept in the database alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal, Protocol

import msgspec

Kind = Literal["session", "event", "record", "excluded"]
ID_BYTES = 16
SHA_BYTES = 8
"""Of a record's SHA-256: as much as the store keeps of every event's."""


class Stone(Protocol):
    """A tombstone as the store gives it."""

    @property
    def id(self) -> bytes: ...
    @property
    def kind(self) -> str: ...


class Forgotten(msgspec.Struct, frozen=True):
    """What must not be ingested (again). Plain data: workers get it with their keys."""

    key: bytes = b""
    sessions: frozenset[bytes] = frozenset()
    events: frozenset[bytes] = frozenset()
    records: frozenset[bytes] = frozenset()

    @classmethod
    def of(cls, key: bytes, stones: Iterable[Stone]) -> Forgotten:
        """Return what tombstones say. key: `HomeKeys.forget_key`."""
        kinds: dict[str, set[bytes]] = {"session": set(), "event": set(), "record": set()}
        for stone in stones:
            kinds["session" if stone.kind == "excluded" else stone.kind].add(stone.id)
        return cls(key, *(frozenset(kinds[kind]) for kind in ("session", "event", "record")))

    @property
    def is_empty(self) -> bool:
        """Nothing was ever forgotten."""
        return not (self.sessions or self.events or self.records)

    def has_session(self, uid: str) -> bool:
        """Return whether a session was forgotten, or is excluded."""
        return bool(self.sessions) and session_stone(self.key, uid) in self.sessions

    def has_event(self, uid: str, event_id: str) -> bool:
        """Return whether an event of a session was forgotten by its agent's id."""
        return bool(self.events) and event_stone(self.key, uid, event_id) in self.events

    def has_record(self, uid: str, sha256: bytes) -> bool:
        """Return whether a record with these exact bytes was forgotten. sha256: whole, or its first bytes."""
        return bool(self.records) and (
            record_stone(self.key, uid, sha256) in self.records or record_stone(self.key, "", sha256) in self.records
        )


NOTHING = Forgotten()


def session_stone(key: bytes, uid: str) -> bytes:
    """Return the id of a session's tombstone."""
    return _hash(key, b"session", uid.encode("utf-8", "surrogatepass"))


def event_stone(key: bytes, uid: str, event_id: str) -> bytes:
    """Return the id of the tombstone of an event that its agent named."""
    return _hash(key, b"event", f"{uid}\0{event_id}".encode("utf-8", "surrogatepass"))


def record_stone(key: bytes, uid: str, sha256: bytes) -> bytes:
    """Return the id of the tombstone of a record's exact bytes. uid: of its session; "": in any session.

    Most belong to one session: a short record may be the same in many.
    """
    return _hash(key, b"record", sha256[:SHA_BYTES] + uid.encode("utf-8", "surrogatepass"))


def source_name(key: bytes, agent: str, role: str, path: str) -> bytes:
    """Return the keyed name of a source of which nothing is ingested."""
    return _hash(key, b"source", f"{agent}\0{role}\0{path}".encode("utf-8", "surrogatepass"))


def state_name(key: bytes, state: str) -> bytes:
    """Return the keyed hash of the state that a source was seen in."""
    return _hash(key, b"state", state.encode("utf-8", "surrogatepass"))


def is_named(event_id: str) -> bool:
    """Return whether an event has an id of its agent; other ids are made from the record's bytes (`model.ids`)."""
    return not event_id.startswith("r-")


def _hash(key: bytes, purpose: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=ID_BYTES, key=key, person=purpose).digest()
