"""Rows as opencode writes them, small, and what the adapter makes of them."""

from __future__ import annotations

import json
from typing import Any

from recollect.agents.opencode.parse import OpencodeAdapter
from recollect.model.events import Draft
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import Read, read

ADAPTER = OpencodeAdapter()
T0 = 1_785_600_000_000
SECOND_US = 1_000_000
Row = tuple[str, Any]

TOKENS = {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 100, "write": 7}}


def user(name: str = "msg_1", at: int = 0, **data: Any) -> Row:
    return _message(name, at, {"role": "user", **data})


def assistant(name: str = "msg_2", at: int = 1, **data: Any) -> Row:
    return _message(name, at, {"role": "assistant", "parentID": "msg_1", "modelID": "m", "providerID": "p", **data})


def _message(name: str, at: int, data: dict[str, Any]) -> Row:
    time = {"created": T0 + at * 1000}
    row = {"id": name, "session_id": "ses_a", "time_created": T0 + at * 1000, "time_updated": T0 + at * 1000}
    return "message", {**row, "data": {"time": time, **data}}


def part(kind: str, row_id: str = "prt_1", message: str = "msg_1", at: int = 0, **data: Any) -> Row:
    row = {"id": row_id, "message_id": message, "session_id": "ses_a", "time_created": T0 + at * 1000}
    return "part", {**row, "time_updated": T0 + at * 1000, "data": {"type": kind, **data}}


def tool(name: str, state: dict[str, Any], call: str = "c1", row: str = "prt_1") -> Row:
    return part("tool", row, "msg_2", 1, tool=name, callID=call, state=state)


def completed(metadata: dict[str, Any], output: str = "done", **more: Any) -> dict[str, Any]:
    times = {"start": T0 + 2000, "end": T0 + 2500}
    return {"status": "completed", "input": {}, "output": output, "metadata": metadata, "time": times, **more}


def projected(kind: str, row_id: str, at: int, seq: int = 1, **data: Any) -> Row:
    time = {"created": T0 + at * 1000}
    row = {"id": row_id, "session_id": "ses_a", "type": kind, "seq": seq, "time_created": T0 + at * 1000}
    return "session_message", {**row, "time_updated": T0 + at * 1000, "data": {"time": time, **data}}


def records(rows: list[Row]) -> list[Record]:
    return [
        Record(value, json.dumps(value).encode("utf-8", "replace"), index, at) for index, (at, value) in enumerate(rows)
    ]


def parsed(*rows: Row, role: str = "transcript") -> Read:
    info = SourceInfo("opencode", role, "opencode.db", session="ses_a", document="ses_a")
    return read(ADAPTER, info, records(list(rows)))


def drafts(*rows: Row, role: str = "transcript") -> list[Draft]:
    return [draft for given in parsed(*rows, role=role).events for draft in given]


def payloads(kind: type, *rows: Row, role: str = "transcript") -> list[Any]:
    return [draft.payload for draft in drafts(*rows, role=role) if isinstance(draft.payload, kind)]


def session(**columns: Any) -> Row:
    row = {"id": "ses_a", "project_id": "global", "directory": "/w", "title": "A story", "version": "1.3.17"}
    return "session", {**row, "time_created": T0, "time_updated": T0 + 60_000, **columns}


def of_session(kind: type, **columns: Any) -> list[Any]:
    return payloads(kind, session(**columns), role="session")
