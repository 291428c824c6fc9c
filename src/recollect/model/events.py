"""The normalised event, and where its bytes are."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.model.payloads import Payload

SCHEMA_VERSION = 1

TsQuality = Literal["exact", "inferred", "missing"]
Role = Literal["user", "assistant", "tool", "system"]


class SourceLocation(msgspec.Struct, frozen=True, gc=False):
    """Where the exact bytes of a record are.

    offset_bytes and length_bytes lie inside `revision` of the source; record_sha256 is the hex hash of
    exactly those bytes (for a JSONL line: without the line terminator).
    """

    source_id: str
    revision: int
    offset_bytes: int
    length_bytes: int
    record_index: int
    record_sha256: str


class Event(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One normalised thing that happened in a session.

    (session_uid, event_id, part) is unique and stable; seq is for display and citation only. ts is in UTC microseconds.
    is_undone: a rewind undid it (`model.undone`); it stays stored but no longer counts.
    """

    session_uid: str
    seq: int
    event_id: str
    part: int
    kind: str
    payload: Payload
    location: SourceLocation
    parent_id: str | None = None
    ts: int | None = None
    ts_quality: TsQuality = "missing"
    role: Role = "system"
    turn_index: int = 0
    is_sidechain: bool = False
    summary: str = ""
    replaced_by: str | None = None
    is_undone: bool = False
    schema_version: int = SCHEMA_VERSION


class Draft(msgspec.Struct, frozen=True, gc=False):
    """One event as a parser gives it; the pipeline adds place, number, turn and summary.

    native_id None: the event is named by a hash of its record. session None: the source's session; otherwise the native
    id of another session (prompt histories). replaces: (native_id, part) of an earlier event of the session that this
    one supersedes (a longer streaming snapshot). follows: the native id of the event that this one comes after, "" for
    the beginning, where a document's order is not the order of time. Events that follow the same one keep their order.
    """

    payload: Payload
    role: Role = "system"
    ts: int | None = None
    ts_quality: TsQuality = "missing"
    native_id: str | None = None
    parent_id: str | None = None
    is_sidechain: bool = False
    session: str | None = None
    replaces: tuple[str, int] | None = None
    follows: str | None = None
