"""How long searches take, by class of query: on generated transcripts, a real vocabulary, and 3 million distinct terms.

Generated transcripts are also asked of by another process, over the socket of a daemon. The memories that `ingest` left
in the cache are used where they are there; else they are made first.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.serving.live import Daemon, wait_for_first_look
from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import percentile
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from benchmarks.support.shares import REST, Functions, Shares
from recollect import Memory
from recollect.client import SearchRequest, ask_daemon
from recollect.config import DaemonConfig, config_toml
from recollect.index.query.candidates import CandidateSearch
from recollect.index.text.shards import TextIndex
from recollect.recall import coverage, search
from recollect.recall.answers import SearchAnswer
from recollect.recall.result_page import ResultPage
from recollect.recall.search import Searcher
from recollect.recall.vector_search import VectorSearch
from recollect.store.reader import HitTexts

RUNS = 3
ROUNDS = 5
"""Times that every query of a class is asked in a run."""
BAR_P50_MS, BAR_P95_MS = 5.0, 15.0
QUESTION = "question"
"""This class has no bar: the model that orders passages has a budget of its own."""
STAGES: Functions = {
    "understanding": [(search, "parse"), (Searcher, "_wanted")],
    "finding": [(CandidateSearch, "_first_round")],
    "what each has": [(CandidateSearch, "_second_round")],
    "neighbours' scores": [(CandidateSearch, "_score")],
    "candidates": [(CandidateSearch, "run")],
    "ranking": [(Searcher, "_rank")],
    "passages": [(search, "rerank")],
    "texts": [(HitTexts, "texts")],
    "related": [(HitTexts, "related")],
    "page": [(ResultPage, "answer")],
    "vectors": [(VectorSearch, "near"), (VectorSearch, "similarities")],
    "notes beside": [(Searcher, "_beside")],
    "what is missing": [(coverage, "unsearched"), (TextIndex, "shards")],
}
"""What an answer consists of. Understanding: from the query to the index terms that its words stand for, the spelling
of absent ones included. Passages: those of a question's best 40 events, their texts included. Notes beside are a search
of their own."""
Classes = Mapping[str, Sequence[str]]
Ask = Callable[[str], SearchAnswer]


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
        QUESTION: [
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


@contextmanager
def asking_a_daemon(home: Path, corpus: Corpus) -> Iterator[Ask]:
    """Have a daemon keep a memory, and give what asks it as another process does."""
    config = msgspec.structs.replace(corpus.config(), daemon=DaemonConfig(rescan_seconds=86_400))
    (home / "config.toml").write_text(config_toml(config), "utf-8")
    os.environ["RECOLLECT_BACKGROUND"] = "0"  # the contextual model would take processor time while it reads
    daemon = Daemon(home)
    env = {"RECOLLECT_HOME": str(home)}

    def ask(query: str) -> SearchAnswer:
        told = ask_daemon(SearchRequest(query), SearchAnswer, env=env)
        if told.value is None:
            raise RuntimeError(f"the daemon did not answer {query!r}: {told.note}")
        return told.value

    try:
        wait_for_first_look(home)
        yield ask
    finally:
        daemon.stop()
        (home / "config.toml").unlink()


def time_classes(ask: Ask, classes: Classes) -> dict[str, Any]:
    """Ask every query of every class in turn, after a first round `RUNS` times `ROUNDS`; the slowest of the first round
    is kept apart."""
    figures: dict[str, Any] = {}
    for name, queries in classes.items():
        first = [timed(ask, query) for query in queries]
        runs = [[timed(ask, query)[0] for _ in range(ROUNDS) for query in queries] for _ in range(RUNS)]
        figures[name] = {
            **{f"p{part}_ms": _range([percentile(run, part / 100) for run in runs]) for part in (50, 95)},
            "first_max_ms": round(max(ms for ms, _ in first), 2),
            "queries": len(queries),
            "answered": sum(bool(answer.hits) for _, answer in first),
            "matches_median": sorted(answer.total for _, answer in first)[len(first) // 2],
        }
    return figures


def shares_of(memory: Memory, classes: Classes) -> dict[str, Any]:
    """Return where the processor time of each class goes, in percent; everything in one thread."""
    found: dict[str, Any] = {}
    memory.searches_in_turn = True
    for name, queries in classes.items():
        shares = Shares(whole=("notes beside", "texts", "related"))
        with shares.measuring(STAGES):
            for _ in range(ROUNDS):
                for query in queries:
                    memory.search(query, sync=False)
        total_ms = sum(shares.seconds.values()) * 1000
        found[name] = {"cpu_ms": round(total_ms / (ROUNDS * len(queries)), 2), "percent": shares.percent()}
    memory.searches_in_turn = False
    return found


def timed(ask: Ask, query: str) -> tuple[float, SearchAnswer]:
    """Ask once; return the wall time in milliseconds and the answer."""
    started = time.perf_counter()
    answer = ask(query)
    return (time.perf_counter() - started) * 1000, answer


def _range(values: Sequence[float]) -> dict[str, float]:
    return {"min": round(min(values), 2), "median": round(median(values), 2), "max": round(max(values), 2)}


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    generated = corpora.standard(at, options.corpus)
    chosen: list[tuple[Corpus, Classes]] = [(corpus, generated_classes(corpus)) for corpus in generated]
    if (at.real_corpus / "index.json").is_file():
        chosen.append((corpora.real(at, only_real=True), REAL_CLASSES))
    chosen.append((corpora.flood(at), flood_classes(corpora.FLOOD_TERMS)))
    sections = []
    for corpus, classes in chosen:
        print(f"search: {corpus.name}", file=sys.stderr)
        with measured_memory(at, corpus) as memory:
            figures = {
                "events": memory.stats().events,
                "classes": time_classes(partial(memory.search, sync=False), classes),
                "shares": shares_of(memory, classes),
            }
        if corpus in generated:
            with asking_a_daemon(at.home(corpus.folder.name), corpus) as ask:
                figures["daemon"] = time_classes(ask, classes)
        sections.append(Section(f"search/{corpus.name}", f"Search: {corpus.name}", figures, render(figures)))
    return sections


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's figures as Markdown."""
    lines = [
        f"{figures['events']:,} events; every query {ROUNDS} times a run, median of {RUNS} runs with minimum and "
        f"maximum. Bars: p50 {BAR_P50_MS:g} ms, p95 {BAR_P95_MS:g} ms.",
    ]
    for title, key in (("memory open", "classes"), ("over a daemon's socket", "daemon")):
        if key in figures:
            lines += [
                "",
                f"| {title} | queries | answered | matches (median) | slowest first ms | p50 ms | p95 ms | bars |",
                "|---|--:|--:|--:|--:|--:|--:|---|",
                *(_row(name, one) for name, one in figures[key].items()),
            ]
    stages = (*STAGES, REST)
    lines += [
        "",
        "What bounds it: the mean processor time of an answer in one thread, and the share of each part in percent.",
        "",
        f"| | CPU ms | {' | '.join(stages)} |",
        f"|---|{'--:|' * (len(stages) + 1)}",
    ]
    for name, one in figures["shares"].items():
        cells = (f"{one['percent'].get(stage, 0):.0f}" for stage in stages)
        lines.append(f"| {name} | {one['cpu_ms']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _row(name: str, one: dict[str, Any]) -> str:
    cells = (f"{part['median']} ({part['min']} to {part['max']})" for part in (one["p50_ms"], one["p95_ms"]))
    is_met = one["p50_ms"]["median"] <= BAR_P50_MS and one["p95_ms"]["median"] <= BAR_P95_MS
    return (
        f"| {name} | {one['queries']} | {one['answered']} | {one['matches_median']:,} | {one['first_max_ms']} "
        f"| {' | '.join(cells)} | {'–' if name == QUESTION else 'met' if is_met else 'missed'} |"
    )


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
