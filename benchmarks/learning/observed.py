"""From an observation to the learning, with the daemon running: a person says something, and it is asked for until it
is known.

Two ways: sessions in which the turn ends with it, and one session whose turn goes on, which is read now and then only.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

import msgspec

from benchmarks.serving.live import Daemon, wait_for_first_look
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import AgentConfig, Config, DaemonConfig, config_toml
from recollect.store.learnings import LearningFilter
from recollect.testing.builders import ClaudeTranscript

ENDED, GOING_ON = 40, 4
ASK_EVERY_S = 0.01
GIVE_UP_S = 60.0
PAUSE_S = 0.5


def measure(at: Places, *, is_quick: bool = False) -> Section:
    """Measure both ways; returns one section."""
    home, folder = at.home("learning-observed"), at.cache / "corpora" / "observed"
    for path in (home, folder):
        shutil.rmtree(path, ignore_errors=True)
    agents = {"claude": AgentConfig(variables={"CLAUDE_CONFIG_DIR": str(folder)})}
    # Everything is looked at once, when it starts: what is measured is what watching brings.
    config = msgspec.structs.replace(Config(agents=agents), daemon=DaemonConfig(rescan_seconds=86_400))
    ClaudeTranscript(folder, "first").user("hello")
    with Memory.open(home, config=config) as memory:
        memory.sync()
    (home / "config.toml").write_text(config_toml(config), "utf-8")
    daemon = Daemon(home)
    try:
        wait_for_first_look(home)
        with Memory.open(home) as memory:
            figures: dict[str, Any] = {"turn_ended": _ended(memory, folder, 3 if is_quick else ENDED)}
            figures["turn_goes_on"] = _going_on(memory, folder, 1 if is_quick else GOING_ON)
    finally:
        daemon.stop()
    for path in (home, folder):
        shutil.rmtree(path, ignore_errors=True)
    return Section("learning/observed", "Learning: from observation to learning", figures, render(figures))


def _ended(memory: Memory, folder: Any, count: int) -> dict[str, Any]:
    taken: list[float] = []
    lost = 0
    for number in range(count):
        time.sleep(PAUSE_S)
        transcript = ClaudeTranscript(folder, f"ended {number} {os.getpid()}")
        needle = f"zlearn{number:03d}x{os.getpid()}"
        transcript.user(f"Remember: the release notes of this project are kept in docs/{needle}.md")
        started = time.perf_counter()
        transcript.assistant("I will keep that in mind.")
        lost += _wait(memory, needle, started, taken)
    return {**spread(taken), "not_learned": lost} if taken else {"n": 0, "not_learned": lost}


def _going_on(memory: Memory, folder: Any, count: int) -> dict[str, Any]:
    taken: list[float] = []
    lost = 0
    transcript = ClaudeTranscript(folder, f"going on {os.getpid()}")
    for number in range(count):
        needle = f"zgoing{number:03d}x{os.getpid()}"
        started = time.perf_counter()
        transcript.user(f"Remember: the deployment scripts of this project are kept in ops/{needle}/")
        lost += _wait(memory, needle, started, taken)
    return {**spread(taken), "not_learned": lost} if taken else {"n": 0, "not_learned": lost}


def _wait(memory: Memory, needle: str, started: float, taken: list[float]) -> int:
    where = LearningFilter(words=(needle,), limit=1)
    while not memory.learn.learnings(where):
        if time.perf_counter() - started > GIVE_UP_S:
            return 1
        time.sleep(ASK_EVERY_S)
    taken.append((time.perf_counter() - started) * 1000)
    return 0


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| said in | n | p50 s | p95 s | max s | not learned |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in figures.items():
        way = "a turn that ended" if name == "turn_ended" else "a turn that goes on"
        times = [f"{row[key] / 1000:.2f}" if key in row else "" for key in ("p50_ms", "p95_ms", "max_ms")]
        lines.append("| " + " | ".join((way, str(row["n"]), *times, str(row["not_learned"]))) + " |")
    return "\n".join(lines)
