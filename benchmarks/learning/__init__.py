"""Benchmarks of what is learned: `python -m benchmarks learning [--part day] [--quick] [--dry]`."""

from __future__ import annotations

import argparse
import sys

from benchmarks.learning import asked, claims, day, folders, observed, paraphrased, queue
from benchmarks.support.places import Places
from benchmarks.support.results import Section

PARTS = {
    "day": day.measure,
    "observed": observed.measure,
    "queue": queue.measure,
    "asked": asked.measure,
    "claims": claims.measure,
    "documents": folders.measure,
    "paraphrased": paraphrased.measure,
}


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every part, or the one that `--part` names; `--quick`: a little of each, to see that it runs."""
    wanted = getattr(options, "part", None)
    sections = []
    for name, part in PARTS.items():
        if wanted in (None, name):
            print(f"learning: {name}", file=sys.stderr)
            sections.append(part(at, is_quick=bool(getattr(options, "quick", False))))
    return sections
