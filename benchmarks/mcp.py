"""The MCP server as a client meets it: from the start of its process to the list of tools, and calls over stdio."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.measuring import percentile, spread
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.config import config_toml

STARTS = 20
CALLS = 60
START_MUST_MS, START_AIM_MS = 1000, 700
LIST_MUST_BYTES, ANSWER_MUST_BYTES = 8192, 4096
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0
_CITED = re.compile(r"^(\S+)#(\d+) ·", re.MULTILINE)


class Client:
    """The least that a client does: lines of JSON-RPC over the pipes of a process."""

    def __init__(self, home: Path) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recollect", "mcp"],
            env={**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_BACKGROUND": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its result. Raises RuntimeError for an error of the protocol."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def hello(self) -> dict[str, Any]:
        """Shake hands and return the list of tools."""
        client = {"name": "benchmark", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self.ask("tools/list")

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the text of a tool's answer."""
        text: str = self.ask("tools/call", name=tool, arguments=arguments)["content"][0]["text"]
        return text

    def cpu_ms(self) -> float | None:
        """Return the processor time that the server has taken so far; None where the system doesn't tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) * 1000 / _TICKS

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def server(home: Path) -> Iterator[Client]:
    """A server on a home; it must end well when its standard input does."""
    client = Client(home)
    yield client
    assert client.process.stdin is not None
    assert client.process.stdout is not None
    client.process.stdin.close()
    code = client.process.wait(timeout=60)
    client.process.stdout.close()
    if code:
        raise RuntimeError(f"the server ended with {code}")


def starts(home: Path) -> dict[str, Any]:
    """Start servers one after the other; return the spread until the tools were there, and how large the list is."""
    wall: list[float] = []
    cpu: list[float] = []
    listed: dict[str, Any] = {}
    for _ in range(STARTS):
        with server(home) as client:
            listed = client.hello()
            wall.append((time.perf_counter() - client.started) * 1000)
            taken = client.cpu_ms()
            cpu += [] if taken is None else [taken]
    size = len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode())
    return {
        "to_tool_list": spread(wall),
        "cpu_median_ms": round(statistics.median(cpu)) if cpu else None,
        "tool_list_bytes": size,
    }


def calls(home: Path, words: dict[str, list[str]]) -> dict[str, Any]:
    """Ask every tool many different things over one connection; the first answers, which take in, are not counted."""
    queries = [query for group in words.values() for query in group][:CALLS]
    with server(home) as client:
        client.hello()
        while "catching up" in client.text("list_sessions", scope="all"):
            continue
        cites = [cite for query in queries for cite in _CITED.findall(client.text("search", query=query, scope="all"))]
        sessions = list(dict.fromkeys(uid for uid, _seq in cites))
        asked: dict[str, list[dict[str, Any]]] = {
            "search": [{"query": query, "scope": "all"} for query in queries],
            "search_conversations": [{"query": query, "scope": "all"} for query in queries],
            "list_sessions": [{"scope": "all", "limit": 1 + n % 50} for n in range(CALLS)],
            "get_session": [{"session": uid} for uid in sessions[:CALLS]],
            "open": [{"id": f"{uid}#{seq}"} for uid, seq in cites[:CALLS]],
            "status": [{}] * CALLS,
        }
        return {tool: _measured(client.text, tool, of_tool) for tool, of_tool in asked.items()}


def _measured(call: Callable[..., str], tool: str, asked: list[dict[str, Any]]) -> dict[str, Any]:
    taken: list[float] = []
    sizes: list[int] = []
    for arguments in asked:
        started = time.perf_counter()
        text = call(tool, **arguments)
        taken.append((time.perf_counter() - started) * 1000)
        sizes.append(len(text.encode()))
    return {**spread(taken), "bytes_p50": int(percentile(sizes, 0.5)), "bytes_max": max(sizes)}


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    chosen = [corpora.generated(folder.resolve()) for folder in options.corpus]
    chosen = chosen or [corpora.generate(at, megabytes=300, sessions=600, seed=7)]
    return [_of(at, corpus) for corpus in chosen]


def _of(at: Places, corpus: Corpus) -> Section:
    print(f"mcp: {corpus.name}", file=sys.stderr)
    home = at.home(f"mcp-{corpus.folder.name}")
    shutil.rmtree(home, ignore_errors=True)
    with Memory.open(home, config=corpus.config()) as memory:
        memory.sync()
    (home / "config.toml").write_text(config_toml(corpus.config()), "utf-8")
    figures = {"start": starts(home), "calls": calls(home, corpus.manifest()["queries"])}
    shutil.rmtree(home, ignore_errors=True)
    return Section(f"mcp/{corpus.name}", f"MCP: {corpus.name}", figures, render(figures))


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's figures as Markdown."""
    start, tools = figures["start"], figures["calls"]
    to_list = start["to_tool_list"]
    cpu = "" if start["cpu_median_ms"] is None else f" ({start['cpu_median_ms']} ms of processor time)"
    largest = max(tool["bytes_max"] for tool in tools.values())
    lines = [
        "| figure | measured | bar |",
        "|---|--:|---|",
        f"| start to tool list, p50 | {to_list['p50_ms']:.0f} ms{cpu} | aim {START_AIM_MS} ms |",
        f"| start to tool list, p95 of {to_list['n']} | {to_list['p95_ms']:.0f} ms | must {START_MUST_MS} ms |",
        f"| tool list | {start['tool_list_bytes']:,} bytes | must {LIST_MUST_BYTES:,} bytes |",
        f"| largest default answer | {largest:,} bytes | must {ANSWER_MUST_BYTES:,} bytes |",
        "",
        "| tool | calls | p50 ms | p95 ms | p99 ms | bytes (median) | bytes (largest) |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {name} | {tool['n']} | {tool['p50_ms']} | {tool['p95_ms']} | {tool['p99_ms']} "
        f"| {tool['bytes_p50']:,} | {tool['bytes_max']:,} |"
        for name, tool in tools.items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
