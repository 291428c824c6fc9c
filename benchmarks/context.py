"""The block that a session's start waits for: `recollect context --hook` and the registered hook, start to exit."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from benchmarks.support.starting import PROGRAM, Command, environment, over_python
from benchmarks.support.worked_in import worked_in
from recollect import Memory
from recollect import ready_blocks as ready
from recollect.hook import __main__ as hook
from recollect.memory import EventFilter

ROUNDS = 60
MUST_MS, AIM_MS = 80, 40
"""Design, section 10: p95 of the session-start context without block or daemon, over Python's own start."""


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every corpus; returns one section for each."""
    chosen = [corpora.generated(folder.resolve()) for folder in options.corpus]
    chosen = chosen or [corpora.generate(at, megabytes=300, sessions=600, seed=7)]
    sections = []
    for corpus in chosen:
        print(f"context: {corpus.name}", file=sys.stderr)
        figures = _measure_one(at, corpus)
        sections.append(Section(f"context/{corpus.name}", f"Context: {corpus.name}", figures, render(figures)))
    return sections


def _measure_one(at: Places, corpus: Corpus) -> dict[str, Any]:
    home = at.home(f"context-{corpus.folder.name}")
    shutil.rmtree(home, ignore_errors=True)
    try:
        repository, transcripts = worked_in(at.home(f"context-{corpus.folder.name}-worked-in").resolve())
        with Memory.open(home, config=corpus.config(claude=transcripts)) as memory:
            memory.sync()
            found = memory.sessions(where=EventFilter(is_subagent=False), limit=100_000, sync=False).sessions
            cwd = Counter(s.cwd for s in found if s.cwd).most_common(1)[0][0]
            longest = max(
                (s for s in found if s.kind_counts.get("compaction")), key=_events, default=max(found, key=_events)
            )
            here = sum(s.cwd == cwd for s in found)
            blocks = {
                "start": memory.context(cwd=cwd),
                "compact": memory.context(cwd=longest.cwd, event="compact", session=longest.session_uid),
            }
            here_ready = memory.context(cwd=str(repository))
        native = longest.session_uid.partition(":")[2]
        payloads = {
            "start": {"cwd": cwd, "session_id": "none", "source": "startup"},
            "compact": {"cwd": longest.cwd, "session_id": native, "source": "compact"},
        }
        agents = {"start": "claude", "compact": longest.agent}
        rows = {
            event: {
                **_run([*PROGRAM, "context", "--hook", agents[event]], payload, home),
                "bytes": len(blocks[event].text.encode()),
                "tokens": blocks[event].tokens,
                "lines": len(blocks[event].lines),
            }
            for event, payload in payloads.items()
        }
        # As registered, without a daemon: with a block that was made ready, and without.
        command = [sys.executable, "-I", "-S", hook.__file__, "claude", "start", str(home / "spool"), _program()]
        payload = {"cwd": str(repository), "session_id": "none", "source": "startup"}
        size = {"bytes": len(here_ready.text.encode()), "tokens": here_ready.tokens, "lines": len(here_ready.lines)}
        rows["start, as registered, a block is ready"] = {**_run(command, payload, home), **size}
        shutil.rmtree(home / ready.FOLDER)
        rows["start, as registered, none is"] = {**_run(command, payload, home), **size}
        return {
            "sessions": len(found),
            "sessions_in_folder": here,
            "events_of_session": longest.event_count,
            "rows": rows,
        }
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _program() -> str:
    return str(Path(sys.executable).with_name("recollect"))


def _events(session: Any) -> int:
    return int(session.event_count)


def _run(command: list[str], payload: dict[str, str], home: Path) -> dict[str, float]:
    """Return the milliseconds of some runs over Python's own start, each a process of its own."""
    asked = {"": Command(command, json.dumps(payload).encode())}
    figures: dict[str, float] = over_python(asked, environment(home), rounds=ROUNDS)[""]
    return figures


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        f"{figures['sessions']} root sessions, {figures['sessions_in_folder']} of them in the folder asked for; the "
        f"compacted session has {figures['events_of_session']:,} events. Every run is a process of its own and writes "
        "the log.",
        "",
        f"| event, ms over Python's own start | min | p50 | p95 (must {MUST_MS}, aim {AIM_MS}) | max | block bytes "
        "| tokens at most | lines |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for event, row in figures["rows"].items():
        block = (f"{row['bytes']:,}", f"{row['tokens']:,}", row["lines"]) if "bytes" in row else ("", "", "")
        cells = (event, row["min_ms"], row["p50_ms"], row["p95_ms"], row["max_ms"], *block)
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    made = parser(__doc__).parse_args()
    publish(measure(places(made), made), dry=made.dry)
