"""What asks from outside the daemon: a search of another process, with a daemon and without, and eight clients at once.

Every query is another one, so that nothing is answered twice; a client reads the whole answer. `peers` asks the same
number of clients easier queries: half of them are needles, and all come again and again. One of those takes half the
processor time of one of these (6.9 and 14.1 ms on average on 311 MB).
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.serving.live import Daemon, wait_for_first_look
from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import cpu_seconds_of_tree, spread
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.client import SearchRequest, ask_daemon
from recollect.config import DaemonConfig, EmbeddingConfig, config_toml
from recollect.recall.answers import SearchAnswer

SEARCHES = 60
CLIENTS = 8
SECONDS = 15.0
WARM_S = 8.0
"""Until the processes that answer several clients have started."""
BAR_FRESH_MS = 3.0
AIM_A_SECOND = 1000


def distinct_queries(corpus: Corpus) -> list[str]:
    """Return pairs of words of the corpus, then rows of three, none twice, in the same order each time."""
    words = corpus.manifest()["queries"]
    some = [*words["rare"], *words["common"], *(w for q in words["medium"] for w in q.split())]
    pairs, threes = ([" ".join(row) for row in itertools.permutations(sorted(set(some)), size)] for size in (2, 3))
    for rows in (pairs, threes):
        random.Random(7).shuffle(rows)
    return pairs + threes


def one_at_a_time(home: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Ask an open memory, which looks for what changed first or does not, and, where one is at work, the daemon."""
    taken: dict[str, list[float]] = {"memory": [], "memory, looking first": [], "daemon": []}
    env = {"RECOLLECT_HOME": str(home)}
    with Memory.open(home) as memory:
        has_daemon = memory.live.is_alive()
        for number, query in enumerate(queries[: SEARCHES + 5]):
            for name, times in taken.items():
                started = time.perf_counter()
                if name == "daemon" and not has_daemon:
                    continue
                if name == "daemon":
                    told = ask_daemon(SearchRequest(query), SearchAnswer, env=env)
                    if told.value is None:
                        raise RuntimeError(f"the daemon gave no answer: {told.note}")
                else:
                    memory.search(query, sync=name != "memory")
                if number >= 5:
                    times.append((time.perf_counter() - started) * 1000)
    return {name: spread(times) for name, times in taken.items() if times}


def many_at_once(home: Path, queries: Sequence[str], daemon: int) -> dict[str, Any]:
    """Have clients ask as fast as they can; what the processes need to start is not counted. daemon: its process."""
    left = iter(queries)
    lock = threading.Lock()
    taken: list[tuple[float, float]] = []
    ends = time.perf_counter() + WARM_S + SECONDS
    env = {"RECOLLECT_HOME": str(home)}

    def ask() -> None:
        while time.perf_counter() < ends:
            with lock:
                query = next(left)
            started = time.perf_counter()
            told = ask_daemon(SearchRequest(query), SearchAnswer, env=env)
            if told.value is None:
                raise RuntimeError(f"the daemon gave no answer: {told.note}")
            taken.append((started, time.perf_counter() - started))

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(WARM_S)
    before, own = cpu_seconds_of_tree(daemon), time.process_time()
    for client in clients:
        client.join()
    own, after = time.process_time() - own, cpu_seconds_of_tree(daemon)
    counted = [seconds * 1000 for started, seconds in taken if started >= ends - SECONDS]
    spent = {pid: seconds - before.get(pid, 0.0) for pid, seconds in after.items()}
    parts = {"clients": own, "daemon": spent.pop(daemon, 0.0), "processes that answer": sum(spent.values())}
    return {
        "answers_a_second": round(len(counted) / SECONDS, 1),
        **spread(counted),
        "cpu_ms": {name: round(seconds * 1000 / max(len(counted), 1), 2) for name, seconds in parts.items()},
        "cores_busy": round(sum(parts.values()) / SECONDS, 2),
    }


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    chosen = [corpora.generated(folder.resolve()) for folder in options.corpus]
    chosen = chosen or [corpora.generate(at, megabytes=300, sessions=600, seed=7)]
    return [_of(at, corpus) for corpus in chosen]


def _of(at: Places, corpus: Corpus) -> Section:
    print(f"clients: {corpus.name}", file=sys.stderr)
    home = at.home(f"clients-{corpus.folder.name}")
    shutil.rmtree(home, ignore_errors=True)
    config = msgspec.structs.replace(
        corpus.config(), daemon=DaemonConfig(rescan_seconds=86_400), embedding=EmbeddingConfig(in_background=False)
    )
    with Memory.open(home, config=config) as memory:
        memory.sync()
    (home / "config.toml").write_text(config_toml(config), "utf-8")
    queries = distinct_queries(corpus)
    figures: dict[str, Any] = {"without": one_at_a_time(home, queries)}
    daemon = Daemon(home)
    try:
        wait_for_first_look(home)
        figures["with"] = one_at_a_time(home, queries[SEARCHES + 5 :])
        figures["clients"] = many_at_once(home, queries[2 * (SEARCHES + 5) :], daemon.pid)
    finally:
        daemon.stop()
    shutil.rmtree(home, ignore_errors=True)
    return Section(f"clients/{corpus.name}", f"Clients: {corpus.name}", figures, render(figures))


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's figures as Markdown."""
    lines = ["| search of another process | p50 ms | p95 ms |", "|---|--:|--:|"]
    for which in ("without", "with"):
        for name, one in figures[which].items():
            lines.append(f"| {which} a daemon: {name} | {one['p50_ms']} | {one['p95_ms']} |")
    clients = figures["clients"]
    fresh = figures["with"]["memory, looking first"]["p50_ms"] - figures["with"]["memory"]["p50_ms"]
    lines += [
        "",
        f"Looking first costs {fresh:.1f} ms with a daemon (bar: {BAR_FRESH_MS:g} ms). {CLIENTS} clients of the "
        f"daemon, distinct queries: {clients['answers_a_second']} answers a second (aim: {AIM_A_SECOND:,}), "
        f"p50 {clients['p50_ms']} ms, p95 {clients['p95_ms']} ms. Each query mixes rare, medium and common words; "
        "one of `peers`, of which half are needles, takes half the processor time.",
        "",
        f"What bounds it: an answer takes {_told(clients['cpu_ms'])}; {clients['cores_busy']} cores were busy.",
    ]
    return "\n".join(lines)


def _told(parts: dict[str, float]) -> str:
    return ", ".join(f"{ms} ms of processor time in the {name}" for name, ms in parts.items())


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
