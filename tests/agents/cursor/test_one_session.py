"""One conversation in all three stores, through a real memory: one session, and nothing of a better store twice."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path

import pytest

from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.model.events import Event
from tests.agents.cursor.rows import (
    COMPOSER,
    DATABASE,
    STORE,
    TRANSCRIPT,
    assistant_blob,
    bubble,
    composer,
    line,
    list_blob,
    message_blob,
    said,
    tool,
    user_blob,
)


def write_editor(root: Path) -> None:
    path = root / DATABASE
    path.parent.mkdir(parents=True)
    rows = [
        bubble("b1", 1, "Run the tests."),
        tool("b2", "run_terminal_cmd", minute=1, call_id="t1", status="completed", rawArgs='{"command": "pytest -q"}',
             result='{"output": "3 passed", "exitCodeV2": 0}'),
        bubble("b3", 2, "All three pass.", minute=2),
        composer("b1", "b2", "b3", name="Run the tests"),
    ]  # fmt: skip
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        db.execute("INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'synthetic-token')")
        db.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        db.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", [(r["key"], json.dumps(r["value"])) for r in rows])
    db.close()


def write_store(root: Path) -> None:
    path = root / STORE
    path.parent.mkdir(parents=True)
    call = {"type": "tool-call", "toolCallId": "t1", "toolName": "Shell", "args": {"command": "pytest -q"}}
    result = {"type": "tool-result", "toolCallId": "t1", "toolName": "Shell", "result": "3 passed"}
    blobs = [
        user_blob("Run the tests."),
        assistant_blob(call),
        message_blob({"role": "tool", "id": "t1", "content": [result]}),
        assistant_blob(said("All three pass.")),
    ]
    listed = list_blob(*blobs)
    meta = {"agentId": COMPOSER, "latestRootBlobId": listed["id"], "name": "Run the tests", "createdAt": 1}
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
        db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        written = [(b["id"], json.dumps(b["data"], ensure_ascii=False).encode()) for b in blobs]
        db.executemany("INSERT INTO blobs VALUES (?, ?)", written)
        db.execute("INSERT INTO blobs VALUES (?, ?)", (listed["id"], base64.b64decode(listed["data"]["$blob"])))
        db.execute("INSERT INTO meta VALUES ('0', ?)", (json.dumps(meta).encode().hex(),))
    db.close()


def write_transcript(root: Path) -> None:
    path = root / TRANSCRIPT
    path.parent.mkdir(parents=True)
    use = {"type": "tool_use", "id": "t1", "name": "Shell", "input": {"command": "pytest -q"}}
    lines = [
        line("user", said("<user_query>\nRun the tests.\n</user_query>")),
        line("assistant", use),
        line("assistant", said("All three pass.")),
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in lines))


WRITERS = {"editor": write_editor, "store": write_store, "transcript": write_transcript}


def take_in(tmp_path: Path, *stores: str, one_by_one: bool = False) -> list[Event]:
    root = tmp_path / "root"
    root.mkdir()
    config = Config(agents={"cursor": AgentConfig(roots=(str(root),))})
    env: dict[str, str] = {"HOME": str(tmp_path)}
    with Memory.open(tmp_path / "home", config=config, env=env) as memory:
        for store in stores:
            WRITERS[store](root)
            if one_by_one:
                memory.sync(agents=["cursor"])
        memory.sync(agents=["cursor"])
        (session,) = memory.sessions(limit=10).sessions
        assert session.session_uid.endswith(COMPOSER)
        return list(memory.events(session.session_uid))


def count(events: list[Event], kind: str) -> int:
    return sum(event.kind == kind for event in events)


@pytest.mark.parametrize("stores", [("editor", "store", "transcript"), ("transcript", "store", "editor")])
def test_what_the_person_asked_and_what_the_tools_did_is_there_once(tmp_path: Path, stores: tuple[str, ...]) -> None:
    events = take_in(tmp_path, *stores, one_by_one=True)
    assert count(events, "user_message") == 1
    assert count(events, "tool_call") == 1
    assert count(events, "tool_result") == 1
    assert count(events, "session_start") == 1


def test_the_transcript_adds_nothing_to_the_command_lines_store(tmp_path: Path) -> None:
    events = take_in(tmp_path, "store", "transcript")
    for kind in ("user_message", "assistant_message", "tool_call", "tool_result"):
        assert count(events, kind) == 1, kind
