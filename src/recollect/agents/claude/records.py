"""Parses the records around the conversation: notices, attachments, progress, titles, checkpoints.

Every string that a person might look for ends up in some event's text; records nobody has described become `unknown`
with all their text. Evidence: format notes: Claude Code, "known record types".
"""

from collections.abc import Callable
from typing import Any

from recollect.agents.claude.messages import add_rename, command_line, read_queued
from recollect.agents.claude.state import MAX_BACKUPS, MAX_NAME, Output, Reading, mark, read_cost_state
from recollect.agents.kit.adapter import note_type, note_value
from recollect.agents.kit.content import content_text, without_opaque
from recollect.agents.kit.values import items, mapping, text, whole, word_set
from recollect.model.payloads import Compaction, FileEdit, Instructions, Lifecycle, Unknown, UserMessage
from recollect.model.text import flatten

_ENVELOPE = word_set("""
    type subtype uuid parentUuid logicalParentUuid timestamp sessionId session_id cwd gitBranch version userType
    entrypoint isSidechain slug requestId agentId sessionKind isMeta level promptId toolUseID parentToolUseID
""")
_PLAIN_NOTICES = frozenset(("Conversation compacted", "Context microcompacted"))
_INSTRUCTIONS = word_set("nested_memory invoked_skills skill_listing mcp_instructions_delta dynamic_skill")
_ATTACHMENT_NAMES = {
    "task_reminder": "todo",
    "todo_reminder": "todo",
    "plan_mode": "mode",
    "plan_mode_exit": "mode",
    "auto_mode": "mode",
    "file": "attached_file",
    "edited_text_file": "attached_file",
    "compact_file_reference": "attached_file",
    "command_permissions": "permission",
    "task_status": "task",
}
_KEPT_ATTACHMENTS = word_set("""
    agent_listing_delta batching_reminder_sent budget_usd date_change deferred_tools_delta read_truncation_notice
    silent_turn_reminder total_tokens_reminder ultra_effort_enter ultra_effort_exit
""")
"""Seen, and kept as `unknown`: news for the model that no kind has room for."""
_QUEUE_OPERATIONS = frozenset(("enqueue", "dequeue", "remove", "popAll"))
_TRIGGERS = frozenset(("auto", "manual", "micro"))
_NO_TYPE = "(none)"
"""How a missing type is named as drift."""


def rest_text(record: dict[str, Any]) -> str:
    """Return all text of a record but its envelope and opaque bytes: its `content` first, as it is."""
    said = content_text(record.get("content"))
    rest = flatten(without_opaque({k: v for k, v in record.items() if k not in _ENVELOPE and k != "content"}))
    return f"{said}\n{rest}" if said and rest else said or rest


def keep_whole(reading: Reading, type_name: str) -> None:
    """Emit a record that has no kind of its own, or says nothing that has: its type as written, and all its text."""
    reading.add(Unknown(type_name, rest_text(reading.record)))


def read_unknown(reading: Reading, type_name: str) -> None:
    """Emit a record that nobody has described as `keep_whole` does, and note its type."""
    note_type(reading.drift, type_name or _NO_TYPE)
    keep_whole(reading, type_name)


def read_system(reading: Reading) -> None:
    """Emit the event of a `system` record, by its subtype."""
    record = reading.record
    subtype = reading.text(record, "subtype")
    reader = _SYSTEM.get(subtype)
    if reader is not None:
        reader(reading)
    elif subtype in ("", "info", "informational", "status", "away_summary"):
        reading.add(Lifecycle(subtype or "notice", text=rest_text(record), call_id=text(record.get("toolUseID"))))
    else:
        note_value(reading.drift, "system.subtype", subtype, frozenset())
        keep_whole(reading, f"system/{subtype}")


def _read_boundary(reading: Reading) -> None:
    record = reading.record
    is_micro = record.get("subtype") == "microcompact_boundary"
    facts = reading.mapping(record, "microcompactMetadata" if is_micro else "compactMetadata")
    before = reading.whole(facts, "preTokens")
    after = reading.whole(facts, "postTokens")
    saved = reading.whole(facts, "tokensSaved")
    if after is None and before is not None and saved is not None:
        after = before - saved
    said = content_text(record.get("content"))
    trigger = "micro" if is_micro else text(facts.get("trigger")) or text(record.get("trigger"))
    note_value(reading.drift, "system.trigger", trigger, _TRIGGERS)
    reading.parent_id = reading.parent_id or reading.text(record, "logicalParentUuid") or None
    summary = "" if said in _PLAIN_NOTICES else said
    reading.add(Compaction(trigger, summary, before, after))


def _read_api_error(reading: Reading) -> None:
    record = reading.record
    detail = {
        k: record[k] for k in ("retryAttempt", "maxRetries", "retryInMs") if isinstance(record.get(k), int | float)
    }
    rest = {k: v for k, v in record.items() if k not in detail}
    reading.add(Lifecycle("api_error", text=rest_text(rest), detail=detail or None))


def _read_turn_end(reading: Reading) -> None:
    record = reading.record
    detail = {k: v for k, v in record.items() if k not in _ENVELOPE and v is not None}
    reading.add(Lifecycle("turn_ended", detail=without_opaque(detail) or None))


def _read_hook_summary(reading: Reading) -> None:
    record = reading.record
    reading.add(Lifecycle("hook", text=rest_text(record), call_id=text(record.get("toolUseID"))))


def _read_local_command(reading: Reading) -> None:
    """Emit a command that the person typed, or what it printed."""
    said = content_text(reading.record.get("content"))
    if "<command-name>" in said[:MAX_NAME]:
        command, leftover = command_line(said)
        reading.add(UserMessage(command, "command"))
        add_rename(reading, command)
        if leftover:
            reading.add(Lifecycle("command_output", text=leftover))
    else:
        printed = said.removeprefix("<local-command-stdout>").removesuffix("</local-command-stdout>")
        reading.add(Lifecycle("command_output", text=printed or rest_text(reading.record)))


def _read_model_fallback(reading: Reading) -> None:
    record = reading.record
    reading.add(Lifecycle("model", text=rest_text(record), model=reading.text(record, "fallbackModel")))


_SYSTEM: dict[str, Callable[[Reading], None]] = {
    "compact_boundary": _read_boundary,
    "microcompact_boundary": _read_boundary,
    "api_error": _read_api_error,
    "error": _read_api_error,
    "api_refusal": _read_api_error,
    "turn_duration": _read_turn_end,
    "stop_hook_summary": _read_hook_summary,
    "local_command": _read_local_command,
    "model_refusal_fallback": _read_model_fallback,
}


def read_attachment(reading: Reading) -> None:
    """Emit the event of an `attachment` record, by the attachment's type."""
    attachment = reading.mapping(reading.record, "attachment")
    kind = reading.text(attachment, "type")
    if kind == "queued_command":
        read_queued(reading, attachment)
        return
    rest = without_opaque({k: v for k, v in attachment.items() if k not in ("type", "toolUseID")})
    if kind in _INSTRUCTIONS:
        source = text(attachment.get("path")) or text(attachment.get("displayPath")) or kind
        reading.add(Instructions(flatten(rest), source))
    elif kind.startswith("hook_"):
        reading.add(Lifecycle("hook", text=flatten(rest), call_id=text(attachment.get("toolUseID"))))
    elif kind in _ATTACHMENT_NAMES:
        reading.add(Lifecycle(_ATTACHMENT_NAMES[kind], text=flatten(rest), detail={"attachment": kind}))
    else:
        if kind not in _KEPT_ATTACHMENTS:
            note_type(reading.drift, f"attachment/{kind or _NO_TYPE}")
        reading.add(Unknown(f"attachment/{kind}", flatten(rest)))


def read_progress(reading: Reading) -> None:
    """Emit the event of a `progress` record: a running command, a subagent at work, a hook, a search."""
    record = reading.record
    data = reading.mapping(record, "data")
    kind = reading.text(data, "type")
    call_id = text(record.get("parentToolUseID")) or text(record.get("toolUseID"))
    rest = without_opaque({k: v for k, v in data.items() if k not in ("type", "normalizedMessages", "prompt")})
    if kind == "bash_progress":
        reading.add(Lifecycle("progress", text=_new_output(reading, data, call_id), call_id=call_id))
    elif kind == "agent_progress":
        said = _new_messages(reading, data, call_id) or flatten(rest.get("message"))
        detail = {"agent_id": text(data.get("agentId"))} if data.get("agentId") else None
        reading.add(Lifecycle("subagent", text=said, detail=detail, call_id=call_id))
    elif kind == "hook_progress":
        reading.add(Lifecycle("hook", text=flatten(rest), call_id=call_id))
    elif kind in ("mcp_progress", "query_update", "search_results_received"):
        reading.add(Lifecycle("progress", text=flatten(rest), call_id=call_id))
    else:
        note_type(reading.drift, f"progress/{kind or _NO_TYPE}")
        reading.add(Unknown(f"progress/{kind}", flatten(rest)))


def _new_output(reading: Reading, data: dict[str, Any], call_id: str) -> str:
    """Return what a running command has printed since its last progress record, which repeats all before."""
    output = text(data.get("fullOutput")) or text(data.get("output"))
    last = reading.output
    is_longer = last.call_id == call_id and last.length <= len(output) and last.mark == mark(output[: last.length])
    reading.output = Output(call_id[:MAX_NAME], len(output), mark(output))
    return output[last.length :] if is_longer else output


def _new_messages(reading: Reading, data: dict[str, Any], call_id: str) -> str:
    """Return what a subagent said or did since its last progress record.

    `normalizedMessages`, where it is written, holds all messages so far; what was given before is left out. The prompt
    is the call's own argument and stands in every one of these records: it is left out too.
    """
    messages = items(data.get("normalizedMessages"))
    current = mapping(data.get("message"))
    names = [text(mapping(m).get("uuid")) for m in messages]
    if current and text(current.get("uuid")) not in names:
        messages = [*messages, current]
        names.append(text(current.get("uuid")))
    last = reading.output
    start = len(names) if last.call_id == call_id else 0
    while start > 0 and mark(names[start - 1]) != last.mark:
        start -= 1
    if names:
        reading.output = Output(call_id[:MAX_NAME], 0, mark(names[-1]))
    return "\n".join(filter(None, map(_message_text, messages[start:])))


def _message_text(written: Any) -> str:
    holder = mapping(written)
    said = content_text(mapping(holder.get("message")).get("content"))
    return said or flatten(without_opaque(holder.get("attachment")))


def read_checkpoint(reading: Reading) -> None:
    """Emit one checkpoint per file backup that was not listed before."""
    record = reading.record
    snapshot = record.get("snapshot")
    holder = snapshot if isinstance(snapshot, dict) else record
    tracked = reading.mapping(holder, "trackedFileBackups")
    seen = set(reading.backups)
    added: list[bytes] = []
    for path, backup in tracked.items():
        if not isinstance(backup, dict):
            reading.wrong("trackedFileBackups")
            continue
        name = reading.text(backup, "backupFileName")
        key = mark(f"{path}\0{name}\0{whole(backup.get('version'))}")
        if key not in seen:
            seen.add(key)
            added.append(key)
            reading.add(FileEdit(path, "checkpoint", backup=name))
    if added:
        reading.backups = (*reading.backups, *added)[-MAX_BACKUPS:]
    if not reading.events:
        detail = {"message_id": text(record.get("messageId"))} if record.get("messageId") else None
        rest = {
            k: v
            for k, v in record.items()
            if k not in ("snapshot", "messageId", "isSnapshotUpdate", "trackedFileBackups")
        }
        reading.add(Lifecycle("checkpoint", text=rest_text(rest), detail=detail))


def _field(name: str, field: str) -> Callable[[Reading], None]:
    """Return a reader that gives a lifecycle event with the text of one field."""

    def read(reading: Reading) -> None:
        value = reading.record.get(field)
        said = value if isinstance(value, str) else ""
        if value is not None and not isinstance(value, str):
            reading.wrong(field)
        others = {k: v for k, v in reading.record.items() if k not in (field, "leafUuid")}
        more = rest_text(others if said or value is None else {**others, field: value})
        reading.add(Lifecycle(name, text="\n".join(t for t in (said, more) if t)))

    return read


def _kept(name: str) -> Callable[[Reading], None]:
    """Return a reader of records that are known and have no kind of their own."""

    def read(reading: Reading) -> None:
        keep_whole(reading, name)

    return read


def _title(field: str) -> Callable[[Reading], None]:
    def read(reading: Reading) -> None:
        reading.add(Lifecycle("title", title=reading.text(reading.record, field)))

    return read


def _read_summary(reading: Reading) -> None:
    """Emit a summary; it may belong to another session (trap 7), so it sets no title. `leaf` tells whose it is."""
    record = reading.record
    leaf = reading.text(record, "leafUuid")
    said = content_text(record.get("summary"))
    reading.add(Lifecycle("summary", text=said, detail={"leaf": leaf} if leaf else None))


def _read_queue(reading: Reading) -> None:
    record = reading.record
    said = content_text(record.get("content"))
    operation = reading.text(record, "operation")
    note_value(reading.drift, "queue-operation.operation", operation, _QUEUE_OPERATIONS)
    reading.add(Lifecycle("queue", text=said, detail={"operation": operation}))


def _read_pull_request(reading: Reading) -> None:
    record = reading.record
    number = whole(record.get("prNumber"))
    name = f"{text(record.get('prRepository'))}#{'' if number is None else number}"
    reading.add(Lifecycle("pr_link", text=f"{name} {reading.text(record, 'prUrl')}".strip()))


def _read_relocated(reading: Reading) -> None:
    cwd = reading.text(reading.record, "relocatedCwd")
    reading.cwd = cwd or reading.cwd
    reading.add(Lifecycle("cwd", text=cwd, cwd=cwd))


BOOKKEEPING: dict[str, Callable[[Reading], None]] = {
    "progress": read_progress,
    "file-history-snapshot": read_checkpoint,
    "file-history-delta": read_checkpoint,
    "summary": _read_summary,
    "queue-operation": _read_queue,
    "ai-title": _title("aiTitle"),
    "custom-title": _title("customTitle"),
    "agent-name": _field("agent_name", "agentName"),
    "agent-setting": _field("agent_setting", "agentSetting"),
    "tag": _field("tag", "tag"),
    "last-prompt": _field("last_prompt", "lastPrompt"),
    "mode": _field("mode", "mode"),
    "permission-mode": _field("mode", "permissionMode"),
    "pr-link": _read_pull_request,
    "relocated": _read_relocated,
    "worktree-state": _field("worktree", "worktreeName"),
    "teleported-from": _field("teleported_from", "remoteSessionId"),
    "frame-link": _field("frame_link", "frameUrl"),
    "cost-state": read_cost_state,
    "bridge-session": _kept("bridge-session"),
    "atis-latch": _kept("atis-latch"),
}
"""Readers of the records that carry no message, by type."""
