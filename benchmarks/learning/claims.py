"""A million pieces of work waiting: what it takes to keep them, to take one, and to say how many there are."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import Run, spread, timed_ms
from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import Config

WAITING, QUICK_WAITING = 1_000_000, 20_000
CLAIMS = 200
MUST_MB = 400
"""Design, section 10: peak memory, whatever the size."""


def measure(at: Places, *, is_quick: bool = False) -> Section:
    """Fill a queue, take some of it; returns one section."""
    home = at.home("learning-claims")
    shutil.rmtree(home, ignore_errors=True)
    count = QUICK_WAITING if is_quick else WAITING
    with Memory.open(home, config=Config()) as memory:
        memory.sync()
        empty = (home / "memory.db").stat().st_size
        filled = _run("fill", home, count)
        taken = _run("take", home, CLAIMS)
        figures: dict[str, Any] = {
            "waiting": count,
            "fill_seconds": round(json.loads(filled.output)["seconds"], 1),
            "fill_peak_mb": _mb(filled.memory.tree_bytes),
            "claim": spread(json.loads(taken.output)["taken_ms"]),
            "claim_peak_mb": _mb(taken.memory.tree_bytes),
            "status_ms": round(timed_ms(memory.learn.status), 1),
            "left": memory.learn.status().turns_waiting,
            "bytes_per_job": round(((home / "memory.db").stat().st_size - empty) / count),
        }
    shutil.rmtree(home, ignore_errors=True)
    return Section("learning/claims", f"Learning: {count:,} jobs waiting", figures, render(figures))


def _run(what: str, home: Path, count: int) -> Run:
    return Run([sys.executable, "-m", "benchmarks.learning.one_queue", what, str(home), str(count)])


def _mb(size: int | None) -> float | None:
    return None if size is None else round(size / 1e6, 1)


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    claim = figures["claim"]
    rows: list[tuple[str, object, str]] = [
        ("jobs that wait", f"{figures['waiting']:,}", ""),
        ("keeping them all", f"{figures['fill_seconds']} s", ""),
        ("bytes of a job on disk", figures["bytes_per_job"], ""),
        (f"taking and ending one, p50 of {claim['n']}", f"{claim['p50_ms']} ms", ""),
        ("taking and ending one, p95", f"{claim['p95_ms']} ms", ""),
        ("saying how many wait", f"{figures['status_ms']} ms", ""),
        ("still waiting after that", f"{figures['left']:,}", f"{figures['waiting'] - claim['n']:,}"),
    ]
    if figures["claim_peak_mb"] is not None:
        peak = max(figures["claim_peak_mb"], figures["fill_peak_mb"] or 0)
        rows.append(("peak memory, the larger of both", f"{peak} MB", f"must {MUST_MB} MB"))
    return "\n".join(["| figure | measured | bar |", "|---|--:|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)])
