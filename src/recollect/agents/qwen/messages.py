"""The conversation: what people and the harness wrote, what the model said and asked for, and what came back.

Evidence: format notes: Qwen Code, "Record", "Notes".
"""

from __future__ import annotations

import hashlib
from typing import Any

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.calls import Waiting, arrived, expect, file_edits
from recollect.agents.kit.content.google.chat import origin_of, read_response, split_references
from recollect.agents.kit.content.google.parts import (
    Counts,
    Pieces,
    display_of,
    edit_of,
    is_edit_display,
    read_content,
    response_failed,
    response_media,
    response_text,
    unwrap_shell,
    usage_of,
)
from recollect.agents.kit.edits import edits_asked
from recollect.agents.kit.naming import content_sha256, is_storable, short_name
from recollect.agents.kit.reading import Reading
from recollect.agents.qwen.state import QwenState
from recollect.model.payloads import (
    AssistantMessage,
    Json,
    Lifecycle,
    Origin,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_HUMAN_SUBTYPES = ("", "user_text_elements", "realtime_message")
_HOOK_CONTEXT = "<qwen:"
_USAGE_FIELDS = frozenset(
    (
        "promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "thoughtsTokenCount",
        "toolUsePromptTokenCount", "totalTokenCount", "promptTokensDetails", "cacheTokensDetails",
        "candidatesTokensDetails", "toolUsePromptTokensDetails", "trafficType",
    )
)  # fmt: skip
_COUNTS = (
    "promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "thoughtsTokenCount",
    "toolUsePromptTokenCount", "totalTokenCount",
)  # fmt: skip
_RESULT_FIELDS = frozenset(
    (
        "callId", "status", "resultDisplay", "error", "errorType", "durationMs", "responseParts", "contentLength",
        "displayName", "name",
    )
)  # fmt: skip
_PROMPT_FIELDS = frozenset(
    ("displayText", "hookContext", "inputAnnotations", "attachmentReferences", "resourceLinks", "backgroundTask")
)
_STATUSES = frozenset(("success", "error", "cancelled", "failed"))
_FAILED = ("error", "cancelled", "failed")


def read_user(reading: Reading[QwenState], subtype: str) -> None:
    """Give a record in the user's role: a person's prompt, or what the harness put there."""
    value = reading.value
    pieces = _parts(reading)
    for response in pieces.responses:
        read_response(reading, response)
    payload = reading.mapping(value, "systemPayload")
    said, added = _split(pieces, text(payload.get("displayText")))
    origin = _origin(reading, subtype, said)
    if said or pieces.media or not (added or pieces.responses or pieces.others):
        reading.add(UserMessage(said, origin, tuple(pieces.media)), "user")
    if added:
        reading.add(UserMessage(added, "injected"), "user", native_id=_below(reading, "context"))
    task = reading.mapping(payload, "backgroundTask")
    if task:
        reading.add(
            Lifecycle("subagent", detail=task, call_id=text(task.get("toolUseId"))), native_id=_below(reading, "task")
        )
    reading.extra(payload, _PROMPT_FIELDS, "systemPayload")
    _read_others(reading, pieces)


def read_assistant(reading: Reading[QwenState]) -> None:
    """Give one step of the model: its thoughts, its text, its calls, and what it cost."""
    value = reading.value
    model = reading.text(value, "model")
    message_id = text(value.get("uuid"))
    pieces = _parts(reading)
    for i, thought in enumerate(pieces.thoughts, 1):
        reading.add(Thinking(thought, message_id), "assistant", native_id=_below(reading, f"thinking/{i}"))
    if pieces.said or pieces.media:
        reading.add(AssistantMessage(pieces.said, model, "", message_id, tuple(pieces.media)), "assistant")
    for call in pieces.calls:
        _read_call(reading, call, message_id)
    for response in pieces.responses:
        read_response(reading, response)
    _read_others(reading, pieces)
    _see_model(reading, model)
    _read_usage(reading, model)


def read_result(reading: Reading[QwenState]) -> None:
    """Give what tools gave back. What the agent says beyond the responses belongs to one of them."""
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
            read_response(reading, response)
    added = pieces.said
    if added:
        reading.add(UserMessage(added, "injected", tuple(pieces.media)), "user", native_id=_below(reading, "context"))
    reading.extra(recorded, _RESULT_FIELDS, "toolCallResult")
    _read_others(reading, pieces)


def _split(pieces: Pieces, shown: str) -> tuple[str, str]:
    """Return what was typed, and what the harness added to it: hook contexts and referenced files."""
    own, added = split_references([t for t in pieces.texts if not t.lstrip().startswith(_HOOK_CONTEXT)])
    added += [t for t in pieces.texts if t.lstrip().startswith(_HOOK_CONTEXT)]
    said = "\n".join(own)
    if shown and shown != said:
        rest = said.replace(shown, "", 1).strip() if shown in said else said
        return shown, "\n".join(t for t in (rest, *added) if t)
    return said, "\n".join(t for t in added if t)


def _origin(reading: Reading[QwenState], subtype: str, said: str) -> Origin:
    """Say who wrote a record in the user's role: what the record says of it goes before what its text looks like."""
    provenance = reading.text(reading.value, "provenance")
    if subtype == "mid_turn_user_message":
        return "queued"
    if subtype == "agent_launch_prompt" and reading.state.role == "subagent":
        return "human"
    if subtype not in _HUMAN_SUBTYPES or provenance not in ("", "real_user"):
        return "injected"
    return "injected" if reading.value.get("externalInputKind") == "notification" else origin_of(said)


def _parts(reading: Reading[QwenState]) -> Pieces:
    message = reading.mapping(reading.value, "message")
    pieces = read_content(message.get("parts", message.get("content")))
    if not pieces.is_readable:
        reading.wrong("message.parts.inlineData", "bad_base64")
    return pieces


def _read_call(reading: Reading[QwenState], call: dict[str, Any], message_id: str) -> None:
    call_id, name = reading.text(call, "id"), reading.text(call, "name")
    arguments = call.get("args")
    native_id = f"call:{short_name(call_id)}" if call_id else _below(reading, f"call/{content_sha256(call)}")
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments, message_id), "assistant", native_id=native_id)
    expect(reading, call_id, name, edits_asked(name, arguments))


def _read_recorded(reading: Reading[QwenState], response: dict[str, Any], recorded: dict[str, Any]) -> None:
    """Give the result that `toolCallResult` speaks of; a response without an id is called after its record."""
    call_id = text(recorded.get("callId")) or text(response.get("id")) or text(reading.value.get("uuid"))
    call = arrived(reading, call_id)
    name = text(response.get("name")) or text(recorded.get("name")) or (call.name if call else "")
    said = response_text(response) if response else ""
    error = recorded.get("error")
    display = recorded.get("resultDisplay")
    shown, beyond = display_of(display, said)
    shell = unwrap_shell(name, said)
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
        ToolResult(
            call_id, name, ok, exit_code, said, structured, reading.whole(recorded, "durationMs"),
            tuple(response_media(response)),
        ),
        "tool",
        native_id=f"result:{short}",
    )  # fmt: skip
    if ok:
        _read_edit(reading, call, display, call_id=call_id)


def _ok(reading: Reading[QwenState], response: dict[str, Any], recorded: dict[str, Any]) -> bool:
    status = reading.text(recorded, "status")
    reading.odd_value("toolCallResult.status", status, _STATUSES)
    if status:
        return status not in _FAILED
    return not recorded.get("error") and not response_failed(response)


def _read_edit(reading: Reading[QwenState], call: Waiting | None, display: Json, *, call_id: str) -> None:
    """Give the edits that were applied: as shown, else as the call asked for them.

    The agent shortens what it shows of a large file; then the call's own text is the better one.
    """
    asked = file_edits(call) if call is not None else []
    edits = asked
    if is_edit_display(display):
        shown = edit_of("", {"file_path": asked[0].path} if asked else None, display, call_id)
        is_cut = mapping(display).get("truncatedForSession") is True and shown is not None and not shown.diff
        if shown is not None and not (is_cut and any(e.before or e.after for e in asked)):
            edits = [shown]
    short = short_name(call_id)
    for i, edit in enumerate(edits, 1):
        reading.add(edit, "tool", native_id=f"edit:{short}" if i == 1 else f"edit:{short}/{i}")


def _read_usage(reading: Reading[QwenState], model: str) -> None:
    """Give the tokens of a step. Forks copy records with their ids, so the id names the response over all files."""
    tokens = reading.mapping(reading.value, "usageMetadata")
    if not tokens:
        return
    counts = Counts(*(reading.count(tokens, name) for name in _COUNTS))
    key = text(reading.value.get("uuid"))
    if not key:
        key = f"{reading.state.session}:{hashlib.sha256(reading.record.raw).hexdigest()[:16]}"
    usage = usage_of(counts, model, key, thoughts_are_apart=False)
    if usage is not None:
        reading.add(usage, "assistant", native_id=_below(reading, "usage"))
    reading.extra(tokens, _USAGE_FIELDS, "usageMetadata")


def _see_model(reading: Reading[QwenState], model: str) -> None:
    before = reading.now("model")
    if not model or not is_storable(model):
        return
    if before and before != model:
        reading.add(Lifecycle("model", model=model), native_id=_below(reading, "model"))
    reading.set(model=model)


def _read_others(reading: Reading[QwenState], pieces: Pieces) -> None:
    for i, other in enumerate(pieces.others, 1):
        kind = next((k for k in mapping(other) if k not in ("thought", "thoughtSignature")), "part")
        reading.unknown(kind, other, native_id=_below(reading, f"part/{i}"))


def _below(reading: Reading[QwenState], name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None
