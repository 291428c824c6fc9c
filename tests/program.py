"""Runs `recollect` as a process of its own without starting Python each time.

One server a worker of pytest has the program loaded and forks for each run. What is forked is a process like any other:
it has its own id, streams, environment, folder and exit code, ends as the program does, and can be killed. What a run
had to import, the server imports before the next. It has one thread, no memory is open in it, and what is compiled when
it is first used, it has compiled. Tests of what Python does before the program is loaded (encodings, import paths, what
is loaded late) start Python themselves.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Self

PATIENCE_S = 120.0
"""After this a test fails instead of waiting on; no test depends on how long anything takes."""
_REPOSITORY = Path(__file__).resolve().parent.parent
_NUMBER = struct.Struct("<q")
_CAN_FORK = hasattr(os, "fork")


def run(
    *argv: object, env: Mapping[str, str] | None = None, cwd: str | os.PathLike[str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run `recollect` with arguments to its end."""
    with Program(*argv, env=env, cwd=cwd, stdin=stdin) as program:
        out, err = program.communicate()
        return subprocess.CompletedProcess(program.args, program.wait(), out, err)


def run_script(
    script: str, *argv: object, env: Mapping[str, str] | None = None, cwd: str | os.PathLike[str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script of Python, as `python -c` does, to its end."""
    with Program(*argv, env=env, cwd=cwd, script=script) as program:
        out, err = program.communicate()
        return subprocess.CompletedProcess(program.args, program.wait(), out.decode(), err.decode())


def run_text(
    *argv: object, env: Mapping[str, str] | None = None, cwd: str | os.PathLike[str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """The same, with text in place of bytes."""
    done = run(*argv, env=env, cwd=cwd, stdin=stdin.encode())
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


class Program:
    """A run of `recollect`. It is used as `subprocess.Popen` is; its standard output can be read while it runs.

    script: Python to run in place of `recollect`. returncode: as `subprocess` has it; None until it was asked for and
    the program had ended.
    """

    def __init__(
        self,
        *argv: object,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: bytes = b"",
        script: str = "",
    ) -> None:
        given_argv = [str(one) for one in argv]
        self.args = [sys.executable, *(("-c", script) if script else ("-m", "recollect")), *given_argv]
        self.returncode: int | None = None
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        environment = dict(os.environ if env is None else env)
        mine, its = os.pipe()
        self.stdout: IO[bytes] = os.fdopen(mine, "rb")
        with tempfile.TemporaryFile() as given, os.fdopen(its, "wb") as out:
            given.write(stdin)
            given.seek(0)
            if _CAN_FORK:
                self._control, theirs = socket.socketpair()
                self._control.settimeout(PATIENCE_S)
                place = os.fspath(cwd or Path.cwd())
                asked = {"argv": given_argv, "env": environment, "cwd": place, "script": script}
                streams = [given.fileno(), out.fileno(), self._err.fileno()]
                with theirs:
                    _server().ask(asked, [*streams, theirs.fileno()])
                self.pid = _taken(self._control)
            else:
                self._process = subprocess.Popen(
                    self.args, env=environment, cwd=cwd, stdin=given, stdout=out, stderr=self._err
                )
                self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.poll() is None:
            self.kill()
        self.wait()
        self.close()

    def close(self) -> None:
        """Close what is open of it here; the program itself goes on."""
        self.stdout.close()
        self._err.close()
        if self._control is not None:
            self._control.close()

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        if self.returncode is None:
            if self._process is not None:
                self.returncode = self._process.poll()
            elif self._control is not None:
                self._control.settimeout(0)
                with suppress(BlockingIOError):
                    self._take_code(self._control)
        return self.returncode

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Wait for the end and return the exit code. Raises TimeoutError, or that of `subprocess` without fork."""
        if self.returncode is None:
            if self._process is not None:
                self.returncode = self._process.wait(timeout)
            elif self._control is not None:
                self._control.settimeout(timeout)
                self._take_code(self._control)
        assert self.returncode is not None
        return self.returncode

    def _take_code(self, control: socket.socket) -> None:
        self.returncode = _taken(control)

    def communicate(self, timeout: float = PATIENCE_S) -> tuple[bytes, bytes]:
        """Return the rest of its standard output and all of its standard error, once it has ended."""
        out = self.stdout.read()
        self.wait(timeout)
        return out, self.errors()

    def errors(self) -> bytes:
        """Return what it has written to its standard error until now."""
        if _CAN_FORK:  # without moving the place at which the program writes
            return os.pread(self._err.fileno(), os.fstat(self._err.fileno()).st_size, 0)
        self._err.seek(0)
        return self._err.read()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a warning."""
        self.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))


def _taken(channel: socket.socket) -> int:
    """Return the next number that the process that forks tells. Raises BlockingIOError, TimeoutError."""
    told = channel.recv(_NUMBER.size)  # so few bytes come together
    assert told, "the process that forks has ended"
    return int(*_NUMBER.unpack(told))


class _Client:
    """The process that forks, as it is seen from here."""

    def __init__(self) -> None:
        self._socket, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.program", str(its.fileno())], pass_fds=(its.fileno(),),
                cwd=_REPOSITORY, stdin=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        self._lock = threading.Lock()
        atexit.register(self._end)

    def ask(self, asked: dict[str, Any], descriptors: list[int]) -> None:
        body = json.dumps(asked).encode()
        with self._lock:
            socket.send_fds(self._socket, [_NUMBER.pack(len(body))], descriptors)
            self._socket.sendall(body)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


@functools.cache
def _server() -> _Client:
    return _Client()


class _Server:
    """Forks for each request and tells each client when its program has ended and how."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._running: dict[int, socket.socket] = {}
        self._ended, self._wakes = socket.socketpair()
        for end in (self._ended, self._wakes):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        # Who sends these to the whole group means pytest, which then ends this process by closing the socket.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._imported, self._tells = os.pipe()
        for descriptor in (self._imported, self._tells):
            os.set_blocking(descriptor, False)

    def serve(self) -> None:
        """Work until the socket is closed."""
        _compile()
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(self._ended, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._ended:
                        self._reap()
                    elif not self._take():
                        return

    def _take(self) -> bool:
        size, descriptors, _flags, _address = socket.recv_fds(self._requests, _NUMBER.size, 4)
        if not size:
            return False
        self._load()
        assert threading.active_count() == 1
        asked = json.loads(self._requests.recv(*_NUMBER.unpack(size), socket.MSG_WAITALL))
        *streams, control = descriptors
        pid = os.fork()
        if pid == 0:
            _become(asked, streams, self._tells)
        for stream in streams:
            os.close(stream)
        self._running[pid] = socket.socket(fileno=control)
        self._running[pid].sendall(_NUMBER.pack(pid))
        return True

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            self._ended.recv(4096)
        for pid in list(self._running):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                with self._running.pop(pid) as control, suppress(OSError):
                    control.sendall(_NUMBER.pack(os.waitstatus_to_exitcode(status)))

    def _load(self) -> None:
        """Import what the last runs imported."""
        with suppress(BlockingIOError):
            names = os.read(self._imported, 1 << 16).decode().split()
            for name in names:
                if name not in sys.modules:
                    with suppress(Exception):
                        importlib.import_module(name)
            if names:
                gc.collect()
                gc.freeze()


def _compile() -> None:
    """Take a session in and find it: what that compiles (patterns, tables) takes longer than all else in a new home."""
    from recollect.memory import Memory
    from recollect.testing.builders import ClaudeTranscript

    with tempfile.TemporaryDirectory() as folder:
        session = ClaudeTranscript(Path(folder) / "claude", "one")
        session.user("hello postgres")  # words of no language in particular: all languages are tried
        session.tool("Bash", {"command": "pytest -q"}, "1 failed: AssertionError", is_error=True)
        session.assistant("done postgres")
        session.user("Use SQLite instead of files, because it has transactions.")
        session.write("/w/demo/store.py", "import sqlite3\n")
        session.assistant("Done.")
        env = {"HOME": folder, "CLAUDE_CONFIG_DIR": f"{folder}/claude", "RECOLLECT_BACKGROUND": "0"}
        with Memory.open(Path(folder) / "memory", env=env) as memory:
            memory.sync()
            assert memory.search("transactions").hits
    gc.collect()
    gc.freeze()


def _become(asked: dict[str, Any], streams: list[int], tells: int) -> None:
    """Be the program. Never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, tells)
        os.closerange(tells + 1, 256)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        time.tzset()
        sys.path[0] = ""
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = _written(1)
        sys.stderr = _written(2)
        atexit.register(_tell_imported, tells, set(sys.modules))
        _run(asked["script"], asked["argv"])
    except BaseException:  # noqa: BLE001 - what is forked must never come back into the loop of its parent
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(1)


def _run(script: str, argv: list[str]) -> None:
    """Run the program or a script and end this process as Python would."""
    from recollect import __main__ as program

    code = 0
    try:
        if script:
            sys.argv = ["-c", *argv]
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(script, "<string>", "exec"), main.__dict__)
        else:
            sys.argv = [str(program.__file__), *argv]
            sys.modules["__main__"] = program
            program.run()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    program.leave(code)


def _tell_imported(tells: int, known: set[str]) -> None:
    # In the order in which they were imported: `_asyncio` before `asyncio` leaves no task that knows itself.
    with suppress(BlockingIOError):
        os.write(tells, " ".join(["", *(name for name in sys.modules if name not in known), ""]).encode())


def _written(number: int) -> io.TextIOWrapper:
    raw = os.fdopen(number, "wb", closefd=False)
    is_error = number == 2
    return io.TextIOWrapper(
        raw, "utf-8", "backslashreplace" if is_error else "strict", line_buffering=is_error or os.isatty(number)
    )


if __name__ == "__main__":
    _Server(socket.socket(fileno=int(sys.argv[1]))).serve()
