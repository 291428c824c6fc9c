"""One sync in a process of its own, so that its memory and CPU time can be watched from outside. Prints JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.config import Config


def main() -> None:
    """Arguments: the home, and the configuration as JSON."""
    config = msgspec.json.decode(sys.argv[2], type=Config)
    with Memory.open(Path(sys.argv[1]), config=config) as memory:
        report = memory.sync()
        stats = memory.stats()
    sys.stdout.buffer.write(
        msgspec.json.encode(
            {
                "report": report,
                "storage": stats.storage,
                "sessions": stats.sessions,
                "events": stats.events,
                "megabytes_per_second": report.megabytes_per_second,
            }
        )
    )


if __name__ == "__main__":
    main()
