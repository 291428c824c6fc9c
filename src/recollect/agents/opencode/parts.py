"""Part rows: what was said, thought and done in a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.naming import short
from recollect.agents.opencode.files import file_part
from recollect.agents.opencode.state import Reading, note, said_marks
from recollect.agents.opencode.tools import read_tool
from recollect.agents.opencode.usage import give_pending, usage_of
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Thinking,
    UserMessage,
)

ROW = frozenset(("id", "message_id", "session_id", "time_created", "time_updated", "data"))
_BASE = frozenset(("id", "messageID", "sessionID", "type", "time"))
_KNOWN = {
    "text": _BASE | {"text", "synthetic", "ignored", "metadata"},
    "reasoning": _BASE | {"text", "metadata"},
    "file": _BASE | {"mime", "filename", "url", "source", "path"},
    "tool": _BASE | {"callID", "tool", "state", "metadata"},
    "step-start": _BASE | {"snapshot"},
    "step-finish": _BASE | {"reason", "snapshot", "cost", "tokens"},
    "snapshot": _BASE | {"snapshot"},
    "patch": _BASE | {"hash", "files"},
    "agent": _BASE | {"name", "source"},
    "retry": _BASE | {"attempt", "error"},
    "compaction": _BASE | {"auto", "overflow", "tail_start_id"},
    "subtask": _BASE | {"prompt", "description", "agent", "model", "command"},
    "source-url": _BASE | {"sourceId", "url", "title", "providerMetadata"},
}
_PROVIDERS = frozenset(("openai", "anthropic", "google", "openrouter", "bedrock", "vertex", "azure", "copilot", "xai"))


def read_part(reading: Reading) -> None:
    """Give a part row, or the file of a part."""
    row = reading.value
    if "data" in row:
        data = row["data"]
        reading.extra(row, ROW, "part_row", native_id=text(row.get("id")))
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
    """Give a part. `name` is its native id."""
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
    """Give the facts beside a part. Objects among them belong to the providers: signatures and encrypted reasoning."""
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
        _read_prompt(reading, data, said, name)
    elif not said:
        pass
    elif speaker != "assistant":
        reading.kept("text", said)
    elif reading.now("is_summary"):
        trigger, continues_at = reading.now("compacting")
        reading.set(compacting=("", ""))
        reading.add(Compaction(trigger, said, continues_at=continues_at), "assistant")
    elif data.get("synthetic") is True:
        reading.add(Lifecycle("synthetic", said))
    else:
        reading.add(
            AssistantMessage(said, reading.now("model"), reading.now("finish"), reading.now("message")), "assistant"
        )
    read_metadata(reading, data, name)


def _read_prompt(reading: Reading, data: dict[str, Any], said: str, name: str) -> None:
    """A person's text bears the message's own id, which an undo names; further texts and the harness's their parts'.

    Text that never goes to the model (`ignored`) is a notice that a plugin put there.
    """
    if data.get("synthetic") is True or data.get("ignored") is True:
        if said:
            reading.add(UserMessage(said, "injected"), "user")
    elif not said:
        reading.set(was_blank=True)
    else:
        is_first = not reading.now("has_spoken")
        reading.add(UserMessage(said), "user", native_id=reading.now("message") if is_first else name)
        reading.set(has_spoken=True)


def _read_reasoning(reading: Reading, data: dict[str, Any], name: str) -> None:
    thought = reading.text(data, "text")
    if thought or data.get("metadata"):
        is_encrypted = not thought
        reading.add(Thinking(thought, reading.now("message"), is_encrypted), "assistant")
    read_metadata(reading, data, name)


def _read_file(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Files of a prompt stand beside its text and start no turn of their own, unless there is no text."""
    part = file_part(reading, data)
    if reading.now("speaker") != "user":
        reading.add(AssistantMessage("", reading.now("model"), "", reading.now("message"), (part,)), "assistant")
    elif reading.now("was_blank") and not reading.now("has_spoken"):
        reading.add(UserMessage(parts=(part,)), "user", native_id=reading.now("message"))
        reading.set(has_spoken=True)
    else:
        reading.add(UserMessage(origin="injected", parts=(part,)), "user")


def _read_step_start(reading: Reading, data: dict[str, Any], name: str) -> None:
    _see_snapshot(reading, data, name)


def _read_step_finish(reading: Reading, data: dict[str, Any], name: str) -> None:
    usage = usage_of(reading, data, reading.now("model"), reading.now("created"), reading.now("message"))
    if usage is not None:
        reading.add(usage, "assistant")
    else:
        reading.kept("step-finish", {k: data.get(k) for k in ("reason", "tokens", "cost")})
    _see_snapshot(reading, data, name)


def _see_snapshot(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Give the copy of the work tree that a step begins or ends with, when it is another than before."""
    snapshot = data.get("snapshot")
    if snapshot is None or snapshot == "":
        return
    if not isinstance(snapshot, str):
        reading.add(Lifecycle("checkpoint", detail={"snapshot": snapshot}), native_id=f"{name}/snapshot")
    elif short(snapshot) != reading.now("snapshot"):
        reading.set(snapshot=short(snapshot))
        reading.add(Lifecycle("checkpoint", detail={"snapshot": snapshot}), native_id=f"{name}/snapshot")


def _read_patch(reading: Reading, data: dict[str, Any], name: str) -> None:
    """The files that a step changed, without contents; those that a tool of the message reported are known."""
    edited = reading.now("edited")
    for path in reading.items(data, "files"):
        if not isinstance(path, str):
            reading.wrong("files")
        elif not any(path == known or path.endswith("/" + known) for known in edited):
            reading.add(FileEdit(path), "tool", native_id=f"{name}/{path}")
    reading.add(Lifecycle("checkpoint", detail={k: data.get(k) for k in ("hash", "files")}))


def _read_retry(reading: Reading, data: dict[str, Any], name: str) -> None:
    error = mapping(data.get("error"))
    said = text(mapping(error.get("data")).get("message")) or text(error.get("message"))
    detail = {k: data.get(k) for k in ("attempt", "error")}
    reading.add(Lifecycle("retry", said, detail))


def _read_compaction(reading: Reading, data: dict[str, Any], name: str) -> None:
    """The request for a shorter context. It is done when the summary is there: the assistant's message that follows."""
    is_auto = data.get("auto")
    trigger = "auto" if is_auto is True else "manual" if is_auto is False else ""
    if data.get("overflow") is True:
        trigger = "overflow"
    continues_at = reading.text(data, "tail_start_id")
    reading.set(compacting=(trigger, short(continues_at)))
    detail = {"continues_at": continues_at} if continues_at else None
    reading.add(Lifecycle("compacting", trigger, detail))


def _read_subtask(reading: Reading, data: dict[str, Any], name: str) -> None:
    detail = {k: data[k] for k in ("prompt", "agent", "model", "command") if data.get(k)}
    reading.add(Lifecycle("task", reading.text(data, "description"), detail))


def _keep(reading: Reading, data: dict[str, Any], name: str) -> None:
    facts = {k: v for k, v in data.items() if k not in ("id", "messageID", "sessionID", "type")}
    reading.kept(text(data.get("type")), facts)


_READERS: dict[str, Callable[[Reading, dict[str, Any], str], None]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "file": _read_file,
    "tool": read_tool,
    "step-start": _read_step_start,
    "step-finish": _read_step_finish,
    "snapshot": _keep,
    "patch": _read_patch,
    "agent": _keep,
    "retry": _read_retry,
    "compaction": _read_compaction,
    "subtask": _read_subtask,
    "source-url": _keep,
}
