"""The daemon of a home as other processes see it: its lock, socket and status files in `run/`."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Literal

import msgspec

from recollect import wire
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
        """Return whether the home is still the same one: it may have been deleted and created again."""
        return self._identity is not None and _identity(self._folder / LOCK_NAME) == self._identity

    def leave(self) -> None:
        """Take everything away, the lock last. Repeating it is harmless."""
        for name in (CARD_NAME, SOCKET_NAME) if self.is_mine() else ():
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()
        self._lock.release()
        self._identity = None


def read_card(home: Path) -> Card | None:
    """Return the running daemon's description of itself; None without a daemon, or before it is written."""
    if not is_alive(home):
        return None
    try:
        return msgspec.json.decode((home / RUN_FOLDER / CARD_NAME).read_bytes(), type=Card)
    except (OSError, ValueError):
        return None


def is_alive(home: Path) -> bool:
    """Return whether a home's daemon is running: the system holds its lock exactly as long as it lives."""
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


SETTLE_S = 0.3
"""How long a read waits for what an agent has just written."""
CONNECT_S = 0.2
ANSWER_S = 2.0
_MAX_BYTES = 4 * 1024 * 1024
BEHIND = "catching up, the newest events may be missing"


def settled(home: Path) -> tuple[str, ...] | None:
    """Wait a moment until the daemon has ingested what it noticed; return notes on what is missing.

    None without a daemon or an answer: the reader then looks for changes itself. Without a daemon this costs one look
    at a folder.
    """
    if not (home / wire.RUN_FOLDER / LOCK_NAME).exists() or not is_alive(home):
        return None
    text = ask(home, wire.KIND_SETTLE, seconds=SETTLE_S + CONNECT_S)
    if text is None:
        return None
    return tuple(text.splitlines())


def ask_status(home: Path) -> LiveStatus | None:
    """Return the running daemon's state; None without a daemon or an answer."""
    text = ask(home, wire.KIND_STATUS, seconds=ANSWER_S)
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=LiveStatus)
    except ValueError:
        return None  # a daemon of another version


def ask(home: Path, kind: str, *, seconds: float) -> str | None:
    """Return the daemon's text; None without a daemon, for another home's, or after the timeout. Never raises
    OSError.
    """
    return wire.ask(str(home), {"kind": kind}, connect_s=CONNECT_S, answer_s=seconds, max_bytes=_MAX_BYTES)


Phase = Literal["starting", "watching", "taking in", "stopping"]


class WatchedPlace(msgspec.Struct, frozen=True):
    """A folder and how its changes are noticed. reason: why it is looked at again and again instead."""

    folder: str
    agents: tuple[str, ...]
    how: Literal["notified", "polled", "absent"]
    reason: str = ""


class Failure(msgspec.Struct, frozen=True):
    """The last failure of one kind of work, and how often it failed in a row. at, again_at: UTC microseconds.

    again_at: when it is tried again. message: without what any transcript says.
    """

    work: str
    code: str
    message: str
    times: int
    at: int
    again_at: int


class Counters(msgspec.Struct):
    """What was done since the start. busy: how often another process was ingesting and the work had to wait."""

    passes: int = 0
    full_passes: int = 0
    events: int = 0
    bytes: int = 0
    busy: int = 0
    failures: int = 0
    distilled_sessions: int = 0
    embedded_texts: int = 0
    sweeps: int = 0
    hook_answers: int = 0


class Delay(msgspec.Struct, frozen=True):
    """Milliseconds from the notice of a change to its being searchable, of so many latest changes."""

    p50_ms: float
    p95_ms: float
    count: int


class LearningNow(msgspec.Struct, frozen=True):
    """How learning is. Instants are UTC microseconds, None for never.

    learnings: that hold. sessions_waiting: for the rules; turns_waiting: for a model. dead: pieces of work given up.
    held_back: texts of a model's answers that cannot be used. paused: why no model is asked now, "" for nothing;
    is_failing: somebody should look at that.
    """

    enabled: bool = True
    provider: str = ""
    learnings: int = 0
    sessions_waiting: int = 0
    turns_waiting: int = 0
    dead: int = 0
    held_back: int = 0
    last_run_at: int | None = None
    last_answer_at: int | None = None
    spent_today_usd: float = 0.0
    paused: str = ""
    is_failing: bool = False


class LiveStatus(msgspec.Struct, frozen=True):
    """The present state of a daemon. Times are UTC microseconds, None for never.

    url: of the status page and of `/mcp`, "" without a listener; http: why not. waiting_paths: noticed and not yet
    ingested. delay: None before the first ingest. next_full_at: when everything is examined again.
    """

    pid: int
    version: str
    home: str
    phase: Phase
    started_at: int
    now: int
    counters: Counters
    url: str = ""
    http: str = ""
    waiting_paths: int = 0
    last_pass_at: int | None = None
    last_full_at: int | None = None
    next_full_at: int | None = None
    last_sweep_at: int | None = None
    delay: Delay | None = None
    watched: tuple[WatchedPlace, ...] = ()
    absent: int = 0
    """Folders of agents that are not there; they are looked for all the time."""
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    """What the last look at everything said."""
    learning: LearningNow | None = None
    """None: of a daemon of before there was such a thing."""
