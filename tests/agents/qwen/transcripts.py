"""Transcripts of Qwen Code for tests: records in, events out."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.qwen.parse import QwenAdapter
from recollect.model.events import Draft
from recollect.model.records import Drift, Record, SourceInfo

ADAPTER = QwenAdapter()
SESSION = "7c7b7a79-1111-4222-8333-444455556666"
PATHS = {
    "transcript": f"projects/-w/chats/{SESSION}.jsonl",
    "subagent": f"projects/-w/subagents/{SESSION}/agent-explore-7f3c.jsonl",
    "subagent_meta": f"projects/-w/subagents/{SESSION}/agent-explore-7f3c.meta.json",
    "chat_json": "tmp/abc/chats/session-2025-09-01T09-00-0f0e0d0c.json",
    "prompts": "tmp/abc/logs.json",
}


class Told:
    """What the adapter made of records; a pair is a value and where it stands in its document."""

    def __init__(self, *values: Any, role: str = "transcript") -> None:
        path = PATHS[role]
        info = SourceInfo("qwen", role, path)
        state = ADAPTER.begin(SourceInfo("qwen", role, path, ADAPTER.identify(info, b"")))
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


def record(uuid: str, kind: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    """Return a record with a message of some parts; a text is a part of text."""
    role = "model" if kind == "assistant" else "user"
    envelope = {
        "uuid": uuid, "parentUuid": "root", "sessionId": SESSION, "timestamp": "2026-08-01T09:00:01.000Z",
        "type": kind, "cwd": "/w", "version": "0.21.13",
    }  # fmt: skip
    message = {"role": role, "parts": [{"text": p} if isinstance(p, str) else p for p in parts]}
    return {**envelope, **({"message": message} if parts else {}), **fields}


def notice(uuid: str, subtype: str, **payload: Any) -> dict[str, Any]:
    """Return a system record."""
    return record(uuid, "system", subtype=subtype, systemPayload=payload)


def call(call_id: str, name: str, **args: Any) -> dict[str, Any]:
    """Return a part that calls a tool."""
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def response(call_id: str, name: str, **body: Any) -> dict[str, Any]:
    """Return a part that says what a tool gave back."""
    return {"functionResponse": {"id": call_id, "name": name, "response": body}}
