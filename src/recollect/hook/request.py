"""What an event's payload says, in whatever spelling the agent uses. Used to ask for context, never to store.

What is stored is read by `recollect.agents.kit.hooks`, from the payload as it came.
"""

from __future__ import annotations

import json

_SESSION = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id", "thread-id", "sessionID")
_CWD = ("cwd", "workspaceRoot", "workspace", "workspace_root", "directory")
_EVENT = ("hook_event_name", "hookEventName", "event", "agent_action_name", "hookName")
_SOURCE = ("source", "trigger")
_PROMPT = ("submitted_prompt", "prompt", "user_prompt", "userPrompt", "text")
_TOOL = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "callID")


class Request:
    """What a payload says. session: the agent's own id. event: as the agent names it. source: how a session starts
    (startup, resume, clear, compact). All are "" where the payload does not say."""

    __slots__ = ("cwd", "event", "prompt", "session", "source", "tool")

    def __init__(self, values: dict[str, object]) -> None:
        self.session = _first(values, _SESSION)
        self.cwd = _first(values, _CWD) or _first_of_list(values.get("workspace_roots"))
        self.event = _first(values, _EVENT)
        self.source = _first(values, _SOURCE)
        self.prompt = _first(values, _PROMPT)
        self.tool = _first(values, _TOOL)


def request(payload: bytes) -> Request:
    """Return what a payload says; of one that is no JSON object, nothing. Never raises on content."""
    try:
        values = json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        values = {}
    return Request(values if isinstance(values, dict) else {})


def _first(values: dict[str, object], names: tuple[str, ...]) -> str:
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):  # Kimi and others give a prompt as a list of parts
            text = "\n".join(t for part in value if isinstance(part, dict) and isinstance(t := part.get("text"), str))
            if text:
                return text
    return ""


def _first_of_list(value: object) -> str:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""
