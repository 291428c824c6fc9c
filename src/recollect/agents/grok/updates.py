"""Parses the envelope of an update line and selects the function for its kind.

The set of kinds is open. Those around the conversation become lifecycle events with all that they say; unknown ones
are kept and counted. Evidence: format notes: Grok Build, section 3.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.grok.turns import (
    MAX_OPEN,
    MAX_OUTPUT_CHARS,
    Open,
    Reading,
    hear,
    read_checkpoint,
    read_compaction_end,
    read_compaction_start,
    read_content,
    read_rewind,
    read_subagent_end,
    read_subagent_start,
    read_turn_end,
    settle,
)
from recollect.agents.kit.adapter import MAX_NAME_CHARS
from recollect.agents.kit.calls import edits_asked, with_call
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.names import content_sha256, is_encodable, is_storable, short
from recollect.agents.kit.values import mapping, text, whole, word_set
from recollect.model.payloads import FileEdit, Json, Lifecycle, Part, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Tool calls of the update stream: `tool_call`, and the updates that fill it in, run it and end it.
#
# An update says only what changed: a completed call without content keeps the output that came before, so a call that
# runs is remembered with its output and its diffs. An edit is given when its call completed, never when it was
# proposed. Evidence: format notes: Grok Build, section 3; the Agent Client Protocol.

STATUSES = frozenset(("pending", "in_progress", "completed", "failed"))
_FIELDS = known_fields("grok")
_OUTPUT_KEYS = ("output", "stdout", "text", "content", "result", "message")
_EXIT_KEYS = ("exit_code", "exitCode")
_MAX_KNOWN = 32
_DEPTH = 3
_SHORT_CHARS = 60


def canonical_of(name: str, arguments: object) -> str:
    """Return the canonical name of a tool; `use_tool` calls a tool of another server by its name."""
    if name == "use_tool":
        inner = canonical_tool(text(mapping(arguments).get("tool_name")))
        return "mcp" if inner == "other" else inner
    return canonical_tool(name)


def give_call(reading: Reading, call_id: str, name: str, arguments: Json) -> None:
    """Emit a call and remember it until it ends."""
    native_id = f"call:{call_id}" if call_id else None
    reading.add(ToolCall(call_id, name, canonical_of(name, arguments), arguments), native_id=native_id)
    if native_id is not None and is_storable(call_id):
        reading.set(last=native_id)
    remembered = with_call((), call_id, name, edits_asked(name, arguments))
    if remembered:
        known = tuple(_marks(arguments))[:_MAX_KNOWN]
        others = [o for o in reading.now("open") if o.call.call_id != call_id]
        reading.set(open=(*others, Open(remembered[0], known))[-MAX_OPEN:])


def close_call(reading: Reading, call_id: str) -> Open | None:
    """Return a call that ended, as far as it was remembered."""
    waiting: tuple[Open, ...] = reading.now("open")
    found = next((o for o in waiting if o.call.call_id == call_id), None)
    if found is not None:
        reading.set(open=tuple(o for o in waiting if o is not found))
    return found


def read_call(reading: Reading, update: dict[str, Any]) -> None:
    """Emit a new call; one that is written as ended already has its result too."""
    reading.extra(update, _FIELDS["updates_record"], "tool_call")
    _begin(reading, update)
    _go_on(reading, update)


def read_call_update(reading: Reading, update: dict[str, Any]) -> None:
    """Emit what an update adds to a call: late arguments, output so far, or its end."""
    reading.extra(update, _FIELDS["updates_record"], "tool_call_update")
    call_id = reading.text(update, "toolCallId")
    arguments = update.get("rawInput")
    known = _open(reading, call_id)
    if known is None:
        if arguments not in (None, {}, ""):
            _begin(reading, update)
    elif isinstance(arguments, dict) and arguments:
        if not known.known:
            give_call(reading, call_id, known.call.name, arguments)
        else:
            # Give those arguments of an update that the call did not have: the agent writes its own reading of them.
            new = {
                k: v for k, v in arguments.items() if k != "variant" and _mark(v) not in known.known and v is not None
            }
            if new:
                marks = (*known.known, *(_mark(v) for v in new.values()))[:_MAX_KNOWN]
                _replace(reading, known, msgspec.structs.replace(known, known=marks))
                reading.kept("tool_input", new)
    _go_on(reading, update)


def _begin(reading: Reading, update: dict[str, Any]) -> None:
    tool = mapping(mapping(update.get("_meta")).get("x.ai/tool"))
    name = text(tool.get("name")) or text(update.get("name")) or reading.text(update, "title")
    kind = reading.text(update, "kind")
    arguments = update.get("rawInput")
    if arguments is None and isinstance(update.get("locations"), list) and update["locations"]:
        arguments = {"locations": update["locations"]}
    give_call(reading, reading.text(update, "toolCallId"), name or kind, arguments)


def _go_on(reading: Reading, update: dict[str, Any]) -> None:
    call_id = reading.text(update, "toolCallId")
    status = reading.text(update, "status")
    reading.odd_value("tool_call.status", status, STATUSES)
    said, parts, diffs = _read_contents(reading, update)
    raw = update.get("rawOutput")
    if status in ("completed", "failed"):
        _end(reading, update, (said, parts, diffs), is_ok=status == "completed")
        return
    known = _open(reading, call_id)
    if diffs:
        known = _with_diffs(reading, known, call_id, diffs)
    if not (said or parts or raw not in (None, "", {}, [])):
        return
    shown, structured, exit_code = _output(said, raw)
    result = ToolResult(call_id, known.call.name if known else "", None, exit_code, shown, structured, parts=parts)
    reading.add(result, native_id=f"result:{call_id}" if call_id else None)
    if known is not None:
        is_long = len(shown) > MAX_OUTPUT_CHARS or not is_storable(shown[:1]) or not is_encodable(shown)
        kept = "" if is_long else shown
        _replace(reading, known, msgspec.structs.replace(known, output=kept, is_long=is_long))


def _end(
    reading: Reading, update: dict[str, Any], contents: tuple[str, tuple[Part, ...], list[FileEdit]], *, is_ok: bool
) -> None:
    said, parts, diffs = contents
    call_id = reading.text(update, "toolCallId")
    known = close_call(reading, call_id)
    shown, structured, exit_code = _output(said, update.get("rawOutput"))
    native_id = f"result:{call_id}" if call_id else None
    if not shown and not parts and known is not None:
        shown = known.output
        if known.is_long and native_id is not None:  # the output stands in the version before
            native_id = f"{native_id}/end"
    ok = is_ok and not exit_code and not _says_error(update.get("rawOutput"))
    name = known.call.name if known is not None else ""
    reading.add(ToolResult(call_id, name, ok, exit_code, shown, structured, parts=parts), native_id=native_id)
    if call_id and is_storable(call_id):
        reading.set(last=f"result:{call_id}")
    if ok:
        give_edits(reading, call_id, known, diffs)


def give_edits(reading: Reading, call_id: str, known: Open | None, diffs: list[FileEdit]) -> None:
    """Emit the edits of a call that succeeded: the agent's own diffs, else what its arguments asked for."""
    edits = diffs or list(known.call.edits if known is not None else ())
    has_diff = bool(diffs) or (known is not None and known.has_diff)
    counts: dict[str, int] = {}
    for edit in edits:
        counts[edit.path] = counts.get(edit.path, 0) + 1
        number = "" if counts[edit.path] == 1 else f"#{counts[edit.path]}"
        is_new = has_diff and edit.before is None and edit.after is not None
        reading.add(
            msgspec.structs.replace(edit, operation="create" if is_new else edit.operation, call_id=call_id),
            native_id=f"edit:{call_id}:{edit.path}{number}" if call_id else None,
        )


def _read_contents(reading: Reading, update: dict[str, Any]) -> tuple[str, tuple[Part, ...], list[FileEdit]]:
    """Return the text, the parts and the diffs of a call's content."""
    texts: list[str] = []
    parts: list[Part] = []
    diffs: list[FileEdit] = []
    for item in reading.items(update, "content"):
        block = mapping(item)
        kind = block.get("type")
        if kind == "diff":
            before, after = block.get("oldText"), block.get("newText")
            diffs.append(
                FileEdit(
                    text(block.get("path")),
                    "modify",
                    before if isinstance(before, str) else None,
                    after if isinstance(after, str) else None,
                )
            )
        elif kind == "content" or (kind in ("text", "image", "audio", "resource", "resource_link")):
            said, part = read_content(reading, reading.mapping(block, "content") if kind == "content" else block)
            texts.append(said)
            if part is not None:
                parts.append(part)
        elif kind == "terminal":
            texts.append(f"terminal {text(block.get('terminalId'))}")
        else:
            reading.unknown(f"tool_content/{kind}" if isinstance(kind, str) else "tool_content", item)
    return "\n".join(t for t in texts if t), tuple(parts), diffs


def _with_diffs(reading: Reading, known: Open | None, call_id: str, diffs: list[FileEdit]) -> Open | None:
    """Remember the diffs of a call that runs."""
    name = known.call.name if known is not None else ""
    remembered = with_call((), call_id, name, diffs)
    if not remembered:
        return known
    call = remembered[0]
    if known is None:
        changed = Open(call, has_diff=True)
        reading.set(open=(*reading.now("open"), changed)[-MAX_OPEN:])
    else:
        changed = msgspec.structs.replace(known, call=call, has_diff=True)
        _replace(reading, known, changed)
    return changed


def _output(said: str, raw: Json) -> tuple[str, Json, int | None]:
    """Return the text of a result, what its raw output says beyond it, and the exit code in it."""
    exit_code = _find_exit_code(raw, 0)
    if raw in (None, "", {}, []):
        return said, None, exit_code
    shown = said
    rest = without_opaque(raw)
    if not shown and isinstance(rest, str):
        return rest, None, exit_code
    if not shown and isinstance(rest, dict):
        key = next((k for k in _OUTPUT_KEYS if isinstance(rest.get(k), str) and rest[k]), None)
        if key is None:
            return flatten(rest), None, exit_code
        shown = rest[key]
    elif not shown:
        return flatten(rest), None, exit_code
    return shown, _beyond(rest, shown, 0), exit_code


def _beyond(value: Json, shown: str, depth: int) -> Json:
    """Return what decoded JSON says beyond a text; None when nothing."""
    if isinstance(value, str):
        return None if not value or value.strip() == shown.strip() or _holds(shown, value) else value
    if depth >= _DEPTH:
        return value
    if isinstance(value, dict):
        kept = {k: _beyond(v, shown, depth + 1) for k, v in value.items() if k not in _EXIT_KEYS}
        return {k: v for k, v in kept.items() if v is not None} or None
    if isinstance(value, list):
        return [v for v in (_beyond(v, shown, depth + 1) for v in value) if v is not None] or None
    return value


def _holds(shown: str, value: str) -> bool:
    return len(value) >= _SHORT_CHARS and value.strip() in shown


def _find_exit_code(value: Json, depth: int) -> int | None:
    if not isinstance(value, dict) or depth > _DEPTH:
        return None
    for key in _EXIT_KEYS:
        found = whole(value.get(key))
        if found is not None:
            return found
    inner = (_find_exit_code(v, depth + 1) for v in value.values() if isinstance(v, dict))
    return next((code for code in inner if code is not None), None)


def _says_error(raw: Json) -> bool:
    value = mapping(raw)
    return value.get("is_error") is True or value.get("isError") is True or value.get("success") is False


def _open(reading: Reading, call_id: str) -> Open | None:
    waiting: tuple[Open, ...] = reading.now("open")
    return next((o for o in waiting if o.call.call_id == call_id), None)


def _replace(reading: Reading, old: Open, new: Open) -> None:
    reading.set(open=tuple(new if o is old else o for o in reading.now("open")))


def _marks(arguments: Json) -> list[int]:
    return [_mark(v) for v in arguments.values()] if isinstance(arguments, dict) else []


def _mark(value: Json) -> int:
    return int(content_sha256(value), 16)


METHODS = frozenset(("session/update", "_x.ai/session/update", "x.ai/session/update"))
_SPEAKERS = {"user_message_chunk": "user", "agent_message_chunk": "agent", "agent_thought_chunk": "thought"}
_BREAKS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "tool_call": read_call,
    "turn_completed": read_turn_end,
    "compaction_checkpoint": read_checkpoint,
    "rewind_marker": read_rewind,
    "auto_compact_started": read_compaction_start,
    "auto_compact_completed": read_compaction_end,
}
"""Updates that end the message before them."""
_ASIDES: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "tool_call_update": read_call_update,
    "subagent_spawned": read_subagent_start,
    "subagent_finished": read_subagent_end,
}
_NAMES = {
    "plan": "todo",
    "current_mode_update": "mode",
    "model_changed": "model",
    "model_auto_switched": "model",
    "git_branch_update": "branch",
    "session_summary_generated": "title",
    "session_info_update": "title",
    "available_commands_update": "available_commands",
    "subagent_progress": "subagent",
    "task_backgrounded": "task",
    "task_completed": "task",
    "retry_state": "retry",
    "hook_execution": "hook",
    "hook_annotation": "hook",
    "tool_call_delta_chunk": "tool_call_delta",
    "auto_compact_failed": "compaction_failed",
    "auto_compact_cancelled": "compaction_cancelled",
}
"""Names of the lifecycle events that known kinds become; the others are called after themselves."""
_KNOWN = word_set("""
    session_recap last_turn_summary diff_review monitor_event workflow_updated session_status pending_interaction
    interaction_resolved response_completed usage_update config_option_update goal_updated background_tasks
""")
_FAMILIES = ("memory_", "scheduled_task_", "image_")
_TITLES = ("title", "generated_title", "session_summary", "summary")
_MODELS = ("model_id", "modelId", "current_model_id", "new_model_id", "model", "to")
_TEXTS = ("summary", "text", "recap", "message", "reason", "description", "arguments_delta", "currentModeId", "mode")


def read_line(reading: Reading) -> None:
    """Emit the events of one line of `updates.jsonl`, in a wrapper or, as old builds wrote it, bare."""
    value = reading.value
    params = value
    if "params" in value:
        reading.extra(value, _FIELDS["line"], "line")
        params = reading.mapping(value, "params")
        reading.odd_value("line.method", value.get("method"), METHODS)
    meta = reading.mapping(params, "_meta")
    reading.date(meta.get("agentTimestampMs") or value.get("timestamp"))
    update = params.get("update")
    kind = mapping(update).get("sessionUpdate")
    if not isinstance(update, dict) or not isinstance(kind, str) or not kind:
        reading.wrong("update")
        reading.unknown("update")
        return
    reading.extra(params, _FIELDS["params"] | _FIELDS["line"], "params")
    reading.extra(meta, _FIELDS["meta"], "meta")
    _see_model(reading, meta, mapping(update.get("_meta")))
    _read_update(reading, kind, update, meta)


def _see_model(reading: Reading, meta: dict[str, Any], own: dict[str, Any]) -> None:
    model = text(own.get("modelId")) or text(meta.get("modelId"))
    if not model or len(model) > MAX_NAME_CHARS or model == reading.now("model"):
        return
    reading.set(model=short(model))
    reading.add(Lifecycle("model", model=model))


def _read_update(reading: Reading, kind: str, update: dict[str, Any], meta: dict[str, Any]) -> None:
    speaker = _SPEAKERS.get(kind)
    if speaker is not None:
        reading.extra(update, _FIELDS["chunk"], kind)
        reading.set(shrink=None)
        hear(reading, speaker, update, meta)
        return
    read_break = _BREAKS.get(kind)
    if read_break is not None:
        settle(reading)
        read_break(reading, update)
        return
    read_aside = _ASIDES.get(kind)
    if read_aside is not None:
        read_aside(reading, update)
    elif kind in _NAMES or kind in _KNOWN or kind.startswith(_FAMILIES):
        # Emit an update around the conversation: its text, what it changes of the session, and everything else it says.
        name = _NAMES.get(kind, kind)
        rest = {k: v for k, v in update.items() if k != "sessionUpdate" and v not in (None, "", [], {})}
        title = _take(rest, _TITLES) if name == "title" else ""
        model = _take(rest, _MODELS) if name == "model" else ""
        branch = _take(rest, ("branch", "head_branch", "gitBranch")) if name == "branch" else ""
        if 0 < len(model) <= MAX_NAME_CHARS:
            reading.set(model=short(model))
        if name == "available_commands":
            commands = reading.items(update, "availableCommands")
            rest = {"availableCommands": [text(mapping(c).get("name")) for c in commands]}
        said = _take(rest, _TEXTS)
        call_id = text(update.get("tool_call_id"))
        reading.add(Lifecycle(name, said, rest or None, branch=branch, model=model, title=title, call_id=call_id))
    else:
        reading.unknown(kind, update)


def _take(rest: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first text among some fields, and take it out of the others."""
    key = next((k for k in keys if isinstance(rest.get(k), str)), None)
    return text(rest.pop(key)) if key is not None else ""
