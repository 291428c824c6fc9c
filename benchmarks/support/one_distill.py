"""One run of distilling in a process of its own, so that its memory and CPU time can be watched. Prints JSON."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from recollect import Memory
from recollect.config import Config
from recollect.insights import default_stages
from recollect.insights.stages import Stages


class _Timed:
    """A stage that adds up the time of its one method: by the clock, since asking for processor time costs as much."""

    def __init__(self, stage: object, method: str, spent: dict[str, float]) -> None:
        self._spent, self._name = spent, method
        self._call = getattr(stage, method)
        setattr(self, method, self._run)

    def _run(self, *args: object) -> object:
        started = time.perf_counter()
        try:
            return self._call(*args)
        finally:
            self._spent[self._name] = self._spent.get(self._name, 0.0) + time.perf_counter() - started


def timed(stages: Stages, spent: dict[str, float]) -> Stages:
    """Return the stages, each watched."""
    methods = ("signals", "markers", "conversations", "decisions", "episodes", "bindings", "relate")
    pairs = zip(stages, methods, strict=True)
    made: list[Any] = [_Timed(stage, method, spent) for stage, method in pairs]
    return Stages(*made)


def main() -> None:
    """Arguments: the home, and the configuration as JSON."""
    config = msgspec.json.decode(sys.argv[2], type=Config)
    spent: dict[str, float] = {}
    with Memory.open(Path(sys.argv[1]), config=config) as memory:
        before = memory.stats().storage.database_bytes
        started = time.process_time()
        report = memory.distilling.run(stages=timed(default_stages(), spent))
        cpu = time.process_time() - started
        stats = memory.stats()
    said = {
        "report": report,
        "cpu_seconds": cpu,
        "stage_cpu_seconds": spent,
        "database_bytes_added": stats.storage.database_bytes - before,
    }
    sys.stdout.buffer.write(msgspec.json.encode(said))


if __name__ == "__main__":
    main()
