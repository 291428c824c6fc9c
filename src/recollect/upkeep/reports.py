"""What verify, doctor and export say."""

from __future__ import annotations

from typing import Literal

import msgspec


class LedgerDefect(msgspec.Struct, frozen=True):
    """One thing that is not as it should be, with its place."""

    code: str
    detail: str
    source_id: str = ""
    path: str = ""
    revision: int = 0
    record_index: int = -1
    offset_bytes: int = -1
    is_loss: bool = False
    """True: stored bytes are missing or damaged. False: the agent wrote something unreadable; it is kept."""


class SourceLedger(msgspec.Struct, frozen=True):
    """The completeness ledger of one source: what came in and what came out."""

    source_id: str
    agent: str
    path: str
    session_uid: str
    revisions: int
    bytes_in: int
    bytes_out: int
    records_in: int
    records_out: int
    events: int
    unknown: int
    replays: int
    defects: int
    open_tail_bytes: int
    is_ok: bool


class VerifyReport(msgspec.Struct, frozen=True):
    """The result of `verify`. ok: no byte or record that was stored is missing or damaged."""

    ok: bool
    sources: int
    revisions: int
    records: int
    events: int
    unknown: int
    bytes: int
    chunks: int
    defects: tuple[LedgerDefect, ...]
    ledgers: tuple[SourceLedger, ...]
    seconds: float
    nodes: int = 0
    """Nodes whose evidence was read again."""


class Check(msgspec.Struct, frozen=True):
    """One named check that doctor ran just now."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    hint: str = ""
    details: tuple[str, ...] = ()
    """Everything that `detail` sums up, where that is a long list."""


class DoctorReport(msgspec.Struct, frozen=True):
    """Health, from checks actually run. ok: none failed."""

    ok: bool
    checks: tuple[Check, ...]


class DistillHealth(msgspec.Struct, frozen=True):
    """How far distilling is, in sessions. unfit: analysed by other rules than those in force. waited_s: how long the
    longest waiting one could have been analysed, 0 without one."""

    analysed: int
    waiting: int
    under_way: int
    unfit: int
    waited_s: float


ExportFormat = Literal["raw", "events", "claude-jsonl", "markdown", "nodes", "prov"]


class Exported(msgspec.Struct, frozen=True):
    """A file that export wrote."""

    path: str
    session_uid: str
    format: ExportFormat
    bytes: int
    holes: int = 0
