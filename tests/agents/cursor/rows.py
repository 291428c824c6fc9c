"""Rows and lines as Cursor writes them, and what the adapter makes of them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.agents.cursor.parse import CursorAdapter
from recollect.model.events import Draft
from recollect.model.payloads import Payload, kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import Read, check_adapter, read, records_of

ADAPTER = CursorAdapter()
COMPOSER = "0c000000-0000-4000-8000-000000000001"
CHILD = "0c000000-0000-4000-8000-000000000002"
DATABASE = "globalStorage/state.vscdb"
STORE = f"chats/0123456789abcdef0123456789abcdef/{COMPOSER}/store.db"
TRANSCRIPT = f"projects/w-demo/agent-transcripts/{COMPOSER}/{COMPOSER}.jsonl"
AT = "2026-08-01T09:00:00.000Z"
AT_MS = 1_785_574_800_000
AT_US = AT_MS * 1_000
Json = dict[str, Any]


def ide(document: str = COMPOSER) -> SourceInfo:
    return SourceInfo("cursor", "ide", DATABASE, session=document, document=document)


def store(role: str = "cli_store") -> SourceInfo:
    return SourceInfo("cursor", role, STORE, session=COMPOSER)


def transcript(path: str = TRANSCRIPT, role: str = "transcript") -> SourceInfo:
    info = SourceInfo("cursor", role, path)
    return SourceInfo("cursor", role, path, session=ADAPTER.identify(info, b""))


def bubble(name: str, kind: int, text: str = "", *, minute: int = 0, **more: Any) -> Json:
    value = {"_v": 3, "type": kind, "bubbleId": name, "createdAt": f"2026-08-01T09:{minute:02}:00.000Z", "text": text}
    return {"key": f"bubbleId:{COMPOSER}:{name}", "value": {**value, **more}}


def tool(name: str, tool_name: str, *, minute: int = 0, call_id: str = "call_1\nfc_1", **more: Any) -> Json:
    former = {"tool": 15, "name": tool_name, "toolCallId": call_id, **more}
    return bubble(name, 2, minute=minute, capabilityType=15, toolFormerData=former)


def composer(*listed: str, **more: Any) -> Json:
    headers = [{"bubbleId": name, "type": 1 if name.startswith("u") else 2} for name in listed]
    value = {"_v": 16, "composerId": COMPOSER, "createdAt": AT_MS, "fullConversationHeadersOnly": headers}
    return {"key": f"composerData:{COMPOSER}", "value": {**value, **more}}


def message_blob(message: Json) -> Json:
    raw = json.dumps(message, ensure_ascii=False).encode()
    return {"id": hashlib.sha256(raw).hexdigest(), "data": message}


def list_blob(*blobs: Json, workspace: str = "") -> Json:
    """A list of messages as the store writes it: field 1 for each, field 9 for the workspace."""
    raw = b"".join(b"\x0a\x20" + bytes.fromhex(blob["id"]) for blob in blobs)
    if workspace:
        raw += b"\x4a" + bytes([len(workspace)]) + workspace.encode()
    return {"id": hashlib.sha256(raw).hexdigest(), "data": {"$blob": base64.b64encode(raw).decode()}}


def user_blob(text: str, request: str = "r1") -> Json:
    content = [{"type": "text", "text": f"<user_query>\n{text}\n</user_query>"}]
    return message_blob({"role": "user", "content": content, "providerOptions": {"cursor": {"requestId": request}}})


def assistant_blob(*blocks: Json) -> Json:
    return message_blob({"role": "assistant", "id": "1", "content": list(blocks)})


def line(role: str, *blocks: Json) -> Json:
    return {"role": role, "message": {"content": list(blocks)}}


def said(text: str) -> Json:
    return {"type": "text", "text": text}


class Story:
    """What came of the records of one source."""

    def __init__(self, info: SourceInfo, values: Sequence[Any]) -> None:
        assert check_adapter(ADAPTER, info, values) == []
        records = records_of(values)
        self.read: Read = read(ADAPTER, info, records)
        state = ADAPTER.begin(info)
        self.drift: list[str] = []
        for record in records:
            parsed = ADAPTER.parse(record, state)
            state = parsed.state
            self.drift += [drift.name for drift in parsed.drift]

    @property
    def drafts(self) -> list[Draft]:
        return [draft for drafts in self.read.events for draft in drafts]

    def of(self, kind: str) -> list[Any]:
        return [draft.payload for draft in self.drafts if kind_of(draft.payload) == kind]

    def one(self, kind: str) -> Any:
        (payload,) = self.of(kind)
        return payload

    def draft(self, kind: str) -> Draft:
        (draft,) = [draft for draft in self.drafts if kind_of(draft.payload) == kind]
        return draft

    def ids(self, kind: str) -> list[str | None]:
        return [draft.native_id for draft in self.drafts if kind_of(draft.payload) == kind]

    def lifecycle(self, name: str) -> Any:
        (payload,) = [payload for payload in self.of("lifecycle") if payload.name == name]
        return payload


def payloads(story: Story) -> list[Payload]:
    return [draft.payload for draft in story.drafts]


def records(values: Sequence[Any]) -> list[Record]:
    return records_of(values)


def msgpack(state: Any) -> bytes:
    return msgspec.msgpack.encode(state)
