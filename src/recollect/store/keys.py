"""The numbers that keys and flags are made of. Apart, so that who reads a few rows loads no more than these."""

from __future__ import annotations

SEQ_BITS = 24
"""Bits of an event key that hold the seq: at most 16,777,216 events in a session."""

ENTRY_BASE = 1 << 38
"""Added to an entry's number (`model.learnings.entries`) where the index wants a session's: no session has so high
a one, and a key made of it is still a positive 64-bit integer."""

ROLES: tuple[str, ...] = ("user", "assistant", "tool", "system")
"""Every role; the position is the code in `EventDraft.role`, so the order never changes."""

TS_QUALITIES: tuple[str, ...] = ("exact", "inferred", "missing")
"""Every quality of a time; the position is the code in `EventDraft.ts_quality`."""

FLAG_SIDECHAIN = 1
"""`EventDraft.flags`: the event belongs to a side conversation."""
FLAG_FAILED = 32
"""`EventDraft.flags`: the result of a tool that failed."""
FLAG_OWN = 64
"""`EventDraft.flags`: the memory was asked, or answered; kept and shown, never indexed. Other bits are the store's."""
