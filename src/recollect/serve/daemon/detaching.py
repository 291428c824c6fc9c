"""A daemon apart from the terminal: started, waited for until it answers, and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import StoreError
from recollect.paths import HOME_VARIABLE
from recollect.processes import own_command
from recollect.serve.daemon.logs import DaemonLog
from recollect.units import duration

if TYPE_CHECKING:
    from recollect.memory import Card, Memory

BEGINNING = "daemon-start.log"
"""What a daemon that could not begin said; begun anew each time."""
START_S = 20.0
STOP_S = 5.0
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
    descriptor = os.open(beginning, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        started = subprocess.Popen(  # noqa: S603  our own program
            own_command("up", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=descriptor,
            cwd=memory.home,
            env=_environment(memory.home),
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
        if time.monotonic() - began > STOP_S:
            raise StoreError(f"process {card.pid} did not end within {duration(STOP_S)}", hint=f"kill -9 {card.pid}")
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


def _environment(home: Path) -> dict[str, str]:
    """Return the environment of a process that works in another folder: a home may be named from this one."""
    values = dict(os.environ)
    if HOME_VARIABLE in values:
        values[HOME_VARIABLE] = str(home)
    return values


if sys.platform == "win32":
    _APART = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _APART = 0
