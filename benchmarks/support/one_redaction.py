"""One cold sync in this process, with the detectors or without any: prints its CPU seconds as JSON.

python -m benchmarks.support.one_redaction HOME CONFIG on|off
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.config import Config, PrivacyConfig
from recollect.ingest.worker import pool, worker
from recollect.privacy.redact import Redactor


def main() -> None:
    """Take everything in, in one process, so that all of the work is counted."""
    home, config, switch = sys.argv[1:4]
    pool.SMALL_BYTES = 1 << 60
    if switch == "off":

        def none(marker_key: bytes, _privacy: PrivacyConfig | None = None) -> Redactor:
            return Redactor(marker_key, ())

        worker.redactor_of = none  # type: ignore[assignment]
    with Memory.open(Path(home), config=msgspec.json.decode(config, type=Config)) as memory:
        started = time.process_time()
        report = memory.sync()
        seconds = time.process_time() - started
        found = sum(sum(line.redactions.values()) for line in report.agents.values())
    print(json.dumps({"cpu_seconds": seconds, "bytes": report.bytes, "findings": found, "state": report.state}))


if __name__ == "__main__":
    main()
