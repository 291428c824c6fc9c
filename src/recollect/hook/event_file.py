"""Spools one event: one payload in its own file, complete or not at all. The next sync ingests it.

Its name is in `recollect.wire`. agent: whose hook was registered; host: who ran it, if its environment tells. Nothing
is synced to the disk: a crash of the process loses nothing. A crash of the machine may lose the last seconds, which the
agent's own transcript still has.
"""

from __future__ import annotations

import os

from recollect.agent_names import HOST_VARIABLES
from recollect.files import move, write_all
from recollect.wire import LOST_SUFFIX, MAX_EVENT_BYTES, PARTIAL_FOLDER, WHOLE_SUFFIX

_STEP_BYTES = 1 << 16


def read_input(limit: int = MAX_EVENT_BYTES) -> bytes | None:
    """Return what comes on stdin; None when it cannot be read or is more than the limit. It is read to its end."""
    parts = []
    size = 0
    try:
        while part := os.read(0, _STEP_BYTES):
            size += len(part)
            if size <= limit:
                parts.append(part)
            else:
                parts.clear()
    except OSError:
        return None
    return b"".join(parts) if size <= limit else None


def keep(spool: str, agent: str, payload: bytes) -> bool:
    """Write a spooled event and return whether that worked. Never raises OSError; marks a loss instead.

    Never creates the memory's home, the spool's parent: if it is missing, somebody removed it.
    """
    if not payload:
        return False
    name = _name(agent)
    partial = os.path.join(spool, PARTIAL_FOLDER, name)
    try:
        _make_folders(spool)
        _write(partial, payload)
        move(partial, os.path.join(spool, name + WHOLE_SUFFIX), durable=False)
    except OSError:
        _remove(partial)
        _mark(os.path.join(spool, name + LOST_SUFFIX))
        return False
    return True


def lose(spool: str, agent: str) -> None:
    """Leave a mark for a payload that could not be read."""
    try:
        _make_folders(spool)
    except OSError:
        return
    _mark(os.path.join(spool, _name(agent) + LOST_SUFFIX))


def _name(agent: str) -> str:
    host = next((slug for variable, slug in HOST_VARIABLES.items() if os.environ.get(variable)), agent)
    return f"{_plain(agent)}.{_plain(host)}.{os.getpid()}.{os.urandom(16).hex()}"


def _plain(slug: str) -> str:
    """Return a slug that can be part of a file's name."""
    kept = "".join(c for c in slug[:40] if c.isascii() and (c.isalnum() or c in "-_"))
    return kept or "unknown"


def _make_folders(spool: str) -> None:
    for folder in (spool, os.path.join(spool, PARTIAL_FOLDER)):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue


def _write(path: str, payload: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        write_all(descriptor, payload)
    finally:
        os.close(descriptor)


def _mark(path: str) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return  # nothing can be written there at all; doctor sees that by itself


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
