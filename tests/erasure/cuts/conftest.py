"""A memory of two sessions of one agent, and what is cut out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config
from recollect.erasure.cuts import compact
from recollect.memory import Memory
from recollect.store.rows import SourceRow
from recollect.testing.builders import ClaudeTranscript
from tests.erasure.cuts.lines import cut

DAY = 1_795_219_200_000_000
"""2026-11-21, UTC."""


class World:
    """Two transcripts, the memory of them, and what can be done to both."""

    def __init__(self, folder: Path) -> None:
        self.env = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "claude"), "RECOLLECT_BACKGROUND": "0"}
        self.home = folder / "memory"
        self.one = ClaudeTranscript(folder / "claude", "one", cwd="/w/shop")
        self.two = ClaudeTranscript(folder / "claude", "two", cwd="/w/shop")
        for step in range(12):
            self.one.user(f"question {step} of the otter")
            self.one.tool("Bash", {"command": f"run {step}"}, f"result {step} " + "otter words " * 900)
            self.one.assistant(f"answer {step} of the otter")
            self.two.user(f"question {step} of the heron")
            self.two.assistant(f"answer {step} of the heron")
        self.memory = Memory.open(self.home, config=Config(), env=self.env)
        self.memory.sync()

    def source(self, transcript: ClaudeTranscript) -> SourceRow:
        return next(row for row in self.memory.reader().sources() if row.path == str(transcript.path))

    def cut(self, transcript: ClaudeTranscript, *ranges: tuple[int, int]) -> None:
        """Evict ranges of a transcript's newest revision, for good."""
        row = self.source(transcript)
        with self.memory.writing() as (_, writer, _, archive, _keys):
            cut(archive, writer, row.source_id, row.revision, ranges, reason="evicted", at=DAY)
            compact(archive, writer)

    def large_records(self, transcript: ClaudeTranscript) -> list[tuple[int, int]]:
        """Return where the results of tools stand."""
        events = self.memory.reader().events(transcript.uid, limit=None)
        places = [e.location for e in events if e.kind == "tool_result"]
        return [(at.offset_bytes, at.offset_bytes + at.length_bytes) for at in places]

    def told(self) -> dict[str, Any]:
        """Return everything that the memory tells of its sessions."""
        sessions = self.memory.sessions(sync=False).sessions
        return {
            s.session_uid: (
                (s.title, s.event_count, s.turn_count, s.kind_counts, s.started_at, s.ended_at),
                list(self.memory.reader().events(s.session_uid, limit=None, include_hidden=True)),
                self.memory.usage.report(by="session").total,
            )
            for s in sessions
        }


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.memory.close()
