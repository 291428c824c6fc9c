"""The small facts of an event in one integer: kind, role, quality of its time, flags."""

from __future__ import annotations

from typing import cast

from recollect.model.events import Role, TsQuality
from recollect.model.payloads import KINDS
from recollect.store.keys import FLAG_FAILED, FLAG_OWN, FLAG_SIDECHAIN, ROLES, TS_QUALITIES

KIND_MASK = 63
FLAG_SHIFT = 10

FLAG_REPLACED = 2
"""A newer version or a longer snapshot stands for it."""
FLAG_VIEW = 4
"""A lower lane's copy of an event that a transcript holds."""
FLAG_STALE = 8
"""Its source is being derived anew and has not come to it yet; still shown."""
FLAG_GONE = 16
"""A newer parser does not make it any more."""
FLAG_EVICTED = 128
"""Only its name is left, so that what the agent writes again is known again, see `removing/evicting.py`."""
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


def kind_of_bits(bits: int) -> str:
    """Return the kind, for example "tool_call"."""
    return KINDS[bits & KIND_MASK]


def role_of_bits(bits: int) -> Role:
    """Return the role."""
    return cast(Role, ROLES[bits >> 6 & 3])


def quality_of_bits(bits: int) -> TsQuality:
    """Return the quality of the time."""
    return cast(TsQuality, TS_QUALITIES[bits >> 8 & 3])


def is_sidechain(bits: int) -> bool:
    """Return True for an event of a side conversation."""
    return bool(bits & SIDECHAIN)


def is_undone(bits: int) -> bool:
    """Return True for an event that a rewind left behind."""
    return bool(bits & UNDONE)
