"""Parses the envelope of Copilot session events and selects the function for each type.

Evidence: format notes: GitHub Copilot CLI; recorded event streams of Copilot CLI 0.0.420 to 1.0.77 and of VS Code 1.109
to 1.119. The set of types is open: what is known to exist but says nothing of the conversation is a `lifecycle` event
named after its type, what is not known an `unknown` one.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit import copilot_session
from recollect.agents.kit import copilot_session as session
from recollect.agents.kit.adapter import Reading, read_odd, remember
from recollect.agents.kit.calls import edits_of, edits_of_patch, path_of
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import content_sha256
from recollect.agents.kit.values import Json, items, mapping, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.tools import canonical_tool

# The edits that a Copilot tool call makes, told from its arguments.
#
# The same tools have one set of names in the CLI (`path`, `old_str`) and another in VS Code (`filePath`, `oldString`).

_CREATES = frozenset(("create", "create_file", "write_file"))
_REPLACES = frozenset(("edit", "str_replace", "edit_file", "replace_string_in_file", "insert"))
_CODE = frozenset(("insert_edit_into_file", "edit_notebook_file"))


def arguments_of(value: Json) -> Json:
    """Return a call's arguments decoded: some builds write them as JSON text, custom tools as plain text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def edits_of_call(name: str, arguments: Json, call_id: str) -> tuple[kinds.FileEdit, ...]:
    """Return the edits that a call makes if it succeeds; none for tools that change no file by themselves."""
    return tuple(msgspec.structs.replace(e, call_id=call_id) for e in _edits(name.lower(), arguments))


def _edits(tool: str, arguments: Json) -> tuple[kinds.FileEdit, ...]:
    told = mapping(arguments)
    if tool == "apply_patch":
        patch = arguments if isinstance(arguments, str) else text(told.get("input")) or text(told.get("patch"))
        return edits_of_patch(patch)
    if tool == "str_replace_editor":
        tool = text(told.get("command"))
    if tool == "multi_replace_string_in_file":
        return tuple(edit for one in items(told.get("replacements")) for edit in edits_of(mapping(one)))
    if tool in _CREATES:
        return edits_of(told, "create")
    if tool in _REPLACES:
        return edits_of(told)
    if tool in _CODE and path_of(told):
        code = told.get("code", told.get("newCode"))
        return (kinds.FileEdit(path_of(told), after=code if isinstance(code, str) else None),)
    return ()


# Tool calls and their results in a stream of Copilot session events.
#
# A call is written twice, in the model's message and when it starts; the first sighting gives the event.

S = TypeVar("S", bound=copilot_session.CopilotState)

_EXIT = re.compile(r"(?:exited|completed) with (?:exit )?code:? (-?\d{1,9})\b|^exit code: (-?\d{1,9})\b", re.M)
_TAIL_CHARS = 300
"""The shell tool writes how a command ended at the end of its output."""
_FIELDS = known_fields("copilot")


def read_call(
    reading: Reading[S], request: dict[str, Any], *, message_id: str, session: str | None, is_start: bool = False
) -> None:
    """Emit a tool call, unless it was given already; the start of one adds which MCP server runs it."""
    call_id = reading.text(request, "toolCallId")
    name = reading.text(request, "toolName" if is_start else "name") or reading.text(request, "name")
    is_mcp = bool(text(request.get("mcpServerName")))
    known = copilot_session.call_named(reading.now("calls"), call_id)
    if known is not None and (not is_mcp or known.is_mcp):
        return
    arguments = arguments_of(request.get("arguments"))
    message_id = message_id or (known.message_id if known is not None else "")
    canonical = "mcp" if is_mcp else canonical_tool(name)
    payload = kinds.ToolCall(call_id, name, canonical, arguments, message_id)
    reading.add(payload, native_id=f"call:{call_id}" if call_id else None, session=session)
    call = copilot_session.Call(
        call_id,
        copilot_session.storable(name),
        copilot_session.storable(message_id),
        is_mcp,
        prompt=text(mapping(arguments).get("prompt")) if canonical == "task" else "",
        edits=edits_of_call(name, arguments, call_id),
    )
    reading.set(calls=copilot_session.with_call(reading.now("calls"), call))
    if not is_start:
        reading.extra(request, _FIELDS["request"], "toolRequest", native_id=f"call:{call_id}" if call_id else None)


def read_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a call whose start is its first record; also one that the user requested."""
    read_call(reading, data, message_id="", session=session, is_start=True)
    reading.extra(data, _FIELDS["start"], "tool.execution_start")


def read_complete(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a tool's result, and the edits of its call if it succeeded."""
    call_id = reading.text(data, "toolCallId")
    call = copilot_session.call_named(reading.now("calls"), call_id)
    name = call.name if call is not None else text(data.get("toolName"))
    result = data.get("result")
    found = {"content": result} if isinstance(result, str) else reading.mapping(data, "result")
    error = mapping(data.get("error"))
    body = _first(found, "content", "text_result_for_llm", "textResultForLlm") or text(error.get("message"))
    detailed = text(found.get("detailedContent"))
    body = body or detailed
    parts, exit_code, rest = _contents(reading, found)
    if exit_code is None and (not name or canonical_tool(name) == "shell"):
        exit_code = _exit_code(body, data)
    is_ok = _is_ok(reading, data, found, exit_code)
    edits = call.edits if call is not None and is_ok else ()
    structured = _structured(found, error, detailed if detailed not in body and not edits else "", rest)
    payload = kinds.ToolResult(
        call_id, name, is_ok, exit_code, body, structured, _duration(data) or _duration(found), tuple(parts)
    )
    reading.add(payload, native_id=f"result:{call_id}" if call_id else None, session=session)
    for i, edit in enumerate(edits):
        shown = edit
        if not edit.diff and edit.before is None and edit.after is None and len(edits) == 1:
            shown = msgspec.structs.replace(edit, diff=detailed)
        reading.add(shown, native_id=f"edit:{call_id}:{i}", session=session)
    reading.extra(data, _FIELDS["end"], "tool.execution_complete")
    reading.extra(found, _FIELDS["result"], "tool.execution_complete.result")


def _is_ok(reading: Reading[S], data: dict[str, Any], found: dict[str, Any], exit_code: int | None) -> bool | None:
    """A command that ran and failed is written with `success: true`: its exit code decides."""
    if exit_code not in (None, 0):
        return False
    success = data.get("success")
    if isinstance(success, bool):
        return success
    if success is not None:
        reading.wrong("success")
    written = _first(found, "result_type", "resultType")
    if written:
        return written == "success"
    return False if data.get("error") else None


def _exit_code(body: str, data: dict[str, Any]) -> int | None:
    telemetry = mapping(data.get("toolTelemetry"))
    for place in (mapping(telemetry.get("metrics")), mapping(telemetry.get("properties"))):
        for key in ("exitCode", "exit_code"):
            found = whole(place.get(key))
            if found is not None:
                return found
    ends = list(_EXIT.finditer(body[-_TAIL_CHARS:]))
    return int(ends[-1][1] or ends[-1][2]) if ends else None


def _contents(reading: Reading[S], found: dict[str, Any]) -> tuple[list[kinds.Part], int | None, list[Json]]:
    """Return the images, the exit code and anything else in the blocks of a result in its native form."""
    parts: list[kinds.Part] = []
    exit_code: int | None = None
    rest: list[Json] = []
    for block in items(found.get("contents")):
        one = mapping(block)
        kind = text(one.get("type"))
        if kind in ("image", "audio"):
            parts.append(
                reading.readable(base64_part(kind, text(one.get("mimeType")), one.get("data")), "result.contents.data")
            )
        elif kind in ("terminal", "shell_exit"):
            exit_code = whole(one.get("exitCode"))
        elif kind != "text":
            rest.append(without_opaque(block))
    return parts, exit_code, rest


def _structured(found: dict[str, Any], error: dict[str, Any], detailed: str, rest: list[Json]) -> Json:
    """Return what a result says beyond its text: a fuller form, an error code, blocks of other kinds."""
    told: dict[str, Json] = {}
    if detailed:
        told["detailedContent"] = detailed
    if error.get("code"):
        told["code"] = error["code"]
    if found.get("error"):
        told["error"] = found["error"]
    if rest:
        told["contents"] = rest
    return told or None


def _duration(data: dict[str, Any]) -> int | None:
    return whole(mapping(mapping(data.get("toolTelemetry")).get("metrics")).get("durationMs"))


def _first(found: dict[str, Any], *names: str) -> str:
    return next((v for v in map(found.get, names) if isinstance(v, str) and v), "")


# What the user, the model and the harness say in a stream of Copilot session events.

_SKILL = "<skill-context"
_MAX_TURNS = 512


def read_user(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a message in the user's role, and the context that was written around it.

    `content` is what the user typed, `transformedContent` what the model got.
    """
    said = reading.text(data, "content")
    origin = _origin(reading, data, said)
    parts = tuple(_attachments(reading, data))
    if session is None or not _is_told(reading, data, said):
        reading.add(kinds.UserMessage(said, origin, parts), session=session)
    sent = reading.text(data, "transformedContent")
    if sent and sent != said:
        reading.add(kinds.UserMessage(sent, "injected"), native_id=reading.below("context"), session=session)
    if origin != "injected" and session is None and reading.native_id:
        turn = copilot_session.Turn(
            copilot_session.storable(reading.native_id), reading.now("count"), reading.state.newest
        )
        reading.set(turns=(*reading.now("turns"), turn)[-_MAX_TURNS:])
    reading.extra(data, _FIELDS["user"], "user.message")


def _origin(reading: Reading[S], data: dict[str, Any], said: str) -> kinds.Origin:
    source = reading.text(data, "source")
    if said.lstrip().startswith(_SKILL) or source not in ("", "user", "human", "cli"):
        return "command" if source.startswith("command") else "injected"
    return "queued" if data.get("delivery") in ("queued", "steering") else "human"


def _is_told(reading: Reading[S], data: dict[str, Any], said: str) -> bool:
    """Say whether a subagent's first message repeats the task that its call already gave it."""
    parent = text(data.get("parentToolCallId"))
    return any(c.prompt == said and (not parent or c.call_id == parent) for c in reading.now("calls") if c.prompt)


def _attachments(reading: Reading[S], data: dict[str, Any]) -> list[kinds.Part]:
    parts: list[kinds.Part] = []
    for i, found in enumerate(reading.items(data, "attachments")):
        one = mapping(found)
        kind = text(one.get("type")) or "attachment"
        path = text(one.get("path")) or text(one.get("filePath")) or text(one.get("displayName"))
        media_type = text(one.get("mimeType"))
        if "data" in one:
            parts.append(reading.readable(base64_part(kind, media_type, one["data"], path=path), "attachments.data"))
        else:
            parts.append(kinds.Part(kind, media_type=media_type, path=path, url=text(one.get("url"))))
        if text(one.get("text")):
            reading.kept(f"attachment/{kind}", one["text"], native_id=reading.below(f"attachment/{i}"))
    return parts


def read_assistant(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a reply: the model's thoughts, text and calls, and the output tokens of this reply alone."""
    message_id = reading.text(data, "messageId")
    model = reading.text(data, "model") or ("" if session is not None else reading.now("model"))
    thought = reading.text(data, "reasoningText")
    if thought and content_sha256(thought) not in reading.now("reasonings"):
        reading.add(kinds.Thinking(thought, message_id), native_id=reading.below("thinking"), session=session)
    elif not thought and (data.get("reasoningOpaque") or data.get("encryptedContent")):
        reading.add(
            kinds.Thinking("", message_id, is_encrypted=True), native_id=reading.below("thinking"), session=session
        )
    said = reading.text(data, "content")
    reading.say(kinds.AssistantMessage(said, model, message_id=message_id), session=session)
    for request in reading.items(data, "toolRequests"):
        read_call(reading, mapping(request), message_id=message_id, session=session)
    output = reading.count(data, "outputTokens")
    if output:
        name = f"message:{message_id or reading.native_id or reading.index}"
        usage = kinds.TokenUsage(model, output_tokens=output, dedupe_key=name, is_additive=False)
        reading.add(usage, "assistant", native_id=reading.below("usage"), session=session)
    reading.extra(data, _FIELDS["assistant"], "assistant.message")


def read_reasoning(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit separate reasoning; its message will repeat it."""
    thought = reading.text(data, "content")
    if thought:
        reading.set(
            reasonings=remember(reading.now("reasonings"), content_sha256(thought), copilot_session.MAX_REASONINGS)
        )
    reading.add(kinds.Thinking(thought, reading.text(data, "reasoningId")), session=session)


def read_system(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    role = text(data.get("role")) or "system"
    reading.add(kinds.Instructions(reading.text(data, "content"), f"{role} message"), session=session)


def read_notification(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit what the harness told the model in the user's role: a background task ended, an agent is done."""
    reading.add(kinds.UserMessage(reading.text(data, "content"), "injected"), session=session)
    reading.note("notification", detail=data.get("kind"), native_id=reading.below("kind"), session=session)


def read_skill(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit the use of a skill, and its text as instructions."""
    rest = {k: v for k, v in data.items() if k not in ("content", "name") and v not in (None, "", [])}
    reading.add(kinds.Lifecycle("skill", text=text(data.get("name")), detail=rest or None), session=session)
    body = reading.text(data, "content")
    if body:
        source = text(data.get("path")) or text(data.get("name"))
        reading.add(kinds.Instructions(body, source), native_id=reading.below("content"), session=session)


Handler = Callable[[Reading[Any], dict[str, Any], str | None], None]

_HANDLERS: dict[str, Handler] = {
    "session.start": session.read_start,
    "session.resume": session.read_start,
    "session.model_change": session.read_model_change,
    "session.context_changed": session.read_context,
    "session.title_changed": session.read_title,
    "session.info": partial(session.read_notice, "info"),
    "session.warning": partial(session.read_notice, "warning"),
    "session.error": partial(session.read_notice, "error"),
    "session.truncation": session.read_truncation,
    "session.snapshot_rewind": session.read_rewind,
    "session.compaction_start": session.read_compaction_start,
    "session.compaction_complete": session.read_compaction,
    "session.context_cleared": session.read_cleared,
    "session.shutdown": session.read_shutdown,
    "user.message": read_user,
    "system.message": read_system,
    "system.notification": read_notification,
    "assistant.message": read_assistant,
    "assistant.reasoning": read_reasoning,
    "abort": session.read_abort,
    "tool.user_requested": read_start,
    "tool.execution_start": read_start,
    "tool.execution_complete": read_complete,
    "skill.invoked": read_skill,
    "subagent.started": session.read_subagent_start,
    "subagent.completed": partial(session.read_subagent, "completed"),
    "subagent.failed": partial(session.read_subagent, "failed"),
}
_NAMED = {
    "assistant.turn_start": "turn_started",
    "assistant.turn_end": "turn_ended",
    "session.mode_changed": "mode",
    "session.auto_mode_resolved": "model_routed",
    "session.task_complete": "task",
    "session.todos_changed": "todo",
    "session.plan_changed": "plan",
    "hook.start": "hook",
    "hook.end": "hook",
    "permission.requested": "permission",
    "permission.completed": "permission",
    "model.call_failure": "api_error",
}
"""Types that become a `lifecycle` event of a name of ours."""
_KNOWN = word_set("""
    session.usage_checkpoint session.handoff session.workspace_file_changed session.remote_steerable_changed
    session.idle session.usage_info session.schedule_created session.schedule_cancelled session.schedule_rearmed
    session.autopilot_objective_changed session.mode_notice_delivered session.session_limits_changed
    session.permissions_changed session.binary_asset session.tools_updated session.background_tasks_changed
    session.skills_loaded session.custom_agents_updated session.mcp_servers_loaded session.mcp_server_status_changed
    session.extensions_loaded session.custom_notification session.auto_mode_switch_requested
    session.auto_mode_switch_completed session.managed_settings_resolved session.limits_exhausted subagent.selected
    subagent.deselected subagent.configured hook.progress assistant.intent assistant.usage assistant.idle
    tool.execution_progress tool.execution_partial_result tool_search.activated user_input.requested
    user_input.completed elicitation.requested elicitation.completed sampling.requested sampling.completed
    mcp.oauth_required mcp.oauth_completed external_tool.requested external_tool.completed command.queued
    command.execute command.completed commands.changed capabilities.changed exit_plan_mode.requested
    exit_plan_mode.completed pending_messages.modified
""")
_KNOWN_PREFIXES = (
    "fusion_", "session.fusion_", "session.schedule_", "session.factory_run_", "session.canvas_", "session.mcp_",
    "assistant.fusion_", "schedule_", "factory_run_", "canvas_", "canvas.", "mcp_",
)  # fmt: skip
FINGERPRINT = frozenset((*_HANDLERS, "assistant.turn_start", "assistant.turn_end"))
"""Types by which a stream of these events is recognised."""


def read_event(reading: Reading[S], without: frozenset[str] = frozenset()) -> None:
    """Emit the events of one record. without: types that this agent's streams never hold."""
    value = reading.value
    if not isinstance(reading.record.value, dict):
        read_odd(reading)
        return
    reading.date(value.get("timestamp"))
    reading.native_id = text(value.get("id")) or None
    reading.parent_id = text(value.get("parentId")) or None
    kind = reading.text(value, "type")
    data = reading.mapping(value, "data")
    call_id = "" if kind.startswith("subagent.") else text(data.get("parentToolCallId"))
    agent = "" if kind.startswith("subagent.") else text(value.get("agentId"))
    child = session.child_session(reading, agent, call_id) or None
    handler = _HANDLERS.get(kind)
    if kind in without or (handler is None and not _is_known(kind)):
        reading.unknown(kind or "event")
    elif handler is not None:
        handler(reading, data, child)
    else:
        name = _NAMED.get(kind) or kind.replace(".", "_")
        call = text(data.get("toolCallId"))
        reading.add(kinds.Lifecycle(name, detail=without_opaque(data) or None, call_id=call), session=child)
    if not reading.events:  # the start of a call that the message told of, a message without words
        name = kind.replace(".", "_")
        reading.add(kinds.Lifecycle(name, call_id=text(data.get("toolCallId"))), session=child)
    reading.extra(value, _FIELDS["envelope"], "event")
    reading.set(count=reading.now("count") + 1)


def _is_known(kind: str) -> bool:
    return kind in _NAMED or kind in _KNOWN or kind.startswith(_KNOWN_PREFIXES)


def starts_stream(value: object) -> bool:
    """Say whether a decoded line is one of these events."""
    found = mapping(value)
    return (
        found.get("type") in FINGERPRINT
        if isinstance(found.get("type"), str) and isinstance(found.get("data"), dict) and "parentId" in found
        else False
    )
