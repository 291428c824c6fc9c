"""What redaction finds and costs: planted secrets by kind and surroundings, false redactions, share of ingest.

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
from tests.privacy.planted_secrets import SURROUNDINGS, drawn, is_readable, planted

SEEDS = 40
WORDS = 20_000
"""False redactions are counted by this many words."""
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


def _recall(redactor: Redactor) -> dict[str, Any]:
    """Return the share of planted secrets that no longer can be read, by surroundings, and what is missed by kind."""
    tried: Counter[str] = Counter()
    readable: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for seed in range(SEEDS):
        for kind, (written, secret) in planted(drawn(seed)).items():
            for name, surround in SURROUNDINGS.items():
                tried[name] += 1
                if is_readable(secret, redactor.redact_text(surround(written))[0]):
                    readable[name] += 1
                    missed[kind] += 1
    total = sum(tried.values())
    kinds = len(planted(drawn(0)))
    by_surroundings = {
        name: {
            "found": round(1 - readable[name] / tried[name], 4),
            "readable_of_each_set": round(readable[name] / SEEDS, 1),
        }
        for name in SURROUNDINGS
    }
    return {
        "kinds": kinds,
        "tried": total,
        "recall": round(1 - sum(missed.values()) / total, 5),
        "surroundings": by_surroundings,
        "missed_share": {
            kind: round(n / (SEEDS * len(SURROUNDINGS)), 4) for kind, n in missed.most_common() if n * 1000 > SEEDS
        },
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
    """Return findings of each kind in real transcripts, and how fast records are told that may hold one.

    Each finding is printed, for a person to judge.
    """
    kinds: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    seconds = 0.0
    size = words = 0
    for path in files:
        data = path.read_bytes()
        ends = [len(data)]
        started = time.process_time()
        redactor.suspects(data, ends)
        seconds += time.process_time() - started
        size += len(data)
        words += len(data.split())
        for value in _values(path, redactor):
            redacted, found = redactor.redact_value(value)
            kinds.update(finding.kind for finding in found)
            judged.update(_shown(value, redacted) if found else ())
    for shown, count in judged.most_common():  # for a person to judge
        print(f"{count:5} {shown}", file=sys.stderr)
    megabytes = max(size / 1e6, 1e-9)
    return {
        "files": len(files),
        "bytes": size,
        "words": words,
        "per_20000_words": round(sum(kinds.values()) * WORDS / max(words, 1), 3),
        "sieve_ms_per_mb": round(seconds * 1000 / megabytes, 2),
        "per_mb": {kind: round(count / megabytes, 3) for kind, count in kinds.most_common()},
        "counts": dict(kinds.most_common()),
    }


def _shown(value: Any, redacted: Any) -> Iterator[str]:
    """Yield each string in which something was replaced, from shortly before its first difference."""
    for before, after in zip(_strings(value), _strings(redacted), strict=True):
        if before != after:
            same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
            yield repr(before[max(0, same - 40) : same + 60])


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item


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
    rows = [
        f"| {name} | {row['found']:.2%} | {row['readable_of_each_set']} of {recall['kinds']} |"
        for name, row in recall["surroundings"].items()
    ]
    return "\n".join(
        [
            f"{recall['tried']:,} planted secrets of {recall['kinds']} kinds, drawn at random, in "
            f"{len(recall['surroundings'])} surroundings: {recall['recall']:.2%} found. "
            f"Share missed, by kind: {missed}.",
            "",
            "| surroundings | found | readable on average |",
            "|---|--:|--:|",
            *rows,
            "",
            f"In {found['words']:,} words of real transcripts {sum(found['counts'].values())} redactions, which is "
            f"{found['per_20000_words']} in {WORDS:,} words (must be below 1, if all of them were false).",
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
