"""Recollect, agentsview and a plain full-text program on the same transcripts, in one run.

    python -m benchmarks.peers --install     # once: installs agentsview into the cache, in an environment of its own
    python -m benchmarks.peers [--runs 3]

Every system is measured as the program that a user runs: a cold ingest, a sync of nothing new, a sync of one appended
line, and, with its server running, searches by class and by eight clients at once. The systems take turns, run by run.
A system that is not installed is left out, with a word.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.serving.live import Daemon
from benchmarks.support import corpora, plain_fts
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import Run, percentile, timed_ms
from benchmarks.support.places import Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from recollect.client import SearchRequest, ask_daemon
from recollect.memory import SearchAnswer

AGENTSVIEW = "agentsview==0.46.1"
SYNCS = 9
"""Syncs as a process, of each kind; the first warms up."""
ROUNDS = 5
"""Times that every query of a class is asked, after a first time that is not counted."""
CLIENTS = 8
CLIENT_SECONDS = 10.0
_NEEDLES = 40
Ask = Callable[[str], int]
"""Ask a query; return how much came back: hits or bytes."""


class System(ABC):
    """A program that ingests transcripts and answers searches."""

    name: str

    def __init__(self, home: Path, corpus: Corpus) -> None:
        self.home = home
        self.corpus = corpus

    @abstractmethod
    def sync(self) -> Run:
        """Run the program once until everything is ingested."""

    @abstractmethod
    def serving(self) -> Any:
        """Return a context in which the server runs; it gives a function that connects a client."""

    def stored_bytes(self) -> int:
        """Return the bytes of everything that it keeps."""
        return sum(p.stat().st_size for p in self.home.rglob("*") if p.is_file())

    def reset(self) -> None:
        """Delete everything that it keeps."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)


class Recollect(System):
    """This program, as it is set up by default."""

    name = "Recollect"

    @property
    def _env(self) -> dict[str, str]:
        variables = {name: str(path) for name, path in self.corpus.variables.values()}
        # The contextual model reads in the background; it would take processor time from whoever is measured next.
        return {**os.environ, **variables, "RECOLLECT_HOME": str(self.home), "RECOLLECT_BACKGROUND": "0"}

    def sync(self) -> Run:
        return Run([sys.executable, "-m", "recollect", "sync"], env=self._env)

    @contextmanager
    def serving(self) -> Iterator[Callable[[], Ask]]:
        os.environ.update(self._env)
        daemon = Daemon(self.home)
        try:
            yield self._connect
        finally:
            daemon.stop()

    def _connect(self) -> Ask:
        def ask(query: str) -> int:
            told = ask_daemon(SearchRequest(query), SearchAnswer, env=self._env)
            if told.value is None:
                raise RuntimeError(f"the daemon did not answer {query!r}: {told.note}")
            return len(told.value.hits)

        return ask


class AgentsView(System):
    """The strongest peer, from its Python wheel, telemetry off."""

    name = "agentsview 0.46.1"

    def __init__(self, home: Path, corpus: Corpus, program: Path) -> None:
        super().__init__(home, corpus)
        self.program = str(program)

    @property
    def _env(self) -> dict[str, str]:
        return {
            **os.environ,
            "AGENTSVIEW_DATA_DIR": str(self.home),
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "0",
            "CLAUDE_PROJECTS_DIR": str(self.corpus.folder / "claude" / "projects"),
            "CODEX_SESSIONS_DIR": str(self.corpus.folder / "codex" / "sessions"),
        }

    def sync(self) -> Run:
        return Run([self.program, "sync"], env=self._env)

    @contextmanager
    def serving(self) -> Iterator[Callable[[], Ask]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        command = [self.program, "serve", "--no-browser", "--no-update-check", "--port", str(port)]
        server = subprocess.Popen(command, env=self._env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while server.poll() is None:
                try:
                    _http(port)("ready")
                    break
                except OSError:
                    time.sleep(0.05)
            yield lambda: _http(port)
        finally:
            server.terminate()
            server.wait(30)


def _http(port: int) -> Ask:
    """Return a client that keeps its connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(query: str) -> int:
        connection.request("GET", f"/api/v1/search?limit=10&q={urllib.parse.quote(query)}")
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"agentsview answered {answer.status} to {query!r}")
        return len(body)

    return ask


class Plain(System):
    """One FTS5 table: no server, every client opens the database."""

    name = "plain FTS5"

    def sync(self) -> Run:
        folders = [str(path) for _, path in self.corpus.variables.values()]
        return Run([sys.executable, "-m", "benchmarks.support.plain_fts", str(self.home / "db"), *folders])

    @contextmanager
    def serving(self) -> Iterator[Callable[[], Ask]]:
        yield self._connect

    def _connect(self) -> Ask:
        connection = plain_fts.connect(self.home / "db")
        return lambda query: sum(len(snippet) for _, snippet in plain_fts.search(connection, query))


def install(at: Places) -> Path:
    """Install agentsview into the cache unless it is there; return its program."""
    folder = at.cache / "peers" / "agentsview"
    program = agentsview_program(at)
    if program is None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "--no-deps", AGENTSVIEW], check=True)
        program = agentsview_program(at)
    assert program is not None
    return program


def agentsview_program(at: Places) -> Path | None:
    """Return the installed program, None where it is not installed. The wheel's Python wrapper is left out."""
    return next((at.cache / "peers" / "agentsview").glob("lib/python*/site-packages/agentsview/bin/agentsview"), None)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every installed system on a copy of the generated transcripts, because lines are appended to them."""
    source = corpora.generated(options.corpus[0]) if options.corpus else corpora.generate(
        at, megabytes=300, sessions=600, seed=7
    )  # fmt: skip
    folder = at.cache / "peers" / "corpus"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source.folder, folder)
    corpus = corpora.generated(folder)
    homes = at.cache / "peers" / "homes"
    systems: list[System] = [Recollect(homes / "recollect", corpus), Plain(homes / "plain", corpus)]
    program = agentsview_program(at)
    if program is None:
        print(f"{AGENTSVIEW} is left out: run `python -m benchmarks.peers --install` first", file=sys.stderr)
    else:
        systems.insert(1, AgentsView(homes / "agentsview", corpus, program))
    colds = cold(systems, corpus, getattr(options, "runs", 3))
    syncs = processes(systems, load_script(at.generator).append_record)
    figures: dict[str, Any] = {}
    for system in systems:
        print(f"peers: searching {system.name}", file=sys.stderr)
        figures[system.name] = {**colds[system.name], **syncs[system.name], **searches(system)}
    return [Section(f"peers/{source.name}", f"Beside its peers: {source.name}", figures, render(figures, corpus))]


def cold(systems: Sequence[System], corpus: Corpus, runs: int) -> dict[str, Any]:
    """Ingest everything into empty homes, system after system, `runs` times."""
    megabytes = corpus.manifest()["bytes"] / 1e6
    taken: dict[str, list[Run]] = {system.name: [] for system in systems}
    for number in range(runs):
        for system in systems:
            print(f"peers: cold ingest {number + 1} of {runs}, {system.name}", file=sys.stderr)
            system.reset()
            taken[system.name].append(system.sync())
    return {
        system.name: {
            "mb_per_s": _range([megabytes / run.wall_seconds for run in taken[system.name]]),
            "cpu_ms_per_mb": _range([run.cpu_seconds * 1000 / megabytes for run in taken[system.name]]),
            "peak_mb": _range([(run.memory.tree_bytes or 0) / 1e6 for run in taken[system.name]]),
            "store_share": round(system.stored_bytes() / megabytes / 1e6, 3),
        }
        for system in systems
    }


def processes(systems: Sequence[System], append: Callable[[Path, str], object]) -> dict[str, Any]:
    """Time syncs as processes, in turns: nothing new, and one line appended to another transcript each time."""
    files = sorted((systems[0].corpus.folder / "claude").rglob("*.jsonl"))
    still: dict[str, list[float]] = {system.name: [] for system in systems}
    line: dict[str, list[float]] = {system.name: [] for system in systems}
    for number in range(SYNCS):
        for system in systems:
            still[system.name].append(system.sync().wall_seconds * 1000)
        append(files[number], f"zpeer{number:03d}needle")
        for system in systems:
            line[system.name].append(system.sync().wall_seconds * 1000)
    return {
        name: {"sync_nothing_ms": _range(still[name][1:]), "sync_line_ms": _range(line[name][1:])} for name in still
    }


def searches(system: System) -> dict[str, Any]:
    """Ask by class with one client, and distinct queries with eight, while the server runs."""
    words = system.corpus.manifest()["queries"]
    classes = {"needle": words["needle"][:20], "rare": words["rare"], "medium": words["medium"]}
    classes |= {"common": words["common"], "absent": words["miss"]}
    with system.serving() as connect:
        ask = connect()
        figures = {}
        for name, queries in classes.items():
            for query in queries:
                ask(query)
            taken = [timed_ms(partial(ask, query)) for _ in range(ROUNDS) for query in queries]
            figures[name] = {"p50_ms": round(percentile(taken, 0.5), 2), "p95_ms": round(percentile(taken, 0.95), 2)}
        return {"search": figures, "clients": clients(connect, distinct_queries(system.corpus))}


def distinct_queries(corpus: Corpus) -> list[str]:
    """Return queries of one and two words that nobody asked before: needles, rare words, and pairs of medium ones."""
    words = corpus.manifest()["queries"]
    medium = sorted({word for query in words["medium"] for word in query.split()})
    rare = sorted({word for query in words["rare"] for word in query.split()})
    pairs = [f"{a} {b}" for a in medium for b in medium + rare if a != b]
    needles = [found["needle"] for found in corpus.manifest()["needles"][_NEEDLES:]]
    mixed = [query for pair in zip(needles, pairs, strict=False) for query in pair]
    return mixed + pairs[len(needles) :]


def clients(connect: Callable[[], Ask], queries: Sequence[str]) -> dict[str, Any]:
    """Ask with eight processes at once; return answers a second, and how many of the queries were distinct."""
    context = multiprocessing.get_context("fork")
    counts: multiprocessing.Queue[int] = context.Queue()
    workers = [
        context.Process(target=_client, args=(connect, list(islice(queries, number, None, CLIENTS)), counts))
        for number in range(CLIENTS)
    ]
    for worker in workers:
        worker.start()
    asked = sum(counts.get() for _ in workers)
    for worker in workers:
        worker.join()
    return {"answers_per_s": round(asked / CLIENT_SECONDS, 1), "distinct": min(asked, len(queries)), "asked": asked}


def _client(connect: Callable[[], Ask], queries: list[str], counts: multiprocessing.Queue[int]) -> None:
    """Ask until time is over; begin again where the queries end."""
    ask, asked, ends = connect(), 0, time.perf_counter() + CLIENT_SECONDS
    try:
        while time.perf_counter() < ends:
            ask(queries[asked % len(queries)])
            asked += 1
    finally:
        counts.put(asked)


def _range(values: Sequence[float]) -> dict[str, float]:
    return {"min": round(min(values), 1), "median": round(median(values), 1), "max": round(max(values), 1)}


def render(figures: dict[str, Any], corpus: Corpus) -> str:
    """Return the figures as Markdown: a row for each figure, a column for each system."""
    ranged = {
        "cold ingest, MB/s": "mb_per_s", "CPU ms per MB": "cpu_ms_per_mb", "peak MB, all processes": "peak_mb",
        "sync as a process, nothing new, ms": "sync_nothing_ms", "sync as a process, one line, ms": "sync_line_ms",
    }  # fmt: skip
    lines = [
        f"{corpus.manifest()['files']} files. Median, with minimum and maximum; searches: p50 / p95 in ms.",
        "",
        f"| figure | {' | '.join(figures)} |",
        f"|---|{'--:|' * len(figures)}",
    ]
    for title, key in ranged.items():
        cells = (f"{f[key]['median']} ({f[key]['min']} to {f[key]['max']})" for f in figures.values())
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines.append(f"| store / source | {' | '.join(str(f['store_share']) for f in figures.values())} |")
    for name in next(iter(figures.values()))["search"]:
        cells = (f"{f['search'][name]['p50_ms']} / {f['search'][name]['p95_ms']}" for f in figures.values())
        lines.append(f"| search, {name} | {' | '.join(cells)} |")
    cells = (f"{f['clients']['answers_per_s']} ({f['clients']['asked']:,} asked)" for f in figures.values())
    lines.append(f"| eight clients, answers a second | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Install the peer, or measure and publish."""
    made = parser(__doc__)
    made.add_argument("--install", action="store_true", help="install the peer into the cache and stop")
    made.add_argument("--runs", type=int, default=3, help="cold ingests of each system (default: 3)")
    options = made.parse_args()
    at = places(options)
    if options.install:
        print(json.dumps({"program": str(install(at))}))
        return
    publish(measure(at, options), dry=options.dry)


if __name__ == "__main__":
    main()
