"""Documents as CodeWhale writes them, in the pieces that a parser gets, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect.agents.codewhale.parse import WhaleAdapter
from recollect.model.events import Draft
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = WhaleAdapter()
SESSION = "5b0e6c1a-0000-4000-8000-00000000000a"
FIXTURES = Path(__file__).parents[2] / "conformance" / "fixtures" / "codewhale"
FIRST = FIXTURES / "0.9.4/setup/sessions/0d3b2a6f-1111-4a00-8a00-000000000a11.json"
SECOND = FIXTURES / "0.9.10/setup/sessions/6a8c1b40-2222-4b00-8b00-000000000b22.json"


def message(role: str, *blocks: Any) -> dict[str, Any]:
    """Return a message; a text is a block of text."""
    return {"role": role, "content": [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]}


def document(messages: Sequence[Any], *, entries: Sequence[Any] = (), leaf: str = "", **members: Any) -> dict[str, Any]:
    """Return a document. members: of the metadata, or, where they are known there, of the document itself."""
    top = {k: members.pop(k) for k in ("system_prompt", "context_references", "approval_receipts") if k in members}
    metadata = {
        "id": SESSION, "title": "A demo", "created_at": "2026-08-01T09:00:00Z", "updated_at": "2026-08-01T09:10:00Z",
        "message_count": len(messages), "total_tokens": 0, "model": "deepseek-v4-pro", "workspace": "/w", **members,
    }  # fmt: skip
    value: dict[str, Any] = {"schema_version": 1, "metadata": metadata, "messages": list(messages)}
    if entries:
        value["journal"] = {"entries": list(entries), "leaf_id": leaf, "schema_version": 1, "spawn_depth": 0}
    return {**value, **top}


def entry(name: str, parent: str, kind: str = "message", **fields: Any) -> dict[str, Any]:
    """Return an entry of the journal."""
    return {"id": name, "parent_id": parent or None, "kind": kind, "created_at": "2026-08-01T09:05:00Z", **fields}


def pieces(value: dict[str, Any]) -> list[Record]:
    """Return the records of a document as capture splits it: members, and the elements of three arrays, in order."""
    found: list[tuple[str, Any]] = []
    members: dict[str, Any] = {}
    for key, member in value.items():
        journal = member if key == "journal" else None
        if key not in ("messages", "artifacts", "journal") or not isinstance(member, list | dict):
            members[key] = member
            continue
        found.append(("", members))
        members = {}
        if isinstance(journal, dict):
            found += [("journal.entries", e) for e in journal.get("entries", [])]
            found.append(("journal", {k: v for k, v in journal.items() if k != "entries"}))
        else:
            found += [(key, e) for e in member]
    found.append(("", members))
    kept = [(at, v) for at, v in found if at or v]
    return [Record(v, json.dumps(v).encode(), i, at) for i, (at, v) in enumerate(kept)]


def drafts(value: dict[str, Any], role: str = "session") -> list[Draft]:
    """Return the events of a document."""
    native = value["metadata"]["id"]
    info = SourceInfo("codewhale", role, f"sessions/{native}.json", session=native)
    return [d for events in read(ADAPTER, info, pieces(value), stops=True).events for d in events]


def payloads(value: dict[str, Any], kind: Any) -> list[Any]:
    """Return the payloads of one kind."""
    return [d.payload for d in drafts(value) if isinstance(d.payload, kind)]


def load(path: Path) -> dict[str, Any]:
    """Return a fixture."""
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded
