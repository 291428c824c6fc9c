"""The long proof, by hand: kills and failing disks by the hundred, sizes that nobody has, a day's traffic in minutes.

`--quick` tries a fifth of it. What is lost or doubled is counted and named; nothing here asserts a time.
"""

from __future__ import annotations

import argparse

from benchmarks.soaking import faults, live, sizes
from benchmarks.support.places import Places
from benchmarks.support.results import Section

PARTS = {"live": live.measure, "faults": faults.measure, "sizes": sizes.measure}


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Try everything, or one part; returns one section for each part."""
    wanted = [options.part] if options.part else list(PARTS)
    sections = [PARTS[name](at, is_quick=bool(options.quick)) for name in wanted]
    return [s._replace(title=f"{s.title} (quick)") for s in sections] if options.quick else sections
