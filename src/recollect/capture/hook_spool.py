"""The spool of hooks as it lies there: how many drops wait, what was put aside. `pipeline.hook_drops` takes them in."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

import msgspec

BAD = "bad"
"""The folder in the spool for drops that cannot be taken, by reason."""
COUNTS = "counts.json"
"""In it: how many drops were put aside or lost, ever, by reason."""
REASONS = {
    "not_json": "no JSON object",
    "no_session": "names no session",
    "no_event": "names no event",
    "unknown_agent": "of an agent whose hooks are not known",
    "too_large": "larger than a record may be",
    "unreadable": "cannot be read",
    "foreign": "no drop of a hook",
    "torn": "its hook was killed while it wrote",
    "lost": "its hook could not keep it: no room, too large, or no input",
    "empty": "its hook was given nothing",
}
"""What each reason means."""


class HookSpool(NamedTuple):
    """waiting: drops for the next sync. aside: how many were put aside or lost, by reason. is_writable: hooks can
    leave more."""

    waiting: int
    aside: dict[str, int]
    is_writable: bool


def hook_spool(spool: str) -> HookSpool | None:
    """Return what lies in a spool, None where there is none. Reads names and counts only."""
    try:
        with os.scandir(spool) as entries:
            waiting = sum(entry.name.endswith(".json") for entry in entries)
    except OSError:
        return HookSpool(0, {}, False) if os.path.isdir(spool) else None
    return HookSpool(waiting, put_aside(spool), os.access(spool, os.W_OK | os.X_OK))


def put_aside(spool: str) -> dict[str, int]:
    """Return how many drops were put aside or lost, by reason."""
    with suppress(OSError, msgspec.MsgspecError), open(os.path.join(spool, BAD, COUNTS), "rb") as handle:
        return msgspec.json.decode(handle.read(), type=dict[str, int])
    return {}
