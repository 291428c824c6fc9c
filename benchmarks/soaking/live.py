"""A day's traffic of ten agents in minutes against the daemon, with readers beside it: how soon everything is found."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.soaking.traffic import AGENTS, Traffic
from benchmarks.support.measuring import MemoryPeak, spread, watched_memory
from benchmarks.support.places import REPOSITORY, Places
from benchmarks.support.results import Section
from recollect import Memory

SECONDS = 150.0
QUIET_S = 10.0
KILLS = 5
READERS = 2
LOST_AFTER_S = 20.0
"""A record that is not found by then counts as not found in time."""
MUST_P95_MS = 500
_PROBE_S = 0.2


def measure(at: Places, *, is_quick: bool) -> Section:
    """Run the traffic; returns one section."""
    print("soak: live traffic", file=sys.stderr)
    folder = at.home("soak-live")
    shutil.rmtree(folder, ignore_errors=True)
    home = folder / "home"
    home.mkdir(parents=True, mode=0o700)
    env = {**os.environ, "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "claude"),
           "CODEX_HOME": str(folder / "codex"), "RECOLLECT_HOME": str(home)}  # fmt: skip
    traffic = Traffic(folder, home / "spool")
    live = _Live(home, env, traffic)
    figures = live.run(SECONDS / 5 if is_quick else SECONDS, kills=2 if is_quick else KILLS)
    return Section("soak/live", "Soak: live traffic", figures, render(figures))


class _Live:
    def __init__(self, home: Path, env: dict[str, str], traffic: Traffic) -> None:
        self._home = home
        self._env = env
        self._traffic = traffic
        self._chance = random.Random(1)
        self._peak = MemoryPeak()

    def run(self, seconds: float, *, kills: int) -> dict[str, Any]:
        daemon = self._start()
        started = time.perf_counter()
        with Memory.open(self._home, env=self._env) as memory:
            with self._traffic:
                _wait_until(lambda: memory.stats().sessions == AGENTS)
                readers = [self._reader() for _ in range(READERS)]
                with watched_memory(daemon.pid) as self._peak:
                    found_ms, missed = self._probe(memory, seconds)
                asked = [json.loads(reader.communicate(b"")[0]) for reader in readers]
                traffic_s = time.perf_counter() - started
                for _ in range(kills):
                    time.sleep(self._chance.uniform(0.5, 2.0))
                    daemon.kill()
                    daemon.wait()
                    daemon = self._start()
            idle = self._idle_share(daemon)
            stopping = time.perf_counter()
            daemon.send_signal(signal.SIGTERM)
            code = daemon.wait(30)
            stop_s = time.perf_counter() - stopping
            lost = self._lost(memory)
        figures: dict[str, Any] = {
            "seconds": round(traffic_s, 1), "records": self._traffic.records(), "bytes": self._traffic.size_bytes(),
            "append_to_searchable": spread(found_ms), "not_found_in_time": missed, "kills": kills,
            "readers": {name: spread([ms for one in asked for ms in one[name]]) for name in asked[0]},
            "peak_tree_bytes": self._peak.tree_bytes, "idle_share": idle, "stop_seconds": round(stop_s, 2),
            "exit_code": code, **lost,
        }  # fmt: skip
        return figures

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "recollect", "up", "--port", "0"]
        with (self._home.parent / "daemon.log").open("ab") as log:
            daemon = subprocess.Popen(command, env=self._env, cwd=REPOSITORY, stdout=log, stderr=log)
        _wait_until(lambda: (self._home / "run" / "daemon.json").exists() or daemon.poll() is not None)
        if daemon.poll() is not None:
            raise RuntimeError(f"the daemon ended: {(self._home.parent / 'daemon.log').read_text('utf-8')[-2000:]}")
        return daemon

    def _reader(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "benchmarks.soaking.asking", str(self._home)]
        return subprocess.Popen(command, env=self._env, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _probe(self, memory: Memory, seconds: float) -> tuple[list[float], int]:
        """Let agents say words that nobody said before, and ask for each until it is found."""
        ends_at = time.perf_counter() + seconds
        took: list[float] = []
        missed = number = 0
        while time.perf_counter() < ends_at:
            number += 1
            which = self._chance.randrange(AGENTS)
            needle = f"zneedle{number:05d}q"
            with self._traffic.turn_lock[which]:
                self._traffic.agents[which].say(f"where is {needle} now")
                started = time.perf_counter()
            if _wait_until(lambda word=needle: bool(memory.search(word, sync=False).hits), LOST_AFTER_S):
                took.append((time.perf_counter() - started) * 1000)
            else:
                missed += 1
            time.sleep(self._chance.uniform(0, 2 * _PROBE_S))
        return took, missed

    def _idle_share(self, daemon: subprocess.Popen[bytes]) -> float | None:
        """Return which share of one core the daemon takes when nothing happens; None where the system doesn't tell."""
        stat = Path(f"/proc/{daemon.pid}/stat")
        if not stat.exists():
            return None
        time.sleep(QUIET_S)  # what was under way ends
        before = _ticks(stat)
        time.sleep(QUIET_S)
        return round((_ticks(stat) - before) / os.sysconf("SC_CLK_TCK") / QUIET_S, 4)

    def _lost(self, memory: Memory) -> dict[str, Any]:
        """Hold what is stored against what the agents wrote; what the last kill left is taken in first."""
        last = memory.sync()
        again = memory.sync()
        verified = memory.maintenance.verify()
        differing = words = doubled = 0
        for agent in self._traffic.agents:
            differing += b"".join(memory.maintenance.export_bytes(agent.uid, format="raw")) != agent.path.read_bytes()
            said = [e.payload.text for e in memory.events(agent.uid) if e.kind == "user_message"]  # type: ignore[union-attr]
            words += len(set(agent.written) - set(said))
            doubled += len(said) - len(set(said))
        return {
            "verified": verified.ok, "differing_files": differing, "records_lost": words, "records_doubled": doubled,
            "left_for_the_last_sync": last.events, "again_events": again.events,
        }  # fmt: skip


def _wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    ends_at = time.perf_counter() + seconds
    while not holds():
        if time.perf_counter() > ends_at:
            return False
        time.sleep(0.005)
    return True


def _ticks(stat: Path) -> int:
    fields = stat.read_text("ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    found, peak = figures["append_to_searchable"], figures["peak_tree_bytes"]
    lines = ["| figure | measured | bar |", "|---|---|---|"]
    rows = [
        ("traffic", f"{figures['records']:,} records, {figures['bytes'] / 1e6:.1f} MB of {AGENTS} agents "
         f"(six Claude Code with hooks, four Codex) in {figures['seconds']:.0f} s", ""),
        ("append to searchable", f"p50 {found['p50_ms']} ms, p95 {found['p95_ms']} ms, p99 {found['p99_ms']} ms "
         f"({found['n']} words; {figures['not_found_in_time']} not within {LOST_AFTER_S:.0f} s)",
         f"p95 {MUST_P95_MS} ms"),
        *((f"readers beside it: {name}", f"p50 {x['p50_ms']} ms, p95 {x['p95_ms']} ms, p99 {x['p99_ms']} ms "
           f"({x['n']:,})", "") for name, x in figures["readers"].items()),
        ("peak memory of the daemon", "not measured" if peak is None else f"{peak / 1e6:.0f} MB", "400 MB"),
        ("idle", "not measured" if figures["idle_share"] is None else f"{figures['idle_share']:.2%} of a core", ""),
        ("told to stop", f"{figures['stop_seconds']} s, exit code {figures['exit_code']}", "2 s"),
        ("killed and started again", f"{figures['kills']} times under traffic", ""),
        ("records lost, doubled", f"{figures['records_lost']}, {figures['records_doubled']}; "
         f"{figures['differing_files']} files differ; verified: {'yes' if figures['verified'] else 'NO'}", "0, 0"),
    ]  # fmt: skip
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
