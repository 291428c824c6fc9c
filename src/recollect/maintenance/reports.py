"""Result types of verify, doctor and export."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.model.records import LedgerDefect


class SourceLedger(msgspec.Struct, frozen=True):
    """The completeness ledger of one source: input and output."""

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
    hole_bytes: int = 0
    """Bytes that came in and were deleted on purpose: not in bytes_out, while their records are in records_out."""


class DeepDifference(msgspec.Struct, frozen=True):
    """One thing that is not what it is derived from. what: its name; detail: how it differs. No content."""

    what: str
    detail: str


MAX_DIFFERENCES = 200
"""Told one by one of each part; the rest is counted."""


class DeepPart(msgspec.Struct):
    """One part of `verify --deep`. checked: how many things were compared; skipped: evicted, or not due; count: how
    many differ, the first of which are in `differences`.
    """

    name: str
    ok: bool = True
    checked: int = 0
    skipped: int = 0
    count: int = 0
    differences: list[DeepDifference] = []
    notes: list[str] = []

    def differs(self, what: str, detail: str) -> None:
        """Take note of a difference. what: the name of the thing: a uid, a citation, a shard."""
        self.ok = False
        self.count += 1
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(DeepDifference(what, detail))


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
    nodes_without_raw: int = 0
    """Of these, how many rest on bytes that were deleted on purpose. No defect."""
    evicted_bytes: int = 0
    """Bytes that retention took away after their session was analysed. Not in `bytes`, and never missing."""
    forgotten_bytes: int = 0
    lost_bytes: int = 0
    """Bytes that retention had to delete before their session was analysed: reported as `data_loss`."""
    deep: tuple[DeepPart, ...] = ()
    """With `--deep`: what is derived, held against what it is derived from, part by part."""


class Check(msgspec.Struct, frozen=True):
    """One named check that doctor ran just now."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    hint: str = ""
    details: tuple[str, ...] = ()
    """Everything that `detail` sums up, where that is a long list."""
    id: str = ""
    """Which check it is: stays the same over versions, and names no file or agent."""


class Fix(msgspec.Struct, frozen=True):
    """One thing that `doctor --fix` does, told before it is done. id: of the check. state: would: with `--dry-run`."""

    id: str
    does: str
    state: Literal["would", "done", "failed"]
    detail: str = ""


class DaemonSeen(msgspec.Struct, frozen=True):
    """A daemon as seen from outside. pid 0: none is at work. is_stale: one that was killed left its card behind.

    no_http: why it serves no MCP and no page, as it says itself; "" where it does, or does not answer. no_socket: why
    hooks and reads cannot ask it, "" where they can.
    """

    pid: int = 0
    version: str = ""
    is_stale: bool = False
    no_http: str = ""
    no_socket: str = ""


class DoctorReport(msgspec.Struct, frozen=True):
    """Health, from checks actually run. ok: none failed. fixes: what `--fix` did before they were run."""

    ok: bool
    checks: tuple[Check, ...]
    fixes: tuple[Fix, ...] = ()


ExportFormat = Literal["raw", "events", "claude-jsonl", "markdown", "nodes", "prov"]


class HoleInFile(msgspec.Struct, frozen=True):
    """Bytes missing in a raw file because they were deleted on purpose: what follows is that much earlier in the
    file than in the agent's original. removed_at: UTC microseconds.
    """

    offset_bytes: int
    length_bytes: int
    reason: str
    removed_at: int


class Exported(msgspec.Struct, frozen=True):
    """A file that export wrote. holes: how many it has, see `missing`."""

    path: str
    session_uid: str
    format: ExportFormat
    bytes: int
    holes: int = 0
    missing: tuple[HoleInFile, ...] = ()
