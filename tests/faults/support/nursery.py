"""Runs `recollect` again and again without starting Python each time: one process loads everything once and forks.

It has one thread and opens no memory itself, so each child is as a fresh process. POSIX only.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import msgspec

from tests.faults.support.injection import Fault, Injector

HUNG_AFTER_S = 120.0
"""No run takes this long; who does is hanging, and is told as such."""
_REPOSITORY = Path(__file__).resolve().parents[3]


class Job(msgspec.Struct, frozen=True):
    """One run: arguments of `recollect`, its environment, what goes wrong, and where it may write its output.

    script: Python to run in place of the command line. file_limit: no file may grow beyond (bytes), as on a disk that
    is full; 0: none. open_files: how many may be open at once; 0: as the system allows.
    """

    arguments: tuple[str, ...]
    env: dict[str, str]
    home: str
    out: str
    fault: Fault = Fault()
    script: str = ""
    file_limit: int = 0
    open_files: int = 0
    groups_bytes: int = 60_000


class Ended(msgspec.Struct, frozen=True):
    """How a run ended. signal: that ended it, 0 for none. steps: what it did to the disk, calls: how many functions
    it called; both only of a run that was not killed."""

    code: int
    signal: int
    output: str
    steps: tuple[str, ...] = ()
    calls: int = 0
    peak_bytes: int = 0

    def __repr__(self) -> str:
        return f"exit code {self.code}, signal {self.signal}, after {len(self.steps)} steps: {self.output[-600:]}"

    @property
    def is_bug(self) -> bool:
        """Whether it ended in something that nobody expected, rather than in one line that says what is wrong."""
        return any(words in self.output for words in ("Traceback", "recollect: unexpected", "report this", '"bug"'))

    @property
    def was_killed(self) -> bool:
        return self.signal in (signal.SIGKILL, signal.SIGALRM)


class Nursery:
    """A client of the process that forks."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.support.nursery"],
            cwd=_REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RECOLLECT_BACKGROUND": "0"},
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(
        self, arguments: Sequence[str], *, home: Path, env: Mapping[str, str], fault: Fault | None = None,
        script: str = "", **limits: int,
    ) -> Ended:  # fmt: skip
        """Run `recollect ARGUMENTS` on a home to its end, whatever that is. limits: see `Job`."""
        values = {**env, "RECOLLECT_HOME": str(home), "RECOLLECT_BACKGROUND": "0"}
        values |= {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        out = str(self._folder / "out")
        job = Job(tuple(arguments), values, str(home), out, fault or Fault(), script, **limits)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(job) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that forks has ended"
        return msgspec.json.decode(line, type=Ended)


def main() -> None:
    """Take jobs from stdin, one a line, and answer each with how it ended."""
    _preload()
    decoder = msgspec.json.Decoder(Job)
    for line in sys.stdin.buffer:
        job = decoder.decode(line)
        Path(job.out).unlink(missing_ok=True)
        Path(job.out + ".steps").unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            _live(job)
        sys.stdout.buffer.write(msgspec.json.encode(_ended(pid, job)) + b"\n")
        sys.stdout.buffer.flush()


def _ended(pid: int, job: Job) -> Ended:
    waits_until = time.monotonic() + HUNG_AFTER_S
    pause = 0.001
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > waits_until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Ended(-1, 0, f"hung: {' '.join(job.arguments)}")
        time.sleep(pause)
        pause = min(0.01, pause * 1.5)
    output = Path(job.out).read_text("utf-8", "replace") if Path(job.out).exists() else ""
    steps: tuple[str, ...] = ()
    calls = 0
    if Path(job.out + ".steps").exists():
        steps, calls = msgspec.json.decode(Path(job.out + ".steps").read_bytes(), type=tuple[tuple[str, ...], int])
    is_signal = os.WIFSIGNALED(status)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Ended(
        -1 if is_signal else os.WEXITSTATUS(status), os.WTERMSIG(status) if is_signal else 0, output, steps, calls, peak
    )


def _live(job: Job) -> None:
    """Be the child. Never returns."""
    code = 99
    try:
        out = os.open(job.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.environ.clear()
        os.environ.update(job.env)
        _tune(job)
        injector = Injector(job.fault, Path(job.home))
        injector.install()
        code = _run(job)
        injector.stop()
        Path(job.out + ".steps").write_bytes(msgspec.json.encode((injector.steps, injector.calls)))
    except BaseException:  # noqa: BLE001 - a child must never come back into the loop of its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(job: Job) -> int:
    from recollect.__main__ import main as recollect

    sys.argv = ["recollect", *job.arguments]
    try:
        if job.script:
            exec(compile(job.script, "<job>", "exec"), {"__name__": "job"})
            return 0
        return int(recollect() or 0)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


def _tune(job: Job) -> None:
    """Cut the work into many small groups, so that there are many places to be killed at; set the limits."""
    from recollect.ingest import batch_writer as ingest

    ingest.BATCH_BYTES = job.groups_bytes
    ingest.INDEX_COMMIT_BYTES = 4 * job.groups_bytes
    if job.open_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (job.open_files, job.open_files))
    if job.file_limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job.file_limit, job.file_limit))


def _preload() -> None:
    """Load and compile what a run needs, by taking a small history in. All is closed again before the first fork."""
    import recollect.cli.commands.ingest
    import recollect.cli.main
    import recollect.index.vectors.builtin
    import recollect.ingest.rebuild  # noqa: F401
    from tests.faults.support.worlds import assert_whole, make_world, opened, prepare_home

    with TemporaryDirectory() as folder:
        world = make_world(Path(folder) / "agents", sessions=2, rounds=2)
        home = prepare_home(Path(folder) / "home")
        with opened(home, world.env) as memory:
            memory.sync()
        assert_whole(home, world)
    gc.collect()
    assert threading.active_count() == 1


if __name__ == "__main__":
    main()
