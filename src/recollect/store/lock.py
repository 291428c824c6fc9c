"""The ingest lock: one ingester per home. The system releases it when the process dies."""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from pathlib import Path

from recollect.errors import StoreError, StoreLocked

LOCK_NAME = "ingest.lock"
_BYTE = 1 << 30
"""Windows locks bytes and forbids reading them: the locked one lies behind the pid."""
_held: weakref.WeakSet[IngestLock]


class IngestLock:
    """A held lock of `<home>/ingest.lock`, or of another kind of work; the file holds the pid of the holder."""

    def __init__(self, home: Path, *, name: str = LOCK_NAME, work: str = "ingesting into") -> None:
        """Take the lock without waiting. name: of the file; work: what its holder does to the memory.

        Raises StoreLocked naming the holder's pid, StoreError.
        """
        path = home / name
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"the memory's folder cannot be written: {error}") from error
        try:
            _lock(self._fd)
        except BlockingIOError:
            holder = _holder(self._fd)
            self.release()
            raise StoreLocked(
                f"another process{holder} is {work} this memory", hint="wait for it, or stop it"
            ) from None
        except OSError as error:
            self.release()
            raise StoreError(f"the memory's folder does not support locks: {error}") from error
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0) if hasattr(os, "pwrite") else os.write(
            self._fd, str(os.getpid()).encode()
        )
        _held.add(self)

    def __enter__(self) -> None:
        """Hold it until the end of the block."""

    def __exit__(self, *_exc: object) -> None:
        self.release()

    def release(self) -> None:
        """Give the lock back; closing the file is what releases it. Repeating it is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            _held.discard(self)
            os.close(fd)


def _holder(fd: int) -> str:
    with contextlib.suppress(OSError):
        os.lseek(fd, 0, os.SEEK_SET)
        text = os.read(fd, 20).decode("ascii", "replace").strip()
        if text.isdecimal():
            return f" (pid {text})"
    return ""


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        """Lock without waiting. Raises BlockingIOError when somebody else holds it."""
        os.lseek(fd, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error
        finally:
            os.lseek(fd, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(fd: int) -> None:
        """Lock without waiting. Raises BlockingIOError when somebody else holds it.

        flock, not lockf: it also refuses a second holder in the same process.
        """
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


_held = weakref.WeakSet()


def _forget_in_child() -> None:
    """A forked child shares the open file and would keep the lock alive after its parent died."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
