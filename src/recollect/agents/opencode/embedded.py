"""The oldest files: messages that hold their parts, written in the present form so that one reader serves both.

`{id, role, parts[…], metadata{time, error, tool{…}, assistant{…}}}`, with calls as `tool-invocation` parts whose result
and times stand in `metadata.tool`. Evidence: format notes: opencode, section 7; opencode's own reader of version 1.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text

_OF_ASSISTANT = ("modelID", "providerID", "path", "cost", "summary", "tokens", "system")
_CALL_FACTS = frozenset(("title", "time", "error"))
_STATUS = {"result": "completed", "call": "running", "partial-call": "pending"}
_TAKEN = frozenset(("time", "error", "sessionID", "tool", "assistant", "snapshot"))


def modern_of(data: dict[str, Any]) -> tuple[dict[str, Any], list[Any]] | None:
    """Return a message of version 1 as (its data, its parts) in the present form; None if it is of a later one."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(data.get("parts"), list):
        return None
    assistant = mapping(metadata.get("assistant"))
    message = {k: v for k, v in data.items() if k not in ("parts", "metadata")}
    message.update({k: assistant[k] for k in _OF_ASSISTANT if k in assistant})
    message.update({k: v for k, v in assistant.items() if k not in _OF_ASSISTANT})
    message.update({k: v for k, v in metadata.items() if k not in _TAKEN})
    for key in ("time", "error"):
        if key in metadata:
            message[key] = metadata[key]
    calls = mapping(metadata.get("tool"))
    # A step begins with a part that says nothing else, and ends with none: the tokens are the message's.
    parts = [_part_of(part, calls) for part in items(data["parts"]) if part != {"type": "step-start"}]
    if metadata.get("snapshot"):
        parts.append({"type": "snapshot", "snapshot": metadata["snapshot"]})
    return message, parts


def _part_of(part: Any, calls: dict[str, Any]) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "tool-invocation":
        return _call_of(part, calls)
    if kind == "file":
        return {"mime" if k == "mediaType" else k: v for k, v in part.items()}
    if kind == "reasoning":
        return {"metadata" if k == "providerMetadata" else k: v for k, v in part.items()}
    return part


def _call_of(part: dict[str, Any], calls: dict[str, Any]) -> dict[str, Any]:
    invocation = mapping(part.get("toolInvocation"))
    call_id = text(invocation.get("toolCallId"))
    facts = mapping(calls.get(call_id))
    status = _STATUS.get(text(invocation.get("state")), text(invocation.get("state")))
    has_failed = facts.get("error") is True
    state: dict[str, Any] = {
        "status": "error" if has_failed else status,
        "input": invocation.get("args"),
        "title": facts.get("title"),
        "time": facts.get("time"),
        "metadata": {k: v for k, v in facts.items() if k not in _CALL_FACTS},
    }
    if "result" in invocation:
        state["error" if has_failed else "output"] = invocation["result"]
    known = ("state", "step", "toolCallId", "toolName", "args", "result")
    beyond = {k: v for k, v in (*part.items(), *invocation.items()) if k not in (*known, "type", "toolInvocation")}
    return {**beyond, "type": "tool", "callID": call_id, "tool": invocation.get("toolName"), "state": state}
