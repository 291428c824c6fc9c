"""Log records: GenAI's own events, and those that agents log beside their transcripts.

The logs of Claude Code, Gemini CLI, Codex and others repeat what their transcripts say, mostly without the text. They
are told beside it: tokens that are not counted, and what happened.
"""

from __future__ import annotations

from recollect.agents.kit.access import mapping, text
from recollect.agents.otel import dialects
from recollect.agents.otel.messages import messages_of
from recollect.agents.otel.spans import DETAILS, MESSAGE_EVENTS, begin, error_text, tell_leaf, tell_message_event
from recollect.agents.otel.telling import Telling, tell_input
from recollect.agents.otel.usage import tell_usage
from recollect.agents.otel.wire import Note, shown
from recollect.model.payloads import Json, Lifecycle, Unknown
from recollect.model.text import flatten

VENDORS = ("claude_code.", "gemini_cli.", "qwen-code.", "codex.", "copilot_chat.", "github.copilot.")
_CLAUDE_NAMES = frozenset("user_prompt api_request api_error tool_result tool_decision api_request_body".split())
_REDACTED = frozenset(("<REDACTED>", "[REDACTED]", "REDACTED", "redacted"))
_OLD_COUNTS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_creation_tokens": "gen_ai.usage.cache_creation.input_tokens",
}
"""Claude Code's names; its input excludes cached tokens."""
_HAPPENED = {
    "api_request": "model_call", "api_response": "model_call", "sse_event": "model_call",
    "websocket_event": "model_call", "websocket_request": "model_call", "websocket_connect": "model_call",
    "api_error": "api_error", "api_retry": "retry", "api_retries_exhausted": "api_error", "network_retry": "retry",
    "content_retry": "retry", "content_retry_failure": "api_error", "invalid_chunk": "api_error",
    "malformed_json_response": "api_error", "api_request_body": "model_call", "api_response_body": "model_call",
    "tool_result": "tool_run", "tool_call": "tool_run", "tool.call": "tool_run", "tool_output_truncated": "tool_run",
    "tool_decision": "permission", "permission_mode_changed": "permission", "approval_mode_switch": "permission",
    "conversation_starts": "config", "config": "config", "cli_config": "config", "session.start": "config",
    "session_start": "config", "user_prompt": "user_prompt", "agent.turn": "turn_ended", "turn": "turn_ended",
    "conversation_finished": "turn_ended", "chat_compression": "compaction", "compaction": "compaction",
    "next_speaker_check": "next_speaker", "loop_detected": "loop_detected", "file_operation": "file_operation",
    "slash_command": "command", "model_routing": "model_routing", "flash_fallback": "model_fallback",
    "agent.start": "subagent", "agent.finish": "subagent", "extension_install": "extension",
    "plugin_installed": "extension", "skill_activated": "skill", "hook_execution_start": "hook",
    "hook_execution_complete": "hook", "hook_call": "hook", "mcp_server_connection": "mcp", "auth": "auth",
    "internal_error": "api_error", "at_mention": "mention", "ide_connection": "ide",
}  # fmt: skip
"""What vendors log, by the name behind the prefix, and what it is called here."""
_ERRORS = ("error", "error.message", "error_message", "error.type", "error_type")
_TOOLS = ("tool_name", "function_name", "gen_ai.tool.name")
_PROMPTS = ("prompt", "prompt_text")


def tell_log(telling: Telling) -> None:
    """Give a log record."""
    item = telling.item
    name = _name_of(telling)
    vendor = next((v for v in VENDORS if name.startswith(v)), "")
    if name == DETAILS:
        telling.says.setdefault(dialects.OPERATION, "chat")
        tell_leaf(telling)
    elif name in MESSAGE_EVENTS:
        says: dict[str, Json] = {k: v for k, v in telling.item.attributes.items() if not _is_beside(k)}
        says |= mapping(item.body) or ({"content": item.body} if item.body not in (None, "") else {})
        tell_message_event(telling, Note(name, item.start, says))
    elif vendor:
        _tell_vendor(telling, name.removeprefix(vendor), vendor)
    else:
        if name.startswith("gen_ai."):
            begin(telling)
            telling.drifted("type", f"log.{name}")
        said = flatten([item.body, shown(telling.says)])
        telling.add(Unknown(name or "log", said), "system", telling.key, item.start)


def _name_of(telling: Telling) -> str:
    """Return an event's name; Claude Code gives the short one as an attribute, and the whole one as the body."""
    name, body = telling.item.name, telling.item.body
    if "." not in name and isinstance(body, str) and body.startswith(VENDORS):
        return body
    if name in _CLAUDE_NAMES and text(telling.item.resource.get("service.name")).startswith("claude-code"):
        return f"claude_code.{name}"
    return name


def _is_beside(name: str) -> bool:
    return name.startswith(("gen_ai.", "event.", "session.", "user.", "server."))


def _tell_vendor(telling: Telling, short: str, vendor: str) -> None:
    item, says = telling.item, telling.says
    begin(telling)
    is_claude = vendor == "claude_code."
    if is_claude:
        for old, name in _OLD_COUNTS.items():
            if old in says:
                says.setdefault(name, says.pop(old))
    happened = _HAPPENED.get(short, "")
    prompt = next((text(says.get(name)) for name in _PROMPTS if text(says.get(name))), "")
    if short == "user_prompt" and prompt and prompt not in _REDACTED:
        tell_input(telling, messages_of(prompt, "user"), is_leaf=False, attribute="prompt")
    model = telling.text("model") or telling.text("gen_ai.request.model")
    tell_usage(telling, model, is_additive=False, excludes_cached=is_claude)
    if not happened:
        telling.drifted("type", f"log.{vendor}{short}")
        said = flatten([item.body, shown(says)])
        telling.add(Unknown(f"{vendor}{short}", said), "system", telling.key, item.start)
        return
    error = error_text(text(says.get(name)) for name in _ERRORS)
    tool = next((text(says.get(name)) for name in _TOOLS if text(says.get(name))), "")
    detail = {"event": f"{vendor}{short}", **shown({k: v for k, v in says.items() if k not in _NOT_SHOWN})}
    call_id = telling.text("gen_ai.tool.call.id") or telling.text("call_id") or telling.text("tool_use_id")
    happening = Lifecycle(happened, error_text((tool, error)), detail, call_id=call_id)
    if happened == "model_call" and model:
        happening = Lifecycle(happened, error_text((tool, error)), detail, model=model, call_id=call_id)
    telling.add(happening, "system", telling.key, item.start)


_NOT_SHOWN = frozenset((*_PROMPTS, dialects.CONVERSATION, "event.name", "event.timestamp", "user.email"))
"""Told by an event of its own, or nobody's business."""
