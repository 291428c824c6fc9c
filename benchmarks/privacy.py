"""What redaction finds and costs: recall of planted secrets by kind, findings in real transcripts, share of ingest.

python -m benchmarks privacy --dry
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import Run
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.config import Config, DistillConfig, EmbeddingConfig
from recollect.privacy import Redactor
from tests.privacy.planted_secrets import drawn, planted

SEEDS = 200
ROUNDS = 3
MUST_SHARE = 0.25
KEY = b"a key for benchmarks"


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure recall, findings and cost; returns one section."""
    redactor = Redactor(KEY)
    print("privacy: recall", file=sys.stderr)
    figures: dict[str, Any] = {"recall": _recall(redactor)}
    print("privacy: findings", file=sys.stderr)
    figures["findings"] = _findings(redactor, _texts(at))
    chosen = options.corpus[0].resolve() if options.corpus else None
    corpus = corpora.generated(chosen) if chosen else corpora.generate(at, megabytes=300, sessions=600, seed=7)
    print("privacy: cost", file=sys.stderr)
    figures["cost"] = _cost(at, corpus)
    return [Section("privacy/redaction", "Secrets: what is found, and what looking costs", figures, render(figures))]


def _surroundings(written: str) -> dict[str, Any]:
    return {
        "prose": f"and then {written} was it",
        "quoted": f'the value "{written}" of it',
        "list in JSON in JSON": json.dumps({"command": [written]}),
        "code block": f"```\n{written}\n```\n",
        "key of an object": {written: 1},
    }


def _recall(redactor: Redactor) -> dict[str, Any]:
    """Return the share of planted secrets that are found, wherever they stand, and what is missed by kind."""
    tried: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for seed in range(SEEDS):
        for kind, (written, secret) in planted(drawn(seed)).items():
            for value in _surroundings(written).values():
                tried[kind] += 1
                found, _ = redactor.redact_value(value)
                missed[kind] += secret in str(found)
    total = sum(tried.values())
    return {
        "kinds": len(tried),
        "tried": total,
        "recall": round(1 - sum(missed.values()) / total, 5),
        "missed_share": {kind: round(n / tried[kind], 4) for kind, n in missed.most_common() if n},
    }


def _texts(at: Places) -> list[Path]:
    folder = corpora.real_of_every_agent(at)
    return sorted(p for p in folder.rglob("*") if p.suffix in (".jsonl", ".ndjson", ".json", ".md", ".txt"))


def _values(path: Path, redactor: Redactor) -> Iterator[Any]:
    """Yield what of a file may hold a secret, as ingest would see it."""
    data = path.read_bytes()
    lines = [data] if path.suffix == ".json" else data.splitlines(keepends=True)
    for record in redactor.suspects(data, list(accumulate(map(len, lines)))):
        try:
            yield json.loads(lines[record])
        except ValueError:
            yield lines[record].decode("utf-8", "replace")


def _findings(redactor: Redactor, files: Sequence[Path]) -> dict[str, Any]:
    """Return findings of each kind in real transcripts, and how fast records are told that may hold one."""
    kinds: Counter[str] = Counter()
    seconds = 0.0
    size = 0
    for path in files:
        data = path.read_bytes()
        ends = [len(data)]
        started = time.process_time()
        redactor.suspects(data, ends)
        seconds += time.process_time() - started
        size += len(data)
        for value in _values(path, redactor):
            kinds.update(finding.kind for finding in redactor.redact_value(value)[1])
    megabytes = max(size / 1e6, 1e-9)
    return {
        "files": len(files),
        "bytes": size,
        "sieve_ms_per_mb": round(seconds * 1000 / megabytes, 2),
        "per_mb": {kind: round(count / megabytes, 3) for kind, count in kinds.most_common()},
        "counts": dict(kinds.most_common()),
    }


def _cost(at: Places, corpus: Corpus) -> dict[str, Any]:
    """Take one corpus in with and without detectors, in turns; the share is of CPU time, of medians."""
    config = msgspec.structs.replace(
        corpus.config(), distill=DistillConfig(enabled=False), embedding=EmbeddingConfig(in_background=False)
    )
    taken: dict[str, list[dict[str, Any]]] = {"on": [], "off": []}
    for _ in range(ROUNDS):
        for switch, runs in taken.items():
            runs.append(_one(at, config, switch))
    seconds = {switch: median(run["cpu_seconds"] for run in runs) for switch, runs in taken.items()}
    size = taken["on"][0]["bytes"]
    return {
        "bytes": size,
        "with_cpu_ms_per_mb": round(seconds["on"] * 1e9 / size, 2),
        "without_cpu_ms_per_mb": round(seconds["off"] * 1e9 / size, 2),
        "share": round(1 - seconds["off"] / seconds["on"], 4),
        "must": MUST_SHARE,
        "findings": taken["on"][0]["findings"],
    }


def _one(at: Places, config: Config, switch: str) -> dict[str, Any]:
    home = at.home("privacy").resolve()
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    try:
        text = msgspec.json.encode(config).decode()
        run = Run([sys.executable, "-m", "benchmarks.support.one_redaction", str(home), text, switch])
        found: dict[str, Any] = json.loads(run.output)
        return found
    finally:
        shutil.rmtree(home, ignore_errors=True)


def render(figures: dict[str, Any]) -> str:
    """Return the section as Markdown."""
    recall, found, cost = figures["recall"], figures["findings"], figures["cost"]
    missed = ", ".join(f"{kind} {share:.1%}" for kind, share in recall["missed_share"].items()) or "none"
    kinds = ", ".join(f"{kind} {count}" for kind, count in found["counts"].items()) or "none"
    return "\n".join(
        [
            f"{recall['tried']:,} planted secrets of {recall['kinds']} kinds, drawn at random: {recall['recall']:.2%} "
            f"found. Share missed, by kind: {missed}.",
            "",
            f"{found['bytes'] / 1e6:.0f} MB of transcripts of every agent: {kinds}. Telling which records may hold one "
            f"takes {found['sieve_ms_per_mb']} ms of CPU a MB.",
            "",
            "| ingest, one process | CPU ms/MB |",
            "|---|---|",
            f"| with redaction | {cost['with_cpu_ms_per_mb']} |",
            f"| without | {cost['without_cpu_ms_per_mb']} |",
            "",
            f"Share of ingest: {cost['share']:.1%} (must be at most {cost['must']:.0%}).",
        ]
    )


if __name__ == "__main__":
    made = parser(__doc__).parse_args()
    publish(measure(places(made), made), dry=made.dry)
