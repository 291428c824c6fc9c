"""Names that the hook, the agents' shell line, the daemon and the memory share.

Standard library only. A hook imports this before anything else, so what only the socket needs is imported when it is
used.

**Spooled events.** A hook writes each payload to `<home>/spool/tmp` and, when it is complete, moves it to
`<home>/spool`: `<agent>.<host>.<process>[.<random>].json` is a payload as it came. The same name with `.lost` is an
empty file for a payload that could not be kept.

**The socket.** One line of JSON each way; lines that begin with a blank may come before the answer, and tell how far
it is. Question: `{"version": 1, "kind", "agent", "event", "session", "cwd",
"source", "prompt"}`; all are texts, "" if the payload did not say. Answer: `{"version": 1, "text": "…"}`, "" if there
is nothing to say. A daemon answers a kind that it does not know with an empty text; whoever asks treats an answer that
it does not understand as none. What else stands in a `request` and in its answer, `recollect.client` says.

The socket is `<home>/run/hook.sock`. The folder and the socket belong to the user, and the folder is closed to others
(0700). Otherwise nothing is sent: a prompt must not reach anybody else.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing `typing` takes longer than a hook may run
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from socket import socket

INTERNAL_VARIABLE = "RECOLLECT_INTERNAL"
"""Set to 1 in the environment of a program that Recollect itself runs: its sessions are not memories."""
PARTIAL_FOLDER = "tmp"
"""In the spool: a payload is written here before it is moved."""
FIRINGS_FOLDER = "firings"
"""In the spool: what an agent was given, until a sync stores it."""
HOOKS_FOLDER = "hooks"
"""In the spool: spooled events by session, in the order in which they came."""
OTLP_FOLDER = "otlp"
"""In the spool: what senders of OpenTelemetry sent."""
IMPORT_FOLDER = "import"
"""In the spool: where an archive is unpacked; the folder goes with the command that made it."""
BAD_FOLDER = "bad"
"""In the spool: spooled events that cannot be read, by reason."""
WHOLE_SUFFIX = ".json"
LOST_SUFFIX = ".lost"
MAX_EVENT_BYTES = 32 * 1024 * 1024
"""A larger payload is not kept, only counted. It is twice the largest record that is ever decoded."""

RUN_FOLDER = "run"
SOCKET_NAME = "hook.sock"
VERSION = 1
KIND_CONTEXT = "context"
KIND_FLUSH = "flush"
KIND_ENDED = "ended"
KIND_SETTLE = "settle"
"""Answered when everything that was noticed by then can be found, with what is missing."""
KIND_STATUS = "status"
"""Answered with the daemon's status as JSON."""
KIND_REQUEST = "request"
"""Asks what is in the memory, see `recollect.client`."""
MAX_QUESTION_BYTES = 256 * 1024
_STEP_BYTES = 65_536
PROGRESS = b" "
"""What a line begins with that tells how far an answer is."""


def firings_folder(home: str) -> str:
    """Return the folder for what an agent was given."""
    from recollect.paths import SPOOL_FOLDER

    return os.path.join(home, SPOOL_FOLDER, FIRINGS_FOLDER)


def socket_path(home: str) -> str:
    """Return where the daemon of a memory listens."""
    return os.path.join(home, RUN_FOLDER, SOCKET_NAME)


def encoded(texts: Mapping[str, object]) -> bytes:
    """Return a question or an answer as its line."""
    import json

    return json.dumps({"version": VERSION, **texts}).encode() + b"\n"


def texts_of(line: bytes) -> dict[str, str]:
    """Return the texts of a question or an answer; of anything else, nothing."""
    import json

    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}


def ask(
    home: str, question: Mapping[str, object], *, connect_s: float, answer_s: float, max_bytes: int
) -> str | None:  # fmt: skip
    """Return the daemon's text. None without a daemon, for another home's, or after the timeout. Never raises
    OSError.
    """
    line = ask_line(home, encoded(question), connect_s=connect_s, answer_s=answer_s, max_bytes=max_bytes)
    return texts_of(line).get("text") if line else None


def ask_line(
    home: str, question: bytes, *, connect_s: float, answer_s: float, max_bytes: int,
    tell: Callable[[bytes], None] = lambda _line: None,
) -> bytes | None:  # fmt: skip
    """Send a line and return the daemon's. None if nobody of ours listens; b"" if the listener gives no whole line in
    time. tell: takes the lines before it. Never raises OSError.
    """
    path = socket_path(home)
    if os.name != "posix" or not _is_private(path):
        return None
    import socket

    from recollect.paths import SocketPath

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        try:
            channel.settimeout(connect_s)
            with SocketPath(path) as short:
                channel.connect(short)
        except OSError:
            return None
        try:
            channel.settimeout(answer_s)
            channel.sendall(question)
            return _read_line(channel, answer_s, max_bytes, tell)
        except OSError:
            return b""


def _read_line(channel: socket, seconds: float, max_bytes: int, tell: Callable[[bytes], None]) -> bytes:
    """Return one line within the time, b"" without a whole one; reads nothing after it. tell: see `ask_line`."""
    import time

    parts: list[bytes] = []
    size = 0
    ends = time.monotonic() + seconds
    while size <= max_bytes:
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        channel.settimeout(left)
        part = channel.recv(_STEP_BYTES)
        if not part:
            break
        parts.append(part)
        size += len(part)
        while b"\n" in parts[-1]:
            line, _, rest = b"".join(parts).partition(b"\n")
            if not line.startswith(PROGRESS):
                return line
            tell(line)
            parts = [rest]
    return b""


def _is_private(path: str) -> bool:
    """Return whether the socket and its folder belong to this user and are closed to others."""
    import stat

    try:
        folder, own = os.lstat(os.path.dirname(path)), os.lstat(path)
    except OSError:
        return False
    is_closed = stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o077
    return is_closed and stat.S_ISSOCK(own.st_mode) and folder.st_uid == own.st_uid == os.geteuid()
