"""The daemon as an agent's user meets it: append to searchable, what it costs while nothing happens, how it stops.

A process of its own watches generated transcripts; this process appends a record as an agent would, and asks an open
memory, which looks for no changes itself, until it is found.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.config import DaemonConfig, config_toml

APPENDS = 200
PAUSE_S = 0.25
"""Between appends: no agent writes for people faster than it is read."""
ASK_EVERY_S = 0.002
GIVE_UP_S = 10.0
QUIET_S = 15.0
"""After the appends, until what they left to do in between is done."""
IDLE_S = 60.0
STOPS = 10
MUST_P95_MS, AIM_P95_MS = 500, 150
MUST_STOP_S = 2.0
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0


class Daemon:
    """`recollect up` on a free port."""

    def __init__(self, home: Path) -> None:
        started = time.perf_counter()
        env = {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_BACKGROUND": "0"}
        command = [sys.executable, "-m", "recollect", "up", "--port", "0", "--json"]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        self.pid = int(json.loads(self.process.stdout.readline())["pid"])
        self.began_ms = (time.perf_counter() - started) * 1000

    def cpu_seconds(self) -> float | None:
        """Return the processor time that it has taken so far; None where the system doesn't tell."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def stop(self) -> float:
        """Send SIGTERM; return the seconds until it has ended. Raises RuntimeError where it did not end well."""
        began = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        took = time.perf_counter() - began
        if self.process.stdout is not None:
            self.process.stdout.close()
        if code:
            raise RuntimeError(f"the daemon ended with {code}")
        return took


def appends(at: Places, home: Path, folder: Path) -> dict[str, Any]:
    """Append records, one after the other, and measure until each is found by another process."""
    append = load_script(at.generator).append_record
    files = sorted((folder / "claude").rglob("*.jsonl"))
    taken: list[float] = []
    lost = 0
    with Memory.open(home) as memory:
        memory.search("warm", sync=False)
        for number in range(APPENDS + 1):
            time.sleep(PAUSE_S)
            needle = f"zlive{number:03d}x{os.getpid()}needle"
            started = time.perf_counter()
            append(files[number % len(files)], needle)
            while not memory.search(needle, sync=False).hits:
                if time.perf_counter() - started > GIVE_UP_S:
                    lost += 1
                    break
                time.sleep(ASK_EVERY_S)
            if number:  # the first one warms up
                taken.append((time.perf_counter() - started) * 1000)
    return {**spread(taken), "not_found": lost}


def idle(daemon: Daemon) -> dict[str, Any]:
    """Return the processor time of a minute in which nothing happens; empty where the system doesn't tell."""
    time.sleep(QUIET_S)
    before = daemon.cpu_seconds()
    time.sleep(IDLE_S)
    after = daemon.cpu_seconds()
    if before is None or after is None:
        return {}
    return {"cpu_seconds_per_minute": round((after - before) * 60 / IDLE_S, 3)}


def stops(home: Path, daemon: Daemon) -> dict[str, Any]:
    """Stop and start it again and again; the last one is not started again."""
    taken = []
    began = [daemon.began_ms]
    for number in range(STOPS):
        taken.append(daemon.stop() * 1000)
        if number < STOPS - 1:
            daemon = Daemon(home)
            began.append(daemon.began_ms)
            wait_for_first_look(home)
    return {"stop": spread(taken), "start": spread(began)}


def wait_for_first_look(home: Path) -> None:
    """Wait until a daemon has looked at everything once."""
    with Memory.open(home) as memory:
        while (told := memory.live.status()) is None or told.last_full_at is None:
            time.sleep(0.05)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    chosen = [corpora.generated(folder.resolve()) for folder in options.corpus]
    chosen = chosen or [corpora.generate(at, megabytes=300, sessions=600, seed=7)]
    return [_of(at, corpus) for corpus in chosen]


def _of(at: Places, corpus: Corpus) -> Section:
    print(f"live: {corpus.name}", file=sys.stderr)
    home, folder = at.home(f"live-{corpus.folder.name}"), at.cache / "corpora" / "live"
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(corpora.generate(at, megabytes=5, sessions=20, seed=99).folder, folder)
    config = corpus.config(claude=folder / "claude")
    # Everything is looked at once, when it starts: what is measured is what watching brings.
    config = msgspec.structs.replace(config, daemon=DaemonConfig(rescan_seconds=86_400))
    with Memory.open(home, config=config) as memory:
        memory.sync()
    (home / "config.toml").write_text(config_toml(config), "utf-8")
    daemon = Daemon(home)
    wait_for_first_look(home)
    figures: dict[str, Any] = {"append": appends(at, home, folder)}
    figures |= {"idle": idle(daemon), **stops(home, daemon)}
    shutil.rmtree(home, ignore_errors=True)
    return Section(f"live/{corpus.name}", f"Live: {corpus.name}", figures, render(figures))


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's figures as Markdown."""
    append, stop, start = figures["append"], figures["stop"], figures["start"]
    bar = f"must {MUST_P95_MS} ms, aim {AIM_P95_MS} ms"
    lines = [
        "| figure | measured | bar |",
        "|---|--:|---|",
        f"| append to searchable, p50 of {append['n']} | {append['p50_ms']:.0f} ms | |",
        f"| append to searchable, p95 | {append['p95_ms']:.0f} ms | {bar} |",
        f"| append to searchable, p99 | {append['p99_ms']:.0f} ms | |",
        f"| appends not found | {append['not_found']} | 0 |",
    ]
    if figures["idle"]:
        seconds = figures["idle"]["cpu_seconds_per_minute"]
        lines.append(f"| processor time while nothing happens | {seconds:.2f} s a minute | near zero |")
    lines += [
        f"| signal to end, largest of {stop['n']} | {stop['max_ms'] / 1000:.2f} s | must {MUST_STOP_S:g} s |",
        f"| process start to answering, p50 | {start['p50_ms']:.0f} ms | |",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
