"""Whatever agent asked the memory: its call and the answer are told by one rule, in the agent's own format.

The fixture of an agent's tool call is taken in with the tool's name replaced by one of ours, as it stands in the file.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.model.own import is_own_tool
from recollect.model.payloads import ToolCall, ToolResult
from recollect.store.row_keys import HIDDEN, OWN
from recollect.testing.fixtures import Fixture, fixtures_in, lay_out
from tests.conformance.conftest import Together, each_of

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


class Taken(NamedTuple):
    """The events of a fixture, and the places of those that are our own."""

    events: list[Event]
    own: set[tuple[str, int]]


TOOLS = [fixture for fixture in fixtures_in(FOLDER) if fixture.scenario == "tool"]


def taken(fixtures: Sequence[Fixture], folder: Path) -> list[Taken]:
    """Take fixtures, each of another agent, into a memory; return what came of each."""
    agents = [fixture.agent for fixture in fixtures]
    for fixture in fixtures:
        lay_out(fixture, folder / "root" / fixture.agent)
    config = Config(agents={agent: AgentConfig(roots=(str(folder / "root" / agent),)) for agent in agents})
    with Memory.open(folder / "home", config=config, env={"HOME": str(folder / "nobody")}) as memory:
        memory.sync(agents=agents)
        sessions = memory.sessions(limit=1000, sync=False).sessions
        events = {one.session_uid: list(memory.events(one.session_uid)) for one in sessions}
    db = apsw.Connection(str(folder / "home" / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = db.execute(
        "SELECT uid, key & 16777215 FROM event JOIN session ON session.number = key >> 24 "
        "WHERE bits & ? AND NOT bits & ?",
        (OWN, HIDDEN),
    ).fetchall()
    db.close()
    found = []
    for agent in agents:
        uids = [one.session_uid for one in sessions if one.agent == agent]
        own = {(str(uid), int(seq)) for uid, seq in rows if uid in uids}
        found.append(Taken([event for uid in uids for event in events[uid]], own))
    return found


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


def told(fixtures: Sequence[Fixture], work: Path) -> list[list[Taken]]:
    """Return what came of each fixture as it is, and then with each tool that it names called ours."""
    plain = taken(fixtures, work / "plain")
    out = [[found] for found in plain]
    names = [sorted({call.name for call in calls_in(found)} - {""}) for found in plain]
    for place in range(max(map(len, names))):
        some = [at for at, known in enumerate(names) if place < len(known)]
        changed = [renamed(fixtures[at], names[at][place], work / f"copy{place}" / fixtures[at].agent) for at in some]
        for at, found in zip(some, taken(changed, work / f"renamed{place}"), strict=True):
            out[at].append(found)
    return out


def calls_in(found: Taken) -> list[ToolCall]:
    return [event.payload for event in found.events if isinstance(event.payload, ToolCall)]


@each_of(TOOLS)
def test_a_call_of_our_tool_and_its_result_are_our_own(fixture: Fixture, together: Together) -> None:
    plain, *with_ours = together(told, fixture)
    assert plain.own == set()
    if not with_ours:
        pytest.skip("this agent's fixture names no tool")
    calls = 0
    for found in with_ours:
        asked = [call for call in calls_in(found) if is_own_tool(call.name)]
        ours = {call.call_id for call in asked} - {""}
        calls += len(asked)
        wanted = {
            (event.session_uid, event.seq)
            for event in found.events
            if (isinstance(event.payload, ToolCall) and is_own_tool(event.payload.name))
            or (
                isinstance(event.payload, ToolResult)
                and (event.payload.call_id in ours or is_own_tool(event.payload.name))
            )
        }
        assert found.own == wanted, json.dumps(sorted(found.own ^ wanted))
    assert (calls == 0) is (fixture.name in NAMED_OTHERWISE)
