"""What looks after a memory, on one of 300 MB of transcripts: time, processor time, peak memory; and whether it did it.

Every verb runs as a person runs it, in a process of its own, on a copy of one memory. `--quick`: 20 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import Run
from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import (
    EmbeddingConfig,
    PrivacyConfig,
    RetentionConfig,
    SecretPatternConfig,
    config_toml,
    load_config,
)

MUST_PEAK_MB = 400
PATTERN = r"zq000[0-9]{2}needle[0-9a-f]+"
"""What the generator planted in the sessions 0 to 99 of Claude Code, once each."""
RENEWED = r"zq0010[0-9]needle[0-9a-f]+"
"""What is a secret from then on: planted in other sessions."""


class Step(NamedTuple):
    """One verb that was run, and what is wrong with what it did: "" where it did what it says."""

    name: str
    run: Run
    wrong: str

    def figures(self) -> dict[str, Any]:
        """Return what is published of it."""
        return {
            "seconds": round(self.run.wall_seconds, 2), "cpu_seconds": round(self.run.cpu_seconds, 2),
            "peak_tree_bytes": self.run.memory.tree_bytes, "processes": self.run.memory.processes,
            "did_it": not self.wrong, "wrong": self.wrong,
        }  # fmt: skip


class Measured:
    """The memory that is measured, its copies, and the steps so far."""

    def __init__(self, at: Places, corpus: Corpus) -> None:
        self._folder = at.cache / "upkeep"
        # Vectors are made by a step of its own: a process beside a verb would be measured with it, or not.
        self._config = msgspec.structs.replace(corpus.config(), embedding=EmbeddingConfig(in_background=False))
        self._base = self._folder / "base"
        self.steps: list[Step] = []
        self.needles: list[str] = [one["needle"] for one in corpus.manifest()["needles"]]
        shutil.rmtree(self._folder, ignore_errors=True)
        self._base.mkdir(parents=True)
        (self._base / "config.toml").write_text(config_toml(self._config), "utf-8")
        self.sessions = self.events = 0

    def path(self, name: str) -> Path:
        """Return a place beside the copies."""
        return self._folder / name

    def take_in(self) -> None:
        """Take everything in and make its vectors: what all the others work on."""
        self.step("sync", self._base, ["sync"], lambda said: "" if said["state"] == "done" else said["state"])
        self.step("embed", self._base, ["embed"], lambda _: "")
        with self.opened(self._base) as memory:
            stats = memory.stats()
            self.sessions, self.events = stats.sessions, stats.events

    def opened(self, home: Path) -> Memory:
        """Open a memory to check it."""
        return Memory.open(home, config=load_config(home / "config.toml"))

    def copy(self) -> Path:
        """Return a fresh copy of the memory; the one before goes."""
        home = self._folder / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self._base, home)
        return home

    def configure(self, home: Path, **changed: Any) -> None:
        """Change the configuration of a copy."""
        config = msgspec.structs.replace(self._config, **changed)
        (home / "config.toml").write_text(config_toml(config), "utf-8")

    def step(self, name: str, home: Path, words: list[str], check: Callable[[Any], str]) -> Any:
        """Run one verb, and check what it said and did; return what it said."""
        print(f"upkeep: {name}", file=sys.stderr, flush=True)
        env = {**os.environ, "RECOLLECT_HOME": str(home)}
        run = Run([sys.executable, "-m", "recollect", *words, "--json"], env=env, accepted=(0, 1, 3))
        said = json.loads(run.output)
        failed = f"exit code {run.exit_code}: {said.get('error', said.get('defects', [])[:3])}" if run.exit_code else ""
        self.steps.append(Step(name, run, failed or check(said)))
        print(f"upkeep: {self.steps[-1].figures()}", file=sys.stderr, flush=True)  # the whole takes long
        return said

    def fault(self, wrong: str) -> None:
        """Say what else is wrong with what the latest step did."""
        self.steps[-1] = self.steps[-1]._replace(wrong=self.steps[-1].wrong or wrong)

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self._folder, ignore_errors=True)


def looked_through(measured: Measured) -> None:
    """Measure what reads all of it and changes nothing."""
    home = measured.copy()
    measured.step("verify", home, ["verify"], lambda said: _differing(said, measured))
    measured.step("verify --deep", home, ["verify", "--deep"], lambda said: _differing(said, measured))
    measured.step("stats storage", home, ["stats", "storage"], lambda said: _off_by(said, home))


def copied(measured: Measured) -> None:
    """Measure a backup, a second one to the same place, and a restore to where nothing is."""
    home, target, new = measured.copy(), measured.path("backup"), measured.path("restored")

    def is_all(said: dict[str, Any]) -> str:
        return _unlike("sessions, events", (said["sessions"], said["events"]), (measured.sessions, measured.events))

    first = measured.step("backup", home, ["backup", str(target)], is_all)
    again = measured.step("backup again", home, ["backup", str(target)], is_all)
    if again["copied_bytes"] >= first["copied_bytes"]:  # the database is copied anew each time, packs are not
        measured.fault(f"copied {again['copied_bytes']} bytes of {again['bytes']} again")

    def is_there(said: dict[str, Any]) -> str:
        with measured.opened(new) as memory:
            found = memory.search(measured.needles[0], sync=False).total
            return is_all(said) or ("" if found else "a needle is not found") or _whole(memory)

    measured.step("restore", home, ["restore", str(target), "--home", str(new)], is_there)
    shutil.rmtree(target)
    shutil.rmtree(new)


def forgotten(measured: Measured) -> None:
    """Measure forgetting by a pattern, first as a dry run, and forgetting a session."""
    home = measured.copy()
    counted = ("whole_sessions", "partial_sessions", "sources", "records", "events", "written")
    words = ["forget", "--pattern", PATTERN]
    planned = measured.step(
        "forget --pattern --dry-run", home, [*words, "--dry-run"], lambda said: _state(said, "planned")
    )
    gone = [needle for needle in measured.needles if needle.startswith("zq000")]

    def is_gone(said: dict[str, Any]) -> str:
        with measured.opened(home) as memory:
            found = sum(memory.search(needle, sync=False).total for needle in gone)
            whole = _whole(memory)
        done, promised = ([told[name] for name in counted] for told in (said, planned))
        return _unlike("counts beside the dry run", done, promised) or _unlike("needles found", found, 0) or whole

    measured.step("forget --pattern", home, [*words, "--yes"], is_gone)
    with measured.opened(home) as memory:
        largest = max(memory.sessions(limit=1000).sessions, key=lambda one: one.event_count)

    def is_unknown(said: dict[str, Any]) -> str:
        with measured.opened(home) as memory:
            left = {one.session_uid for one in memory.sessions(limit=1000).sessions}
            return ("still listed" if largest.session_uid in left else "") or _state(said, "done") or _whole(memory)

    measured.step("forget --session", home, ["forget", "--session", largest.session_uid, "--yes"], is_unknown)


def evicted(measured: Measured) -> None:
    """Measure eviction to half of the raw bytes."""
    home = measured.copy()
    with measured.opened(home) as memory:
        half = memory.maintenance.retention.storage().raw_bytes // 2
    measured.configure(home, retention=RetentionConfig(raw_soft_cap_bytes=half))
    plan = measured.step("evict --dry-run", home, ["evict", "--dry-run"], lambda said: _above(said["left_bytes"], half))

    def is_bounded(said: dict[str, Any]) -> str:
        with measured.opened(home) as memory:
            raw, whole = memory.maintenance.retention.storage().raw_bytes, _whole(memory)
        names = [[one["session_uid"] for one in told["sessions"]] for told in (said, plan)]
        return _above(raw, half) or ("" if names[0] == names[1] else "not the sessions of the dry run") or whole

    measured.step("evict", home, ["evict"], is_bounded)


def made_anew(measured: Measured) -> None:
    """Measure what derives everything again: after a new pattern of secrets, and a rebuild."""
    home = measured.copy()
    secret = SecretPatternConfig(name="planted", pattern=RENEWED)
    measured.configure(home, privacy=PrivacyConfig(patterns=(secret,)))
    hidden = [needle for needle in measured.needles if needle.startswith("zq0010")]

    def is_hidden(_: dict[str, Any]) -> str:
        with measured.opened(home) as memory:
            return _unlike("secrets found", sum(memory.search(n, sync=False).total for n in hidden), 0) or _whole(
                memory
            )

    measured.step("sync after a new pattern of secrets", home, ["sync"], is_hidden)

    def is_same(_: dict[str, Any]) -> str:
        with measured.opened(home) as memory:
            stats = memory.stats()
            found = memory.search(measured.needles[0], sync=False).total
        counted = _unlike("sessions, events", (stats.sessions, stats.events), (measured.sessions, measured.events))
        return counted or ("" if found else "a needle is not found")

    measured.step("rebuild index", home, ["rebuild", "index"], is_same)
    measured.step("rebuild all", home, ["rebuild", "all"], is_same)


def _differing(said: dict[str, Any], measured: Measured) -> str:
    wrong = "" if said["ok"] else f"defects: {said['defects'][:3]}"
    return wrong or _unlike("events", said["events"], measured.events)


def _off_by(said: dict[str, Any], home: Path) -> str:
    parts = [home / name for name in ("memory.db", "archive", "index")]
    real = sum(p.stat().st_size for top in parts for p in (top, *top.rglob("*")) if p.is_file())
    return "" if abs(said["total_bytes"] - real) < 0.02 * real else f"says {said['total_bytes']} bytes of {real}"


def _whole(memory: Memory) -> str:
    report = memory.maintenance.verify()
    return "" if report.ok else f"verify: {report.defects[:3]}"


def _state(said: dict[str, Any], wanted: str) -> str:
    return _unlike("state", said["state"], wanted)


def _above(value: int, bar: int) -> str:
    return f"{value} bytes of at most {bar}" if value > bar else ""


def _unlike(name: str, value: Any, wanted: Any) -> str:
    return "" if value == wanted else f"{name}: {value}, not {wanted}"


PARTS: tuple[Callable[[Measured], None], ...] = (looked_through, copied, forgotten, evicted, made_anew)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every verb; returns one section."""
    if options.corpus:
        corpus = corpora.generated(options.corpus[0].resolve())
    elif getattr(options, "quick", False):
        corpus = corpora.generate(at, megabytes=20, sessions=60, seed=7)
    else:
        corpus = corpora.generate(at, megabytes=300, sessions=600, seed=7)
    measured = Measured(at, corpus)
    try:
        measured.take_in()
        for part in PARTS:
            part(measured)
    finally:
        measured.close()
    figures = {
        "sessions": measured.sessions, "events": measured.events,
        "steps": {step.name: step.figures() for step in measured.steps},
    }  # fmt: skip
    return [Section(f"upkeep/{corpus.name}", f"Upkeep: {corpus.name}", figures, render(figures))]


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = ["| verb | wall s | processor s | peak memory MB | did what it says |", "|---|--:|--:|--:|---|"]
    for name, one in figures["steps"].items():
        peak = one["peak_tree_bytes"]
        memory = "not measured" if peak is None else f"{peak / 1e6:.0f}"
        lines.append(f"| `{name}` | {one['seconds']} | {one['cpu_seconds']} | {memory} | {one['wrong'] or 'yes'} |")
    lines += ["", f"{figures['sessions']:,} sessions, {figures['events']:,} events. Memory may be {MUST_PEAK_MB} MB."]
    return "\n".join(lines)
