"""Asking the daemon of a home, from another process: over its socket, one line of JSON each way.

The protocol is that of hooks (`recollect.hook.daemon`), with two more kinds: `settle` is answered when everything that
was noticed by then is searchable, with what could not be taken in; `status` with the daemon's status as JSON.
"""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.memory.presence.place import FOLDER, LOCK_NAME, SOCKET_NAME, is_alive
from recollect.paths import SocketPath

# Every read asks whether there is a daemon: what talks to one is imported where there is.
if TYPE_CHECKING:
    from recollect.memory.presence.status import LiveStatus

VERSION = 1
SETTLE_S = 0.3
"""How long a read waits for what an agent has just written."""
CONNECT_S = 0.2
ANSWER_S = 2.0
_MAX_BYTES = 4 * 1024 * 1024
_STEP_BYTES = 65_536
BEHIND = "catching up, the newest events may be missing"


def settled(home: Path) -> tuple[str, ...] | None:
    """Wait a moment until the daemon has taken in what it noticed; return notes on what is missing.

    None where no daemon is at work or it does not answer: whoever reads then looks for changes himself. Without a
    daemon this costs one look at a folder.
    """
    if not (home / FOLDER / LOCK_NAME).exists() or not is_alive(home):
        return None
    text = ask(home, {"kind": "settle"}, seconds=SETTLE_S + CONNECT_S)
    if text is None:
        return None
    return tuple(text.splitlines())


def ask_status(home: Path) -> LiveStatus | None:
    """Return what the daemon at work says of itself now; None where there is none or it does not answer."""
    import msgspec

    from recollect.memory.presence.status import LiveStatus

    text = ask(home, {"kind": "status"}, seconds=ANSWER_S)
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=LiveStatus)
    except ValueError:
        return None  # a daemon of another version


def ask(home: Path, question: dict[str, object], *, seconds: float) -> str | None:
    """Return the daemon's text; None when there is no daemon, or not ours, or not in time. Never raises OSError."""
    import socket

    path = home / FOLDER / SOCKET_NAME
    if not hasattr(socket, "AF_UNIX") or not _is_private(path):
        return None
    ends = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        try:
            channel.settimeout(CONNECT_S)
            with SocketPath(str(path)) as short:
                channel.connect(short)
            channel.settimeout(seconds)
            channel.sendall(json.dumps({"version": VERSION, **question}).encode() + b"\n")
            line = b""
            while b"\n" not in line and len(line) <= _MAX_BYTES:
                left = ends - time.monotonic()
                if left <= 0:
                    return None
                channel.settimeout(left)
                part = channel.recv(_STEP_BYTES)
                if not part:
                    break
                line += part
        except OSError:
            return None
    return _text_of(line)


def _text_of(line: bytes) -> str | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    text = value.get("text") if isinstance(value, dict) and value.get("version") == VERSION else None
    return text if isinstance(text, str) else None


def _is_private(path: Path) -> bool:
    """Tell whether the socket and its folder are this user's and closed to others."""
    try:
        folder, own = os.lstat(path.parent), os.lstat(path)
    except OSError:
        return False
    is_closed = stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o077
    return is_closed and stat.S_ISSOCK(own.st_mode) and folder.st_uid == own.st_uid == os.geteuid()
