"""Exports of OTLP for tests: as little as a span or a log record needs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from recollect.agents.otel.parse import OtelAdapter
from recollect.model.events import Draft
from recollect.model.records import Drift, Parsed, Record, SourceInfo
from recollect.testing.conformance import check_adapter

ADAPTER = OtelAdapter()
TRACE = "5b8efff798038103d269b633813fc60c"
START_S = 1_785_574_800
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c1", "gen_ai.request.model": "m"}
ROOT = "00000000000000ff"


def value(plain: Any) -> dict[str, Any]:
    """Return a value as OTLP wraps it; objects as their JSON, which is how most senders give messages."""
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, float):
        return {"doubleValue": plain}
    return {"stringValue": plain if isinstance(plain, str) else json.dumps(plain)}


def attributes(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": k, "value": value(v)} for k, v in plain.items()]


def at(seconds: float) -> str:
    return str(int((START_S + seconds) * 1_000_000_000))


def span(number: int, says: dict[str, Any], *, start: float = 0, end: float = 1, **fields: Any) -> dict[str, Any]:
    named = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "parentSpanId": ROOT,
        "name": says.get("gen_ai.operation.name", ""),
    }
    times = {"startTimeUnixNano": at(start), "endTimeUnixNano": at(end)}
    return {**named, **times, "attributes": attributes(says), **fields}


def request(*spans: Any, resource: dict[str, str] | None = None) -> dict[str, Any]:
    shared = {"attributes": attributes(resource or {})}
    return {"resourceSpans": [{"resource": shared, "scopeSpans": [{"spans": list(spans)}]}]}


def log(name: str, says: dict[str, Any], *, when: float = 0, **fields: Any) -> dict[str, Any]:
    return {"timeUnixNano": at(when), "eventName": name, "attributes": attributes(says), **fields}


def logged(*records: dict[str, Any], service: str = "demo") -> dict[str, Any]:
    shared = {"attributes": attributes({"service.name": service})}
    return {"resourceLogs": [{"resource": shared, "scopeLogs": [{"logRecords": list(records)}]}]}


def user(said: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "content": said}]}


def answer(said: str) -> dict[str, Any]:
    return {"role": "assistant", "parts": [{"type": "text", "content": said}]}


def asked(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}]}


def given(call_id: str, said: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": said}]}


def chat(number: int, into: Any = None, out: Any = None, **more: Any) -> dict[str, Any]:
    """Return the span of a call of a model. more: attributes with underscores for dots, or start, end, and fields."""
    times = {k: more.pop(k) for k in ("start", "end") if k in more}
    says: dict[str, Any] = {**CHAT, **more.pop("says", {})}
    if into is not None:
        says["gen_ai.input.messages"] = into
    if out is not None:
        says["gen_ai.output.messages"] = out
    return span(number, says, **times, **more)


def tool(number: int, call_id: str, **says: Any) -> dict[str, Any]:
    fields = {k: says.pop(k) for k in ("status", "start", "end", "parentSpanId") if k in says}
    named = {f"gen_ai.tool.{k.replace('_', '.', 1)}": v for k, v in says.items()}
    known = {"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "c1", "gen_ai.tool.call.id": call_id}
    return span(number, {**known, **named}, **fields)


def parsed(values: Iterable[Any], *, table: str = "") -> list[Parsed[Any]]:
    """Parse records in order and hold the contract over them."""
    written = list(values)
    info = SourceInfo("otel", "lines", "traces.jsonl", "own")
    if not table:
        assert check_adapter(ADAPTER, info, written) == []
    state = ADAPTER.begin(info)
    found: list[Parsed[Any]] = []
    for index, plain in enumerate(written):
        got = ADAPTER.parse(Record(plain, json.dumps(plain).encode(), index, table), state)
        state = got.state
        found.append(got)
    return found


def drafts(*values: Any) -> list[Draft]:
    """Return the events as the store keeps them: of one name in one session, the first of equal ones."""
    kept: dict[Any, Draft] = {}
    for got in parsed(values):
        parts: dict[Any, int] = {}
        for draft in got.events:
            name = (draft.session, draft.native_id)
            parts[name] = parts.get(name, 0) + 1
            key = (*name, parts[name])
            if draft.native_id is None or key not in kept or kept[key].payload != draft.payload:
                kept[key if draft.native_id is not None else object()] = draft
    return list(kept.values())


def payloads(kind: type, *values: Any) -> list[Any]:
    """Return the payloads of a kind."""
    return [d.payload for d in drafts(*values) if isinstance(d.payload, kind)]


def drift(*values: Any) -> set[Drift]:
    return {found for got in parsed(values) for found in got.drift}


def defects(*values: Any) -> set[str]:
    return {found.code for got in parsed(values) for found in got.defects}
