"""Rows as Crush writes them, small, and what the adapter makes of them."""

from __future__ import annotations

import json
from typing import Any

from recollect.agents.crush.parse import CrushAdapter
from recollect.model.events import Draft
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import Read, read

ADAPTER = CrushAdapter()
T0 = 1_785_600_000
Row = tuple[str, Any]


def block(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def message(role: str, *parts: Any, row_id: str = "m1", at: int = 0, **columns: Any) -> Row:
    model = "m" if role == "assistant" else ""
    row = {"id": row_id, "session_id": "s1", "role": role, "parts": list(parts), "model": model}
    return "messages", {**row, "created_at": T0 + at, "updated_at": T0 + at, **columns}


def call(name: str, arguments: Any, call_id: str = "c1") -> Row:
    body = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return message("assistant", block("tool_call", id=call_id, name=name, input=body, finished=True), row_id="m2", at=1)


def result(name: str, content: str, metadata: Any = None, **more: Any) -> Row:
    written = json.dumps(metadata) if metadata is not None else ""
    data = {"tool_call_id": "c1", "name": name, "content": content, "metadata": written, "is_error": False, **more}
    return message("tool", {"type": "tool_result", "data": data}, row_id="m3", at=2)


def records(rows: list[Row]) -> list[Record]:
    return [
        Record(value, json.dumps(value).encode("utf-8", "replace"), index, at) for index, (at, value) in enumerate(rows)
    ]


def parsed(*rows: Row, role: str = "transcript") -> Read:
    info = SourceInfo("crush", role, ".crush/crush.db", session="s1", document="s1")
    return read(ADAPTER, info, records(list(rows)))


def drafts(*rows: Row, role: str = "transcript") -> list[Draft]:
    return [draft for given in parsed(*rows, role=role).events for draft in given]


def payloads(kind: type, *rows: Row, role: str = "transcript") -> list[Any]:
    return [draft.payload for draft in drafts(*rows, role=role) if isinstance(draft.payload, kind)]
