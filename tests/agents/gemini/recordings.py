"""Recordings of Gemini CLI for tests: records in, events out."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.gemini.parse import GeminiAdapter
from recollect.model.events import Draft
from recollect.model.records import Drift, Record, SourceInfo

ADAPTER = GeminiAdapter()
SESSION = "0f0e0d0c-1111-4222-8333-444455556666"
PATH = "tmp/demo/chats/session-2026-08-01T09-00-0f0e0d0c.jsonl"
PATHS = {
    "chat": PATH,
    "subagent": f"tmp/demo/chats/{SESSION}/1a2b3c4d.jsonl",
    "chat_json": PATH.removesuffix("l"),
    "saved": "tmp/demo/checkpoint-before.json",
    "project": "tmp/demo/.project_root",
    "projects": "projects.json",
    "prompts": "tmp/demo/logs.json",
}
HEADER = {"sessionId": SESSION, "projectHash": "demo", "startTime": "2026-08-01T09:00:00.000Z", "kind": "main"}


class Told:
    """What the adapter made of records; a pair is a value and where it stands in its document."""

    def __init__(self, *values: Any, role: str = "chat", session: str = SESSION) -> None:
        info = SourceInfo("gemini", role, PATHS[role], session)
        state = ADAPTER.begin(info)
        self.by_record: list[tuple[Draft, ...]] = []
        self.defects: list[str] = []
        self.drift: list[Drift] = []
        for index, given in enumerate(values):
            value, at = given if isinstance(given, tuple) else (given, "")
            parsed = ADAPTER.parse(Record(value, msgspec.json.encode(value), index, at), state)
            state = parsed.state
            self.by_record.append(parsed.events)
            self.defects += [d.code for d in parsed.defects]
            self.drift += parsed.drift
        self.drafts = [draft for drafts in self.by_record for draft in drafts]
        self.state = state

    def all(self, kind: type[Any]) -> list[Any]:
        """Return the newest payload of every event of a kind, in the order in which they first came."""
        newest: dict[Any, Any] = {}
        for n, draft in enumerate(self.drafts):
            if isinstance(draft.payload, kind):
                newest[draft.native_id or n] = draft.payload
        return list(newest.values())

    def one(self, kind: type[Any]) -> Any:
        """Return the only payload of a kind."""
        found = self.all(kind)
        assert len(found) == 1, found
        return found[0]

    def named(self, native_id: str) -> Any:
        """Return the newest payload with a name."""
        return [d.payload for d in self.drafts if d.native_id == native_id][-1]


def user(message_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    """Return a message of a person."""
    return {"id": message_id, "timestamp": "2026-08-01T09:00:01.000Z", "type": "user", "content": content, **fields}


def reply(message_id: str, content: Any = "", **fields: Any) -> dict[str, Any]:
    """Return a message of the model."""
    message = {"id": message_id, "timestamp": "2026-08-01T09:00:02.000Z", "type": "gemini", "content": content}
    return {**message, "model": "gemini-x", **fields}


def call(name: str, args: dict[str, Any], output: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a tool call, ended where it has an output."""
    found = {"id": f"{name}-1", "name": name, "args": args, "timestamp": "2026-08-01T09:00:03.000Z"}
    if output is None:
        return {**found, "status": "executing", **fields}
    response = output if isinstance(output, dict) else {"output": output}
    result = [{"functionResponse": {"id": f"{name}-1", "name": name, "response": response}}]
    return {**found, "status": "success", "result": result, **fields}
