"""The daemon's log: bounded, for the user alone, and without anything that a transcript says."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from recollect.files import move

NAME = "daemon.log"
MAX_BYTES = 1_000_000
KEPT = 3
"""Files of that size, the newest with it."""
_MAX_CHARS = 2_000


class DaemonLog:
    """Appends lines with their time. Never raises: a disk that is full must not end what is logged."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
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
        return self.path.with_name(f"{NAME}.{number}")
