"""The state of the hooks' spool: waiting and rejected events. `ingest.spooled_events` reads them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

import msgspec

from recollect.wire import BAD_FOLDER, WHOLE_SUFFIX

COUNTS = "counts.json"
"""In `bad`: how many drops were set aside or lost, ever, by reason."""
REASONS = {
    "not_json": "no JSON object",
    "no_session": "names no session",
    "no_event": "names no event",
    "unknown_agent": "from an agent whose hooks are unknown",
    "too_large": "larger than a record may be",
    "unreadable": "cannot be read",
    "foreign": "not a spooled event of a hook",
    "torn": "its hook was killed while it wrote",
    "lost": "its hook could not spool it: no space, too large, or no input",
    "empty": "its hook got no input",
}
"""What each reason means."""


KEPT_ASIDE_US = 7 * 86_400_000_000
"""How long what was set aside stays. Nobody reads it again, and it may hold anything."""


class HookSpool(NamedTuple):
    """waiting: drops for the next sync. aside: how many were set aside or lost, by reason. is_writable: hooks can
    leave more."""

    waiting: int
    aside: dict[str, int]
    is_writable: bool


def hook_spool(spool: str) -> HookSpool | None:
    """Return the state of a spool, None without one. Reads only names and counts."""
    try:
        with os.scandir(spool) as entries:
            waiting = sum(entry.name.endswith(WHOLE_SUFFIX) for entry in entries)
    except OSError:
        return HookSpool(0, {}, False) if os.path.isdir(spool) else None
    return HookSpool(waiting, put_aside(spool), os.access(spool, os.W_OK | os.X_OK))


def is_older(info: os.stat_result, age_us: int, *, now_us: int) -> bool:
    """Return whether a file of the spool is old enough to be deleted: every deletion by age asks here."""
    return info.st_mtime_ns // 1000 < now_us - age_us


def drop_aside(spool: str, *, now_us: int | None = None) -> int:
    """Delete what was set aside, all of it or (now_us) what has expired; return how many files. Raises OSError."""
    count = 0
    for reason in REASONS:
        folder = os.path.join(spool, BAD_FOLDER, reason)
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                if now_us is None or is_older(info, KEPT_ASIDE_US, now_us=now_us):
                    os.unlink(entry.path)
                    count += 1
    return count


def put_aside(spool: str) -> dict[str, int]:
    """Return how many drops were set aside or lost, by reason."""
    with suppress(OSError, msgspec.MsgspecError), open(os.path.join(spool, BAD_FOLDER, COUNTS), "rb") as handle:
        return msgspec.json.decode(handle.read(), type=dict[str, int])
    return {}
