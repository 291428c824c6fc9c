"""Starts the making of vectors apart from the process that asks for it: it outlives it and is never waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from recollect.processes import own_command
from recollect.wire import INTERNAL_VARIABLE

LOG_NAME = "embed.log"
MAX_LOG_BYTES = 256_000
"""A longer log is begun anew."""


def start_detached(home: Path, logs: Path, env: Mapping[str, str]) -> threading.Thread:
    """Start `recollect embed --background` for a home; return a thread that ends with it. Raises OSError.

    env: of the person's process; `RECOLLECT_HOME` in it also says where the configuration is, so it stays as it was.
    Its own session (on Windows its own process group, without a window), so that neither Ctrl-C nor the end of the
    terminal reaches it; its output goes to the log.
    """
    logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = logs / LOG_NAME
    is_long = path.exists() and path.stat().st_size > MAX_LOG_BYTES
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_long else os.O_APPEND), 0o600)
    try:
        started = subprocess.Popen(  # noqa: S603  our own program
            own_command("embed", "--background", "--home", str(home)),
            stdin=subprocess.DEVNULL,
            stdout=fd,
            stderr=fd,
            cwd=home,
            env={**env, INTERNAL_VARIABLE: "1", "PYTHONUNBUFFERED": "1"},
            creationflags=_APART,
            start_new_session=True,
        )
    finally:
        os.close(fd)
    # In a server that stays, an ended child must be waited for; a command that ends leaves that to the system.
    waiter = threading.Thread(target=started.wait, daemon=True, name="embedding in the background")
    waiter.start()
    return waiter


def be_gentle() -> None:
    """Leave the processor to others, where the system lets a process say so."""
    if sys.platform != "win32":
        os.nice(10)


if sys.platform == "win32":
    _APART = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _APART = 0
