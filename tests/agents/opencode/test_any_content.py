"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.payloads import ToolResult, UserMessage
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import MAX_STATE_BYTES, read
from tests.agents.kit.bent import bent_rows
from tests.agents.opencode.rows import (
    ADAPTER,
    T0,
    TOKENS,
    Row,
    assistant,
    completed,
    part,
    projected,
    records,
    session,
    tool,
    user,
)
from tests.examples import tried

TABLES = ("message", "part", "session_message", "session", "session_v2", "todo", "")
ROLES = ("transcript", "session", "tree")
EDITED = completed({"filediff": {"file": "a.py", "before": "1", "after": "2"}, "files": [{"filePath": "b.py"}]})
CONTENT = [
    {"type": "text", "text": "Hi"},
    {"type": "reasoning", "text": "Hm."},
    {"type": "tool", "id": "c1", "name": "edit", "state": EDITED, "time": {"created": T0}},
]
ROWS: list[Row] = [
    user(system="Be brief.", summary={"title": "t", "diffs": [{"file": "a.py"}]}),
    part("text", text="Hello"),
    part("file", "prt_2", mime="image/png", url="data:image/png;base64,AAAA", source={"path": "a.png"}),
    part("compaction", "prt_3", auto=True),
    assistant(tokens=TOKENS, cost=0.1, path={"cwd": "/w", "root": "/"}, error={"name": "APIError", "data": {}}),
    part("step-start", "prt_4", "msg_2", snapshot="abc"),
    part("reasoning", "prt_5", "msg_2", text="Hm.", time={"start": T0}, metadata={"a": 1}),
    tool("edit", EDITED, row="prt_6"),
    part("patch", "prt_7", "msg_2", hash="f", files=["a.py"]),
    part("retry", "prt_8", "msg_2", attempt=1, error={"data": {}}),
    part("step-finish", "prt_9", "msg_2", reason="stop", tokens=TOKENS, cost=0.1),
    ("message", {"id": "msg_3", "role": "assistant", "parts": [{"type": "text", "text": "Old"}], "metadata": {}}),
    session(revert={"messageID": "msg_1"}, time_archived=T0, cost=0.1, tokens_input=1, model={"id": "m"}),
    ("session", {"id": "ses_a", "projectID": "p", "time": {"created": T0}, "summary": {"additions": 1}}),
    ("todo", {"session_id": "ses_a", "content": "c", "position": 0}),
    projected("user", "evt_1", 3, text="More", files=[{"uri": "file:///a", "mime": "image/png"}]),
    projected("assistant", "evt_2", 4, 2, content=CONTENT, tokens=TOKENS, snapshot={"files": ["c.py"]}),
    projected("shell", "evt_3", 5, 3, command="ls", output={"output": "a"}, exit=0, status="exited"),
    projected("compaction", "evt_4", 6, 4, reason="auto", summary="s", status="completed"),
    projected("idle", "evt_5", 7, 5, outcome="succeeded"),
]


@settings(max_examples=tried(150))
@given(rows=bent_rows(ROWS, TABLES), role=st.sampled_from(ROLES))
def test_no_content_makes_the_parser_raise(rows: list[Row], role: str) -> None:
    info = SourceInfo("opencode", role, "opencode.db", session="ses_a", document="ses_a")
    made = records(rows)
    whole = read(ADAPTER, info, made)
    assert whole.kinds <= set(ADAPTER.facts.capabilities.kinds)
    assert repr(read(ADAPTER, info, made, stops=True)) == repr(whole)
    for drafts in whole.events:
        assert all((d.ts is None) == (d.ts_quality == "missing") for d in drafts)
    state = ADAPTER.begin(info)
    for record in made:
        state = ADAPTER.parse(record, state).state
        assert len(msgspec.msgpack.encode(state)) <= MAX_STATE_BYTES


def test_the_state_of_a_very_long_session_stays_small() -> None:
    info = SourceInfo("opencode", "transcript", "opencode.db", session="ses_a", document="ses_a")
    state = ADAPTER.begin(info)
    row = user(agent="a" * 5000)
    for n in range(45_000):
        row[1]["id"] = f"msg_{n}"
        state = ADAPTER.parse(Record(row[1], b"", n, "message"), state).state
    edits = completed({"files": [{"filePath": f"/w/{'👋' * 3000}/{n}.py", "diff": "@@"} for n in range(1000)]})
    state = ADAPTER.parse(Record(tool("apply_patch", edits)[1], b"", 45_000, "part"), state).state
    assert len(msgspec.msgpack.encode(state)) <= MAX_STATE_BYTES


@pytest.mark.corpus
def test_the_shared_databases_are_understood(shared: Path) -> None:
    found = sorted((shared / "corpus" / "opencode").rglob("opencode-sqlite/opencode.db"))
    assert found
    for path in found:
        rows = rows_of(path)
        info = SourceInfo("opencode", "transcript", path.name, session="s", document="s")
        given = [d.payload for drafts in read(ADAPTER, info, records(rows)).events for d in drafts]
        assert any(isinstance(p, UserMessage) and p.origin == "human" for p in given)
        assert all(p.ok for p in given if isinstance(p, ToolResult))


@pytest.mark.corpus
def test_the_shared_trees_are_understood(shared: Path) -> None:
    folder = shared / "corpus" / "opencode"
    files = [p for p in sorted(folder.rglob("*.json")) if p.parts[-3] in ("session", "message", "part")]
    assert files
    info = SourceInfo("opencode", "tree", ".", session="s", document="s")
    for path in files:
        value = json.loads(path.read_bytes())
        parsed = ADAPTER.parse(Record(value, b"", 0, path.parts[-3]), ADAPTER.begin(info))
        assert [d for d in parsed.drift if d.kind == "type"] == []


def rows_of(path: Path) -> list[Row]:
    """Return the message and part rows of a database in the order in which they are merged."""
    database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    database.row_factory = sqlite3.Row
    found = []
    for table, order in (("message", ("id",)), ("part", ("message_id", "id"))):
        for row in database.execute(f"SELECT * FROM {table}"):
            columns = {**dict(row), "data": json.loads(row["data"])}
            found.append((tuple(columns[c] for c in order), (table, columns)))
    database.close()
    return [row for _, row in sorted(found, key=lambda item: item[0])]
