"""Cold ingest beside its roofline, memory, store size, a sync without changes, append to searchable, cold start.

Measures 300 MB and 1 GB of generated transcripts and the real transcripts of both agents; `--corpus DIR` (repeatable)
replaces the generated ones.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import msgspec

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import Run, spread, timed_ms
from benchmarks.support.places import REPOSITORY, Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from benchmarks.support.roofline import roofline
from benchmarks.support.starting import PROGRAM, Command, daemon, environment, over_python, told
from recollect import Memory
from recollect.config import Config, config_toml
from recollect.paths import DATABASE_NAME

APPENDS = 40
STARTS = 15
START_BARS = {"help": 60, "nothing new": 100, "one line": 150, "no daemon": 150, "a daemon": 100}
"""Milliseconds over Python's own start (a sync: all of it), by a part of the row's name."""
MUST_MB_PER_S = 40
MUST_PEAK_MB = 300
MUST_STORE_SHARE = 0.45
_LEAST_SECONDS = 0.1
"""A phase that took less is not named."""
_LEAST_SHARE = 0.003
"""A table that takes less of the source is not named."""


def cold_ingest(corpus: Corpus, home: Path, *, settings: Config | None = None) -> dict[str, Any]:
    """Take everything into an empty home, in a process of its own. settings: in place of the corpus' own."""
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    files = corpus.files()
    source_bytes = sum(p.stat().st_size for p in files)
    bound = roofline(files)
    config = msgspec.json.encode(settings or corpus.config()).decode()
    run = Run([sys.executable, "-m", "benchmarks.support.one_sync", str(home), config])
    said = json.loads(run.output)
    report, storage = said["report"], said["storage"]
    stages = report["stage_seconds"]
    stored = storage["database_bytes"] + storage["archive_bytes"] + storage["index_bytes"]
    taken = report["bytes"]
    return {
        "files": len(files),
        "source_bytes": source_bytes,
        "bytes_taken": taken,
        "sessions": said["sessions"],
        "events": said["events"],
        "seconds": round(report["seconds"], 2),
        "process_seconds": round(run.wall_seconds, 2),
        "mb_per_s": round(taken / 1e6 / report["seconds"], 1),
        "cpu_seconds": round(run.cpu_seconds, 2),
        "cpu_ms_per_mb": round(run.cpu_seconds * 1000 / max(1e-9, taken / 1e6), 1),
        "peak_tree_bytes": run.memory.tree_bytes,
        "peak_anonymous_bytes": run.memory.anonymous_bytes,
        "peak_largest_process_bytes": run.memory.largest_bytes,
        "processes": run.memory.processes,
        "memory_parts": run.memory.parts,
        "store_share": round(stored / max(1, taken), 4),
        "archive_share": round(storage["archive_bytes"] / max(1, taken), 4),
        "database_share": round(storage["database_bytes"] / max(1, taken), 4),
        "index_share": round(storage["index_bytes"] / max(1, taken), 4),
        "table_shares": table_shares(home, max(1, taken)),
        "stage_cpu_seconds": {k: round(v, 2) for k, v in sorted(stages.items(), key=lambda x: -x[1])},
        "phase_seconds": {k: round(v, 2) for k, v in said["phase_seconds"].items()},
        "roofline": bound,
        "share_of_bound": round(taken / 1e6 / report["seconds"] / (bound["bound_mb_per_s"] or 1), 3),
        "state": report["state"],
        "notes": report["notes"],
    }


def table_shares(home: Path, source_bytes: int) -> dict[str, float]:
    """Return what each table of the database takes with its indexes, as a share of the source; the largest first."""
    with closing(apsw.Connection(str(home / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        found = db.execute(
            "SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s LEFT JOIN sqlite_schema m USING (name) "
            "WHERE s.aggregate = TRUE GROUP BY 1 ORDER BY 2 DESC"
        )
        return {str(table): round(int(str(size)) / source_bytes, 4) for table, size in found}


def nothing_changed(corpus: Corpus, home: Path) -> dict[str, Any]:
    """Sync again without a change: in an open memory, five times; and in a fresh process."""
    with Memory.open(home, config=corpus.config()) as memory:
        sessions = memory.stats().sessions
        first = timed_ms(memory.sync)
        report = memory.sync()
        again = [timed_ms(memory.sync) for _ in range(5)]
    return {
        "sessions": sessions,
        "first_ms": round(first, 1),
        "median_ms": round(median(again), 1),
        "events_added": report.events,
    }


def append_to_searchable(at: Places, corpus: Corpus, home: Path) -> dict[str, Any]:
    """Append a record as an agent would, sync and search until it is found; in one process with the memory open.

    The files that grow are a further small generated corpus, read as an extra root beside the large one.
    """
    live = at.cache / "corpora" / "live"
    shutil.rmtree(live, ignore_errors=True)
    source = corpora.generate(at, megabytes=5, sessions=20, seed=99)
    shutil.copytree(source.folder, live)
    append = load_script(at.generator).append_record
    files = sorted((live / "claude").rglob("*.jsonl"))
    taken: list[float] = []
    missed = 0
    with Memory.open(home, config=corpus.config(claude=live / "claude")) as memory:
        memory.sync()
        for round_ in range(APPENDS + 1):
            needle = f"zappend{round_:03d}needle"
            append(files[round_ % len(files)], needle)
            started = time.perf_counter()
            memory.sync()
            hits = memory.search(needle, sync=False).hits
            took = (time.perf_counter() - started) * 1000
            missed += not hits
            if round_:  # the first round warms up
                taken.append(took)
    return {**spread(taken), "not_found": missed}


def cold_start(at: Places, corpus: Corpus, home: Path) -> dict[str, Any]:
    """Start the program from nothing, with a daemon at work and without: the help, questions, and a sync."""
    live = at.cache / "corpora" / "live" / "claude"
    (home / "config.toml").write_text(config_toml(corpus.config(claude=live)), "utf-8")
    env, grows = environment(home), sorted(live.rglob("*.jsonl"))[0]
    with Memory.open(home, env=env) as memory:
        memory.sync()
        uid = memory.sessions(limit=1, sync=False).sessions[0].session_uid
    append = load_script(at.generator).append_record

    def settle() -> None:
        """Do what the last line left to be done: its file is compared with what was ingested of it."""
        subprocess.run([*PROGRAM, "sync"], env=env, stdout=subprocess.DEVNULL, check=True)

    def asked(where: str) -> dict[str, Command]:
        named = {"search": ["session cache"], "show": [uid], "sessions": [], "usage": []}
        return {f"{verb}, {where}": Command([*PROGRAM, verb, *words]) for verb, words in named.items()}

    figures = over_python(
        {
            "--help": Command([*PROGRAM, "--help"]),
            **asked("no daemon"),
            "sync, nothing new": Command([*PROGRAM, "sync"], before=settle),
            "sync, one line": Command([*PROGRAM, "sync"], before=lambda: append(grows, "zstartneedle")),
        },
        env, rounds=STARTS,
    )  # fmt: skip
    with daemon(home, env):
        line = {"sync, one line, a daemon": Command([*PROGRAM, "sync"], before=lambda: append(grows, "zstartneedle"))}
        return figures | over_python(asked("a daemon") | line, env, rounds=STARTS)


def shares_of(at: Places, home: Path) -> dict[str, dict[str, Any]]:
    """Return by command, without a daemon, where the processor time goes, in percent; the largest stage first."""
    grows = sorted((at.cache / "corpora" / "live" / "claude").rglob("*.jsonl"))[0]
    load_script(at.generator).append_record(grows, "zsharesneedle")
    with Memory.open(home, env=environment(home)) as memory:
        uid = memory.sessions(limit=1, sync=False).sessions[0].session_uid
    commands = {
        "a sync of one line": ["sync"],
        "a search": ["search", "session cache"],
        "showing a session": ["show", uid],
    }
    found: dict[str, dict[str, Any]] = {}
    for name, words in commands.items():
        with TemporaryDirectory() as folder:
            told = Path(folder) / "shares.json"
            command = [sys.executable, "-m", "benchmarks.support.profiled_command", str(told), *words]
            subprocess.run(command, env=environment(home), stdout=subprocess.DEVNULL, check=True, cwd=REPOSITORY)
            found[name] = json.loads(told.read_bytes())
    return found


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    chosen = corpora.standard(at, options.corpus)
    if (at.real_corpus / "index.json").is_file():
        chosen.append(corpora.real(at, only_real=False))
    sections = []
    for corpus in chosen:
        home = at.home(corpus.folder.name)
        print(f"ingest: {corpus.name}", file=sys.stderr)
        figures = {"cold": cold_ingest(corpus, home), "nothing_changed": nothing_changed(corpus, home)}
        if corpus.variables and at.generator.is_file():
            figures["append"] = append_to_searchable(at, corpus, home)
            figures["start"] = cold_start(at, corpus, home)
            figures["shares"] = shares_of(at, home)
        sections.append(Section(f"ingest/{corpus.name}", f"Ingest: {corpus.name}", figures, render(figures)))
    return sections


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's figures as Markdown."""
    cold, bound = figures["cold"], figures["cold"]["roofline"]
    lines = ["| figure | measured | bar |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in _rows(figures)), ""]
    lines += ["| stage | CPU seconds | CPU ms per MB | share |", "|---|--:|--:|--:|"]
    stages: dict[str, float] = cold["stage_cpu_seconds"]
    rest = {"outside the stages (start, shipping, merging)": max(0.0, cold["cpu_seconds"] - sum(stages.values()))}
    whole = max(cold["cpu_seconds"], sum(stages.values())) or 1
    megabytes = max(1e-9, cold["bytes_taken"] / 1e6)
    lines += [
        f"| {name} | {s:.2f} | {s * 1000 / megabytes:.1f} | {s / whole:.0%} |" for name, s in (stages | rest).items()
    ]
    phases = ", ".join(f"{name} {s:.1f}" for name, s in cold["phase_seconds"].items() if s >= _LEAST_SECONDS)
    lines += ["", f"Seconds by the clock, phase after phase: {phases}."]
    lines += ["", "| roofline part, one core | seconds | MB/s |", "|---|--:|--:|"]
    lines += [f"| {part} | {bound['seconds'][part]:.2f} | {bound['mb_per_s'][part]} |" for part in bound["seconds"]]
    works: dict[str, float] = {}
    for name, seconds in (stages | rest).items():  # a stage of several processes is one work
        work = name.partition(" (")[0]
        works[work] = works.get(work, 0.0) + seconds
    largest = max(works, key=works.__getitem__)
    busy = cold["cpu_seconds"] / max(1e-9, cold["process_seconds"] * bound["cores"])
    told = f"*{largest}* takes most CPU, {works[largest] / whole:.0%}"
    lines += ["", f"What bounds it: {told}; the run used {busy:.0%} of {bound['cores']} cores."]
    lines += _memory_parts(cold["memory_parts"])
    large = {name: share for name, share in cold["table_shares"].items() if share >= _LEAST_SHARE}
    tables = ", ".join(f"{name} {share:.3f}" for name, share in large.items())
    lines += [
        "",
        "What bounds the store, as shares of the source: the transcripts themselves, compressed and sealed, "
        f"{cold['archive_share']:.3f}; the word index with static vectors {cold['index_share']:.3f}; tables with their "
        f"indexes: {tables} (`block` holds the texts of events, compressed).",
    ]
    for name, one in figures.get("shares", {}).items():
        parts = ", ".join(f"{stage} {share} %" for stage, share in one["percent"].items())
        lines += ["", f"What bounds {name} without a daemon ({one['cpu_ms']} ms of processor time with the measuring, "
                  f"{one['modules']} modules): {parts}."]  # fmt: skip
    return "\n".join(lines)


def _memory_parts(parts: dict[str, list[tuple[str, int, int]]]) -> list[str]:
    """Return what each process held when the processes of a phase held most, the largest phase first."""
    phases = sorted((held for held in parts.values() if len(held) > 1), key=lambda held: -sum(one[1] for one in held))
    told = [
        f"{sum(size for _, size, _ in held) / 1e6:.0f} MB in "
        + ", ".join(f"`{name}` {size / 1e6:.0f} (pages of files {(size - own) / 1e6:.0f})" for name, size, own in held)
        for held in phases
    ]
    said = f"What bounds the memory, by the modules that processes run at once: {'; '.join(told)}."
    return ["", said] if told else []


def _rows(figures: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (figure, measured, bar) lines."""
    cold, bound, still = figures["cold"], figures["cold"]["roofline"], figures["nothing_changed"]
    taken = f"{cold['seconds']} s for {cold['bytes_taken'] / 1e6:.1f} MB in {cold['files']} files"
    reached = f"reached {cold['share_of_bound']:.0%}"
    shares = ", ".join(f"{cold[f'{part}_share']:.3f}" for part in ("archive", "database", "index"))
    quiet = f"{still['median_ms']} ms for {still['sessions']} sessions (first: {still['first_ms']} ms)"
    rows = [
        ("cold ingest", f"{cold['mb_per_s']} MB/s ({taken})", f"{MUST_MB_PER_S} MB/s"),
        ("CPU", f"{cold['cpu_seconds']} s, {cold['cpu_ms_per_mb']} ms per MB", ""),
        ("roofline", f"{bound['bound_mb_per_s']} MB/s on {bound['cores']} cores; {reached}", ""),
    ]
    if cold["peak_tree_bytes"] is not None:
        peak = f"{cold['peak_tree_bytes'] / 1e6:.0f} MB in {cold['processes']} processes"
        own = f"{(cold['peak_anonymous_bytes'] or 0) / 1e6:.0f} MB without pages of files, which the system takes back"
        largest = f"{own}; largest process {(cold['peak_largest_process_bytes'] or 0) / 1e6:.0f} MB"
        rows.append(("peak memory", f"{peak}; {largest}", f"{MUST_PEAK_MB} MB"))
    rows += [
        ("store / source", f"{cold['store_share']:.3f}", f"{MUST_STORE_SHARE:.2f}"),
        ("archive, database, index / source", shares, ""),
        ("nothing changed", quiet, "500 ms per 1,000 sessions"),
    ]
    if "append" in figures:
        latency = figures["append"]
        rows.append(("append to searchable", _latency(latency), "p95 500 ms"))
        rows += [(_start_row(name), told(start), _bar(name)) for name, start in figures["start"].items()]
    return rows


def _start_row(name: str) -> str:
    command, comma, circumstances = name.partition(",")
    return f"`recollect {command}`{comma}{circumstances}"


def _bar(name: str) -> str:
    return next(f"{bar} ms" for part, bar in START_BARS.items() if part in name)


def _latency(figures: dict[str, Any]) -> str:
    return f"p50 {figures['p50_ms']} ms, p95 {figures['p95_ms']} ms"


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
