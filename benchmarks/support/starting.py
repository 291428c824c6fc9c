"""Commands as processes, start to exit, over what Python alone takes; and a daemon to ask."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.measuring import as_installed, percentile
from recollect.ingest.daemon_status import ask_status
from recollect.paths import BACKGROUND_VARIABLE, HOME_VARIABLE

PYTHON = [sys.executable, "-c", "pass"]
PROGRAM = [sys.executable, "-m", "recollect"]
_PATIENCE_S = 60.0
_LOOK_S = 0.05


class Command(NamedTuple):
    """A process to be timed. data: its standard input. before: called before every run, outside the time."""

    arguments: Sequence[str]
    data: bytes = b""
    before: Callable[[], None] = lambda: None


def environment(home: Path) -> dict[str, str]:
    """Return the environment of commands over a home, without work in the background."""
    return as_installed({**os.environ, HOME_VARIABLE: str(home), BACKGROUND_VARIABLE: "0"})


def over_python(commands: Mapping[str, Command], env: Mapping[str, str], *, rounds: int) -> dict[str, Any]:
    """Return the milliseconds of each command over Python's own median; all in turn, so that they share what disturbs.

    The first round warms caches and is left out.
    """
    taken: dict[str, list[float]] = {name: [] for name in commands}
    alone: list[float] = []
    for _ in range(rounds + 1):
        alone.append(_once(Command(PYTHON), env))
        for name, command in commands.items():
            command.before()
            taken[name].append(_once(command, env))
    python = percentile(alone[1:], 0.5)
    return {name: _over([one - python for one in values[1:]], python) for name, values in taken.items()}


def _once(command: Command, env: Mapping[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command.arguments, input=command.data, env=dict(env), stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def _over(values: Sequence[float], python: float) -> dict[str, float]:
    return {
        "n": len(values),
        "min_ms": round(min(values), 1),
        "p50_ms": round(percentile(values, 0.5), 1),
        "p95_ms": round(percentile(values, 0.95), 1),
        "max_ms": round(max(values), 1),
        "python_ms": round(python, 1),
    }


def told(figures: Mapping[str, float]) -> str:
    """Return one row's figures as text."""
    spread = f"min {figures['min_ms']}, median {figures['p50_ms']}, max {figures['max_ms']} ms"
    return f"{spread} over Python's {figures['python_ms']} ms"


@contextmanager
def daemon(home: Path, env: Mapping[str, str]) -> Iterator[None]:
    """Have a daemon at work that has looked at everything."""
    process = subprocess.Popen([*PROGRAM, "up", "--port", "0"], env=dict(env), stdout=subprocess.DEVNULL)
    try:
        ends = time.monotonic() + _PATIENCE_S
        while (status := ask_status(home)) is None or status.last_full_at is None:
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError("the daemon did not start")
            time.sleep(_LOOK_S)
        yield
    finally:
        process.terminate()
        process.wait()
