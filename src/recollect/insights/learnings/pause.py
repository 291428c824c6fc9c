"""Pauses questions to a model: server away, key refused, budget spent. Stored in the database.

A failure that any other job would meet too says nothing about the job at hand: the queue pauses as a whole, the job
keeps its attempts, and nothing grows too old. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from recollect.store.context_rows import TOLD_NOTE

if TYPE_CHECKING:
    from recollect.store.learnings import LearningStore

FIRST_S = 1.0
LONGEST_S = 60.0
LONGEST_STATED_S = 3_600.0
"""A server that asks for more patience than this is asked again after it."""
_MOST_DOUBLINGS = 16


def wait_us(failures: int, chance: float, *, retry_after_s: float | None = None) -> int:
    """Return the wait after this many failures in a row, in microseconds.

    Between 1 s and a bound that doubles with every failure from 2 s to 60 s; never less than the server requested.

    Args:
        failures: 1 for the first.
        chance: a random number in [0, 1).
        retry_after_s: what the server said, None for nothing.
    """
    bound = min(LONGEST_S, FIRST_S * 2.0 ** min(max(1, failures), _MOST_DOUBLINGS))
    wait = FIRST_S + chance * (bound - FIRST_S)
    if retry_after_s is not None:
        wait = max(wait, min(retry_after_s, LONGEST_STATED_S))
    return round(wait * 1_000_000)


PauseReason = Literal["authentication", "quota", "rate", "unavailable", "unusable", "budget", "configuration"]

DAY_US = 86_400_000_000
NOTE = "pause"
"""Under which it is kept, see `store.learnings.LearningStore.note`."""
SHORT: frozenset[PauseReason] = frozenset({"rate", "unavailable"})
"""What comes and goes by itself."""
PERSISTENT_US = 3_600_000_000
"""A server that has been away for so long is no hiccup."""
_encode = msgspec.json.Encoder().encode


class Pause(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Why and until when no model is asked. Times in UTC microseconds.

    since: the first failure in a row. at: the last one. failures: how many in a row. message: one line for people,
    without content of transcripts or keys. fingerprint: of the configuration and key that met it.
    """

    reason: PauseReason
    message: str
    since: int
    at: int
    until: int
    failures: int = 1
    fingerprint: str = ""


class Failed(NamedTuple):
    """A question that was not answered. at_us: when, UTC microseconds. retry_after_s: how long the server asks to wait,
    None for nothing."""

    reason: PauseReason
    message: str
    at_us: int
    retry_after_s: float | None = None


def paused(before: Pause | None, failed: Failed, *, fingerprint: str, chance: float) -> Pause:
    """Return the pause after one more failure. chance: random, in [0, 1)."""
    reason, message, now_us, retry_after_s = failed
    is_again = before is not None and before.fingerprint == fingerprint
    failures = before.failures + 1 if before is not None and is_again else 1
    since = before.since if before is not None and is_again else now_us
    if reason in SHORT:
        wait = wait_us(failures, chance, retry_after_s=retry_after_s)
    elif reason == "budget":
        wait = DAY_US - now_us % DAY_US  # budgets are of days, UTC
    else:
        wait = DAY_US
    return Pause(
        reason=reason, message=message, since=since, at=now_us, until=now_us + wait, failures=failures,
        fingerprint=fingerprint,
    )  # fmt: skip


def holds(pause: Pause | None, *, fingerprint: str, now_us: int) -> bool:
    """Return whether nothing is to be asked now. A clock that was set back ends a pause: it began in the future."""
    return pause is not None and pause.fingerprint == fingerprint and pause.at <= now_us < pause.until


def is_persistent(pause: Pause) -> bool:
    """Return whether somebody should act: on the key, the money or the address, or a server that stays away.

    A spent daily budget is no failure. Depends only on the stored pause, not on the present time.
    """
    if pause.reason in SHORT:
        return pause.at - pause.since >= PERSISTENT_US
    return pause.reason != "budget"


def keep_pause(store: LearningStore, pause: Pause | None) -> None:
    """Keep a pause, None for its end, and what agents are told of it. Inside a transaction."""
    store.set_note(NOTE, pack_pause(pause))
    told = pause.message.encode() if pause is not None and is_persistent(pause) else b""
    if store.note(TOLD_NOTE) != told:
        store.set_note(TOLD_NOTE, told)


def pack_pause(pause: Pause | None) -> bytes:
    """Return a pause as stored, b"" for none."""
    return b"" if pause is None else _encode(pause)


def unpack_pause(data: bytes) -> Pause | None:
    """Return a pause that was kept; None for none, or for one of a version that is not understood."""
    try:
        return msgspec.json.decode(data, type=Pause) if data else None
    except ValueError:
        return None
