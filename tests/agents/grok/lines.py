"""Lines as Grok Build writes them, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.agents.grok.parse import GrokAdapter
from recollect.model.events import Draft
from recollect.model.payloads import Payload
from recollect.model.records import SourceInfo
from recollect.testing.conformance import read, records_of

ADAPTER = GrokAdapter()
SESSION = "019f6000-0000-7000-8000-00000000000a"
FOLDER = f"sessions/%2Fwork%2Fdemo/{SESSION}"
START = 1_785_600_000


def update(kind: str, at: int = 0, *, meta: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a line of `updates.jsonl`."""
    params: dict[str, Any] = {"sessionId": SESSION, "update": {"sessionUpdate": kind, **fields}}
    if meta is not None:
        params["_meta"] = meta
    method = "session/update" if kind.endswith("_chunk") or kind.startswith("tool_call") else "_x.ai/session/update"
    return {"timestamp": START + at, "method": method, "params": params}


def chunk(speaker: str, said: str, at: int = 0, *, meta: dict[str, Any] | None = None, **own: Any) -> dict[str, Any]:
    """Return a chunk of a message. own: the update's own `_meta`."""
    fields: dict[str, Any] = {"content": {"type": "text", "text": said}}
    if own:
        fields["_meta"] = own
    kind = {"user": "user_message_chunk", "agent": "agent_message_chunk", "thought": "agent_thought_chunk"}[speaker]
    return update(kind, at, meta=meta, **fields)


def call(call_id: str, name: str, arguments: Any, at: int = 0, **fields: Any) -> dict[str, Any]:
    """Return the line of a new tool call."""
    tool = {"version": 1, "name": name, "kind": "execute", "read_only": False}
    return update(
        "tool_call", at, toolCallId=call_id, title=name, rawInput=arguments, _meta={"x.ai/tool": tool}, **fields
    )


def said_by_tool(said: str) -> list[dict[str, Any]]:
    """Return the content of a call that gave a text."""
    return [{"type": "content", "content": {"type": "text", "text": said}}]


def ended(call_id: str, status: str = "completed", at: int = 0, **fields: Any) -> dict[str, Any]:
    """Return the line that ends a tool call."""
    return update("tool_call_update", at, toolCallId=call_id, status=status, **fields)


def drafts(values: Sequence[Any], role: str = "updates", path: str = "") -> list[Draft]:
    """Return the events of the records of one source."""
    info = SourceInfo("grok", role, path or f"{FOLDER}/updates.jsonl", session=SESSION)
    return [draft for events in read(ADAPTER, info, records_of(values), stops=True).events for draft in events]


def visible(found: Sequence[Draft]) -> list[Draft]:
    """Return the events that nothing replaced, as a view shows them."""
    newest = {d.native_id: i for i, d in enumerate(found) if d.native_id is not None}
    gone = {d.replaces[0] for d in found if d.replaces is not None and d.replaces[0] != d.native_id}
    return [
        d for i, d in enumerate(found) if d.native_id is None or (newest[d.native_id] == i and d.native_id not in gone)
    ]


def payloads(values: Sequence[Any], kind: type[Payload] | Any, role: str = "updates") -> list[Any]:
    """Return the payloads of one kind that a view shows."""
    return [d.payload for d in visible(drafts(values, role)) if isinstance(d.payload, kind)]


STREAM: list[dict[str, Any]] = [
    chunk("user", "First.", 0, promptIndex=0, modelId="grok-4.6", meta={"eventId": f"{SESSION}-1"}),
    chunk("thought", "The loop ", 1, meta={"promptId": "p1"}),
    chunk("thought", "is quadratic.", 1, meta={"promptId": "p1"}),
    chunk("agent", "One", 2, meta={"promptId": "p1", "agentTimestampMs": (START + 2) * 1000 + 250}),
    chunk("agent", ".", 2, meta={"promptId": "p1"}),
    call("c1", "run_terminal_command", {"command": "pytest -q"}, 3),
    update("tool_call_update", 3, toolCallId="c1", status="in_progress", content=said_by_tool("3 pas")),
    ended("c1", at=4, content=said_by_tool("3 passed"), rawOutput={"type": "Bash", "exit_code": 0}),
    call("c2", "search_replace", {"path": "a.py", "old_string": "OLD = 1", "new_string": "NEW = 1"}, 5),
    ended("c2", at=5, content=[{"type": "diff", "path": "a.py", "oldText": "OLD = 1", "newText": "NEW = 1"}]),
    update("auto_compact_started", 6, reason="threshold", percentage=80),
    update("compaction_checkpoint", 6, checkpoint_id="k1", prompt_index_at_compaction=1, schema_version=1),
    update("auto_compact_completed", 6, tokens_before=106112, tokens_after=34833, summary_preview=None),
    update("subagent_spawned", 7, subagent_id="child", child_session_id="child", subagent_type="explore",
           parent_session_id=SESSION, description="Look it up", model="grok-4.6"),
    update("subagent_finished", 8, subagent_id="child", child_session_id="child", status="completed", output="42"),
    update("rewind_marker", 9, target_prompt_index=0, created_at="2026-08-01T16:00:09Z"),
    update("turn_completed", 9, prompt_id="p1", stop_reason="end_turn", usage={
        "inputTokens": 5000, "cachedReadTokens": 4200, "outputTokens": 120, "reasoningTokens": 30,
        "costUsdTicks": 41_000_000, "modelUsage": {"grok-4.6": {"inputTokens": 5000, "outputTokens": 120}}}),
]  # fmt: skip
CHAT: list[dict[str, Any]] = [
    {"type": "system", "content": "You are Grok."},
    {"type": "user", "content": [{"type": "text", "text": "<user_info>\nOS: linux\n</user_info>"}],
     "synthetic_reason": "system_reminder"},
    {"type": "user", "content": [{"type": "text", "text": "First."}], "prompt_index": 0},
    {"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "The loop is quadratic."}],
     "encrypted_content": "AAAA"},
    {"type": "assistant", "content": "One.", "model_id": "grok-4.6", "tool_calls": [
        {"id": "c1", "name": "run_terminal_command", "arguments": '{"command":"pytest -q"}'}]},
    {"type": "tool_result", "tool_call_id": "c1", "content": "3 passed"},
    {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "id": "ws1", "status": "completed",
                                           "action": {"type": "search", "query": "pytest"}}},
]  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"ts": "2026-08-01T16:00:00.000Z", "type": "turn_started", "session_id": SESSION, "turn_number": 1,
     "model_id": "grok-4.6", "session_relationship": "primary", "schema_version": "1.0"},
    {"ts": "2026-08-01T16:00:03.000Z", "type": "tool_completed", "tool_name": "run_terminal_command",
     "duration_ms": 12, "outcome": "permission_rejected", "tool_call_id": "c1", "schema_version": "1.0"},
]  # fmt: skip
SUMMARY: dict[str, Any] = {
    "info": {"id": SESSION, "cwd": "/work/demo"}, "session_summary": "Rename", "generated_title": "Rename a constant",
    "created_at": "2026-08-01T16:00:00Z", "updated_at": "2026-08-01T16:00:09Z", "num_messages": 9,
    "num_chat_messages": 5, "current_model_id": "grok-4.6", "chat_format_version": 1, "head_branch": "main",
    "head_commit": "0123456", "git_root_dir": "/work/demo/", "git_remotes": ["git@example.com:demo.git"],
}  # fmt: skip
