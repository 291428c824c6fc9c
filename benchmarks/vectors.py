"""How fast texts become vectors, and how fast and how exactly the nearest are found among many.

Of the contextual model: how fast it reads 300 MB of generated transcripts, and how long all of them take. The CPU time
of its one thread counts.

Of the built-in table: texts are the paragraphs of the docstrings of Python's own library. Larger indexes hold what two
of them at a time give together, so that their vectors lie as those of texts do. Questions are first sentences of
paragraphs.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support.corpora import generate
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.index.vectors.builtin import BuiltinEmbedder
from recollect.index.vectors.files import Files, column_sizes, last_commit
from recollect.index.vectors.passages import STAGES, texts_of
from recollect.index.vectors.vector_index import VectorIndex, identity_of
from recollect.index.vectors.writer import VectorWriter
from recollect.store.passages import hash_of

SIZES = (10_000, 100_000, 1_000_000)
QUESTIONS = 100
TOP = 10
NOBODY = b"\0" * 16
MONTH_US = 30 * 86_400 * 1_000_000


def paragraphs() -> list[str]:
    """Return the paragraphs of the standard library's docstrings, each once."""
    found: dict[str, None] = {}
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if {"site-packages", "test", "idlelib"} & set(path.parts):
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for part in (ast.get_docstring(node) or "").split("\n\n"):
                    text = " ".join(part.split())
                    if len(text) >= 40:
                        found.setdefault(text)
    return list(found)


def speed(texts: Sequence[str]) -> dict[str, Any]:
    """Measure the embedding itself: a first pass that meets every word for the first time, and a second."""
    embedder = BuiltinEmbedder()
    started = time.perf_counter()
    embedder.embed(["one question that loads the table"])
    loaded_ms = (time.perf_counter() - started) * 1000
    size = sum(len(text.encode()) for text in texts)
    passes = []
    for _ in range(2):
        cpu = time.process_time()
        embedder.embed(texts)
        passes.append(time.process_time() - cpu)
    singles = []
    for text in texts[:2000]:
        started = time.perf_counter()
        embedder.embed([text])
        singles.append((time.perf_counter() - started) * 1000)
    return {
        "texts": len(texts),
        "bytes": size,
        "load_ms": round(loaded_ms, 1),
        "first_mb_per_cpu_s": round(size / passes[0] / 1e6, 2),
        "mb_per_cpu_s": round(size / passes[1] / 1e6, 2),
        "texts_per_cpu_s": round(len(texts) / passes[1]),
        "one_text_ms": spread(singles),
    }


def build(folder: Path, texts: Sequence[str], count: int) -> float:
    """Write an index of `count` rows; return the seconds it took, without embedding."""
    embedder = BuiltinEmbedder()
    base = embedder.embed(texts)
    chance = np.random.default_rng(7)
    shutil.rmtree(folder, ignore_errors=True)
    started = time.perf_counter()
    with VectorWriter(Files(folder, identity_of(embedder)), NOBODY, dimensions=lambda: embedder.dimensions) as writer:
        for first in range(0, count, 10_000):
            pairs = chance.integers(0, len(base), (min(10_000, count - first), 2))
            rows = base[pairs[:, 0]] + base[pairs[:, 1]]
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            # A thousand events a session.
            keys = [(n // 1000 + 1) << 24 | n % 1000 for n in range(first, first + len(rows))]
            writer.add(keys, rows)
            writer.commit(position=first + 1)
    return time.perf_counter() - started


def ask(folder: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Ask an index every question three times; the first round is kept apart. Call in a process of its own."""
    index = VectorIndex.open(folder, BuiltinEmbedder())
    rounds: list[list[float]] = []
    cpu: list[float] = []
    some = frozenset(range(1, 21))
    for sessions in (None, None, None, some):
        taken = []
        for question in questions:
            started, spent = time.perf_counter(), time.process_time()
            index.nearest(question, limit=100, sessions=sessions)
            taken.append((time.perf_counter() - started) * 1000)
            if len(rounds) in (1, 2):
                cpu.append((time.process_time() - spent) * 1000)
        rounds.append(taken)
    status = Path("/proc/self/status")
    fields = dict(line.split(":", 1) for line in status.read_text("ascii").splitlines()) if status.exists() else {}
    memory = {name: int(fields[name].split()[0]) * 1024 for name in ("VmHWM", "RssAnon") if name in fields}
    rows = index.rows()
    assert rows is not None
    kept = found = 0
    for question in questions[:50]:
        vector = index.embedder.embed([question])[0]
        best = set(rows.keys[np.argsort(-rows.exact(vector), kind="stable")[:TOP]].tolist())
        kept += len(best & {near.key for near in index.nearest(question, limit=TOP)})
        found += len(best)
    return {
        "rows": rows.count,
        "first_round_slowest_ms": round(max(rounds[0]), 1),
        "ms": spread([*rounds[1], *rounds[2]]),
        "cpu_ms": spread(cpu),
        "in_20_sessions_ms": spread(rounds[3]),
        "recall_at_10": round(kept / found, 4),
        "memory": memory,
    }


def passages(memory: Memory) -> dict[str, int]:
    """Return how many different passages the contextual model reads: of talk in the last 30 days, of talk, of all."""
    last = memory.stats().last_event or 0
    seen: set[int] = set()
    counts = dict.fromkeys(("talk_of_30_days", "talk", "all"), 0)
    for stage in STAGES:
        for session in memory.sessions(limit=100_000, sync=False).sessions:
            for event in memory.events(session.session_uid):
                if event.kind not in stage:
                    continue
                new = set(map(hash_of, texts_of(event.payload)[1])) - seen
                seen |= new
                counts["all"] += len(new)
                counts["talk"] += len(new) if stage is STAGES[0] else 0
                is_late = event.ts is not None and event.ts > last - MONTH_US
                counts["talk_of_30_days"] += len(new) if stage is STAGES[0] and is_late else 0
    return counts


def contextual(at: Places, *, minutes: float) -> dict[str, Any]:
    """Ingest 300 MB, have the contextual model read for so many minutes, and return its rate and what there is to read.

    Talk is read before what tools were given and gave, the newest session first.
    """
    corpus = generate(at, megabytes=300, sessions=600, seed=7)
    home = at.home("contextual")
    shutil.rmtree(home, ignore_errors=True)
    with Memory.open(home, config=corpus.config()) as memory:
        memory.sync()
        memory.embedding.run(with_passages=False)
        counts = passages(memory)
        began, wall = time.process_time(), time.perf_counter()
        report = memory.embedding.run(max_seconds=minutes * 60)
        spent = time.process_time() - began
    return {
        "megabytes": round(sum(path.stat().st_size for path in corpus.files()) / 1e6),
        **counts,
        "passages_read": report.passages,
        "cpu_minutes": round(spent / 60, 1),
        "wall_minutes": round((time.perf_counter() - wall) / 60, 1),
        "ms_a_passage": round(spent * 1000 / max(1, report.passages), 1),
    }


def render_contextual(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    c = figures
    rows = (("talk of the last 30 days", "talk_of_30_days", 5), ("all talk", "talk", ""), ("everything", "all", 90))
    lines = [
        f"{c['megabytes']} MB of transcripts. In {c['cpu_minutes']} minutes of CPU time ({c['wall_minutes']} by clock) "
        f"it read {c['passages_read']:,} passages, {c['ms_a_passage']} ms each; the rest is projected from that.",
        "",
        "| read | different passages | minutes of one core | bar |",
        "|---|--:|--:|--:|",
        *(f"| {what} | {c[key]:,} | {c[key] * c['ms_a_passage'] / 60_000:.1f} | {bar} |" for what, key, bar in rows),
    ]
    return "\n".join(lines)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure; returns a section for each part."""
    part = getattr(options, "part", None)
    sections = [] if part == "contextual" else builtin(at)
    if part != "builtin":
        print("vectors: the contextual model", file=sys.stderr)
        read = contextual(at, minutes=getattr(options, "minutes", 5.0))
        title = "Vectors: how long the contextual model reads"
        sections.append(Section("vectors/contextual", title, read, render_contextual(read)))
    return sections


def builtin(at: Places) -> list[Section]:
    """Measure the built-in table and the search in its vectors; returns one section."""
    print("vectors: embedding", file=sys.stderr)
    texts = paragraphs()
    questions = [text.split(". ")[0] for text in random.Random(3).sample(texts, QUESTIONS)]
    figures: dict[str, Any] = {"embedding": speed(texts), "sizes": []}
    for count in SIZES:
        print(f"vectors: {count:,} rows", file=sys.stderr)
        folder = at.cache / "vectors" / str(count)
        seconds = build(folder, texts, count)
        asked = subprocess.run(
            [sys.executable, "-m", "benchmarks.vectors", "--ask", str(folder)],
            input=json.dumps(questions), stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        generation = Files(folder, identity_of(BuiltinEmbedder())).generation()
        assert generation is not None
        answer = json.loads(asked.stdout)
        bytes_ = sum(column_sizes(generation, last_commit(generation)).values())
        written = {"bytes_per_row": bytes_ / count, "rows_written_per_s": round(count / seconds)}
        figures["sizes"].append({**answer, **written})
        shutil.rmtree(folder)
    title = "Vectors: the built-in embedding and the search in it"
    return [Section("vectors/builtin", title, figures, render(figures))]


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    e = figures["embedding"]
    lines = [
        f"Embedding {e['texts']:,} texts, {e['bytes'] / 1e6:.1f} MB, one core: {e['mb_per_cpu_s']} MB/s of CPU time "
        f"({e['texts_per_cpu_s']:,} texts/s), {e['first_mb_per_cpu_s']} MB/s while every word is new. One text alone: "
        f"p50 {e['one_text_ms']['p50_ms']:.2f} ms, p95 {e['one_text_ms']['p95_ms']:.2f} ms; the table is loaded in "
        f"{e['load_ms']} ms.",
        "",
        "| rows | p50 ms | p95 ms | CPU p50 ms | of 20 sessions, p50 ms | slowest of the first round, ms | "
        "R@10 | bytes a row | RSS peak, MB | of it not files, MB |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for s in figures["sizes"]:
        memory = [f"{s['memory'][name] / 1e6:.0f}" if name in s["memory"] else "" for name in ("VmHWM", "RssAnon")]
        cells = (
            f"{s['rows']:,}",
            f"{s['ms']['p50_ms']:.1f}",
            f"{s['ms']['p95_ms']:.1f}",
            f"{s['cpu_ms']['p50_ms']:.1f}",
            f"{s['in_20_sessions_ms']['p50_ms']:.1f}",
            f"{s['first_round_slowest_ms']}",
            f"{s['recall_at_10']:.3f}",
            f"{s['bytes_per_row']:.0f}",
            *memory,
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "100 hits asked for, the question's own embedding included. R@10: against an exact scan of all rows."]
    return "\n".join(lines)


def main() -> None:
    """Measure and publish; or, inside, ask one index."""
    made = parser(__doc__)
    made.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    made.add_argument("--minutes", type=float, default=5.0, help="how long the contextual model reads")
    made.add_argument("--part", choices=["contextual", "builtin"], help="measure only this")
    options = made.parse_args()
    if options.ask is not None:
        print(json.dumps(ask(options.ask, json.load(sys.stdin))))
        return
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
