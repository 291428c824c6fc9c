"""A process of its own: fills a home's queue with jobs, or takes some of them. Prints one JSON object."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from recollect.store.jobs import Job
from recollect.store.learnings import open_learning_store

GROUP = 10_000
LEASE_US = 60_000_000


def fill(home: Path, count: int) -> dict[str, Any]:
    """Add jobs that are all due, in groups."""
    now_us = time.time_ns() // 1000
    began = time.perf_counter()
    with open_learning_store(home) as store:
        for first in range(0, count, GROUP):
            jobs = [
                Job(f"bench{n:08d}", "model", f"claude:{n // 20}", b'{"turns":[1]}', now_us + n, now_us)
                for n in range(first, min(first + GROUP, count))
            ]
            with store.transaction():
                store.queue.add(jobs)
    return {"seconds": time.perf_counter() - began}


def take(home: Path, count: int) -> dict[str, Any]:
    """Claim and finish jobs, one transaction each; the times of both together, in milliseconds."""
    taken: list[float] = []
    with open_learning_store(home) as store:
        for _ in range(count):
            began = time.perf_counter()
            with store.transaction():
                job = store.queue.claim("model", holder="bench", now_us=time.time_ns() // 1000, lease_us=LEASE_US)
            if job is None:
                break
            with store.transaction():
                store.queue.finish(job, holder="bench")
            taken.append((time.perf_counter() - began) * 1000)
    return {"taken_ms": taken}


if __name__ == "__main__":
    what, folder, number = sys.argv[1:]
    print(json.dumps((fill if what == "fill" else take)(Path(folder), int(number))))
