"""Records as Codex writes them, and what the adapter makes of them."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.codex.parse import CodexAdapter
from recollect.agents.codex.step import State
from recollect.model.events import Draft
from recollect.model.payloads import Payload, kind_of
from recollect.model.records import Defect, Record, SourceInfo

ADAPTER = CodexAdapter()
THREAD = "01997000-0000-7000-8000-00000000000a"
PARENT = "01997000-0000-7000-8000-00000000000b"
TURN_1 = "01997000-0000-7000-8000-0000000000f1"
TURN_2 = "01997000-0000-7000-8000-0000000000f2"
NAME = f"sessions/2026/07/02/rollout-2026-07-02T08-00-00-{THREAD}.jsonl"
AT = "2026-07-02T08:00:00.000Z"
AT_US = 1_782_979_200_000_000
Json = dict[str, Any]


def record(kind: str, payload: Any, at: str = AT) -> Json:
    return {"timestamp": at, "type": kind, "payload": payload}


def meta(thread: str = THREAD, **more: Any) -> Json:
    return record("session_meta", {"id": thread, "cwd": "/w/demo", "originator": "codex-tui", **more})


def context(turn_id: str = "", **more: Any) -> Json:
    named = {"turn_id": turn_id} if turn_id else {}
    return record("turn_context", {**named, "cwd": "/w/demo", "model": "gpt-x", **more})


def item(kind: str, **payload: Any) -> Json:
    return record("response_item", {"type": kind, **payload})


def event(kind: str, **payload: Any) -> Json:
    return record("event_msg", {"type": kind, **payload})


def completed(kind: str, **payload: Any) -> Json:
    return event("item_completed", item={"type": kind, **payload})


def user_item(*texts: str) -> Json:
    return item("message", role="user", content=[{"type": "input_text", "text": t} for t in texts])


def user_event(text: str) -> Json:
    return event("user_message", message=text, images=[])


def assistant_item(*texts: str) -> Json:
    return item("message", role="assistant", content=[{"type": "output_text", "text": t} for t in texts])


def assistant_event(text: str) -> Json:
    return event("agent_message", message=text)


def tokens(total: int, last: int, *, cached: int = 0, out: int = 5) -> Json:
    def counts(read: int) -> Json:
        return {
            "input_tokens": read,
            "cached_input_tokens": cached,
            "output_tokens": out,
            "reasoning_output_tokens": 2,
            "total_tokens": read + out,
        }

    return event("token_count", info={"total_token_usage": counts(total), "last_token_usage": counts(last)})


class Reading:
    """What came out of a source."""

    def __init__(self, records: list[Any], role: str = "transcript", path: str = NAME) -> None:
        info = SourceInfo("codex", role, path, THREAD)
        self.state: State = ADAPTER.begin(info)
        self.drafts: list[Draft] = []
        self.defects: list[Defect] = []
        self.per_record: list[list[Payload]] = []
        for index, value in enumerate(records):
            # Encoded in between, as the pipeline may do after any record.
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(self.state), type=State)
            parsed = ADAPTER.parse(Record(value, b"", index), state)
            self.state = parsed.state
            self.drafts += parsed.events
            self.defects += parsed.defects
            self.per_record.append([d.payload for d in parsed.events])

    @property
    def payloads(self) -> list[Payload]:
        return [d.payload for d in self.drafts]

    def of(self, kind: type[Any]) -> list[Any]:
        return [p for p in self.payloads if isinstance(p, kind)]

    @property
    def kinds(self) -> list[str]:
        return [kind_of(p) for p in self.payloads]


def read(*records: Any, role: str = "transcript") -> Reading:
    return Reading(list(records), role)
