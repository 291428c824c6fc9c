"""Numbers, flags and names of rows: event keys, event bits, stored ids. Light to import.

An event's key is `session_number << 24 | seq`, given at first sight: an address for the index, no stable id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from recollect.model.events import Role, TsQuality
from recollect.model.payloads import KINDS

SEQ_BITS = 24
"""Bits of an event key that hold the seq: at most 16,777,216 events in a session."""
SEQ_MASK = (1 << SEQ_BITS) - 1
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
KIND_MASK = 63
FLAG_SHIFT = 10
FLAG_REPLACED = 2
"""A newer version or a longer snapshot stands for it."""
FLAG_VIEW = 4
"""A lower lane's copy of an event that a transcript holds."""
FLAG_STALE = 8
"""Its source is being derived again and has not come to it yet; still shown."""
FLAG_GONE = 16
"""A newer parser does not make it any more."""
FLAG_EVICTED = 128
"""Only its name is left, so that what the agent writes again is known again, see `store.erasure.evict_rows`."""
FLAG_UNDONE = 256
"""A rewind left it behind, see `model.undone`; still shown and found, and marked so."""
HIDDEN = (FLAG_REPLACED | FLAG_VIEW | FLAG_GONE | FLAG_EVICTED) << FLAG_SHIFT
EVICTED = FLAG_EVICTED << FLAG_SHIFT
EVICTED_BLOCK = -2
"""`event.block` of an evicted event: it has no body; `entry` holds the `content_key` of the one that it had."""
STALE = FLAG_STALE << FLAG_SHIFT
FAILED = FLAG_FAILED << FLAG_SHIFT
OWN = FLAG_OWN << FLAG_SHIFT
NOT_INDEXED = HIDDEN | OWN
"""Not found by a search: hidden, or what the memory itself gave to an agent."""
SIDECHAIN = FLAG_SIDECHAIN << FLAG_SHIFT
UNDONE = FLAG_UNDONE << FLAG_SHIFT


def span_of(number: int) -> tuple[int, int]:
    """Return the first and the last possible key of a session's events and blocks."""
    return number << SEQ_BITS, (number + 1 << SEQ_BITS) - 1


def merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges, last included, in order; those that overlap or are neighbours as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def kind_of_bits(bits: int) -> str:
    """Return the kind, for example "tool_call"."""
    return KINDS[bits & KIND_MASK]


def role_of_bits(bits: int) -> Role:
    """Return the role."""
    return cast("Role", ROLES[bits >> 6 & 3])


def quality_of_bits(bits: int) -> TsQuality:
    """Return the quality of the time."""
    return cast("TsQuality", TS_QUALITIES[bits >> 8 & 3])


def is_sidechain(bits: int) -> bool:
    """Return True for an event of a side conversation."""
    return bool(bits & SIDECHAIN)


def is_undone(bits: int) -> bool:
    """Return True for an event that a rewind left behind."""
    return bool(bits & UNDONE)


_TEXT = b"\x00"
_HASH = b"\x01"
_TEXT_OF_15 = b"\x02\x00"
"""A text of 15 bytes with one tag byte would look like a UUID, so it gets two."""


def pack_event_id(event_id: str) -> bytes:
    """Return the stored form of an event id."""
    size = len(event_id)
    if size == 36 and event_id[8] == event_id[13] == event_id[18] == event_id[23] == "-":
        packed = _from_hex(event_id.replace("-", ""))
        if packed is not None:
            return packed
    elif size == 34 and event_id.startswith("r-"):
        packed = _from_hex(event_id[2:])
        if packed is not None:
            return _HASH + packed
    text = event_id.encode("utf-8", "surrogatepass")
    return (_TEXT_OF_15 if len(text) == 15 else _TEXT) + text


def unpack_event_id(stored: bytes) -> str:
    """Return the event id of its stored form."""
    if len(stored) == 16:
        h = stored.hex()
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
    if stored[:1] == _HASH:
        return "r-" + stored[1:].hex()
    text = stored[2:] if stored[:1] == _TEXT_OF_15[:1] else stored[1:]
    return text.decode("utf-8", "surrogatepass")


def pack_text(text: str) -> str | bytes:
    """Return a text as stored: a file name that is not UTF-8 has lone surrogates, which SQLite takes as a blob only."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def unpack_text(stored: str | bytes) -> str:
    """Return the text of its stored form."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def _from_hex(text: str) -> bytes | None:
    """Return 16 bytes of 32 lower-case hex digits, None for anything else."""
    if len(text) != 32:
        return None
    try:
        packed = bytes.fromhex(text)
    except ValueError:
        return None
    return packed if packed.hex() == text else None
