"""Controls the daemon from outside: status, start, stop, log."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from recollect import __version__
from recollect.errors import StoreError
from recollect.files import move
from recollect.memory import LiveStatus
from recollect.paths import HOME_VARIABLE
from recollect.processes import own_command
from recollect.serve.token import ADDRESS, home_token
from recollect.units import duration

if TYPE_CHECKING:
    from recollect.memory import Card, Memory

LOG_NAME = "daemon.log"
MAX_BYTES = 1_000_000
KEPT = 3
"""Files of that size, the newest with it."""
_MAX_CHARS = 2_000


class DaemonLog:
    """Appends lines with their time. Never raises: a disk that is full must not end what is logged."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME
        self._lock = threading.Lock()

    def __call__(self, line: str) -> None:
        """Write one line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = " ".join(line.split())[:_MAX_CHARS]
        with self._lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._rotate()
                descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(f"{stamp} {os.getpid()} {text}\n")
            except OSError:
                return  # `recollect up --status` still tells what fails

    def last_lines(self, count: int) -> list[str]:
        """Return the newest lines, the oldest of them first."""
        try:
            return self.path.read_text("utf-8", "replace").splitlines()[-count:]
        except OSError:
            return []

    def _rotate(self) -> None:
        if not self.path.exists() or self.path.stat().st_size < MAX_BYTES:
            return
        for number in range(KEPT - 1, 0, -1):
            older = self._numbered(number)
            newer = self._numbered(number - 1) if number > 1 else self.path
            if newer.exists():
                move(newer, older, durable=False)

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{LOG_NAME}.{number}")


ASK_S = 2.0

DaemonState = Literal["running", "failing", "not answering", "not running"]


class DaemonAnswer(msgspec.Struct, frozen=True):
    """What was found out just now.

    state: running; failing (it answers, and some of its work fails); not answering (its lock is held, but it says
    nothing); not running. page: the address of the status page that lets a browser in, "" without HTTP; it holds the
    token. is_other_version: it was started before an upgrade of this program. no_socket: why hooks and reads cannot
    ask it, "" where they can.
    """

    state: DaemonState
    home: str
    pid: int = 0
    version: str = ""
    is_other_version: bool = False
    page: str = ""
    status: LiveStatus | None = None
    no_socket: str = ""


def ask(memory: Memory) -> DaemonAnswer:
    """Find out how the daemon of a home is. Never raises for what it finds, and starts nothing."""
    home = str(memory.home)
    if not memory.live.is_alive():
        return DaemonAnswer("not running", home)
    card = memory.live.card()
    status = memory.live.status()
    if status is None and card is not None and card.port:
        status = _over_http(memory, card)
    no_socket = card.no_socket if card is not None else ""
    if status is None:
        pid, version = (card.pid, card.version) if card is not None else (0, "")
        return DaemonAnswer("not answering", home, pid, version, no_socket=no_socket)
    page = ""
    if status.url:
        try:
            page = f"{status.url}/?token={home_token(memory.home)}"
        except StoreError:
            page = status.url
    state: DaemonState = "failing" if status.failures else "running"
    is_other = status.version != __version__
    return DaemonAnswer(state, home, status.pid, status.version, is_other, page, status, no_socket)


def _over_http(memory: Memory, card: Card) -> LiveStatus | None:
    """Ask over HTTP, where the system has no sockets of the other kind."""
    connection = http.client.HTTPConnection(ADDRESS, card.port, timeout=ASK_S)
    try:
        connection.request("GET", "/status.json", headers={"Authorization": f"Bearer {home_token(memory.home)}"})
        answer = connection.getresponse()
        return msgspec.json.decode(answer.read(), type=LiveStatus) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, StoreError):
        return None
    finally:
        connection.close()


BEGINNING = "daemon-start.log"
"""What a daemon that could not begin said; begun again each time."""
START_S = 20.0
STOPPED_S = 5.0
_EVERY_S = 0.05
_LAST_LINES = 3


class Stopped(NamedTuple):
    """What came of a request to stop. pid: 0 where no daemon was at work."""

    pid: int
    seconds: float


def start_detached(memory: Memory, arguments: Sequence[str]) -> tuple[Card, bool]:
    """Start `recollect up` with these arguments in a session of its own, and wait until it answers.

    Returns what it says of itself, and False where a daemon was at work already. Raises StoreError when it ended
    instead of beginning, with the end of its log.
    """
    card = memory.live.card()
    if card is not None:
        return card, False
    log = DaemonLog(memory.home / "logs")
    log("to be started apart")  # which makes the folder
    beginning = log.path.with_name(BEGINNING)
    # It works in another folder: a home may be named from this one.
    env = {**os.environ, **({HOME_VARIABLE: str(memory.home)} if HOME_VARIABLE in os.environ else {})}
    descriptor = os.open(beginning, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        started = subprocess.Popen(  # noqa: S603  our own program
            own_command("up", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=descriptor,
            cwd=memory.home,
            env=env,
            start_new_session=True,
            creationflags=_APART,
        )
    finally:
        os.close(descriptor)
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        card = memory.live.card()
        if card is not None:
            return card, card.pid == started.pid or started.poll() is None
        if started.poll() is not None:
            said = " ".join(beginning.read_text("utf-8", "replace").split())
            why = said or "; ".join(log.last_lines(_LAST_LINES))
            raise StoreError(f"the daemon ended at once: {why or f'exit code {started.returncode}'}")
        time.sleep(_EVERY_S)
    raise StoreError(f"the daemon did not begin within {duration(START_S)}", hint=f"see {log.path}")


def stop(memory: Memory) -> Stopped:
    """Stop the daemon at work and wait until it has ended. Raises StoreError where it does not end.

    Only a process that holds the home's lock is sent a signal, never one that has its number by chance.
    """
    began = time.monotonic()
    card = memory.live.card()
    if card is None:
        return Stopped(0, 0.0)
    try:
        os.kill(card.pid, signal.SIGTERM)
    except ProcessLookupError:
        return Stopped(card.pid, time.monotonic() - began)
    except PermissionError as error:
        raise StoreError(f"process {card.pid} is another user's") from error
    while memory.live.is_alive():
        if time.monotonic() - began > STOPPED_S:
            raise StoreError(f"process {card.pid} did not end within {duration(STOPPED_S)}", hint=f"kill -9 {card.pid}")
        time.sleep(_EVERY_S)
    return Stopped(card.pid, time.monotonic() - began)


def leave_terminal(home: Path) -> None:
    """Let nothing more be written where a daemon that was started apart told why it could not begin."""
    try:
        if os.path.samestat(os.fstat(2), os.stat(home / "logs" / BEGINNING)):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
    except OSError:
        return  # there is no such file: this one was not started apart


if sys.platform == "win32":
    _APART = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _APART = 0
