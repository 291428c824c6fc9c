"""Threads as Zed writes them, and what the adapter makes of them."""

from __future__ import annotations

from typing import Any

from recollect.agents.zed.parse import ZedAdapter
from recollect.model.events import Draft
from recollect.model.payloads import Payload
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import Read, read

Json = dict[str, Any]

ADAPTER = ZedAdapter()
FIRST, LAST = "2026-08-01T09:00:00+00:00", "2026-08-01T09:00:10+00:00"
FIRST_US = 1_785_574_800_000_000


def info(thread: str = "t1") -> SourceInfo:
    return SourceInfo("zed", "threads", "threads/threads.db", session=thread, document=thread)


def user(name: Any, *content: Any) -> Json:
    return {"User": {"id": name, "content": [{"Text": c} if isinstance(c, str) else c for c in content]}}


def agent(*content: Any, results: Any = None) -> Json:
    segments = [{"Text": c} if isinstance(c, str) else c for c in content]
    return {
        "Agent": {"content": segments, "tool_results": {} if results is None else results, "reasoning_details": None}
    }


def use(call_id: str, name: str, given: Any) -> Json:
    return {"ToolUse": {"id": call_id, "name": name, "input": given, "raw_input": "", "is_input_complete": True}}


def gave(call_id: str, name: str, content: Any, *, is_error: bool = False, output: Any = None) -> Json:
    told = {"tool_use_id": call_id, "tool_name": name, "is_error": is_error, "content": content, "output": output}
    return {call_id: told}


def row(*messages: Any, columns: Json | None = None, **data: Any) -> Json:
    thread = {"version": "0.3.0", "title": "T", "updated_at": LAST, "messages": list(messages), **data}
    told = {"id": "t1", "summary": "T", "updated_at": LAST, "data_type": "zstd", "data": thread, "created_at": FIRST}
    return {**told, **(columns or {})}


def thread(*rows: Any) -> Read:
    return read(ADAPTER, info(), [Record(r, b"", n, "threads") for n, r in enumerate(rows)], stops=True)


def drafts(found: Read) -> list[Draft]:
    return [draft for events in found.events for draft in events]


def named(found: Read) -> dict[str, Payload]:
    return {d.native_id or "": d.payload for d in drafts(found)}


def of(found: Read, kind: type) -> list[Any]:
    return [d.payload for d in drafts(found) if isinstance(d.payload, kind)]
