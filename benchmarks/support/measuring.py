"""How figures are taken: memory of a process tree, CPU time of children, percentiles, the machine."""

from __future__ import annotations

import compileall
import os
import platform
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import recollect

_SAMPLE_SECONDS = 0.05
_PROC = Path("/proc")


class MemoryPeak:
    """The peak memory of a process and its descendants. `None` where the system doesn't tell.

    tree_bytes: most that all processes held at once, shared pages counted once. anonymous_bytes: the same without
    pages of files, such as those of the index while its segments are merged, which the system takes back at will.
    largest_bytes: the high water mark of the largest single process, shared pages included. parts: for each set of
    modules that processes ran at the same time, (module, bytes, bytes without pages of files) of each process when they
    held most.
    """

    def __init__(self) -> None:
        self.tree_bytes: int | None = None
        self.anonymous_bytes: int | None = None
        self.largest_bytes: int | None = None
        self.processes = 0
        self.parts: dict[str, list[tuple[str, int, int]]] = {}

    def sample(self, root: int) -> None:
        """Take one sample of the tree below process `root`."""
        held: list[tuple[str, int, int]] = []
        for pid in _tree(root):
            proportional = _fields(_PROC / str(pid) / "smaps_rollup")
            high_water = _fields(_PROC / str(pid) / "status").get("VmHWM")
            if "Pss" in proportional:
                # Kernels before 5.9 do not tell the two apart.
                anonymous = proportional.get("Pss_Anon", proportional["Pss"]) + proportional.get("Pss_Shmem", 0)
                held.append((_module(pid), proportional["Pss"], anonymous))
            if high_water is not None:
                self.largest_bytes = max(self.largest_bytes or 0, high_water)
        if held:
            total = sum(one for _, one, _ in held)
            self.tree_bytes = max(self.tree_bytes or 0, total)
            self.anonymous_bytes = max(self.anonymous_bytes or 0, sum(one for _, _, one in held))
            self.processes = max(self.processes, len(held))
            names = ", ".join(sorted({name for name, _, _ in held}))
            if total > sum(one for _, one, _ in self.parts.get(names, ())):
                self.parts[names] = held


def _module(pid: int) -> str:
    """Return the last part of the name of the module that a process runs, "" where nothing tells it."""
    with suppress(OSError):
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        if "-m" in words[:-1]:
            return words[words.index("-m") + 1].rpartition(".")[2]
    return ""


def _tree(root: int) -> Iterator[int]:
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        try:
            for task in (_PROC / str(pid) / "task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text("ascii").split()]
        except OSError:
            continue  # the process has ended


def cpu_seconds_of_tree(root: int) -> dict[int, float]:
    """Return the processor seconds of a process and its descendants so far, by process; none where the system doesn't
    tell."""
    found: dict[int, float] = {}
    for pid in _tree(root):
        with suppress(OSError):
            fields = (_PROC / str(pid) / "stat").read_text("ascii").rpartition(")")[2].split()
            found[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def _fields(path: Path) -> dict[str, int]:
    """Return the fields of a file of kilobytes, in bytes; nothing when the process or the file is gone."""
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError:
        return {}
    named = (line.partition(":") for line in lines if line.endswith(" kB"))
    return {name: int(value.split()[0]) * 1024 for name, _, value in named}


@contextmanager
def watched_memory(root: int) -> Iterator[MemoryPeak]:
    """Sample the tree below `root` every 50 ms while the block runs."""
    peak, is_done = MemoryPeak(), threading.Event()

    def watch() -> None:
        while not is_done.wait(_SAMPLE_SECONDS):
            peak.sample(root)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        is_done.set()
        watcher.join()


def as_installed(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the package has its bytecode, as it has wherever an installer put it."""
    _compile()
    return {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}


@cache
def _compile() -> None:
    """Make the bytecode of the package, once."""
    compileall.compile_dir(Path(recollect.__file__).parent, quiet=2)


class Run:
    """A finished child: its output, wall and CPU seconds (all its waited-for descendants included), and memory.

    Raises CalledProcessError for an exit code that is not accepted.
    """

    def __init__(
        self, command: Sequence[str], *, env: dict[str, str] | None = None, accepted: Sequence[int] = (0,)
    ) -> None:
        env = as_installed(os.environ if env is None else env)
        before = os.times()
        started = time.perf_counter()
        child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        with watched_memory(child.pid) as self.memory:
            self.output = child.communicate()[0]
        self.wall_seconds = time.perf_counter() - started
        after = os.times()
        self.cpu_seconds = after.children_user - before.children_user + after.children_system - before.children_system
        self.exit_code = child.returncode
        if child.returncode not in accepted:
            raise subprocess.CalledProcessError(child.returncode, list(command), self.output)


def timed_ms(call: Callable[[], Any]) -> float:
    """Return the wall time of one call in milliseconds."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile by nearest rank."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, round(share * len(ranked) + 0.5) - 1))]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return p50, p95, p99 and the largest of some milliseconds, with their number."""
    return {
        "n": len(values),
        "p50_ms": round(percentile(values, 0.5), 2),
        "p95_ms": round(percentile(values, 0.95), 2),
        "p99_ms": round(percentile(values, 0.99), 2),
        "max_ms": round(max(values), 2),
    }


def machine() -> dict[str, Any]:
    """Return what the figures were taken on."""
    model = platform.processor() or platform.machine()
    info = _PROC / "cpuinfo"
    if info.is_file():
        names = [x.split(":", 1)[1].strip() for x in info.read_text("utf-8").splitlines() if x.startswith("model name")]
        model = names[0] if names else model
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": model,
        "cores": usable_cores(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
