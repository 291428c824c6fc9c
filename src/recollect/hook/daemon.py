"""The daemon's socket, as a hook uses it: one line of JSON each way, over a Unix socket that only its user can reach.

Question: `{"version": 1, "kind": "context" | "flush" | "ended", "agent", "event", "session", "cwd", "source",
"prompt"}`; texts, "" where the payload did not say. Answer: `{"version": 1, "text": "…"}`, "" for nothing to say. A
daemon answers every kind that it does not know with an empty text; a hook takes every answer that it does not
understand for none.

The socket is `run/hook.sock` in the memory's home. `run` belongs to the user and is closed to others (0700); the
socket is the user's own. Otherwise nothing is sent: a prompt must not reach somebody else. Where the path is longer
than a socket's may be, it is reached through the folder (`recollect.paths.SocketPath`).
"""

from __future__ import annotations

import json
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

VERSION = 1
FOLDER = "run"
NAME = "hook.sock"
CONNECT_S = 0.05
"""A daemon that lives takes a connection at once."""
ANSWER_S = 0.5
"""The budget of an answer is 0.15 s; a daemon that takes longer is busy, and the event goes on without."""
MAX_LINE_BYTES = 256 * 1024


def socket_path(home: str) -> str:
    """Return where the daemon of a memory listens."""
    return os.path.join(home, FOLDER, NAME)


def ask(path: str, question: dict[str, object]) -> str | None:
    """Return the daemon's text; None when there is no daemon, or not ours, or not in time. Never raises OSError."""
    import socket

    from recollect.paths import SocketPath

    if not hasattr(socket, "AF_UNIX") or not is_private(path):
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        try:
            channel.settimeout(CONNECT_S)
            with SocketPath(path) as short:
                channel.connect(short)
            channel.settimeout(ANSWER_S)
            channel.sendall(json.dumps(question).encode() + b"\n")
            line = _read_line(channel)
        except OSError:
            return None
    return _text_of(line)


def is_private(path: str) -> bool:
    """Tell whether the socket and its folder are this user's and closed to others."""
    try:
        folder, own = os.lstat(os.path.dirname(path)), os.lstat(path)
    except OSError:
        return False
    user = os.geteuid()
    is_closed = stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o077
    return is_closed and stat.S_ISSOCK(own.st_mode) and folder.st_uid == own.st_uid == user


def _read_line(channel: socket) -> bytes:
    """Return one line within the time for an answer; what comes behind it is not read."""
    line = b""
    ends = time.monotonic() + ANSWER_S
    while b"\n" not in line and len(line) <= MAX_LINE_BYTES:
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        channel.settimeout(left)
        part = channel.recv(65_536)
        if not part:
            break
        line += part
    return line.partition(b"\n")[0]


def _text_of(line: bytes) -> str | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return None
    text = value.get("text")
    return text if isinstance(text, str) else None
