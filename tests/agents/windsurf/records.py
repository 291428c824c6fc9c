"""Steps, payloads and rows as Windsurf writes them, and what the adapter makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.agents.windsurf.parse import WindsurfAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of

ADAPTER = WindsurfAdapter()
TRAJECTORY = "0d000000-0000-4000-8000-000000000001"
AT = "2026-08-01T09:00:00Z"
AT_US = 1_785_574_800_000_000
Json = dict[str, Any]


def info(role: str) -> SourceInfo:
    path = {
        "transcript": f"transcripts/{TRAJECTORY}.jsonl",
        "hooks": "hooks/all.jsonl",
        "workspace": "workspaceStorage/0123abcd/state.vscdb",
    }[role]
    session = "workspace-0123abcd" if role == "workspace" else TRAJECTORY
    return SourceInfo("windsurf", role, path, session=session)


def step(kind: str, status: str = "done", **fields: Any) -> Json:
    return {"type": kind, "status": status, kind: fields}


def payload(action: str, *, turn: str = "ex1", session: str = TRAJECTORY, at: str = AT, **tool_info: Any) -> Json:
    return {
        "agent_action_name": action, "trajectory_id": session, "execution_id": turn, "timestamp": at,
        "model_name": "model-x", "tool_info": tool_info,
    }  # fmt: skip


def row(value: Any, key: str = "aiChat.chatdata") -> Json:
    return {"key": key, "value": value}


class Story:
    """What came of the records of one source."""

    def __init__(self, role: str, values: Sequence[Any]) -> None:
        assert check_adapter(ADAPTER, info(role), values) == []
        records = records_of(values)
        self.read = read(ADAPTER, info(role), records)
        state = ADAPTER.begin(info(role))
        self.drift: list[str] = []
        for record in records:
            parsed = ADAPTER.parse(record, state)
            state = parsed.state
            self.drift += [drift.name for drift in parsed.drift]

    @property
    def drafts(self) -> list[Draft]:
        return [draft for drafts in self.read.events for draft in drafts]

    def drafts_of(self, kind: str) -> list[Draft]:
        return [draft for draft in self.drafts if kind_of(draft.payload) == kind]

    def of(self, kind: str) -> list[Any]:
        return [draft.payload for draft in self.drafts_of(kind)]

    def one(self, kind: str) -> Any:
        (found,) = self.of(kind)
        return found

    def ids(self, kind: str) -> list[str | None]:
        return [draft.native_id for draft in self.drafts_of(kind)]
