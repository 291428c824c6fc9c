"""How agents spell their hooks' payloads: names of events, names of fields. Data, and how it is read.

Claude Code's spelling (snake_case fields, PascalCase events) is the common one; Codex, Qwen, Kimi, VS Code and our own
plugin for opencode have it. Others: Gemini CLI (BeforeTool …), Cursor (afterShellExecution …), Grok Build and Copilot
CLI (camelCase fields), Windsurf (fields in `tool_info`), CodeWhale (`event`, `text`), goose (`event`, `message`,
`working_dir`), Hermes (`post_tool_call` …, fields in `extra`; its `on_session_end` comes after every turn). Sources:
the agents' pages on hooks, named in `recollect.hook.forms`; Windsurf: "Cascade hooks"; goose and Hermes: their
`install`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import content_text
from recollect.model.payloads import Json

EventKind = Literal[
    "start", "end", "prompt", "call", "result", "failure", "reply", "subagent", "compaction", "compacted", "notice"
]
_EVENTS: dict[EventKind, tuple[str, ...]] = {
    "start": ("sessionstart", "onsessionstart"),
    "end": ("sessionend",),
    "prompt": (
        "userpromptsubmit", "userpromptsubmitted", "beforesubmitprompt", "beforeagent", "messagesubmit",
        "preuserprompt",
    ),
    "call": (
        "pretooluse", "beforetool", "toolcallbefore", "beforeshellexecution", "beforemcpexecution", "premcptooluse",
        "preruncommand", "prewritecode", "prereadcode",
    ),
    "result": (
        "posttooluse", "aftertool", "toolcallafter", "aftershellexecution", "aftermcpexecution", "postmcptooluse",
        "postruncommand", "postwritecode", "postreadcode", "posttoolcall",
    ),
    "failure": ("posttoolusefailure",),
    "reply": (
        "stop", "afteragent", "agentstop", "turnend", "afteragentresponse", "postcascaderesponse", "onsessionend",
    ),
    "subagent": ("subagentstart", "subagentstop", "subagentspawn", "subagentcomplete"),
    "compaction": ("precompact", "precompress"),
    "compacted": ("postcompact",),
    "notice": (
        "notification", "permissionrequest", "permissionresult", "permissiondenied", "stopfailure", "interrupt",
        "erroroccurred", "onerror", "modechange", "setup", "posttoolbatch", "userpromptqueued", "turnstarted",
        "taskstarted", "taskcreated", "taskcompleted", "sessionheartbeat", "cwdchanged", "instructionsloaded",
        "afteragentthought", "afterfileedit", "beforereadfile", "postsetupworktree",
        "postcascaderesponsewithtranscript", "todocreated", "todocompleted", "userpromptexpansion",
    ),
}  # fmt: skip
_KIND_OF = {name: kind for kind, names in _EVENTS.items() for name in names}
_ACTIONS = {
    "aftershellexecution": "shell", "beforeshellexecution": "shell", "postruncommand": "run_command",
    "preruncommand": "run_command", "postwritecode": "write_code", "prewritecode": "write_code",
    "postreadcode": "read_code", "prereadcode": "read_code",
}  # fmt: skip
"""The tool that an event is about, where it names none."""

EVENT = ("hook_event_name", "hookEventName", "agent_action_name", "event")
SESSION = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id", "sessionID")
CWD = ("cwd", "workspaceRoot", "workspace", "worktree_path", "working_dir")
MODEL = ("model", "model_name")
SOURCE = ("source", "trigger")
PROMPT_ID = ("prompt_id", "promptId", "message_id", "turn_id", "turnId", "generation_id", "execution_id")
PROMPT = ("submitted_prompt", "prompt", "user_prompt", "userPrompt", "text", "message")
REPLY = ("last_assistant_message", "lastAssistantMessage", "prompt_response", "response", "text")
CALL_ID = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "callID")
TOOL = ("tool_name", "toolName", "mcp_tool_name", "tool")
ARGUMENTS = ("tool_input", "toolInput", "tool_args", "toolArgs", "mcp_tool_arguments")
RESPONSE = (
    "tool_response",
    "toolResponse",
    "tool_output",
    "toolOutput",
    "toolResult",
    "result_json",
    "mcp_result",
    "output",
    "result",
)
_TEXTS = ("llmContent", "textResultForLlm", "content", "output", "stdout", "result", "text", "returnDisplay", "error")
_PLAIN = frozenset((
    *EVENT, *SESSION, *CWD, *MODEL, *PROMPT_ID, *CALL_ID, *TOOL, *RESPONSE, "timestamp", "transcript_path",
    "permission_mode", "workspace_roots", "matcher_context", "profile", "extra", "duration", "duration_ms",
    "cursor_version", "user_email", "hook_name", "error",
))  # fmt: skip
"""Fields around an action; the others are its arguments, where it has no field for them."""


def payload_of(value: Json) -> dict[str, Any]:
    """Return a payload with the fields that some agents nest in `tool_info` or `extra` beside the others."""
    payload = mapping(value)
    for nested in ("tool_info", "extra"):
        inner = payload.get(nested)
        payload = {**payload, **inner} if isinstance(inner, dict) else payload
    return payload


def event_of(payload: dict[str, Any]) -> str:
    """Return the event's name as the agent writes it, "" where it has none."""
    return first_text(payload, EVENT)


def kind_of(payload: dict[str, Any]) -> EventKind | None:
    """Return what a payload tells, None for an event that is not known."""
    return _KIND_OF.get(_folded(event_of(payload)))


def first_text(payload: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the first text among fields; parts of text as one text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and (joined := content_text(value)):
            return joined
    return ""


def cwd_of(payload: dict[str, Any]) -> str:
    """Return the folder that the agent works in."""
    roots = payload.get("workspace_roots")
    named = first_text(payload, CWD)
    return named or (text(roots[0]) if isinstance(roots, list) and roots else "")


def tool_of(payload: dict[str, Any]) -> str:
    """Return the tool's name, else what the event is about."""
    return first_text(payload, TOOL) or _ACTIONS.get(_folded(event_of(payload)), "")


def arguments_of(payload: dict[str, Any]) -> Json:
    """Return the arguments of an action, decoded where they are JSON in a text."""
    for name in ARGUMENTS:
        if name in payload:
            return _decoded(payload[name])
    return {name: value for name, value in payload.items() if name not in _PLAIN and name != "tool_info"}


def response_of(payload: dict[str, Any]) -> Json:
    """Return what a tool gave back, decoded where it is JSON in a text; None where the payload says nothing."""
    return next((_decoded(payload[name]) for name in RESPONSE if name in payload), None)


def response_text(response: Json) -> str:
    """Return the text of what a tool gave back."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return content_text(response)
    found = ""
    for name in _TEXTS:
        value = mapping(response).get(name)
        found = value if isinstance(value, str) else content_text(value) if isinstance(value, list) else ""
        if found:
            break
    errors = text(mapping(response).get("stderr"))
    return "\n".join(part for part in (found, errors) if part)


def _decoded(value: Json) -> Json:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return msgspec.json.decode(value)
    except (ValueError, RecursionError):
        return value


def _folded(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
