"""How long searches take, by class of query: on generated transcripts, a real vocabulary, and 3 million distinct terms.

The memories that `ingest` left in the cache are used where they are there; else they are made first.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.recall.answers import SearchAnswer

ROUNDS = 5
MUST_P95_MS = 50.0
Classes = Mapping[str, Sequence[str]]


def generated_classes(corpus: Corpus) -> Classes:
    """Return queries by class; words come from the generator's manifest."""
    words = corpus.manifest()["queries"]
    return {
        "rare": [*words["rare"], *words["needle"][:20]],
        "common": [*words["common"], "error", "function", "test", "session"],
        "several words": [*words["medium"], "retry worker queue backoff", "schema migration rollback index lock"],
        "phrase": ['"the error"', '"function test"', '"file change"', '"of the"', '"session cache"', '"in the code"'],
        "infix": ["*lush_metr*", "*ecord_tab*", "*eadloc*", "*ushMetr*", "*needle*", "*chema*"],
        "regex": [
            "/flush_(metric|report)/",
            "/z[qx]0001\\dneedle[0-9a-f]+/",
            "/de(ad|live)loc?k?s?/",
            "/parse[A-Z]\\w+/",
        ],
        "filter": [
            "error agent:codex kind:tool_result",
            "deadlock tool:shell repo:atlas-api",
            "cache after:2026-09-01 before:2026-10-01",
            "session is:subagent",
            "kind:user_message timeout -retry",
        ],
        "question": [
            "why did the session cache fail after the migration?",
            "which command runs the integration tests for the proxy?",
            "how did we fix the deadlock in the worker queue?",
            "what must the retry setting stay at?",
        ],
        "absent": words["miss"],
    }


REAL_CLASSES: Classes = {
    "infix": ["*heckpoin*", "*ession*", "*ookSessionEn*", "*ransc*", "*_test*", "*epository*"],
    "regex": ["/check.?points?/", "/session_?[iI]d/", "/Hook[A-Z]\\w+/", "/\\w+_test\\.go/", "/[gG]it(hub|lab)/"],
}


def flood_classes(terms: int) -> Classes:
    """Return infix and regular expressions that match few to thousands of the flood's terms."""
    drawn = random.Random(7)
    some = [corpora.flood_term(drawn.randrange(terms)) for _ in range(8)]
    return {
        "infix": [*(f"*{t[1:7]}*" for t in some), *(f"*{t[2:6]}*" for t in some[:4])],
        "regex": [f"/{t[:3]}[aeiou]{t[4:6]}\\w\\w/" for t in some] + [f"/\\w{t[1:5]}\\w{t[6:]}/" for t in some[:4]],
        "exact term": some,
    }


def measured_memory(at: Places, corpus: Corpus) -> Memory:
    """Open the memory of a corpus, up to date; made here unless `ingest` did."""
    memory = Memory.open(at.home(corpus.folder.name), config=corpus.config())
    memory.sync()
    return memory


def time_classes(memory: Memory, classes: Classes) -> dict[str, Any]:
    """Ask every query of every class in turn, `ROUNDS` times after a first round, whose slowest is kept apart."""
    figures: dict[str, Any] = {}
    for name, queries in classes.items():
        first = [ask(memory, query) for query in queries]
        taken = [ask(memory, query)[0] for _ in range(ROUNDS) for query in queries]
        figures[name] = {
            **spread(taken),
            "first_max_ms": round(max(ms for ms, _ in first), 2),
            "queries": len(queries),
            "answered": sum(bool(answer.hits) for _, answer in first),
            "matches_median": sorted(answer.total for _, answer in first)[len(first) // 2],
        }
    return figures


def ask(memory: Memory, query: str) -> tuple[float, SearchAnswer]:
    """Ask once; return the wall time in milliseconds and the answer."""
    started = time.perf_counter()
    answer = memory.search(query, sync=False)
    return (time.perf_counter() - started) * 1000, answer


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    chosen: list[tuple[Corpus, Classes]] = [
        (corpus, generated_classes(corpus)) for corpus in corpora.standard(at, options.corpus)
    ]
    if (at.real_corpus / "index.json").is_file():
        chosen.append((corpora.real(at, only_real=True), REAL_CLASSES))
    chosen.append((corpora.flood(at), flood_classes(corpora.FLOOD_TERMS)))
    sections = []
    for corpus, classes in chosen:
        print(f"search: {corpus.name}", file=sys.stderr)
        with measured_memory(at, corpus) as memory:
            events = memory.stats().events
            figures = {"events": events, "classes": time_classes(memory, classes)}
        sections.append(Section(f"search/{corpus.name}", f"Search: {corpus.name}", figures, render(figures)))
    return sections


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's figures as Markdown."""
    lines = [
        f"{figures['events']:,} events; every query {ROUNDS} times, memory open. "
        f"Bar: p95 {MUST_P95_MS:.0f} ms in every class.",
        "",
        "| class | queries | answered | matches (median) | slowest first ms | p50 ms | p95 ms | p99 ms | bar |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    lines += [
        f"| {name} | {c['queries']} | {c['answered']} | {c['matches_median']:,} | {c['first_max_ms']} "
        f"| {c['p50_ms']} | {c['p95_ms']} | {c['p99_ms']} | {'met' if c['p95_ms'] <= MUST_P95_MS else 'missed'} |"
        for name, c in figures["classes"].items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
