"""Qwen Code: parses a record into events. Pure; never raises on content.

Evidence: format notes: Qwen Code, "Record", "Notes".
"""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit import google_chat
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.calls import Waiting, arrived, edits_asked, expect, file_edits
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.google_chat import read_logged_prompt, read_message
from recollect.agents.kit.names import content_sha256, is_storable, short_name
from recollect.agents.kit.values import Json, decoded_json, items, mapping, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.payloads import Lifecycle
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

MAX_METADATA = 32


class Metadata(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The newest metadata record of a subtype: the name its event has, and a hash of what it says."""

    subtype: str
    native_id: str
    content: str


class QwenState(google_chat.ChatState, frozen=True):
    """What the records so far said that later ones need."""

    parent: str = ""
    """Of a subagent: the session that started it."""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    title: str = ""
    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet, the newest at the end."""
    metadata: tuple[Metadata, ...] = ()


_HUMAN_SUBTYPES = ("", "user_text_elements", "realtime_message")
_HOOK_CONTEXT = "<qwen:"
_KNOWN = known_fields("qwen")
_COUNTS = (
    "promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "thoughtsTokenCount",
    "toolUsePromptTokenCount", "totalTokenCount",
)  # fmt: skip
_STATUSES = frozenset(("success", "error", "cancelled", "failed"))
_FAILED = ("error", "cancelled", "failed")


def read_user(reading: Reading[QwenState], subtype: str) -> None:
    """Emit a record in the user's role: a person's prompt, or what the harness put there."""
    value = reading.value
    pieces = _parts(reading)
    for response in pieces.responses:
        google_chat.read_response(reading, response)
    payload = reading.mapping(value, "systemPayload")
    said, added = _split(pieces, text(payload.get("displayText")))
    origin = _origin(reading, subtype, said)
    if said or pieces.media or not (added or pieces.responses or pieces.others):
        reading.add(kinds.UserMessage(said, origin, tuple(pieces.media)))
    reading.say(kinds.UserMessage(added, "injected"), native_id=reading.below("context"))
    task = reading.mapping(payload, "backgroundTask")
    reading.note("subagent", detail=task, call_id=text(task.get("toolUseId")), native_id=reading.below("task"))
    reading.extra(payload, _KNOWN["prompt"], "systemPayload")
    google_chat.read_others(reading, pieces)


def read_assistant(reading: Reading[QwenState]) -> None:
    """Emit one step of the model: its thoughts, its text, its calls, and what it cost."""
    value = reading.value
    model = reading.text(value, "model")
    message_id = text(value.get("uuid"))
    pieces = _parts(reading)
    for i, thought in enumerate(pieces.thoughts, 1):
        reading.add(kinds.Thinking(thought, message_id), native_id=reading.below(f"thinking/{i}"))
    if pieces.said or pieces.media:
        reading.add(kinds.AssistantMessage(pieces.said, model, "", message_id, tuple(pieces.media)))
    for call in pieces.calls:
        call_id, name = reading.text(call, "id"), reading.text(call, "name")
        arguments = call.get("args")
        native_id = f"call:{short_name(call_id)}" if call_id else reading.below(f"call/{content_sha256(call)}")
        reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments, message_id), native_id=native_id)
        expect(reading, call_id, name, edits_asked(name, arguments))
    for response in pieces.responses:
        google_chat.read_response(reading, response)
    google_chat.read_others(reading, pieces)
    reading.see(is_first_told=False, model=model)
    _read_usage(reading, model)


def read_result(reading: Reading[QwenState]) -> None:
    """Emit what tools gave back. What the agent says beyond the responses belongs to one of them."""
    value = reading.value
    pieces = _parts(reading)
    recorded = reading.mapping(value, "toolCallResult")
    named = text(recorded.get("callId"))
    responses: list[dict[str, Any]] = list(pieces.responses) or [{}]
    owner = next((r for r in responses if named and r.get("id") == named), responses[0])
    for response in responses:
        if response is owner:
            _read_recorded(reading, response, recorded)
        else:
            google_chat.read_response(reading, response)
    added = pieces.said
    if added:
        reading.add(kinds.UserMessage(added, "injected", tuple(pieces.media)), native_id=reading.below("context"))
    reading.extra(recorded, _KNOWN["result"], "toolCallResult")
    google_chat.read_others(reading, pieces)


def _split(pieces: google_chat.Pieces, shown: str) -> tuple[str, str]:
    """Return what was typed, and what the harness added to it: hook contexts and referenced files."""
    own, added = google_chat.split_references([t for t in pieces.texts if not t.lstrip().startswith(_HOOK_CONTEXT)])
    added += [t for t in pieces.texts if t.lstrip().startswith(_HOOK_CONTEXT)]
    said = "\n".join(own)
    if shown and shown != said:
        rest = said.replace(shown, "", 1).strip() if shown in said else said
        return shown, "\n".join(t for t in (rest, *added) if t)
    return said, "\n".join(t for t in added if t)


def _origin(reading: Reading[QwenState], subtype: str, said: str) -> kinds.Origin:
    """Say who wrote a record in the user's role: what the record says of it goes before what its text looks like."""
    provenance = reading.text(reading.value, "provenance")
    if subtype == "mid_turn_user_message":
        return "queued"
    if subtype == "agent_launch_prompt" and reading.state.role == "subagent":
        return "human"
    if subtype not in _HUMAN_SUBTYPES or provenance not in ("", "real_user"):
        return "injected"
    return "injected" if reading.value.get("externalInputKind") == "notification" else google_chat.origin_of(said)


def _parts(reading: Reading[QwenState]) -> google_chat.Pieces:
    message = reading.mapping(reading.value, "message")
    pieces = google_chat.read_content(message.get("parts", message.get("content")))
    if not pieces.is_readable:
        reading.wrong("message.parts.inlineData", "bad_base64")
    return pieces


def _read_recorded(reading: Reading[QwenState], response: dict[str, Any], recorded: dict[str, Any]) -> None:
    """Emit the result that `toolCallResult` speaks of; a response without an id is called after its record."""
    call_id = text(recorded.get("callId")) or text(response.get("id")) or text(reading.value.get("uuid"))
    call = arrived(reading, call_id)
    name = text(response.get("name")) or text(recorded.get("name")) or (call.name if call else "")
    said = google_chat.response_text(response) if response else ""
    error = recorded.get("error")
    display = recorded.get("resultDisplay")
    shown, beyond = google_chat.display_of(display, said)
    shell = google_chat.unwrap_shell(name, said)
    structured: Json = beyond
    if shell is not None:
        said = shell.output
        structured = {**shell.facts, **({} if beyond is None else {"display": beyond})} or None
    elif not said:
        said = shown or text(mapping(error).get("message")) or flatten(error)
        structured = None if shown else beyond
    exit_code = shell.exit_code if shell is not None else None
    ok = _ok(reading, response, recorded) and not exit_code
    kind = reading.text(recorded, "errorType")
    if kind:
        structured = {"error_type": kind, **({} if structured is None else {"display": structured})}
    short = short_name(call_id) if call_id else content_sha256(response)
    reading.add(
        kinds.ToolResult(
            call_id, name, ok, exit_code, said, structured, reading.whole(recorded, "durationMs"),
            tuple(google_chat.response_media(response)),
        ),
        native_id=f"result:{short}"
    )  # fmt: skip
    if ok:
        # Emit the edits that were applied: as shown, else as the call asked for them. The agent shortens what it
        # shows of a large file; then the call's own text is the better one.
        asked = file_edits(call) if call is not None else []
        edits = asked
        if google_chat.is_edit_display(display):
            applied = google_chat.edit_of("", {"file_path": asked[0].path} if asked else None, display, call_id)
            is_cut = mapping(display).get("truncatedForSession") is True and applied is not None and not applied.diff
            if applied is not None and not (is_cut and any(e.before or e.after for e in asked)):
                edits = [applied]
        short = short_name(call_id)
        for i, edit in enumerate(edits, 1):
            reading.add(edit, native_id=f"edit:{short}" if i == 1 else f"edit:{short}/{i}")


def _ok(reading: Reading[QwenState], response: dict[str, Any], recorded: dict[str, Any]) -> bool:
    status = reading.text(recorded, "status")
    reading.odd_value("toolCallResult.status", status, _STATUSES)
    if status:
        return status not in _FAILED
    return not recorded.get("error") and not google_chat.response_failed(response)


def _read_usage(reading: Reading[QwenState], model: str) -> None:
    """Emit the tokens of a step. Forks copy records with their ids, so the id names the response over all files."""
    tokens = reading.mapping(reading.value, "usageMetadata")
    if not tokens:
        return
    counts = google_chat.Counts(*(reading.count(tokens, name) for name in _COUNTS))
    key = text(reading.value.get("uuid"))
    if not key:
        key = f"{reading.state.session}:{hashlib.sha256(reading.record.raw).hexdigest()[:16]}"
    usage = google_chat.usage_of(counts, model, key, thoughts_are_apart=False)
    if usage is not None:
        reading.add(usage, "assistant", native_id=reading.below("usage"))
    reading.extra(tokens, _KNOWN["usage"], "usageMetadata")


# Records of type `system`, by subtype: what happened around the conversation.
#
# Metadata (title, model, mode …) are written again at the end of the file every 32 KB, as new records with the same
# content: these get the name that the first one had, so that they are one event.
# Evidence: format notes: Qwen Code, "system subtypes", "Notes"; QwenLM/qwen-code, ChatRecord.

_METADATA = word_set("""
    custom_title parent_session session_source session_model session_approval_mode session_notes
    session_execution_engine session_sources_snapshot session_artifact_snapshot attribution_snapshot
    file_history_snapshot goal_state
""")
_USER_SUBTYPES = word_set("notification cron mid_turn_user_message background_task_completed agent_launch_prompt")
_KEPT = word_set("""
    attribution_snapshot file_history_snapshot session_artifact_event session_artifact_snapshot session_sources_snapshot
    branch_checkpoint goal_state goal_runtime goal_turn_end realtime_message user_text_elements omni_recall agent_retry
    agent_session_ready session_source session_notes session_execution_engine managed_session_header_v1
    managed_session_event_v1 managed_session_commit_v1 background_task_completed notification cron mid_turn_user_message
    agent_launch_prompt
""")
_TURN_STATES = frozenset(("completed", "cancelled", "error"))
_TURN_TEXTS = frozenset(("promptText", "resultText"))
_SUMMARY_MARKS = ("<state_snapshot>", "<summary>", "summary of the conversation", "conversation summary")
_SUMMARY_WINDOW_CHARS = 400
_REPEATED = frozenset(("function_args", "prompt", "response_text"))
"""Fields of telemetry that say again what the conversation holds."""


def read_system(reading: Reading[QwenState], subtype: str) -> None:
    payload = reading.mapping(reading.value, "systemPayload")
    if subtype in _METADATA:
        _name_alike(reading, subtype, payload)
    if subtype in _USER_SUBTYPES and "message" in reading.value:
        read_user(reading, subtype)
        return
    read = _READERS.get(subtype)
    if read is not None:
        read(reading, payload)
    elif subtype in _KEPT:
        reading.kept(subtype, without_opaque(payload or reading.mapping(reading.value, "message")))
    elif "message" in reading.value and not subtype:
        said = google_chat.content_text(reading.mapping(reading.value, "message").get("parts"))
        reading.add(kinds.Instructions(said, "system"))
    else:
        reading.unknown(f"system/{subtype}" if subtype else "system")


def _name_alike(reading: Reading[QwenState], subtype: str, payload: dict[str, Any]) -> None:
    """Call a metadata record that says the same as the newest of its subtype by that one's name."""
    known: tuple[Metadata, ...] = reading.now("metadata")
    content = content_sha256(payload)
    before = next((m for m in known if m.subtype == subtype), None)
    if before is not None and before.content == content:
        reading.native_id = before.native_id
        return
    name = reading.native_id
    if name is not None and is_storable(name):
        others = tuple(m for m in known if m is not before)
        reading.set(metadata=(*others, Metadata(subtype, name, content))[-MAX_METADATA:])


def _read_compression(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Emit a compaction. The turns that it carries over repeat what stands above; only a summary is new."""
    info = reading.mapping(payload, "info")
    history = reading.items(payload, "compressedHistory")
    first = google_chat.content_text(mapping(history[0]).get("parts")) if history else ""
    is_summary = any(mark in first[:_SUMMARY_WINDOW_CHARS].lower() for mark in _SUMMARY_MARKS)
    reading.add(
        kinds.Compaction(
            trigger=text(info.get("triggerReason")),
            summary=first if is_summary else "",
            tokens_before=whole(info.get("originalTokenCount")),
            tokens_after=whole(info.get("newTokenCount")),
            continues_at=reading.native_id or "",
        )
    )


def _read_rewind(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Emit a rewind: the record hangs below the one where the session goes on. What it counts are rows on a screen."""
    target = text(payload.get("targetUuid")) or reading.parent_id or ""
    reading.add(kinds.Rewind(to_event=target))


def _read_command(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Emit a /command as it was typed, or its result."""
    command = reading.text(payload, "rawCommand")
    output = flatten(without_opaque(items(payload.get("outputHistoryItems"))))
    if payload.get("phase") == "invocation" and payload.get("hiddenInvocation") is not True:
        reading.add(kinds.UserMessage(command, "command"))
        reading.note("command_output", output, native_id=reading.below("output"))
        return
    reading.add(kinds.Lifecycle("command_output", text=output, detail={"command": command} if command else None))


def _read_references(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    files = [f for f in items(payload.get("filesRead")) if isinstance(f, str)]
    detail = {k: v for k, v in payload.items() if k not in ("message", "filesRead") and v}
    said = "\n".join(t for t in (text(payload.get("message")), *files) if t)
    reading.add(kinds.Lifecycle("at_command", text=said, detail=detail or None))


def _read_telemetry(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Emit an error of the model's API or what else was measured; its token counts repeat those of the records."""
    event = reading.mapping(payload, "uiEvent")
    name = text(event.get("event.name")) or text(event.get("name"))
    detail = {k: v for k, v in event.items() if k not in _REPEATED and v not in (None, "", [], {})}
    is_error = name.endswith("api_error")
    said = text(event.get("error_message")) or text(event.get("error")) if is_error else ""
    reading.add(kinds.Lifecycle("api_error" if is_error else "telemetry", text=said or name, detail=detail or None))


def _read_title(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    title = reading.text(payload, "customTitle")
    source = text(payload.get("titleSource"))
    reading.add(kinds.Lifecycle("title", text=title, title=title, detail={"source": source} if source else None))


def _read_model(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    model = reading.text(payload, "modelId")
    detail = {k: v for k, v in payload.items() if k in ("authType", "isRuntime") and v}
    reading.add(kinds.Lifecycle("model", text=model, model=model, detail=detail or None))
    if model and is_storable(model):
        reading.set(model=model)


def _read_turn(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Emit how a turn ended; what was asked and answered stands above."""
    state = reading.text(payload, "state")
    reading.odd_value("turn_result.state", state, _TURN_STATES)
    error = text(reading.mapping(payload, "error").get("message"))
    name = {"cancelled": "interrupted", "error": "api_error"}.get(state, "turn_ended")
    detail = {k: v for k, v in payload.items() if k not in _TURN_TEXTS and v not in (None, "")}
    reading.add(kinds.Lifecycle(name, text=error or text(payload.get("stopReason")), detail=detail or None))


def _read_bootstrap(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Emit the instructions a subagent was started with, and that it inherited a history; which is its parent's."""
    instruction = payload.get("systemInstruction")
    said = (
        google_chat.content_text(mapping(instruction).get("parts"))
        if isinstance(instruction, dict)
        else text(instruction)
    )
    reading.say(kinds.Instructions(said, "agent_bootstrap"))
    history = items(payload.get("history"))
    reading.add(
        kinds.Lifecycle("agent_bootstrap", text=text(payload.get("kind")), detail={"turns": len(history)}),
        native_id=reading.below("bootstrap"),
    )


_READERS: dict[str, Callable[[Reading[QwenState], dict[str, Any]], None]] = {
    "chat_compression": _read_compression,
    "rewind": _read_rewind,
    "slash_command": _read_command,
    "at_command": _read_references,
    "ui_telemetry": _read_telemetry,
    "custom_title": _read_title,
    "parent_session": lambda reading, payload: reading.add(
        kinds.SessionStart(parent_session=reading.text(payload, "parentSessionId"))
    ),
    "session_model": _read_model,
    "session_approval_mode": lambda reading, payload: reading.add(
        kinds.Lifecycle("mode", text=reading.text(payload, "mode"), detail=payload or None)
    ),
    "agent_bootstrap": _read_bootstrap,
    "turn_result": _read_turn,
}


TYPES = frozenset(("user", "assistant", "tool_result", "system"))
_SESSION_ID = re.compile(rb'(?<!\\)"sessionId"\s*:\s*"((?:[^"\\]|\\.){1,200})"')
_AGENT_ID = re.compile(rb'(?<!\\)"agentId"\s*:\s*"((?:[^"\\]|\\.){1,200})"')
_ENVELOPE = (b'"parentUuid"', b'"sessionId"', b'"timestamp"')
_PARTS = (b'"systemPayload"', b'"parts"')
_SNAPSHOT = (b'"projectHash"', b'"sessionId"', b'"messages"')
_REPLY = re.compile(rb'(?<!\\)"type"\s*:\s*"qwen"')
"""What tells Qwen's documents of old from Gemini's, which are the same otherwise."""
_MAX_LINES = 50
_first_of = json.JSONDecoder().raw_decode


def parent_of(info: SourceInfo) -> str:
    """Return the session whose folder a subagent's file lies in."""
    steps = info.path.split("/")
    is_below = info.role in ("subagent", "subagent_meta") and len(steps) > 2 and steps[-3] == "subagents"
    return steps[-2] if is_below else ""


def _first_value(line: bytes) -> Any:
    """Return the first of the values that a line holds: a real writer has glued records together."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return _first_of(line.decode("utf-8"))[0]


def _is_record(value: dict[str, Any]) -> bool:
    if text(value.get("type")) not in TYPES or not isinstance(value.get("sessionId"), str) or "timestamp" not in value:
        return False
    if isinstance(value.get("systemPayload"), dict) and "uuid" in value:
        return True
    parts = items(mapping(value.get("message")).get("parts"))
    return bool(parts) and all(isinstance(part, dict) for part in parts)


def _is_subagent_name(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith("agent-")


def _found(pattern: re.Pattern[bytes], data: bytes) -> str:
    found = pattern.search(data)
    if found is None:
        return ""
    return text(decoded_json(b'"' + found[1] + b'"')).strip()


_PROVENANCES = frozenset(("real_user", "assistant_output", "tool_result", "goal_control", "goal_runtime", "system"))


class QwenAdapter(KitAdapter[QwenState], slug="qwen"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a file told by its content, None for what Qwen Code didn't write."""
        for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
            if line.lstrip()[:1] != b"{":
                continue
            try:
                value = _first_value(line)
            except (ValueError, RecursionError):
                if len(line) == len(head) and all(key in line for key in _ENVELOPE) and any(k in line for k in _PARTS):
                    is_subagent = b'"agentId"' in line and b'"isSidechain":true' in line.replace(b" ", b"")
                    return "subagent" if is_subagent or _is_subagent_name(path) else "transcript"
                continue
            if isinstance(value, dict) and _is_record(value):
                is_subagent = value.get("isSidechain") is True and bool(value.get("agentId"))
                return "subagent" if is_subagent or _is_subagent_name(path) else "transcript"
        is_snapshot = head.lstrip()[:1] == b"{" and _REPLY.search(head) and all(key in head for key in _SNAPSHOT)
        return "chat_json" if is_snapshot else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the native id of the session a source belongs to."""
        line = head.lstrip().partition(b"\n")[0]
        if info.role in ("subagent", "subagent_meta"):
            stem = info.stem.removesuffix(".meta")
            name = stem if stem.startswith("agent-") else f"agent-{_found(_AGENT_ID, line) or stem}"
            return f"{parent_of(info) or _found(_SESSION_ID, line) or 'unknown'}/{name}"
        if info.role == "prompts":
            steps = info.path.split("/")
            return f"prompts/{steps[-2]}" if len(steps) > 1 else "prompts"
        if info.role == "chat_json":
            return _found(_SESSION_ID, head) or info.stem or first_line_name(head)
        is_in_place = info.path.split("/")[-2:-1] == ["chats"]
        named = "" if is_in_place else _found(_SESSION_ID, line)
        return named or info.stem or first_line_name(head)

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"parent": parent_of(info)[:MAX_NAME_CHARS]}

    def read(self, reading: Reading[QwenState]) -> None:
        value, role = reading.record.value, reading.state.role
        if not isinstance(value, dict):
            read_odd(reading)
        elif role == "prompts":
            read_logged_prompt(reading)
        elif role == "subagent_meta":
            _read_meta(reading)
        elif role == "chat_json":
            _read_snapshot(reading, value)
        else:
            _read_record(reading)


def _read_record(reading: Reading[QwenState]) -> None:
    value = reading.value
    uuid = reading.text(value, "uuid")
    reading.native_id = short_name(uuid) if uuid else None
    parent = reading.text(value, "parentUuid")
    reading.parent_id = short_name(parent) if parent else None
    reading.is_sidechain = value.get("isSidechain") is True and reading.state.role != "subagent"
    reading.date(value.get("timestamp"))
    kind, subtype = reading.text(value, "type"), reading.text(value, "subtype")
    if kind in TYPES:
        _see_place(reading)
    name = reading.native_id
    if kind == "user":
        read_user(reading, subtype)
    elif kind == "assistant":
        read_assistant(reading)
    elif kind == "tool_result":
        read_result(reading)
    elif kind == "system":
        read_system(reading, subtype)
    else:
        reading.unknown(kind or "record")
        return
    reading.native_id = name
    reading.odd_value(f"{kind}.provenance", value.get("provenance"), _PROVENANCES)
    reading.extra(value, _KNOWN["record"], kind)


def _see_place(reading: Reading[QwenState]) -> None:
    """Emit the session's start at the first record, later each change of folder or branch."""
    value = reading.value
    cwd, branch = reading.text(value, "cwd"), reading.text(value, "gitBranch")
    is_first, state = not reading.now("is_started"), reading.state
    if is_first:
        reading.set(is_started=True)
        forked = reading.mapping(value, "forkedFrom")
        is_subagent = state.role == "subagent"
        reading.start(
            **reading.told(value, model="model", tool_version="version"),
            cwd=cwd,
            git_branch=branch,
            forked_from=text(forked.get("sessionId")),
            parent_session=(state.parent or text(value.get("sessionId"))) if is_subagent else "",
            agent_name=text(value.get("agentName")) or (text(value.get("agentId")) if is_subagent else ""),
        )
    reading.see(is_first_told=not is_first, cwd=cwd, branch=branch)


def _read_meta(reading: Reading[QwenState]) -> None:
    """Emit what stands beside a subagent's transcript: who started it, what it is, and how it ended."""
    value = reading.value
    reading.date(value.get("createdAt"), "createdAt")
    parent = reading.text(value, "parentSessionId")
    above = reading.text(value, "parentAgentId")
    reading.start(
        **reading.told(value, model="model", agent_name="subagentName agentType"),
        parent_session=f"{parent}/agent-{above}" if parent and above else parent,
        native_id="meta",
    )
    title = reading.text(value, "description")
    reading.note("title", title, title=title, native_id="meta/title")
    reading.date(value.get("lastUpdatedAt"), "lastUpdatedAt")
    detail = {k: value[k] for k in ("status", "lastError", "isolation", "resumeCount", "depth") if value.get(k)}
    call_id = reading.text(value, "toolUseId")
    reading.add(
        Lifecycle("subagent", text=text(value.get("status")), detail=detail or None, call_id=call_id),
        native_id="meta/status",
    )
    reading.extra(value, _KNOWN["meta"], "meta", native_id="meta")


def _read_snapshot(reading: Reading[QwenState], value: dict[str, Any]) -> None:
    """Emit a record of the first generation: a message, or the members around the messages."""
    if reading.at == "messages":
        read_message(reading, value)
        return
    reading.date(value.get("startTime"), "startTime")
    half = "trailer" if reading.now("is_started") else "start"
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.start()
        if value.get("projectHash"):
            detail = {"project_hash": reading.text(value, "projectHash")}
            reading.add(Lifecycle("project", detail=detail), native_id="project")
    title = reading.text(value, "summary")
    reading.note("title", title, title=title, native_id="title")
    for message in reading.items(value, "messages"):
        read_message(reading, mapping(message))
    reading.extra(value, _KNOWN["snapshot"], "header", native_id=half)
