"""Session events as Copilot writes them, and what the adapter makes of them."""

from __future__ import annotations

from typing import Any

from recollect.agents.copilot.parse import CopilotAdapter
from recollect.model.events import Draft
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import Read, read, records_of

Json = dict[str, Any]

ADAPTER = CopilotAdapter()
SESSION = "7c1f0d2e-0000-4000-8000-00000000c001"
FOLDER = f"session-state/{SESSION}"
PATHS = {
    "events": f"{FOLDER}/events.jsonl",
    "history": f"history-session-state/session_{SESSION}_1759957816398.json",
    "workspace": f"{FOLDER}/workspace.yaml",
    "plan": f"{FOLDER}/plan.md",
    "checkpoint": f"{FOLDER}/checkpoints/001-first.md",
}


def info(role: str = "events") -> SourceInfo:
    return SourceInfo(
        "copilot", role, PATHS[role], session=ADAPTER.identify(SourceInfo("copilot", role, PATHS[role]), b"")
    )


def event(kind: str, data: Json | None = None, name: str = "e", **more: Any) -> Json:
    written = {"type": kind, "data": data or {}, "id": name, "timestamp": "2026-08-01T09:00:00.000Z", "parentId": None}
    return {**written, **more}


def user(text: str, name: str = "u", **data: Any) -> Json:
    return event("user.message", {"content": text, **data}, name)


def reply(text: str, *calls: Json, name: str = "a", **data: Any) -> Json:
    return event(
        "assistant.message", {"messageId": f"m-{name}", "content": text, "toolRequests": list(calls), **data}, name
    )


def call(call_id: str, tool: str, arguments: Any) -> Json:
    return {"toolCallId": call_id, "name": tool, "arguments": arguments, "type": "function"}


def start(call_id: str, tool: str, arguments: Any = None, **data: Any) -> Json:
    return event("tool.execution_start", {"toolCallId": call_id, "toolName": tool, "arguments": arguments, **data}, "s")


def complete(call_id: str, text: str = "", *, success: Any = True, **data: Any) -> Json:
    told = {"toolCallId": call_id, "success": success, "result": {"content": text}}
    return event("tool.execution_complete", {**told, **data}, "c")


def metrics(**models: tuple[int, int, int, int]) -> Json:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return {
        m: {"requests": {"count": 1, "cost": 1}, "usage": dict(zip(names, n, strict=True))} for m, n in models.items()
    }


def shutdown(name: str = "end", **models: tuple[int, int, int, int]) -> Json:
    return event("session.shutdown", {"shutdownType": "routine", "modelMetrics": metrics(**models)}, name)


def stream(*events: Any) -> Read:
    return read(ADAPTER, info(), records_of(events), stops=True)


def document(at: str, *values: Any) -> Read:
    return read(ADAPTER, info("history"), [Record(v, b"", n, at) for n, v in enumerate(values)], stops=True)


def drafts(found: Read) -> list[Draft]:
    return [draft for events in found.events for draft in events]


def of(found: Read, kind: type) -> list[Any]:
    return [d.payload for d in drafts(found) if isinstance(d.payload, kind)]
