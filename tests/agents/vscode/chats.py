"""Chat sessions as VS Code writes them, and what the adapter makes of them."""

from __future__ import annotations

import copy
import json
from typing import Any

from recollect.agents.vscode.parse import VSCodeAdapter
from recollect.model.events import Draft
from recollect.model.payloads import Payload
from recollect.model.records import Changed, Record, SourceInfo
from recollect.testing.conformance import Read, read

Json = dict[str, Any]

ADAPTER = VSCodeAdapter()
SESSION = "9c1f0d2e-0000-4000-8000-00000000d001"
AT_MS = 1_785_574_800_000
FOLDERS = {
    "log": f"workspaceStorage/abc/chatSessions/{SESSION}.jsonl",
    "saved": "interactive_sessions.json",
    "session": f"workspaceStorage/abc/chatSessions/{SESSION}.json",
    "state": "workspaceStorage/abc/state.vscdb",
    "transcript": f"workspaceStorage/abc/GitHub.copilot-chat/transcripts/{SESSION}.jsonl",
    "workspace": "workspaceStorage/abc/workspace.json",
}


def info(role: str = "log") -> SourceInfo:
    path = FOLDERS[role]
    return SourceInfo("vscode", role, path, session=ADAPTER.identify(SourceInfo("vscode", role, path), b""))


def uri(path: str) -> Json:
    return {"$mid": 1, "fsPath": path, "path": path, "scheme": "file"}


def said(text: str) -> Json:
    return {"value": text, "supportThemeIcons": False}


def shown(call_id: str, tool: str, **more: Any) -> Json:
    item = {"kind": "toolInvocationSerialized", "toolCallId": call_id, "toolId": tool, "isConfirmed": {"type": 1}}
    return {**item, "isComplete": True, "invocationMessage": "Doing", "pastTenseMessage": "Did", **more}


def rounds(*calls: tuple[str, str, Json]) -> list[Json]:
    return [
        {"response": "", "toolCalls": [{"id": i, "name": n, "arguments": json.dumps(a)}], "toolInputRetry": 0, "id": i}
        for i, n, a in calls
    ]


def gave(text: str) -> Json:
    return {"$mid": 20, "content": [{"$mid": 21, "value": text}]}


def request(name: str = "request_1", *response: Json, text: str = "Do it.", **more: Any) -> Json:
    asked = {"requestId": name, "timestamp": AT_MS, "message": {"text": text, "parts": []}, "response": list(response)}
    return {**asked, **more}


def document(*requests: Json, **more: Any) -> Json:
    return {"version": 3, "creationDate": AT_MS, "sessionId": SESSION, "requests": list(requests), **more}


def line(*changes: Changed, value: Json | None = None) -> Record:
    written = {"kind": 1, "k": []} if value is None else value
    return Record(written, json.dumps(written).encode(), 0, "", copy.deepcopy(changes))


def changed(*path: str | int, to: Any = None, gone: bool = False) -> Changed:
    return Changed(path, to, gone)


def begun(*requests: Json) -> Record:
    return line(changed(to=document(*requests)))


def log(*lines: Record) -> Read:
    return read(ADAPTER, info(), lines, stops=True)


def drafts(found: Read) -> list[Draft]:
    return [draft for events in found.events for draft in events]


def newest(found: Read) -> dict[str, Payload]:
    """Return the events by their id; of several versions the last."""
    return {d.native_id or "": d.payload for d in drafts(found)}


def of(found: Read, kind: type) -> list[Any]:
    return [p for p in newest(found).values() if isinstance(p, kind)]
