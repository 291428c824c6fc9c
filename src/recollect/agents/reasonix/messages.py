"""One message of Reasonix, in a line of a checkpoint or in an event.

Evidence: the agent's published type `provider.Message`.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.openai import data_url_part
from recollect.agents.kit.edits import edits_of, path_of
from recollect.agents.kit.naming import content_name, numbered
from recollect.agents.kit.reading import remember
from recollect.agents.kit.turns import decoded_arguments, give_call, give_result
from recollect.agents.reasonix.state import MAX_TURNS, Reading
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Lifecycle,
    Origin,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_LOCAL = "__reasonix_local_only__"
_NEVER_CAME = "[no result: the previous turn was interrupted"
_ROLES = frozenset(("system", "user", "assistant", "tool"))
_FIELDS = frozenset(
    "role origin content raw_content provider_content images reasoning_content reasoning_id reasoning_status "
    "reasoning_signature reasoning_state thinking_blocks tool_calls responses_items server_search tool_call_id name "
    "memoryCitations workDurationMs createdAt edited original local_only decision_receipt decision_receipts "
    "interrupted_turn final_readiness_recovery protocol_recovery tool_execution tool_run_state mcp_app "
    "vision_summary".split()
)
_CALL_FIELDS = frozenset(
    "write_intents id name arguments thought_signature diff added removed resolved_name capability_id "
    "resolved_read_only".split()
)
_EXECUTION_FIELDS = frozenset(
    "kind shell shellVersion platform supportsAndAnd state failurePhase exitCode outputTail mutationRisk verification "
    "durationMs".split()
)


def base_name(message: dict[str, Any]) -> str:
    """Return the name of a message made of what the model sees of it; what the agent notes beside changes later."""
    calls = [[c.get("id"), c.get("name"), c.get("arguments")] for c in map(mapping, items(message.get("tool_calls")))]
    said = (message.get("role"), message.get("content"), message.get("reasoning_content"), message.get("tool_call_id"))
    return f"m:{content_name(*said, calls)}"


def read_message(reading: Reading, message: dict[str, Any], *, is_known: bool = False) -> None:
    """Give a message. is_known: it was given before, only the memory is brought up to date."""
    name = numbered(reading, base_name(message))
    role = text(message.get("role"))
    if _is_human(message):
        reading.set(turns=remember(reading.now("turns"), name, MAX_TURNS))
        reading.set(befores=(*reading.now("befores"), reading.newest())[-MAX_TURNS:])
    if is_known:
        return
    reading.date(message.get("createdAt"), "createdAt")
    if role not in _ROLES:
        reading.unknown(text(message.get("type")) or role or "message", message, native_id=name)
        return
    if message.get("local_only") is True or message.get("tool_call_id") == _LOCAL:
        _read_local(reading, message, name)
    elif role == "system":
        reading.add(Instructions(_said(message), "system"), native_id=name)
    elif role == "user":
        _read_user(reading, message, name)
    elif role == "assistant":
        _read_assistant(reading, message, name)
    else:
        _read_tool(reading, message, name)
    _read_notes(reading, message, name)
    reading.extra(message, _FIELDS, "message", native_id=name)


def _is_human(message: dict[str, Any]) -> bool:
    origin = message.get("origin")
    return message.get("role") == "user" and message.get("local_only") is not True and origin in (None, "", "user")


def _said(message: dict[str, Any]) -> str:
    """Return a message's whole text: what the model gets may be cut short."""
    return text(message.get("raw_content")) or text(message.get("content")) or text(message.get("provider_content"))


def _read_user(reading: Reading, message: dict[str, Any], name: str) -> None:
    parts: list[Part] = []
    for image in reading.items(message, "images"):
        part, is_readable = data_url_part("image", text(image))
        parts.append(part)
        if not is_readable:
            reading.wrong("images", "bad_base64")
    origin: Origin = "human" if _is_human(message) else "injected"
    reading.add(UserMessage(_said(message), origin, tuple(parts)), "user", native_id=name)
    if message.get("original"):
        reading.add(Lifecycle("edited_prompt", text=text(message.get("original"))), native_id=f"{name}/original")
    summary = text(mapping(message.get("vision_summary")).get("summary"))
    if summary:
        reading.add(Lifecycle("vision_summary", text=summary), native_id=f"{name}/vision")


def _read_assistant(reading: Reading, message: dict[str, Any], name: str) -> None:
    thought = reading.text(message, "reasoning_content")
    blocks = [mapping(b) for b in items(message.get("thinking_blocks"))]
    thought = thought or "\n".join(t for t in (text(b.get("thinking")) for b in blocks) if t)
    if thought or message.get("reasoning_signature"):
        reading.add(Thinking(thought, is_encrypted=not thought), "assistant", native_id=f"{name}/thinking")
    said = _said(message)
    if said:
        reading.add(AssistantMessage(said), "assistant", native_id=name)
    for number, item in enumerate(reading.items(message, "tool_calls"), 1):
        call = mapping(item)
        where = f"{name}/{number}"
        tool = text(call.get("resolved_name")) or reading.text(call, "name")
        arguments = decoded_arguments(call.get("arguments"))
        made = ToolCall(reading.text(call, "id"), reading.text(call, "name"), canonical_tool(tool), arguments)
        give_call(reading, made, where, _edits(call, made))
        reading.extra(call, _CALL_FIELDS, "tool_call", native_id=where)


def _edits(call: dict[str, Any], made: ToolCall) -> tuple[FileEdit, ...]:
    """Return the edits of a call: what its arguments ask for, else the preview that the agent showed."""
    if made.canonical != "edit":
        return ()
    asked = edits_of(made.arguments)
    if any(edit.before is not None or edit.after is not None or edit.diff for edit in asked):
        return asked
    diff, path = text(call.get("diff")), path_of(made.arguments)
    return (FileEdit(path, diff=diff),) if diff and path else asked


def _read_tool(reading: Reading, message: dict[str, Any], name: str) -> None:
    said = _said(message)
    execution = reading.mapping(message, "tool_execution")
    exit_code = whole(execution.get("exitCode"))
    never_came = said.startswith(_NEVER_CAME)
    ok = False if never_came else None if exit_code is None else exit_code == 0
    call_id = reading.text(message, "tool_call_id")
    beside = {k: execution[k] for k in ("state", "failurePhase", "verification") if execution.get(k)}
    result = ToolResult(
        call_id,
        reading.text(message, "name"),
        ok,
        exit_code,
        said or text(execution.get("outputTail")),
        beside or None,
        whole(execution.get("durationMs")),
    )
    give_result(reading, result, name)
    if never_came:
        reading.add(Lifecycle("interrupted", text=said, call_id=call_id), native_id=f"{name}/interrupted")
    reading.extra(execution, _EXECUTION_FIELDS, "tool_execution", native_id=name)


def _read_local(reading: Reading, message: dict[str, Any], name: str) -> None:
    """Give what only the user saw: mostly an answer that was stopped."""
    words = "\n\n".join(t for t in (text(message.get("reasoning_content")), _said(message)) if t)
    kind = "interrupted" if message.get("interrupted_turn") else "local_note"
    if words or kind == "interrupted":
        detail = message.get("interrupted_turn")
        reading.add(Lifecycle(kind, text=words, detail=detail or None), native_id=name)


def _read_notes(reading: Reading, message: dict[str, Any], name: str) -> None:
    """Give decisions of the user, and what the agent found on the web or in its memory."""
    receipts = [mapping(message.get("decision_receipt")), *map(mapping, items(message.get("decision_receipts")))]
    for number, receipt in enumerate((r for r in receipts if r), 1):
        words = text(receipt.get("outcome"))
        reading.add(Lifecycle("permission", text=words, detail=receipt), native_id=f"{name}/decision/{number}")
    for field, kind in (("memoryCitations", "memory"), ("server_search", "web_search"), ("mcp_app", "mcp_app")):
        if message.get(field):
            reading.add(Lifecycle(kind, detail=message[field]), native_id=f"{name}/{kind}")
