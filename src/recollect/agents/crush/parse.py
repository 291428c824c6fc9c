"""Crush: parses a row into events; README.md has its traps. Pure; never raises on content."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import BaseState, KitAdapter, read_row
from recollect.agents.kit.adapter import Reading as KitReading
from recollect.agents.kit.content import base64_part
from recollect.agents.kit.names import MAX_PATH_CHARS, short
from recollect.agents.kit.values import Json, decoded_json, mapping, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.tools import canonical_tool

# What is carried from record to record.

_MAX_CALLS = 128


class CrushState(BaseState, frozen=True):
    """What the parser remembers: the newest calls (id, tool, file), the folder commands run in, the model."""

    calls: tuple[tuple[str, str, str], ...] = ()
    cwd: str = ""
    model: str = ""


Reading: TypeAlias = KitReading[CrushState]


def note_call(reading: Reading, call_id: str, tool: str, path: str) -> None:
    """Remember a call for its result, which names neither its tool nor its file in all versions."""
    call = (short(call_id), short(tool), short(path, MAX_PATH_CHARS))
    reading.set(calls=(*reading.now("calls"), call)[-_MAX_CALLS:])


def called(reading: Reading, call_id: str) -> tuple[str, str]:
    """Return the tool and the file of a call; empty where it is not remembered."""
    for known, tool, path in reversed(reading.now("calls")):
        if known == short(call_id):
            return tool, path
    return "", ""


# Results of tools, and the edits they made.
#
# The metadata of a result are JSON inside text. A command that failed is no error to Crush: its exit code stands at the
# end of the output. Evidence: Crush's published sources of its tools `bash`, `edit`, `multiedit` and `write`.

_FIELDS = known_fields("crush")
_EXIT = re.compile(r"(?:^|\n)Exit code (-?\d{1,9})(?:\n+<cwd>[^\n]*</cwd>)?\s*$")
_TAIL_CHARS = 4000
_ABORTED = "Command was aborted before completion"
_EDITORS = frozenset(("edit", "multiedit", "write", "patch"))
_EDIT_FACTS = frozenset(("old_content", "new_content", "diff"))
_SHELLS = frozenset(("bash", "shell", "job_output"))


def read_result(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Emit the result of a call, and what it edited."""
    call_id = reading.text(data, "tool_call_id") or name
    tool, path = called(reading, call_id)
    tool = reading.text(data, "name") or tool
    body = reading.text(data, "content")
    facts = _facts_of(reading, data)
    exit_code = _exit_code(tool, body)
    is_aborted = tool in _SHELLS and _ABORTED in body[-_TAIL_CHARS:]
    is_error = data.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    has_failed = is_error is True or exit_code not in (None, 0) or is_aborted
    start, end = whole(facts.get("start_time")), whole(facts.get("end_time"))
    reading.add(
        kinds.ToolResult(
            call_id=call_id,
            name=tool,
            ok=not has_failed,
            exit_code=exit_code,
            text=body,
            structured=_beyond(tool, facts, body),
            duration_ms=end - start if start is not None and end is not None and end >= start else None,
            parts=_media(reading, data),
        ),
        native_id=f"result:{call_id}",
    )
    if not has_failed:
        _give_edit(reading, tool, path, facts, call_id)
    # Emit the folder that commands run in, when it is another than before.
    folder = text(mapping(facts).get("working_directory"))
    if folder and short(folder, MAX_PATH_CHARS) != reading.now("cwd"):
        reading.set(cwd=short(folder, MAX_PATH_CHARS))
        reading.add(kinds.Lifecycle("cwd", cwd=folder), native_id=f"cwd:{call_id}")
    reading.extra(data, _FIELDS["result"], "tool_result", native_id=f"result:{call_id}")


def _facts_of(reading: Reading, data: dict[str, Any]) -> dict[str, Any]:
    written = data.get("metadata")
    if isinstance(written, dict):
        return written
    if not isinstance(written, str) or not written:
        return {}
    try:
        decoded = msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        reading.wrong("tool_result.metadata", "not_json")
        return {"metadata": written}
    return decoded if isinstance(decoded, dict) else {"metadata": decoded}


def _exit_code(tool: str, body: str) -> int | None:
    if tool not in _SHELLS:
        return None
    found = _EXIT.search(body[-_TAIL_CHARS:])
    return int(found[1]) if found else None


def _beyond(tool: str, facts: dict[str, Any], body: str) -> Json:
    """Return the metadata without what the output, the duration or an edit already say."""
    skipped = _EDIT_FACTS if tool in _EDITORS else frozenset[str]()
    rest = {}
    for key, value in facts.items():
        if key in skipped or key in ("start_time", "end_time") or value in (None, "", [], {}):
            continue
        if isinstance(value, str) and value.strip() in body:
            continue
        rest[key] = value
    return rest or None


def _media(reading: Reading, data: dict[str, Any]) -> tuple[kinds.Part, ...]:
    if not data.get("data"):
        return ()
    media_type = text(data.get("mime_type"))
    kind = "image" if media_type.startswith("image/") else "file"
    part = reading.readable(base64_part(kind, media_type, data.get("data")), "tool_result.data")
    return (part,)


def _give_edit(reading: Reading, tool: str, path: str, facts: dict[str, Any], call_id: str) -> None:
    if tool not in _EDITORS:
        return
    path = path or text(facts.get("file_path")) or text(facts.get("path"))
    before, after = facts.get("old_content"), facts.get("new_content")
    if isinstance(before, str) or isinstance(after, str):
        # An empty side is left out by the producer.
        old, new = text(before), text(after)
        edit = kinds.FileEdit(path, "modify" if old else "create", old or None, new, call_id=call_id)
    else:
        edit = kinds.FileEdit(path, diff=text(facts.get("diff")), call_id=call_id)
    if path:
        reading.add(edit, native_id=f"edit:{call_id}:{path}")


# Message rows: a role and a list of parts, rewritten while the model answers.
#
# Evidence: format notes: Crush (other agents); Crush's published sources of `message.ContentPart`.

_ROLES = frozenset(("user", "assistant", "tool", "system"))
_KNOWN = known_by_type("crush", "types")
_REASONS = word_set("end_turn max_tokens tool_use canceled error content_filter unknown stop permission_denied")
_FAILURES = frozenset(("error", "content_filter"))
_OPAQUE = ("signature", "thought_signature", "responses_data")
_PRISM = ("prism_model_id", "prism_model_name", "prism_hypercredit_savings", "prism_dollar_savings")
_PATHS = ("file_path", "path", "filePath")


class _Message(NamedTuple):
    """The message whose parts are read."""

    name: str
    role: str
    model: str
    stop_reason: str
    is_summary: bool


def read_message(reading: Reading) -> None:
    row = reading.value
    name = text(row.get("id"))
    reading.native_id = name or None
    reading.date(row.get("created_at"), "created_at")
    parts = row.get("parts")
    if not isinstance(parts, list):
        reading.wrong("parts")
        reading.kept("message")
        return
    model = reading.text(row, "model")
    message = _Message(name, reading.text(row, "role"), model, _reason(parts), bool(row.get("is_summary_message")))
    if message.role not in _ROLES:
        reading.unknown(f"message/{message.role}")
        return
    if message.role == "assistant":
        reading.see(is_first_told=False, model=message.model)
    counts: dict[str, int] = {}
    for part in parts:
        kind = text(part.get("type")) if isinstance(part, dict) else ""
        ordinal = counts[kind] = counts.get(kind, 0) + 1
        _read_part(reading, part, message, f"{name}/{kind}" if ordinal == 1 else f"{name}/{kind}/{ordinal}")
    routed = {key: row[key] for key in _PRISM if row.get(key) not in (None, "")}
    reading.note("routed", detail=routed, native_id=f"{name}/routed")
    reading.extra(row, _FIELDS["row"], "message")


def _reason(parts: list[Any]) -> str:
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "finish":
            return text(mapping(part.get("data")).get("reason"))
    return ""


def _read_part(reading: Reading, part: Any, message: _Message, name: str) -> None:
    data = part.get("data") if isinstance(part, dict) else None
    kind = text(part.get("type")) if isinstance(part, dict) else ""
    if not isinstance(data, dict):
        if kind in _READERS or kind == "tool_result":
            reading.wrong("parts.data")
        reading.unknown(f"part/{kind}", part, native_id=name)
        return
    if kind == "tool_result":
        read_result(reading, data, name)
    elif kind in _READERS:
        _READERS[kind](reading, data, message, name)
        reading.extra(data, _KNOWN[kind], kind, native_id=name)
    else:
        reading.unknown(f"part/{kind}", part, native_id=name)
    reading.extra(part, frozenset(("type", "data")), "part", native_id=name)


def _read_text(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    """The first text of a message bears the message's own id."""
    said = reading.text(data, "text")
    native_id = message.name if name.endswith("/text") else name
    if not said:
        return
    if message.is_summary:
        reading.add(kinds.Compaction(summary=said), "assistant", native_id=native_id)
    elif message.role == "user":
        origin: Any = "injected" if data.get("hidden") is True else "human"
        reading.add(kinds.UserMessage(said, origin), native_id=native_id)
    elif message.role == "assistant":
        reading.add(kinds.AssistantMessage(said, message.model, message.stop_reason, message.name), native_id=native_id)
    elif message.role == "system":
        reading.add(kinds.Instructions(said, source="system"), native_id=native_id)
    else:
        reading.kept("text", said, native_id=native_id)


def _read_reasoning(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    thought = reading.text(data, "thinking")
    if thought or any(data.get(key) for key in _OPAQUE):
        reading.add(kinds.Thinking(thought, message.name, not thought), native_id=name)


def _read_image(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    url = reading.text(data, "url")
    part = kinds.Part(type="image", url=url)
    if url.startswith("data:"):
        head, _, body = url.partition(",")
        part = reading.readable(base64_part("image", head[5:].partition(";")[0], body), "image_url.url")
    _give_media(reading, part, message, name)


def _read_binary(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    media_type = reading.text(data, "MIMEType")
    kind = "image" if media_type.startswith("image/") else "file"
    part = reading.readable(
        base64_part(kind, media_type, data.get("Data"), path=reading.text(data, "Path")), "binary.Data"
    )
    _give_media(reading, part, message, name)


def _give_media(reading: Reading, part: kinds.Part, message: _Message, name: str) -> None:
    """Attachments stand beside the text, which is always there: they start no turn of their own."""
    if message.role == "user":
        reading.add(kinds.UserMessage(origin="injected", parts=(part,)), native_id=name)
    else:
        reading.add(kinds.AssistantMessage("", message.model, "", message.name, (part,)), native_id=name)


def _read_call(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    call_id = reading.text(data, "id") or name
    tool = reading.text(data, "name")
    arguments = _arguments(data.get("input"))
    path = next((p for key in _PATHS if (p := text(mapping(arguments).get(key)))), "")
    note_call(reading, call_id, tool, path)
    reading.add(
        kinds.ToolCall(
            call_id, tool, "mcp" if tool.startswith("mcp_") else canonical_tool(tool), arguments, message.name
        ),
        native_id=f"call:{call_id}",
    )


def _arguments(written: Any) -> Json:
    """Return the arguments of a call: JSON inside text, which is cut while the model still writes it."""
    if not isinstance(written, str):
        return written
    return decoded_json(written, written) if written else None


def _read_finish(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    reason, said = reading.text(data, "reason"), reading.text(data, "message")
    details = reading.text(data, "details")
    reading.odd_value("finish.reason", reason, _REASONS)
    if data.get("time"):
        reading.date(data["time"], "finish.time")
    if message.role == "assistant" and reason == "canceled":
        reading.add(kinds.Lifecycle("interrupted", said), native_id=name)
    elif reason in _FAILURES:
        detail = {"reason": reason, "details": details} if details else {"reason": reason}
        reading.add(kinds.Lifecycle("api_error", said or reason, detail), native_id=name)
    elif said or details:
        reading.add(kinds.Lifecycle("turn_ended", said, {"reason": reason, "details": details}), native_id=name)


def _read_shell(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    """A command that the person ran, and what it printed."""
    exit_code = reading.whole(data, "exit_code")
    ok = exit_code == 0 if exit_code is not None else None
    reading.add(kinds.UserMessage(f"!{reading.text(data, 'command')}", "command"), native_id=name)
    reading.add(
        kinds.ToolResult(name, "shell", ok, exit_code, reading.text(data, "output")), native_id=f"result:{name}"
    )


_READERS: dict[str, Callable[[Reading, dict[str, Any], _Message, str], None]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "image_url": _read_image,
    "binary": _read_binary,
    "tool_call": _read_call,
    "finish": _read_finish,
    "shell_command": _read_shell,
}


# Session rows, and the versions of changed files.

_TITLE_SESSION = "title-"
_CALL_MARK = "$$"


def read_session(reading: Reading) -> None:
    """Emit a session: its start and lineage, its title, its to-do list and its counters."""
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    parent = reading.text(row, "parent_session_id")
    reading.start(parent_session=parent, agent_name=_agent_of(text(row.get("id")), parent))
    reading.entitle(reading.text(row, "title"))
    reading.date(row.get("updated_at"), "updated_at")
    _give_todos(reading, row.get("todos"))
    usage = kinds.TokenUsage(
        input_tokens=reading.count(row, "prompt_tokens"),
        output_tokens=reading.count(row, "completion_tokens"),
        cost_usd=reading.money(row, "cost"),
        dedupe_key=f"crush:session:{reading.state.session}",
        is_additive=False,
    )
    if usage.input_tokens or usage.output_tokens or usage.cost_usd:
        reading.add(usage, native_id="totals")
    reading.extra(row, _FIELDS["session"], "session", native_id="session")


def _agent_of(name: str, parent: str) -> str:
    """Return what a session without a person is for: a call of the tool `agent` names it `<message>$$<call>`."""
    if not parent:
        return ""
    return "title" if name.startswith(_TITLE_SESSION) else "agent" if _CALL_MARK in name else ""


def _give_todos(reading: Reading, todos: Any) -> None:
    if todos is None or todos == "":
        return
    if not isinstance(todos, list):
        reading.wrong("todos")
        reading.kept("todos", todos, native_id="todos")
        return
    for ordinal, todo in enumerate(todos):
        line = mapping(todo)
        name = f"todo:{ordinal}"
        said = text(line.get("content")) if line else text(todo)
        detail = {k: line[k] for k in ("status", "active_form") if line.get(k)}
        reading.add(kinds.Lifecycle("todo", said, detail or None), native_id=name)
        reading.extra(line, _FIELDS["todo"], "session.todos", native_id=name)


def read_file(reading: Reading) -> None:
    """Emit a version of a file that the session changed: a copy, not an edit, which the tool's result is."""
    row = reading.value
    name = f"file:{text(row.get('id'))}"
    reading.date(row.get("created_at"), "created_at")
    version = reading.whole(row, "version")
    path = reading.text(row, "path")
    reading.add(
        kinds.FileEdit(path, "checkpoint", after=reading.text(row, "content"), backup=f"version {version or 0}"),
        "tool",
        native_id=name,
    )
    reading.extra(row, _FIELDS["file"], "file", native_id=name)


_TABLES: dict[str, Callable[[Reading], None]] = {"messages": read_message, "sessions": read_session, "files": read_file}


class CrushAdapter(KitAdapter[CrushState], slug="crush"):
    def read(self, reading: Reading) -> None:
        read_row(reading, _TABLES)
