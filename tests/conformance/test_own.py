"""Whatever agent asked the memory: its call and the answer are told by one rule, in the agent's own format.

The fixture of an agent's tool call is taken in with the tool's name replaced by one of ours, as it stands in the file.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import apsw
import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.model.own import is_own_tool
from recollect.model.payloads import ToolCall, ToolResult
from recollect.store.keys import HIDDEN, OWN
from recollect.testing.fixtures import Fixture, fixtures_in, lay_out

FOLDER = Path(__file__).parent / "fixtures"
OURS = "mcp__recollect__search"
NAMED_OTHERWISE = frozenset(
    (
        "cline/2.2.0/tool",
        "cursor/transcripts-txt/tool",
        "gptme/flat-usage/tool",
        "gptme/nested-usage/tool",
        "otel/1.38.0-protobuf/tool",
        "sweagent/0.7/tool",
        "windsurf/hooks/tool",
        "windsurf/transcripts/tool",
    )
)
"""Formats in which the tool's name does not stand in quotes: a tag, a line of text, a number, or bytes."""
TOOLS = [fixture for fixture in fixtures_in(FOLDER) if fixture.scenario == "tool"]


def taken(fixture: Fixture, home: Path, root: Path) -> tuple[list[Event], set[tuple[str, int]]]:
    """Take a laid out fixture in; return its events and the places of those that are our own."""
    with Memory.open(home, config=Config(), env={"HOME": str(home.parent / "nobody")}) as memory:
        memory.take_in([root], agents=[fixture.agent])
        uids = [session.session_uid for session in memory.sessions(limit=100, sync=False).sessions]
        events = [event for uid in uids for event in memory.events(uid)]
    db = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = db.execute(
        "SELECT uid, key & 16777215 FROM event JOIN session ON session.number = key >> 24 "
        "WHERE bits & ? AND NOT bits & ?",
        (OWN, HIDDEN),
    ).fetchall()
    db.close()
    return events, {(str(uid), int(seq)) for uid, seq in rows}


def renamed(fixture: Fixture, name: str, folder: Path) -> Fixture:
    """Return a copy of a fixture in which a tool has our name, wherever the agent wrote it."""
    copy = folder / fixture.scenario
    shutil.copytree(fixture.folder, copy)
    for path in (p for p in copy.rglob("*") if p.is_file()):
        text = path.read_bytes()
        for quote in (b'"', b'\\"', b"'"):
            text = text.replace(quote + name.encode() + quote, quote + OURS.encode() + quote)
        path.write_bytes(text)
    return fixture._replace(folder=copy)


@pytest.mark.parametrize("fixture", TOOLS, ids=[fixture.name for fixture in TOOLS])
def test_a_call_of_our_tool_and_its_result_are_our_own(fixture: Fixture, tmp_path: Path) -> None:
    lay_out(fixture, tmp_path / "plain")
    before, own = taken(fixture, tmp_path / "home-plain", tmp_path / "plain")
    assert own == set()
    names = {event.payload.name for event in before if isinstance(event.payload, ToolCall) and event.payload.name}
    if not names:
        pytest.skip("this agent's fixture names no tool")
    calls = 0
    for place, name in enumerate(sorted(names)):
        changed = renamed(fixture, name, tmp_path / f"copy{place}")
        lay_out(changed, tmp_path / f"root{place}")
        events, own = taken(changed, tmp_path / f"home{place}", tmp_path / f"root{place}")
        asked = [e.payload for e in events if isinstance(e.payload, ToolCall) and is_own_tool(e.payload.name)]
        ours = {call.call_id for call in asked} - {""}
        calls += len(asked)
        wanted = {
            (event.session_uid, event.seq)
            for event in events
            if (isinstance(event.payload, ToolCall) and is_own_tool(event.payload.name))
            or (
                isinstance(event.payload, ToolResult)
                and (event.payload.call_id in ours or is_own_tool(event.payload.name))
            )
        }
        assert own == wanted, json.dumps(sorted(own ^ wanted))
    assert (calls == 0) is (fixture.name in NAMED_OTHERWISE)
