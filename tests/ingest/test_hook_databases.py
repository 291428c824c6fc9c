"""What the hooks of agents with a database tell is found again in its rows: each thing once."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.model.payloads import ToolCall, UserMessage
from recollect.wire import BAD_FOLDER
from tests.agents.hermes.databases import FIXTURES

PLACES = {
    "hermes": ("hermes/schema-30", "state.db", ".hermes/state.db"),
    "goose": ("goose/schema-17", "sessions.db", ".local/share/goose/sessions/sessions.db"),
}
CASES = [("goose", "dialogue"), *((slug, scenario) for slug in PLACES for scenario in ("edit", "failed_tool"))]


def memory_of(root: Path, slug: str, scenario: str) -> Memory:
    folder, name, place = PLACES[slug]
    path = root / place
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as database:
        database.executescript((FIXTURES / folder / scenario / f"{name}.sql").read_text())
    database.close()
    home = root / "recollect"
    (home / "spool" / "tmp").mkdir(parents=True)
    return Memory.open(home, config=Config(), env={"HOME": str(root), "RECOLLECT_HOME": str(home)})


def told(slug: str, event: Event) -> dict[str, Any] | None:
    """Return what the agent's hook would tell of an event, in its own form."""
    session = event.session_uid.partition(":")[2]
    payload = event.payload
    if isinstance(payload, ToolCall):
        if slug == "goose":
            return {"event": "PostToolUse", "session_id": session, "tool_name": payload.name,
                    "matcher_context": payload.name, "tool_input": payload.arguments}  # fmt: skip
        return {"hook_event_name": "post_tool_call", "session_id": session, "tool_name": payload.name,
                "tool_input": payload.arguments, "extra": {"result": "{}", "tool_call_id": "x"}}  # fmt: skip
    if isinstance(payload, UserMessage) and payload.origin == "human" and slug == "goose":
        return {"event": "UserPromptSubmit", "session_id": session, "message": payload.text}
    return None


def counted(memory: Memory) -> Counter[tuple[str, str]]:
    """Count prompts, calls and results by what they say."""
    found: Counter[tuple[str, str]] = Counter()
    for session in memory.sessions().sessions:
        for event in memory.events(session.session_uid):
            if event.kind in ("user_message", "tool_call", "tool_result"):
                found[
                    event.kind, str(getattr(event.payload, "text", "") or getattr(event.payload, "arguments", ""))
                ] += 1
    return found


@pytest.mark.parametrize(("slug", "scenario"), CASES)
def test_each_thing_is_there_once(tmp_path: Path, slug: str, scenario: str) -> None:
    memory = memory_of(tmp_path, slug, scenario)
    memory.sync()
    before = counted(memory)
    events = [event for session in memory.sessions().sessions for event in memory.events(session.session_uid)]
    payloads = [(event, payload) for event in events if (payload := told(slug, event)) is not None]
    assert payloads
    for count, (event, payload) in enumerate(payloads):
        path = memory.home / "spool" / f"{slug}.{slug}.{count}.{count:032x}.json"
        path.write_text(json.dumps(payload))
        at = (event.ts or 0) + 1_000_000
        os.utime(path, ns=(at * 1000, at * 1000))
    memory.sync()
    assert counted(memory) == before
    assert not list((memory.home / "spool").glob(f"{slug}.*"))
    assert not (memory.home / "spool" / BAD_FOLDER).exists()
    memory.close()
