"""Parses message rows: role, model and how the message ended. The parts that follow hold the content."""

from collections.abc import Callable
from typing import Any

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.names import MAX_PATH_CHARS, short
from recollect.agents.kit.values import items, mapping, text, word_set
from recollect.agents.opencode.tools import (
    Reading,
    file_part,
    give_pending,
    has_mark,
    mark_of,
    note,
    read_tool,
    said_marks,
    usage_of,
)
from recollect.model import payloads as kinds
from recollect.model.text import flatten

# The oldest files: messages that hold their parts, written in the present form so that one reader serves both.
#
# `{id, role, parts[…], metadata{time, error, tool{…}, assistant{…}}}`, with calls as `tool-invocation` parts whose
# result and times stand in `metadata.tool`. Evidence: format notes: opencode, section 7; opencode's own reader of
# version 1.

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


# Part rows: what was said, thought and done in a message.

_FIELDS = known_fields("opencode")
_BASE = frozenset(("id", "messageID", "sessionID", "type", "time"))
_KNOWN = {kind: _BASE | fields for kind, fields in known_by_type("opencode", "part").items()}
_PROVIDERS = frozenset(("openai", "anthropic", "google", "openrouter", "bedrock", "vertex", "azure", "copilot", "xai"))


def read_part(reading: Reading) -> None:
    """Emit a part row, or the file of a part."""
    row = reading.value
    if "data" in row:
        data = row["data"]
        reading.extra(row, _FIELDS["part_row"], "part_row", native_id=text(row.get("id")))
        message = text(row.get("message_id"))
    else:
        data = row
        message = text(row.get("messageID"))
    name = text(row.get("id"))
    if not isinstance(data, dict):
        reading.date(row.get("time_created"), "time_created")
        reading.wrong("data")
        reading.kept("part", native_id=name)
        return
    reading.is_sidechain = reading.now("is_side")
    is_orphan = bool(message) and short(message) != reading.now("message")
    if is_orphan:
        # Its message was deleted between two reads, or stands in another file: nobody says who speaks.
        give_pending(reading)
        reading.set(message=short(message), speaker="", is_repeat=False, edited=(), created=None)
    if reading.now("is_repeat"):
        return
    reading.date(row.get("time_created"), "time_created")
    read_part_of(reading, data, name)


def read_part_of(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Emit a part. `name` is its native id."""
    reading.native_id = name or None
    kind = reading.text(data, "type")
    times = reading.mapping(data, "time")
    written = times.get("start", times.get("created"))
    if written is not None and kind != "tool":
        reading.date(written, "time.start")
    if kind in ("step-start", "step-finish"):
        reading.set(pending=None)
    else:
        give_pending(reading)
    read = _READERS.get(kind)
    if read is None:
        reading.unknown(kind, data)
        return
    read(reading, data, name)
    reading.extra(data, _KNOWN[kind], f"part.{kind}")


def read_metadata(reading: Reading, holder: dict[str, Any], name: str) -> None:
    """Emit the facts beside a part. Objects among them belong to the providers: signatures and encrypted reasoning."""
    facts = {k: v for k, v in reading.mapping(holder, "metadata").items() if not isinstance(v, dict | list)}
    facts = {k: v for k, v in facts.items() if k not in _PROVIDERS and v not in (None, "")}
    if facts:
        reading.kept("metadata", facts, native_id=f"{name}/metadata" if name else None)


def _read_text(reading: Reading, data: dict[str, Any], name: str) -> None:
    said = reading.text(data, "text")
    speaker = reading.now("speaker")
    if said:
        note(reading, "rows", said_marks(speaker, said, reading.ts)[0])
    if speaker == "user":
        # A person's text bears the message's own id, which an undo names; further texts and the harness's their
        # parts'. Text that never goes to the model (`ignored`) is a notice that a plugin put there.
        if data.get("synthetic") is True or data.get("ignored") is True:
            reading.say(kinds.UserMessage(said, "injected"))
        elif not said:
            reading.set(was_blank=True)
        else:
            is_first = not reading.now("has_spoken")
            reading.add(kinds.UserMessage(said), native_id=reading.now("message") if is_first else name)
            reading.set(has_spoken=True)
    elif not said:
        pass
    elif speaker != "assistant":
        reading.kept("text", said)
    elif reading.now("is_summary"):
        trigger, continues_at = reading.now("compacting")
        reading.set(compacting=("", ""))
        reading.add(kinds.Compaction(trigger, said, continues_at=continues_at), "assistant")
    elif data.get("synthetic") is True:
        reading.add(kinds.Lifecycle("synthetic", said))
    else:
        reading.add(kinds.AssistantMessage(said, reading.now("model"), reading.now("finish"), reading.now("message")))
    read_metadata(reading, data, name)


def _read_reasoning(reading: Reading, data: dict[str, Any], name: str) -> None:
    thought = reading.text(data, "text")
    if thought or data.get("metadata"):
        is_encrypted = not thought
        reading.add(kinds.Thinking(thought, reading.now("message"), is_encrypted))
    read_metadata(reading, data, name)


def _read_file(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Files of a prompt stand beside its text and start no turn of their own, unless there is no text."""
    part = file_part(reading, data)
    if reading.now("speaker") != "user":
        reading.add(kinds.AssistantMessage("", reading.now("model"), "", reading.now("message"), (part,)))
    elif reading.now("was_blank") and not reading.now("has_spoken"):
        reading.add(kinds.UserMessage(parts=(part,)), native_id=reading.now("message"))
        reading.set(has_spoken=True)
    else:
        reading.add(kinds.UserMessage(origin="injected", parts=(part,)))


def _read_step_finish(reading: Reading, data: dict[str, Any], name: str) -> None:
    usage = usage_of(reading, data, reading.now("model"), reading.now("created"), reading.now("message"))
    if usage is not None:
        reading.add(usage, "assistant")
    else:
        reading.kept("step-finish", {k: data.get(k) for k in ("reason", "tokens", "cost")})
    _see_snapshot(reading, data, name)


def _see_snapshot(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Emit the copy of the work tree that a step begins or ends with, when it is another than before."""
    snapshot = data.get("snapshot")
    if snapshot is None or snapshot == "":
        return
    if not isinstance(snapshot, str):
        reading.add(kinds.Lifecycle("checkpoint", detail={"snapshot": snapshot}), native_id=f"{name}/snapshot")
    elif short(snapshot) != reading.now("snapshot"):
        reading.set(snapshot=short(snapshot))
        reading.add(kinds.Lifecycle("checkpoint", detail={"snapshot": snapshot}), native_id=f"{name}/snapshot")


def _read_patch(reading: Reading, data: dict[str, Any], name: str) -> None:
    """The files that a step changed, without contents; those that a tool of the message reported are known."""
    edited = reading.now("edited")
    for path in reading.items(data, "files"):
        if not isinstance(path, str):
            reading.wrong("files")
        elif not any(path == known or path.endswith("/" + known) for known in edited):
            reading.add(kinds.FileEdit(path), native_id=f"{name}/{path}")
    reading.add(kinds.Lifecycle("checkpoint", detail={k: data.get(k) for k in ("hash", "files")}))


def _read_retry(reading: Reading, data: dict[str, Any], name: str) -> None:
    error = mapping(data.get("error"))
    said = text(mapping(error.get("data")).get("message")) or text(error.get("message"))
    detail = {k: data.get(k) for k in ("attempt", "error")}
    reading.add(kinds.Lifecycle("retry", said, detail))


def _read_compaction(reading: Reading, data: dict[str, Any], name: str) -> None:
    """The request for a shorter context. It is done when the summary is there: the assistant's message that follows."""
    is_auto = data.get("auto")
    trigger = "auto" if is_auto is True else "manual" if is_auto is False else ""
    if data.get("overflow") is True:
        trigger = "overflow"
    continues_at = reading.text(data, "tail_start_id")
    reading.set(compacting=(trigger, short(continues_at)))
    detail = {"continues_at": continues_at} if continues_at else None
    reading.add(kinds.Lifecycle("compacting", trigger, detail))


def _read_subtask(reading: Reading, data: dict[str, Any], name: str) -> None:
    detail = {k: data[k] for k in ("prompt", "agent", "model", "command") if data.get(k)}
    reading.add(kinds.Lifecycle("task", reading.text(data, "description"), detail))


def _keep(reading: Reading, data: dict[str, Any], name: str) -> None:
    facts = {k: v for k, v in data.items() if k not in ("id", "messageID", "sessionID", "type")}
    reading.kept(text(data.get("type")), facts)


_READERS: dict[str, Callable[[Reading, dict[str, Any], str], None]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "file": _read_file,
    "tool": read_tool,
    "step-start": _see_snapshot,
    "step-finish": _read_step_finish,
    "snapshot": _keep,
    "patch": _read_patch,
    "agent": _keep,
    "retry": _read_retry,
    "compaction": _read_compaction,
    "subtask": _read_subtask,
    "source-url": _keep,
}


_ERRORS = word_set("""
    ProviderAuthError UnknownError MessageOutputLengthError MessageAbortedError StructuredOutputError
    ContextOverflowError APIError
""")
_MAIN_AGENT = "main"


def read_message(reading: Reading) -> None:
    """Emit what a message row says; its parts come after it, or, in the oldest files, inside."""
    give_pending(reading)
    row = reading.value
    if "data" in row:
        data = row["data"]
        reading.extra(row, _FIELDS["message_row"], "message_row", native_id=text(row.get("id")))
    else:
        data = row
    if not isinstance(data, dict):
        reading.wrong("data")
        reading.kept("message", native_id=text(row.get("id")))
        return
    embedded = modern_of(data)
    data, parts = embedded if embedded is not None else (data, items(data.get("parts")))
    name = text(row.get("id")) or text(data.get("id"))
    _begin(reading, row, data, name)
    if reading.now("is_repeat"):
        return
    speaker = reading.text(data, "role")
    if speaker == "user":
        system = reading.text(data, "system")
        reading.say(kinds.Instructions(system, source="system"), native_id=f"{name}/system")
        # Emit a change of the agent ("build", "plan") that the person talks to.
        agent = short(reading.text(data, "agent"))
        if agent and agent != reading.now("agent"):
            if reading.now("agent"):
                reading.add(kinds.Lifecycle("mode", agent), native_id=f"{name}/mode")
            reading.set(agent=agent)
        summary = data.get("summary")
        if isinstance(summary, dict):
            _read_summary(reading, summary, name)
        options = {key: data[key] for key in ("tools", "format", "fallbackModels") if data.get(key)}
        reading.note("prompt_options", detail=options, native_id=f"{name}/options")
    elif speaker == "assistant":
        _read_assistant(reading, data, name)
    else:
        reading.unknown(f"message/{speaker}", data, native_id=name)
    reading.extra(data, _FIELDS["message"], "message", native_id=name)
    for ordinal, part in enumerate(parts):
        if isinstance(part, dict):
            read_part_of(reading, part, text(part.get("id")) or f"{name}/part/{ordinal}")
        else:
            reading.wrong("parts")
            reading.kept("part", part, native_id=f"{name}/part/{ordinal}")
    if parts:
        give_pending(reading)


def _begin(reading: Reading, row: dict[str, Any], data: dict[str, Any], name: str) -> None:
    times = reading.mapping(data, "time")
    reading.extra(times, _FIELDS["time"], "message.time", native_id=name)
    written = times.get("created")
    reading.date(row.get("time_created") if written is None else written, "time.created")
    created = reading.ts if reading.ts_quality == "exact" else None
    speaker = short(text(data.get("role")))
    agent_id = text(row.get("agent_id"))
    reading.is_sidechain = bool(agent_id) and agent_id != _MAIN_AGENT
    reading.native_id = name or None
    marks = (mark_of("id", name), mark_of("at", speaker, created))
    projected: bytes = reading.now("projected")
    is_repeat = bool(projected) and created is not None and any(has_mark(projected, mark) for mark in marks)
    if created is not None:
        note(reading, "rows", *marks)
    reading.set(
        message=short(name),
        speaker=speaker,
        model=short(_model_of(data)),
        finish=short(text(data.get("finish"))),
        created=created,
        is_summary=data.get("summary") is True,
        is_side=reading.is_sidechain,
        is_repeat=is_repeat,
        has_spoken=False,
        was_blank=False,
        edited=(),
    )


def _model_of(data: dict[str, Any]) -> str:
    model = data.get("model")
    if isinstance(model, str):
        return model
    return text(data.get("modelID")) or text(mapping(model).get("modelID")) or text(mapping(model).get("id"))


def _read_summary(reading: Reading, summary: dict[str, Any], name: str) -> None:
    """What the agent noted about the turn. The contents of the changed files are in the edits."""
    title, body = reading.text(summary, "title"), reading.text(summary, "body")
    changes = []
    for diff in reading.items(summary, "diffs"):
        if isinstance(diff, dict):
            changes.append({k: v for k, v in diff.items() if k not in ("before", "after", "patch", "diff")})
            reading.extra(diff, _FIELDS["diff"], "message.summary.diffs", native_id=name)
    said = title if body in ("", title) else f"{title}\n{body}".strip()
    if said or changes:
        detail = {"changes": changes} if changes else None
        reading.add(kinds.Lifecycle("turn_summary", said, detail), native_id=f"{name}/summary")
    reading.extra(summary, _FIELDS["summary"], "message.summary", native_id=name)


def _read_assistant(reading: Reading, data: dict[str, Any], name: str) -> None:
    reading.parent_id = reading.text(data, "parentID") or None
    model: str = reading.now("model")
    if model and model != reading.now("last_model"):
        if reading.now("last_model"):
            reading.add(kinds.Lifecycle("model", model=model), native_id=f"{name}/model")
        reading.set(last_model=model)
    # Emit the folder the model works in, when it is another than before.
    path = data.get("path")
    place = mapping(path)
    cwd = path if isinstance(path, str) else text(place.get("cwd"))
    if cwd and short(cwd, MAX_PATH_CHARS) != reading.now("cwd"):
        root = text(place.get("root"))
        detail = {"root": root} if root not in ("", "/", cwd) else None
        reading.add(kinds.Lifecycle("cwd", detail=detail, cwd=cwd), native_id=f"{name}/cwd")
        reading.set(cwd=short(cwd, MAX_PATH_CHARS))
    reading.extra(place, frozenset(("cwd", "root")), "message.path", native_id=name)
    system = data.get("system")
    if system:
        prompts = system if isinstance(system, str) else "\n".join(filter(None, map(text, items(system))))
        reading.add(kinds.Instructions(prompts, source="system"), native_id=f"{name}/system")
    if isinstance(data.get("summary"), dict):
        _read_summary(reading, data["summary"], name)
    if data.get("structured") is not None:
        reading.kept("structured", data["structured"], native_id=f"{name}/structured")
    error = data.get("error")
    if error:
        read_error(reading, error, name, mapping(data.get("time")).get("completed"))
    holder = {"tokens": data.get("tokens"), "cost": data.get("cost")}
    reading.set(pending=usage_of(reading, holder, model, reading.now("created"), reading.now("message")))


def read_error(reading: Reading, error: Any, name: str, ended: Any = None) -> None:
    """Emit how a response failed: the person stopped it, or the provider did. ended: when, which its parts precede."""
    data = mapping(mapping(error).get("data"))
    kind = text(mapping(error).get("name")) or text(mapping(error).get("type"))
    said = text(data.get("message")) or text(mapping(error).get("message")) or (error if isinstance(error, str) else "")
    is_abort = kind in ("MessageAbortedError", "aborted") or (not kind and "abort" in said.lower())
    detail = error if isinstance(error, dict) else None
    if "name" in mapping(error):
        reading.odd_value("message.error.name", kind, _ERRORS)
    before = (reading.ts, reading.ts_quality, reading.last_ts)
    if ended is not None:
        reading.date(ended, "time.completed")
    reading.add(
        kinds.Lifecycle("interrupted" if is_abort else "api_error", said or flatten(error), detail),
        native_id=f"{name}/error",
    )
    reading.ts, reading.ts_quality, reading.last_ts = before
