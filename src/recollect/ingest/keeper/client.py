"""Asks the daemon of a home from another process, over its socket; the protocol is in `recollect.wire`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect import wire
from recollect.ingest.keeper.instance import LOCK_NAME, is_alive

# Every read asks whether there is a daemon: what talks to one is imported where there is.
if TYPE_CHECKING:
    from recollect.ingest.keeper.status import LiveStatus

SETTLE_S = 0.3
"""How long a read waits for what an agent has just written."""
CONNECT_S = 0.2
ANSWER_S = 2.0
_MAX_BYTES = 4 * 1024 * 1024
BEHIND = "catching up, the newest events may be missing"


def settled(home: Path) -> tuple[str, ...] | None:
    """Wait a moment until the daemon has taken in what it noticed; return notes on what is missing.

    None where no daemon is at work or it does not answer: whoever reads then looks for changes himself. Without a
    daemon this costs one look at a folder.
    """
    if not (home / wire.RUN_FOLDER / LOCK_NAME).exists() or not is_alive(home):
        return None
    text = ask(home, wire.KIND_SETTLE, seconds=SETTLE_S + CONNECT_S)
    if text is None:
        return None
    return tuple(text.splitlines())


def ask_status(home: Path) -> LiveStatus | None:
    """Return what the daemon at work says of itself now; None where there is none or it does not answer."""
    import msgspec

    from recollect.ingest.keeper.status import LiveStatus

    text = ask(home, wire.KIND_STATUS, seconds=ANSWER_S)
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=LiveStatus)
    except ValueError:
        return None  # a daemon of another version


def ask(home: Path, kind: str, *, seconds: float) -> str | None:
    """Return the daemon's text; None when there is no daemon, or not ours, or not in time. Never raises OSError."""
    return wire.ask(str(home), {"kind": kind}, connect_s=CONNECT_S, answer_s=seconds, max_bytes=_MAX_BYTES)
