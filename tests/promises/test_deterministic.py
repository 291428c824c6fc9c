"""Deterministic: same bytes, same events, same ids, wherever and in however many pieces they were taken in."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.config import Config, IngestConfig
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from recollect.testing.strategies import cuts_of
from tests.examples import tried

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


def meaning(memory: Memory, *, with_times: bool = False) -> list[object]:
    """Return every digest and node, as bytes; with_times: and when each was recorded."""
    uids = sorted(session.session_uid for session in memory.sessions(limit=1000, sync=False).sessions)
    nodes = [(msgspec.json.encode(k.node), k.recorded_at if with_times else 0) for k in memory.nodes(with_revoked=True)]
    return [*(msgspec.json.encode(memory.digest(uid)) for uid in uids), *nodes]


def write_decisions(root: Path) -> Path:
    """Write a session in which something is decided, edited, tried, and decided again."""
    one = ClaudeTranscript(root / "claude", "one")
    one.user("Use Postgres instead of MySQL because it has better JSON support.")
    one.write("/w/demo/postgres.py", "import psycopg\n" * 400)
    one.tool("Bash", {"command": "pytest -q"}, "1 failed, 2 passed in 0.1s", is_error=True)
    one.write("/w/demo/test_postgres.py", "assert True\n")
    one.tool("Bash", {"command": "pytest -q"}, "3 passed in 0.1s")
    one.assistant("Done. I chose a connection pool rather than one connection, because requests overlap.")
    one.user("Never commit to main. Actually, let's go back to MySQL after all.")
    one.assistant("Understood, MySQL it is.")
    return one.path


def test_nodes_and_digests_do_not_depend_on_cuts_slices_or_the_home(tmp_path: Path) -> None:
    whole = write_decisions(tmp_path / "whole")
    with Memory.open(tmp_path / "whole" / "memory", config=Config(), env=env_of(tmp_path / "whole")) as memory:
        memory.sync()
        expected = meaning(memory)
    assert any(b'"node":"decision"' in node for node, _ in expected[1:])  # type: ignore[attr-defined, misc]
    data = whole.read_bytes()
    for name, config, ends in (
        ("small", SMALL_SLICES, [len(data)]),
        ("pieces", Config(), [*range(0, len(data), 1500), len(data)]),
        ("elsewhere", Config(), [len(data)]),
    ):
        root = tmp_path / name
        path = root / "claude" / whole.relative_to(tmp_path / "whole" / "claude")
        path.parent.mkdir(parents=True)
        with Memory.open(root / "memory", config=config, env=env_of(root)) as memory:
            for end in ends:
                path.write_bytes(data[:end])
                memory.sync()
            assert meaning(memory) == expected, name


def test_a_rebuild_gives_the_same_nodes_and_when_they_were_recorded(tmp_path: Path) -> None:
    path = write_decisions(tmp_path)
    data = path.read_bytes()
    with Memory.open(tmp_path / "memory", config=Config(), env=env_of(tmp_path)) as memory:
        for end in (len(data) // 2, len(data)):
            path.write_bytes(data[:end])
            memory.sync()
        expected = meaning(memory, with_times=True)
        memory.maintenance.rebuild("all")
        assert meaning(memory, with_times=True) == expected


def everything(memory: Memory) -> dict[str, list[Event]]:
    """Return all events of all sessions, with their places in the source."""
    sessions = memory.sessions(limit=1000, sync=False).sessions
    return {s.session_uid: list(memory.events(s.session_uid)) for s in sessions}


@WRITERS
@given(data=st.data())
@settings(max_examples=tried(10, floor=5))
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
            assert memory.maintenance.verify().revisions == 1


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
