"""What an agent waits for: the commands of its hooks as registered, process start to exit, alone and 50 at once."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.support import corpora
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from benchmarks.support.worked_in import worked_in
from recollect import Memory, wire
from recollect import ready_blocks as ready
from recollect.agents.install.contract import Program, answer_command, spool_command, spool_line
from recollect.hook import __main__ as hook

ROUNDS = 200
AT_ONCE = 50
FEW_ROUNDS = 40
"""Of what takes a hundred times as long."""
BARS = {"spool": (15, 5), "start": (150, 60)}
"""Design, section 10: p95 in ms, must and aim: a hook that needs no answer; a session's start."""
_TEXT = "x" * 1500
PAYLOADS = {
    "spool": {
        "session_id": "s", "hook_event_name": "PostToolUse", "cwd": "/", "tool_name": "Edit", "tool_use_id": "t",
        "tool_input": {"file_path": "/a", "old_string": _TEXT, "new_string": _TEXT}, "tool_response": {"ok": True},
    },
    "start": {"session_id": "none", "hook_event_name": "SessionStart", "source": "startup"},
}  # fmt: skip


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure on one memory; returns one section."""
    chosen = options.corpus[0].resolve() if options.corpus else None
    corpus = corpora.generated(chosen) if chosen else corpora.generate(at, megabytes=20, sessions=60, seed=7)
    home = at.home("hooks").resolve()
    shutil.rmtree(home, ignore_errors=True)
    try:
        print("hooks: making a memory", file=sys.stderr)
        repository, transcripts = worked_in(at.home("hooks-worked-in").resolve())
        with Memory.open(home, config=corpus.config(claude=transcripts)) as memory:
            memory.sync()
        figures = {"rows": _rows(home, str(repository))}
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return [Section("hooks/commands", "Hooks: the commands as registered", figures, render(figures))]


def _rows(home: Path, cwd: str) -> dict[str, Any]:
    script = Path(sys.executable).with_name("recollect")
    program = Program(str(script), sys.executable, hook.__file__, str(home / "spool"))
    line = ("/bin/sh", "-c", spool_line(program, "claude"))
    spooling = spool_command(program, "claude")
    answering = answer_command(program, "claude", "start")
    start = {**PAYLOADS["start"], "cwd": cwd}
    rows = {
        "`/bin/true`": _both(("/bin/true",), {}, home, ROUNDS),
        "`sh -c 'exit 0'`": _both(("/bin/sh", "-c", "exit 0"), {}, home, ROUNDS),
        "`python -I -S -c pass`": _both((sys.executable, "-I", "-S", "-c", "pass"), {}, home, ROUNDS),
        "no answer: the registered line (`sh`)": _both(line, PAYLOADS["spool"], home, ROUNDS, "spool"),
        "no answer: the same in Python": _both(spooling, PAYLOADS["spool"], home, ROUNDS, "spool"),
    }
    rows["start: a block is ready"] = _both(answering, start, home, ROUNDS, "start")
    shutil.rmtree(home / ready.FOLDER)
    with _listening(home):
        rows["start: a daemon answers"] = _both(answering, start, home, ROUNDS, "start")
    rows["start: `recollect context` is run"] = _both(answering, start, home, FEW_ROUNDS, "start")
    return rows


def _both(command: Sequence[str], payload: dict[str, Any], home: Path, rounds: int, bar: str = "") -> dict[str, Any]:
    print(f"hooks: {' '.join(command)[:60]}", file=sys.stderr)
    data = json.dumps(payload).encode()
    env = {**os.environ, "RECOLLECT_HOME": str(home)}
    _once(command, data, env)  # the first warms caches
    before = os.times()
    alone = [_once(command, data, env) for _ in range(rounds)]
    after = os.times()
    taken = after.children_user + after.children_system - before.children_user - before.children_system
    with ThreadPoolExecutor(AT_ONCE) as threads:
        at_once = list(threads.map(lambda _: _once(command, data, env), range(AT_ONCE)))
    for drop in (*(home / "spool").glob("*.*"), *(home / "spool" / "firings").glob("*.*")):
        drop.unlink()
    return {"alone": spread(alone), "cpu_ms": round(taken * 1000 / rounds, 1), "at_once": spread(at_once), "bar": bar}


def _once(command: Sequence[str], data: bytes, env: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, input=data, env=env, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


@contextmanager
def _listening(home: Path) -> Iterator[None]:
    """A daemon that answers at once: what is measured is the hook's own part."""
    folder = home / wire.RUN_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / wire.SOCKET_NAME
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The path of a socket is bounded; the folder it is in is not.
    before = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    try:
        server.bind(wire.SOCKET_NAME)
    finally:
        os.fchdir(before)
        os.close(before)
    server.listen(128)
    text = json.dumps({"version": wire.VERSION, "text": "a line of context\n" * 200}).encode() + b"\n"

    def serve() -> None:
        with suppress(OSError):
            while True:
                channel, _ = server.accept()
                with channel, suppress(OSError):
                    channel.recv(65_536)
                    channel.sendall(text)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        path.unlink()


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        f"Process start to exit, as the caller sees it; {ROUNDS} runs one after the other ({FEW_ROUNDS} where one "
        f"is run behind the hook), then {AT_ONCE} at once. The payload is 3 KB. CPU is user and system time "
        f"of the processes, on average. The load of the machine was {os.getloadavg()[0]:.1f} when it ended.",
        "",
        f"| command | p50 ms | p95 ms | must, aim | CPU ms | p50 of {AT_ONCE} at once | p95 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in figures["rows"].items():
        bar = "{}, {}".format(*BARS[row["bar"]]) if row["bar"] else ""
        alone, at_once = row["alone"], row["at_once"]
        cells = (name, alone["p50_ms"], alone["p95_ms"], bar, row["cpu_ms"], at_once["p50_ms"], at_once["p95_ms"])
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    made = parser(__doc__).parse_args()
    publish(measure(places(made), made), dry=made.dry)
