"""Deterministic: same bytes, same events, same ids, wherever and in however many pieces they were taken in."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.config import Config, IngestConfig
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from recollect.testing.strategies import cuts_of

SMALL_SLICES = Config(ingest=IngestConfig(slice_bytes=65_536))


def env_of(root: Path) -> dict[str, str]:
    return {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}


def write_claude(root: Path, turns: int = 4, words: str = "") -> Path:
    one = ClaudeTranscript(root / "claude", "one")
    for i in range(turns):
        one.user(f"question {i} {words}")
        one.tool("Bash", {"command": f"run {i}"}, f"output {i} {words}")
        one.assistant(f"answer {i} {words}", output_tokens=i)
        one.raw(b'{"type":"ai-title","aiTitle":"title %d"}\nnot json %d\n' % (i, i))
        one.raw(b'{"type":"twice"}\n{"type":"twice"}\n')  # equal records without an id
    return one.path


def write_codex(root: Path, turns: int = 4, words: str = "") -> Path:
    one = CodexRollout(root / "codex", "one")
    for i in range(turns):
        one.turn(f"prompt {i} {words}", f"reply {i} {words}", output_tokens=i + 1)
        one.line("response_item", {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": f"c{i}"})
        one.line("response_item", {"type": "function_call_output", "call_id": f"c{i}", "output": f"done {words}"})
    return one.path


WRITERS = pytest.mark.parametrize("write", [write_claude, write_codex])


def everything(memory: Memory) -> dict[str, list[Event]]:
    """Return all events of all sessions, with their places in the source."""
    sessions = memory.sessions(limit=1000, sync=False).sessions
    return {s.session_uid: list(memory.events(s.session_uid)) for s in sessions}


@WRITERS
@given(data=st.data())
@settings(max_examples=10)
def test_a_file_taken_in_pieces_gives_the_events_of_the_whole(write: object, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path: Path = write(root)  # type: ignore[operator]
        content = path.read_bytes()
        with Memory.open(root / "whole", config=Config(), env=env_of(root)) as memory:
            memory.sync()
            whole, usage = everything(memory), memory.usage.report(by="total").total
        with Memory.open(root / "pieces", config=Config(), env=env_of(root)) as memory:
            for end in data.draw(cuts_of(len(content))):
                path.write_bytes(content[:end])
                memory.sync()
            assert everything(memory) == whole
            assert memory.usage.report(by="total").total == usage
            assert memory.upkeep.verify().revisions == 1


@WRITERS
def test_small_slices_give_the_events_of_large_ones(write: object, tmp_path: Path) -> None:
    chance = random.Random(3)
    words = " ".join(str(chance.random()) for _ in range(300))
    path: Path = write(tmp_path, 30, words)  # type: ignore[operator]
    assert path.stat().st_size > 5 * SMALL_SLICES.ingest.slice_bytes
    told = []
    for name, config in (("large", Config()), ("small", SMALL_SLICES)):
        with Memory.open(tmp_path / name, config=config, env=env_of(tmp_path)) as memory:
            memory.sync()
            told.append(everything(memory))
    assert told[0] == told[1]


def test_another_home_gives_the_same_events_and_ids(tmp_path: Path) -> None:
    told = []
    for name in ("here", "elsewhere/at/another/depth"):
        root = tmp_path / name
        write_claude(root)
        write_codex(root)
        with Memory.open(root / "memory", config=Config(), env=env_of(root)) as memory:
            memory.sync()
            told.append(everything(memory))
    assert told[0] == told[1]
    assert all(told[0].values())
