"""Faults where they really happen: a step towards the disk fails, or the process is killed at it.

A step is one call that changes what is on the disk: every write, sync, truncation and deletion of SQLite (through a
VFS of ours below it), every `os.write` and `os.fsync`, and every file or folder that is made, opened for writing,
renamed or removed. What the search engine writes by itself is reached by `place="engine"`: the process dies some
microseconds after it was called. `place="call"` counts calls of functions instead, so that a kill falls anywhere.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

import apsw
import msgspec

Kind = Literal["none", "kill", "torn", "full", "broken"]
Place = Literal["step", "call", "engine"]
_NEEDS_ROOM = ("write", "make")
_MAKING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Fault(msgspec.Struct, frozen=True):
    """What goes wrong.

    kill: SIGKILL instead of the step. torn: half of a write reaches the file, then SIGKILL. full: no room for anything
    from there on. broken: the step fails (EIO), if is_lasting also every one after it. at: which one, from 1. delay_us:
    for place "engine", how long after the call.
    """

    kind: Kind = "none"
    at: int = 0
    place: Place = "step"
    is_lasting: bool = True
    delay_us: int = 0


class Injector:
    """Counts the steps below one folder and lets the fault happen. For the whole life of this process."""

    def __init__(self, fault: Fault, root: Path) -> None:
        self._fault = fault
        self._root = f"{os.path.realpath(root)}{os.sep}"
        self._is_counting = True
        self._lock = threading.Lock()
        self.steps: list[str] = []
        """What each step was, as `file operation`; numbers in names are left out."""
        self.calls = 0

    def install(self) -> None:
        """Begin. Nothing can be taken back: the process is there for this one run."""
        self._write, self._fsync = os.write, os.fsync
        os.write, os.fsync = self.write, self.fsync
        sys.addaudithook(self._audit)
        self._vfs = _FaultyVfs(self)
        vars(apsw)["Connection"] = _Connection
        if self._fault.place != "step":
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)

    def stop(self) -> None:
        """Let everything succeed from here on."""
        self._is_counting = False
        sys.setprofile(None)

    def step(self, name: str, operation: str, tear: Callable[[], object] | None = None) -> BaseException | None:
        """Take note of a step. Returns the error that it has to fail with; kills where that is what is wanted."""
        if not self._is_counting:
            return None
        with self._lock:
            self.steps.append(f"{_kind_of_file(name)} {operation}")
            number = len(self.steps)
        fault = self._fault
        if fault.place != "step" or fault.kind == "none" or number < fault.at:
            return None
        if fault.kind in ("kill", "torn"):
            if fault.kind == "torn" and tear is not None:
                tear()
            kill_this_process()
        if fault.kind == "full":
            return OSError(errno.ENOSPC, "No space left on device") if operation in _NEEDS_ROOM else None
        is_meant = fault.is_lasting or number == fault.at
        return OSError(errno.EIO, "Input/output error") if is_meant else None

    def write(self, fd: int, data: Any, /) -> int:
        """Stands for `os.write`."""
        if not self._is_ours(fd):
            return self._write(fd, data)
        view = memoryview(data)
        error = self.step(_name_of(fd), "write", lambda: self._write(fd, view[: len(view) // 2]))
        if error is not None:
            raise error
        return self._write(fd, data)

    def fsync(self, fd: int, /) -> None:
        """Stands for `os.fsync`."""
        error = self.step(_name_of(fd), "sync") if self._is_ours(fd) or _is_folder(fd) else None
        if error is not None:
            raise error
        self._fsync(fd)

    @staticmethod
    def _is_ours(fd: int) -> bool:
        return fd > 2 and stat.S_ISREG(os.fstat(fd).st_mode)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        found = _AUDITED.get(event)
        if found is None or not self._is_counting:
            return
        if event == "open" and not _is_opened_for_writing(arguments):
            return
        path = arguments[0]
        if isinstance(path, int) or not self._is_below(path):
            return
        error = self.step(os.fsdecode(path), found)
        if error is not None:
            raise error

    def _is_below(self, path: Any) -> bool:
        text = os.fsdecode(path)
        return not os.path.isabs(text) or text.startswith(self._root)

    def _profile(self, _frame: Any, event: str, argument: Any) -> None:
        if event not in ("call", "c_call") or not self._is_counting:
            return
        fault = self._fault
        if fault.place == "engine":
            if event == "c_call" and type(getattr(argument, "__self__", None)).__module__.startswith("tantivy"):
                self.calls += 1
                if self.calls == fault.at:
                    signal.signal(signal.SIGALRM, signal.SIG_DFL)
                    signal.setitimer(signal.ITIMER_REAL, max(1, fault.delay_us) / 1e6)
            return
        self.calls += 1
        if fault.kind == "kill" and self.calls == fault.at:
            kill_this_process()


def kill_this_process() -> NoReturn:
    """End at once, as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("killed processes do nothing more")


_AUDITED = {
    "open": "make",
    "os.mkdir": "make",
    "os.link": "make",
    "os.rename": "rename",
    "os.remove": "remove",
    "os.rmdir": "remove",
    "os.truncate": "truncate",
}


def _is_opened_for_writing(arguments: tuple[Any, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & _MAKING) and arguments[0] != os.devnull


def _is_folder(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)


def _name_of(fd: int) -> str:
    """Return the path of an open file where the system tells; else that it is one."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return "file"


def _kind_of_file(name: str) -> str:
    base = os.path.basename(name)
    return "".join(c for c in base if not c.isdigit())[-24:] if base else "folder"


class _Connection(apsw.Connection):
    """SQLite does not tell when the last tidying up of a connection failed; an exception through Python would."""

    def close(self, force: bool = False) -> None:
        with suppress(apsw.IOError, apsw.FullError):
            super().close(force)


class _FaultyVfs(apsw.VFS):
    """The system's own VFS with the injector before everything that changes a file."""

    def __init__(self, injector: Injector) -> None:
        self._injector = injector
        self._below = apsw.vfs_names()[0]
        super().__init__("faulty", self._below, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - the name is SQLite's
        return _FaultyFile(self._injector, self._below, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        _raise_as_sqlite(self._injector.step(filename, "remove"))
        super().xDelete(filename, syncdir)


class _FaultyFile(apsw.VFSFile):
    def __init__(self, injector: Injector, below: str, name: Any, flags: list[int]) -> None:
        super().__init__(below, name, flags)
        self._injector = injector
        self._name = (name.filename() if isinstance(name, apsw.URIFilename) else name) or "temporary"

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        half = memoryview(data)[: len(data) // 2]
        tear = super().xWrite
        _raise_as_sqlite(self._injector.step(self._name, "write", lambda: tear(half, offset)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        _raise_as_sqlite(self._injector.step(self._name, "sync"))
        super().xSync(flags)

    def xLock(self, level: int) -> None:  # noqa: N802
        try:
            super().xLock(level)
        except apsw.IOError as error:
            # The last one to close asks for more than a file opened for reading allows, and SQLite lives with that.
            raise apsw.BusyError("opened for reading") from error

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        _raise_as_sqlite(self._injector.step(self._name, "truncate"))
        super().xTruncate(newsize)


def _raise_as_sqlite(error: BaseException | None) -> None:
    if isinstance(error, OSError):
        raise apsw.FullError("no room") if error.errno == errno.ENOSPC else apsw.IOError("cannot write")
