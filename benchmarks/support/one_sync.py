"""One sync in a process of its own, so that its memory and CPU time can be watched from outside. Prints JSON."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.config import Config
from recollect.memory import SyncProgress


class _Phases:
    """When each phase of a sync began, by the clock, as its progress tells."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}

    def tell(self, progress: SyncProgress) -> None:
        self._began.setdefault(progress.stage, time.perf_counter())

    def seconds(self) -> dict[str, float]:
        """Return how long each took, from its first word to that of the next."""
        ends = [*list(self._began.values())[1:], time.perf_counter()]
        return {name: end - began for (name, began), end in zip(self._began.items(), ends, strict=True)}


def main() -> None:
    """Arguments: the home, and the configuration as JSON."""
    config = msgspec.json.decode(sys.argv[2], type=Config)
    with Memory.open(Path(sys.argv[1]), config=config) as memory:
        phases = _Phases()
        report = memory.sync(progress=phases.tell)
        seconds = phases.seconds()
        stats = memory.stats()
    sys.stdout.buffer.write(
        msgspec.json.encode(
            {
                "report": report,
                "phase_seconds": seconds,
                "storage": stats.storage,
                "sessions": stats.sessions,
                "events": stats.events,
            }
        )
    )


if __name__ == "__main__":
    main()
