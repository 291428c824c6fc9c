"""Where a daemon stands: its lock, what it says of itself, its socket. Everything in `run/` of the memory's home."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec

from recollect.errors import StoreError, StoreLocked
from recollect.files import write_file
from recollect.paths import make_private
from recollect.store.lock import IngestLock
from recollect.wire import RUN_FOLDER, SOCKET_NAME

LOCK_NAME = "daemon.lock"
CARD_NAME = "daemon.json"
LOCK_TRIES_S = 0.3
"""Who asks whether a daemon lives holds its lock for an instant; one that starts tries again for so long."""


class Card(msgspec.Struct, frozen=True):
    """What a daemon says of itself while it lives. started_at: UTC microseconds. port: of HTTP, 0 for none. no_socket:
    why hooks and reads cannot ask it, "" where they can."""

    pid: int
    version: str
    started_at: int
    port: int = 0
    token_file: str = ""
    no_socket: str = ""


class Place:
    """The daemon's folder of one home, as the daemon itself uses it: made on entering, its own while inside.

    Raises StoreLocked naming the pid of another daemon, StoreError where the home cannot be written.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / RUN_FOLDER
        _make_own(self._folder)
        self._lock = _locked(self._folder)
        self._identity = _identity(self._folder / LOCK_NAME)
        for name in (CARD_NAME, SOCKET_NAME):  # of one that was killed
            with contextlib.suppress(FileNotFoundError):
                (self._folder / name).unlink()

    @property
    def socket(self) -> Path:
        """Where hooks and reads ask."""
        return self._folder / SOCKET_NAME

    def show(self, card: Card) -> None:
        """Say who is at work, whole or not at all, for the user alone."""
        write_file(self._folder / CARD_NAME, msgspec.json.encode(card), durable=False)

    def is_mine(self) -> bool:
        """Tell whether the home is still the one that was taken: it may be deleted, and made anew for another."""
        return self._identity is not None and _identity(self._folder / LOCK_NAME) == self._identity

    def leave(self) -> None:
        """Take everything away, the lock last. Harmless when done twice."""
        for name in (CARD_NAME, SOCKET_NAME) if self.is_mine() else ():
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()
        self._lock.release()
        self._identity = None


def read_card(home: Path) -> Card | None:
    """Return what the daemon at work says of itself; None where none is at work, or it has not said so yet."""
    if not is_alive(home):
        return None
    try:
        return msgspec.json.decode((home / RUN_FOLDER / CARD_NAME).read_bytes(), type=Card)
    except (OSError, ValueError):
        return None


def is_alive(home: Path) -> bool:
    """Tell whether a daemon is at work for a home: the system holds its lock exactly as long as it lives."""
    folder = home / RUN_FOLDER
    if not (folder / LOCK_NAME).exists():
        return False
    try:
        IngestLock(folder, name=LOCK_NAME).release()
    except StoreLocked:
        return True
    except StoreError:
        return False  # a home that this user cannot write is nobody's of ours
    return False


def _make_own(folder: Path) -> None:
    """Make a folder that is closed to others, and close one that is open. Raises StoreError."""
    try:
        make_private(folder)
        if os.name != "nt" and folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise StoreError(f"the memory's folder cannot be written: {error}") from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino)


def _locked(folder: Path) -> IngestLock:
    ends = time.monotonic() + LOCK_TRIES_S
    while True:
        try:
            return IngestLock(folder, name=LOCK_NAME, work="the daemon of")
        except StoreLocked:
            if time.monotonic() > ends:
                raise
            time.sleep(0.02)
