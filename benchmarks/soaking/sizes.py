"""One file of 2 GB, one line of 200 MB, 100,000 files: taken in, given back byte for byte, with bounded memory."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.support.measuring import Run
from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import AgentConfig, Config, DistillConfig, EmbeddingConfig
from recollect.testing.builders import ClaudeTranscript, stable_uuid

FILE_BYTES = 2_000_000_000
LINE_BYTES = 200_000_000
FILES = 100_000
MUST_PEAK_MB = 400
_WORDS = ("parser cache session index retry build token query merge branch layout commit socket buffer schema "
          "worker stream record digest ledger").split()  # fmt: skip


def measure(at: Places, *, is_quick: bool) -> Section:
    """Take each in, in a process of its own; returns one section."""
    share = 10 if is_quick else 1
    rows = [
        _taken(at, "file", lambda folder: _large_file(folder, FILE_BYTES // share)),
        _taken(at, "line", lambda folder: _long_line(folder, LINE_BYTES)),
        _taken(at, "files", lambda folder: _many_files(folder, FILES // share)),
    ]
    figures = {row["what"]: row for row in rows}
    return Section("soak/sizes", "Soak: sizes", figures, render(rows))


def _taken(at: Places, name: str, write: Any) -> dict[str, Any]:
    print(f"soak: {name}: writing it", file=sys.stderr, flush=True)
    folder, home = at.cache / "corpora" / f"soak-{name}", at.home(f"soak-{name}")
    for place in (folder, home):
        shutil.rmtree(place, ignore_errors=True)
    what = write(folder / "claude")
    settings = Config(
        agents={"claude": AgentConfig(variables={"CLAUDE_CONFIG_DIR": str(folder / "claude")})},
        # Measured by scripts of their own; here it would hide what size does to taking in.
        distill=DistillConfig(enabled=False), embedding=EmbeddingConfig(in_background=False),
    )  # fmt: skip
    home.mkdir(parents=True)
    print(f"soak: {what}: taking it in", file=sys.stderr, flush=True)
    run = Run([sys.executable, "-m", "benchmarks.support.one_sync", str(home), msgspec.json.encode(settings).decode()])
    report = json.loads(run.output)["report"]
    print(f"soak: {what}: {report['seconds']:.1f} s; reading it back", file=sys.stderr, flush=True)
    with Memory.open(home, config=settings) as memory:
        started = time.perf_counter()
        again = memory.sync()
        still_ms = (time.perf_counter() - started) * 1000
        verified = memory.maintenance.verify()
        differing = sum(not _is_same(memory, uid, path) for uid, path in _sessions(folder, name))
        records, sessions = verified.records, memory.stats().sessions
    row = {
        "what": what, "bytes": report["bytes"], "seconds": round(report["seconds"], 1),
        "mb_per_s": round(report["bytes"] / 1e6 / report["seconds"], 1), "records": records, "sessions": sessions,
        "peak_tree_bytes": run.memory.tree_bytes, "processes": run.memory.processes,
        "peak_anonymous_bytes": run.memory.anonymous_bytes,
        "verified": verified.ok, "differing_files": differing, "again_events": again.events,
        "nothing_changed_ms": round(still_ms, 1),
    }  # fmt: skip
    print(f"soak: {row}", file=sys.stderr, flush=True)  # the whole takes long: what is measured is seen at once
    for place in (folder, home):
        shutil.rmtree(place, ignore_errors=True)
    return row


def _sessions(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Yield what is compared byte for byte: every file, of very many every hundredth (`verify` reads all)."""
    paths = sorted((folder / "claude").rglob("*.jsonl"))
    for path in paths[:: 100 if name == "files" else 1]:
        yield f"claude:{path.stem}", path


def _is_same(memory: Memory, uid: str, path: Path) -> bool:
    with path.open("rb") as handle:
        for piece in memory.maintenance.export_bytes(uid, format="raw"):
            if handle.read(len(piece)) != piece:
                return False
        return not handle.read(1)


def _large_file(folder: Path, size: int) -> str:
    """Write one session of so many bytes: questions, answers, and tool outputs of 8 KB that are never the same."""
    one = ClaudeTranscript(folder, "large")
    one.user("the first words of a very long session")
    for number in range(400):
        output = " ".join(_WORDS[(number * k + k * k) % len(_WORDS)] + str(number * k % 977) for k in range(1_000))
        one.tool("Bash", {"command": f"make part{number}"}, output)
        one.user(f"and then {number}? " + "words " * 20)
    base = one.path.read_bytes()
    uuids = [stable_uuid(f"{one.session}/{n}").encode() for n in range(base.count(b"\n"))]
    marked = base
    for uuid in uuids:  # every round gets ids of its own, as random at their ends as those that agents give
        marked = marked.replace(uuid, uuid[:-8] + b"@@@@@@@@")
    with one.path.open("ab") as handle:
        round_ = 0
        while handle.tell() < size:
            round_ += 1
            handle.write(marked.replace(b"@@@@@@@@", f"{round_:08x}".encode()))
    return f"one file of {one.path.stat().st_size / 1e9:.2f} GB"


def _long_line(folder: Path, size: int) -> str:
    one = ClaudeTranscript(folder, "line")
    one.user("before the long line")
    piece = " ".join(f"{n * 7919 % 100_003}" for n in range(170_000)).encode()
    with one.path.open("ab") as handle:
        handle.write(b'{"type":"assistant","uuid":"giant","note":"long","x":"')
        for _ in range(size // len(piece) + 1):
            handle.write(piece)
        handle.write(b'"}\n')
    one.user("after the long line")
    return f"one line of {one.path.stat().st_size / 1e6:.0f} MB"


def _many_files(folder: Path, count: int) -> str:
    for number in range(count):
        one = ClaudeTranscript(folder, f"s{number}", cwd=f"/w/p{number % 200}")
        one.user(f"question {number} about {_WORDS[number % len(_WORDS)]}")
        one.assistant(f"answer {number}")
    return f"{count:,} files"


def render(rows: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| what | taken in | records | peak memory | of it not of files | verified | files that differ "
        "| nothing changed |",
        "|---|---|--:|--:|--:|---|--:|--:|",
    ]
    for row in rows:
        peak, anonymous = row["peak_tree_bytes"], row["peak_anonymous_bytes"]
        memory = "not measured" if peak is None else f"{peak / 1e6:.0f} MB, processes: {row['processes']}"
        memory += " | " if anonymous is None else f" | {anonymous / 1e6:.0f} MB"
        lines.append(
            f"| {row['what']} | {row['seconds']} s, {row['mb_per_s']} MB/s | {row['records']:,} | {memory} | "
            f"{'yes' if row['verified'] else 'NO'} | {row['differing_files']} | {row['nothing_changed_ms']} ms |"
        )
    lines += [
        "",
        f"Analyses are off. Memory may be {MUST_PEAK_MB} MB; pages of files, such as those of the index while it is "
        f"merged, are the system's to take back. {os.cpu_count()} cores.",
    ]
    return "\n".join(lines)
