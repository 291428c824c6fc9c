"""Records as Claude Code writes them, and what the adapter makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from recollect.agents.claude.parse import ClaudeAdapter
from recollect.agents.claude.state import ClaudeState
from recollect.model.events import Draft
from recollect.model.payloads import Payload, kind_of
from recollect.model.records import Defect, Record, SourceInfo

ADAPTER = ClaudeAdapter()
FOLDER = Path(__file__).parent
SESSION = "0a0a0a0a-0000-4000-8000-000000000001"
OTHER = "0b0b0b0b-0000-4000-8000-000000000002"
PATH = f"projects/-w-demo/{SESSION}.jsonl"
AT = "2026-08-01T09:00:00.000Z"
AT_US = 1_785_574_800_000_000
Json = dict[str, Any]


def envelope(kind: str, uuid: str, parent: str | None = None, **more: Any) -> Json:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": AT,
        "sessionId": SESSION,
        "cwd": "/w/demo",
        "gitBranch": "main",
        "version": "2.1.230",
        "isSidechain": False,
        **more,
    }


def user(content: Any, uuid: str = "u-1", parent: str | None = None, **more: Any) -> Json:
    return envelope("user", uuid, parent, message={"role": "user", "content": content}, **more)


def result(content: Any, extra: Any = None, **more: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}
    return user([block], toolUseResult=extra)


def assistant(*blocks: Json, uuid: str = "a-1", message: Json | None = None, **more: Any) -> Json:
    body = {"id": "msg_1", "model": "claude-x", "role": "assistant", "content": list(blocks), **(message or {})}
    return envelope("assistant", uuid, "u-1", requestId="req_1", message=body, **more)


def said(text: str) -> Json:
    return {"type": "text", "text": text}


def call(name: str, arguments: Json, call_id: str = "toolu_1") -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def source(role: str = "transcript", path: str = PATH, session: str = SESSION) -> SourceInfo:
    return SourceInfo("claude", role, path, session)


class Told:
    """What the adapter told of some records: the events of each, all defects, and the last state."""

    def __init__(self, records: list[Any], info: SourceInfo | None = None) -> None:
        self.state: ClaudeState = ADAPTER.begin(info or source())
        self.by_record: list[tuple[Draft, ...]] = []
        self.defects: list[Defect] = []
        for i, value in enumerate(records):
            parsed = ADAPTER.parse(Record(value, b"", i), self.state)
            self.state = parsed.state
            self.by_record.append(parsed.events)
            self.defects += parsed.defects

    @property
    def drafts(self) -> list[Draft]:
        return [draft for drafts in self.by_record for draft in drafts]

    @property
    def kinds(self) -> list[str]:
        return [kind_of(draft.payload) for draft in self.drafts]

    def all(self, kind: str) -> list[Any]:
        return [d.payload for d in self.drafts if kind_of(d.payload) == kind]

    def one(self, kind: str) -> Any:
        found = self.all(kind)
        assert len(found) == 1, found
        return found[0]


def tell(*records: Any, info: SourceInfo | None = None) -> Told:
    """Parse records after a first message, so that no session start stands among their events."""
    told = Told([user("hello", "u-0"), *records], info)
    del told.by_record[0]
    return told


def lines_of(name: str) -> list[Any]:
    return [msgspec.json.decode(line) for line in (FOLDER / name).read_bytes().splitlines()]


def lifecycle(told: Told, name: str) -> list[Any]:
    return [p for p in told.all("lifecycle") if p.name == name]


def as_json(payload: Payload) -> Json:
    plain: Json = msgspec.to_builtins(payload)
    return plain
