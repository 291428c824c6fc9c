"""What distilling costs beside taking in: the same transcripts, taken in without it, then analysed, in one run.

Measures generated transcripts and the real ones; `--corpus DIR` (repeatable) measures those instead. Processor time
is compared, because taking in uses every core and distilling here only one. Beside it: what distilling takes of a whole
ingest as it runs, with helpers, by the clock, and of its processor time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import Any

import msgspec

from benchmarks.ingest import cold_ingest
from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import Run
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory

MOST_SHARE = 0.25
"""Of the processor time of taking in (the bar); that of a whole ingest, with distilling and learning, is larger."""


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    chosen = [corpora.generated(folder.resolve()) for folder in options.corpus]
    chosen = chosen or [corpora.generate(at, megabytes=300, sessions=600, seed=7), corpora.real(at, only_real=True)]
    sections = []
    for corpus in chosen:
        print(f"distill_speed: {corpus.name}", file=sys.stderr)
        figures = _measure_one(at, corpus)
        sections.append(
            Section(f"distill_speed/{corpus.name}", f"Distilling, its cost: {corpus.name}", figures, render(figures))
        )
    return sections


def _measure_one(at: Places, corpus: Corpus) -> dict[str, Any]:
    home = at.home(f"distill-{corpus.folder.name}")
    config = corpus.config()
    without = msgspec.structs.replace(config, distill=msgspec.structs.replace(config.distill, enabled=False))
    try:
        whole = cold_ingest(corpus, home)
        taken = cold_ingest(corpus, home, settings=without)
        run = Run(
            [sys.executable, "-m", "benchmarks.support.one_distill", str(home), msgspec.json.encode(config).decode()]
        )
        said = json.loads(run.output)
        with Memory.open(home, config=config) as memory:
            sessions = memory.sessions(limit=10_000_000, sync=False).sessions
            turns = sum(s.turn_count for s in sessions)
            nodes = sum(1 for _ in memory.nodes())
        cpu = said["cpu_seconds"]
        return {
            "bytes": taken["bytes_taken"],
            "sessions": said["report"]["sessions"],
            "turns": turns,
            "events": taken["events"],
            "nodes": nodes,
            "ingest_cpu_seconds": taken["cpu_seconds"],
            "distill_cpu_seconds": round(cpu, 2),
            "share": round(cpu / taken["cpu_seconds"], 3),
            "whole_seconds": whole["seconds"],
            "whole_cpu_seconds": whole["cpu_seconds"],
            "clock_share_of_whole": round(whole["phase_seconds"]["distill"] / whole["seconds"], 3),
            "cpu_share_of_whole": round(cpu / whole["cpu_seconds"], 3),
            "cpu_ms_per_mb": round(cpu * 1000 / (taken["bytes_taken"] / 1e6), 2),
            "turns_per_second": round(turns / cpu),
            "stage_cpu_seconds": {k: round(v, 2) for k, v in said["stage_cpu_seconds"].items()},
            "peak_bytes": run.memory.largest_bytes,
            "database_share": round(said["database_bytes_added"] / taken["bytes_taken"], 4),
        }
    finally:
        shutil.rmtree(home, ignore_errors=True)


def render(f: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in f["stage_cpu_seconds"].items())
    rest = f["distill_cpu_seconds"] - sum(f["stage_cpu_seconds"].values())
    verdict = "met" if f["share"] <= MOST_SHARE else "missed"
    return "\n".join(
        [
            "| what | measured | bar |",
            "|---|--:|---|",
            f"| share of the processor time of taking in | {f['share']:.3f} | {MOST_SHARE} ({verdict}) |",
            f"| share of that of a whole ingest ({f['whole_cpu_seconds']} s) | {f['cpu_share_of_whole']:.3f} | |",
            f"| share of a whole ingest by the clock ({f['whole_seconds']} s) | {f['clock_share_of_whole']:.3f} | |",
            f"| turns a second | {f['turns_per_second']:,} | |",
            f"| processor time | {f['distill_cpu_seconds']} s; {f['cpu_ms_per_mb']} ms per MB | |",
            f"| peak memory | {f['peak_bytes'] / 1e6:.0f} MB | 400 MB |",
            f"| added to the database, of the source | {f['database_share']:.4f} | |",
            "",
            f"{f['bytes'] / 1e6:.0f} MB, {f['sessions']:,} sessions, {f['turns']:,} turns, {f['events']:,} events, "
            f"{f['nodes']:,} nodes. Seconds by stage: {parts}; reading, digests and storing {rest:.2f}.",
        ]
    )


if __name__ == "__main__":
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)
