"""Grok Build: parses a record into events, and the files beside the stream. Pure; never raises on content.

What the lines of the stream become is in `updates`, with `turns`; traps are in README.md beside this file.

Evidence: format notes: Grok Build, sections 1, 5 and 6.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.grok.turns import (
    HUMAN_REASONS,
    REASONS,
    GrokState,
    Reading,
    begin_prompt,
    name_message,
    split_prompt,
)
from recollect.agents.grok.updates import close_call, give_call, give_edits, read_line
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, first_line_name, read_odd
from recollect.agents.kit.content import arguments_of, chat_content, content_text, data_url_part
from recollect.agents.kit.names import content_sha256, count_name, short, spaceless
from recollect.agents.kit.values import (
    HEAD_SESSION,
    Json,
    decoded_json,
    group_in,
    items,
    mapping,
    text,
    whole,
    word_set,
)
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

# The model's history, `chat_history.jsonl`: a cache that is written again after a rewind or a compaction; no times.
#
# What the update stream says too has the same names here, so that it is given once: messages and thoughts by their
# prompt and number, calls and results by their id. Between a compaction and the next prompt numbers don't fit, and what
# is said there is left to the stream. What is only here: the system prompt, what the harness told the model, reasoning
# that was not streamed, the exact arguments. Evidence: format notes: Grok Build, section 4, traps 1 and 9.

_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool_result"}
"""The oldest lines have a role instead of a type."""
_FIELDS = known_by_type("grok", "record")
_KNOWN = known_fields("grok")


def read_item(reading: Reading) -> None:
    value = reading.value
    kind = value.get("type")
    if not isinstance(kind, str):
        role = value.get("role")
        kind = _ROLES.get(role, "") if isinstance(role, str) else ""
    read = _READERS.get(kind)
    if read is None:
        reading.unknown(kind or "item", native_id=f"item:{content_sha256(value)}")
        return
    base = f"item:{content_sha256(value)}"
    read(reading, value)
    if not reading.events and (reading.now("mark") or kind in ("system", "user")):
        reading.kept(kind, native_id=base)
    reading.extra(value, _FIELDS[kind], kind, native_id=base)


def give_instructions(reading: Reading, said: str, source: str) -> None:
    """Emit a system prompt or a loaded file, the same one only once in a session."""
    if said:
        name = f"instructions:{content_sha256(reading.state.session, spaceless(said))}"
        reading.add(kinds.Instructions(said, source), native_id=name)


def _content(reading: Reading, content: Json) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return the text and the images of a content."""
    said, parts, is_readable = chat_content(content)
    if not is_readable:
        reading.wrong("content.url", "bad_base64")
    return said, parts


def _read_user(reading: Reading, value: dict[str, Any]) -> None:
    said, parts = _content(reading, value.get("content"))
    reason = reading.text(value, "synthetic_reason")
    reading.odd_value("user.synthetic_reason", reason, REASONS)
    if reason and reason not in HUMAN_REASONS:
        if reason == "compaction_meta":
            begin_prompt(reading, "")
        if reason == "project_instructions":
            give_instructions(reading, said, reason)
        else:
            _give_aside(reading, said, parts)
        return
    human, asides = split_prompt(said)
    for aside in asides:
        _give_aside(reading, aside)
    if human.strip() or parts:
        if reason:
            name = f"ask:{reading.now('mark')}+{content_sha256(human)}"
        else:
            index = whole(value.get("prompt_index"))
            index = reading.now("top") + 1 if index is None else index
            reading.set(top=index)
            begin_prompt(reading, str(index))
            name = name_message(reading, "user")
        reading.add(kinds.UserMessage(human, HUMAN_REASONS.get(reason, "human"), parts), native_id=name)


def _give_aside(reading: Reading, said: str, parts: tuple[kinds.Part, ...] = ()) -> None:
    if said or parts:
        counted, seen = count_name(reading.now("seen"), content_sha256(reading.state.session, "aside", spaceless(said)))
        reading.set(seen=seen)
        name = f"aside:{counted}"
        reading.add(kinds.UserMessage(said, "injected", parts), native_id=name)


def _read_assistant(reading: Reading, value: dict[str, Any]) -> None:
    model = reading.text(value, "model_id")
    if model and len(model) <= MAX_NAME_CHARS:
        reading.set(model=short(model))
    thought = value.get("reasoning_content") or mapping(value.get("reasoning")).get("text")
    if isinstance(thought, str) and thought:
        _give_thought(reading, thought)
    said, parts = _content(reading, value.get("content"))
    if not said and not value.get("tool_calls") and value.get("raw_output"):
        said = flatten(value["raw_output"])
    if (said or parts) and reading.now("mark"):
        name = name_message(reading, "agent")
        reading.add(kinds.AssistantMessage(said, model, parts=parts), native_id=name)
    for call in reading.items(value, "tool_calls"):
        if isinstance(call, dict):
            _read_call(reading, call)
        else:
            reading.wrong("tool_calls")


def _read_call(reading: Reading, call: dict[str, Any]) -> None:
    function = mapping(call.get("function"))
    name = text(call.get("name")) or text(function.get("name"))
    written = call.get("arguments", function.get("arguments"))
    arguments = arguments_of(reading, written, empty=written)
    call_id = text(call.get("id"))
    give_call(reading, call_id, name, arguments)
    reading.extra(call, _KNOWN["call"], "tool_calls", native_id=f"call:{call_id}")


def _read_result(reading: Reading, value: dict[str, Any]) -> None:
    """Emit a result; the history doesn't say whether it was a success."""
    call_id = reading.text(value, "tool_call_id")
    said, parts = _content(reading, value.get("content"))
    for image in reading.items(value, "images"):
        url = image if isinstance(image, str) else text(mapping(image).get("url"))
        parts = (*parts, data_url_part("image", url)[0])
    known = close_call(reading, call_id)
    name = known.call.name if known is not None else text(value.get("name"))
    native_id = f"result:{call_id}" if call_id else f"result:{content_sha256(value)}"
    reading.add(kinds.ToolResult(call_id, name, text=said, parts=parts), native_id=native_id)
    give_edits(reading, call_id, known, [])


def _read_reasoning(reading: Reading, value: dict[str, Any]) -> None:
    pieces = [*items(value.get("summary")), *items(value.get("content")), value.get("text")]
    texts = [piece if isinstance(piece, str) else text(mapping(piece).get("text")) for piece in pieces]
    said = "\n".join(t for t in texts if t)
    if said:
        _give_thought(reading, said)
    elif value.get("encrypted_content"):
        name = text(value.get("id")) or content_sha256(value)
        reading.add(kinds.Thinking(is_encrypted=True), native_id=f"thought:{name}")


def _give_thought(reading: Reading, said: str) -> None:
    if reading.now("mark"):
        reading.add(kinds.Thinking(said), native_id=name_message(reading, "thought"))


def _read_backend_call(reading: Reading, value: dict[str, Any]) -> None:
    """Emit a call of a tool that ran at the model's provider; its sources are all that it gives back."""
    kind = reading.mapping(value, "kind")
    tool = reading.text(kind, "tool_type")
    call_id = reading.text(kind, "id") or content_sha256(value)
    arguments = kind.get("action")
    if arguments is None:
        arguments = {k: v for k, v in kind.items() if k not in ("tool_type", "id", "status")} or None
    give_call(reading, call_id, tool, arguments)
    status = reading.text(kind, "status")
    if status in ("completed", "failed"):
        close_call(reading, call_id)
        result = kinds.ToolResult(call_id, tool, status == "completed", text=flatten(mapping(kind).get("results")))
        reading.add(result, native_id=f"result:{call_id}")
    reading.extra(kind, _KNOWN["backend"], "backend_tool_call.kind", native_id=f"call:{call_id}")


_READERS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "system": lambda reading, value: give_instructions(
        reading, _content(reading, value.get("content"))[0], "system_prompt"
    ),
    "user": _read_user,
    "assistant": _read_assistant,
    "tool_result": _read_result,
    "reasoning": _read_reasoning,
    "backend_tool_call": _read_backend_call,
}


_EVENT_TYPES = word_set("""
    turn_started phase_changed first_token loop_started tool_started tool_completed permission_requested
    permission_resolved turn_ended interjected yolo_toggled
""")
_EVENT_FAMILIES = ("goal_", "todo_gate_", "laziness_", "mcp_")
_EVENT_NAMES = {"permission_requested": "permission", "permission_resolved": "permission"}
_OUTCOMES = word_set("""
    success error permission_rejected permission_cancelled followup hook_denied invalid_tool cancelled completed
""")
_COUNTERS = word_set("""
    num_messages num_chat_messages updated_at last_active_at next_trace_turn numMessages updatedAt request_id
""")
"""Change with every save and say nothing that the stream doesn't."""
_GIVEN = word_set("""
    info created_at createdAt current_model_id modelId git_root_dir git_remotes head_commit head_branch generated_title
    session_summary title parent_session_id firstPrompt last_turn_summary grok_home
""")
_SETTINGS = word_set("""
    title_is_manual forked_at session_kind inherited_prefix_len fork_parent_prompt_id fork_context_source
    source_workspace_dir worktree_label worktreeLabel agent_name reasoning_effort chat_format_version hidden
    sandbox_profile last_turn_summary_prompt_id session_name pinned collection_id prompt_display_cwd cwd_generation
    previous_cwd pending_cwd_switch_reminder cwd_switch_bookkeeping_generation
""")
_CONTEXT_TEXTS = ("content", "text", "body")


def _read_summary(reading: Reading) -> None:
    """Emit the facts of the session that its summary states. It is written again with every update."""
    value = reading.value
    info = reading.mapping(value, "info")
    reading.date(value.get("created_at", value.get("createdAt")), "created_at")
    kind = reading.text(value, "session_kind")
    parent = reading.text(value, "parent_session_id")
    is_subagent = kind.startswith("subagent")
    remotes = [r for r in reading.items(value, "git_remotes") if isinstance(r, str)]
    reading.start(
        **reading.told(
            value,
            repo_root="git_root_dir",
            git_branch="head_branch",
            git_commit="head_commit",
            model="current_model_id modelId",
        ),
        cwd=text(info.get("cwd")),
        git_remote=remotes[0] if remotes else "",
        parent_session=parent if is_subagent else "",
        forked_from="" if is_subagent else parent,
        agent_name=reading.text(value, "agent_name") if is_subagent else "",
        native_id="summary/start",
    )
    first = text(value.get("firstPrompt"))
    reading.say(kinds.UserMessage(first), native_id="summary/prompt")
    reading.infer(reading.ts)
    reading.entitle(
        next((t for t in (text(value.get(k)) for k in ("generated_title", "session_summary", "title")) if t), ""),
        "summary/title",
    )
    recap = text(value.get("last_turn_summary"))
    reading.note("last_turn_summary", recap, native_id="summary/recap")
    settings = {k: v for k, v in value.items() if k in _SETTINGS and v not in (None, "", [], {}, False)}
    if len(remotes) > 1:
        settings["git_remotes"] = remotes
    reading.note("session_info", detail=settings, native_id="summary/info")
    reading.extra(value, _GIVEN | _SETTINGS | _COUNTERS, "summary", native_id="summary")


def _read_event(reading: Reading) -> None:
    """Emit a line of telemetry. Tools are reported twice: once by the workspace, which is left to the archive."""
    value = reading.value
    reading.date(value.get("ts"), "ts")
    kind = value.get("type")
    if not isinstance(kind, str) or not (kind in _EVENT_TYPES or kind.startswith(_EVENT_FAMILIES)):
        reading.unknown(kind if isinstance(kind, str) and kind else "event")
        return
    if value.get("source") == "workspace" and kind == "tool_completed":
        return
    reading.odd_value(f"{kind}.outcome", value.get("outcome"), _OUTCOMES)
    if kind == "turn_started":
        _see_model(reading, reading.text(value, "model_id"))
    rest = {k: v for k, v in value.items() if k not in ("ts", "type", "schema_version", "session_id", "tool_call_id")}
    name = _EVENT_NAMES.get(kind, kind)
    if name == "permission":
        rest["event"] = kind
    kept = {k: v for k, v in rest.items() if v not in (None, "", [], {})}
    reading.add(kinds.Lifecycle(name, detail=kept or None, call_id=text(value.get("tool_call_id"))))


def _see_model(reading: Reading, model: str) -> None:
    if not model or len(model) > MAX_NAME_CHARS or model == reading.now("model"):
        return
    if not reading.now("model"):
        reading.start(cwd=reading.state.cwd, model=model, native_id="events/start")
    else:
        reading.add(kinds.Lifecycle("model", model=model))
    reading.set(model=short(model))


def _read_prompt_history(reading: Reading) -> None:
    """Emit one prompt of the folder's history, in the session that it names."""
    value = reading.value
    reading.date(value.get("timestamp"))
    session = reading.text(value, "session_id")
    said = reading.text(value, "prompt")
    reading.extra(value, _KNOWN["history"], "prompt_history")
    if not session or not said:
        reading.kept("prompt_history")
    elif value.get("is_bash") is True:
        reading.add(kinds.UserMessage(f"!{said}", "command"), session=session)
    else:
        reading.add(kinds.UserMessage(said), session=session)


def _read_rewind_point(reading: Reading) -> None:
    """Emit the copies of files that were kept before a prompt. They are no edits of their own."""
    value = reading.value
    reading.date(value.get("created_at"), "created_at")
    before, after = reading.mapping(value, "file_snapshots"), reading.mapping(value, "after_snapshots")
    point = f"point:{whole(value.get('prompt_index'))}:{content_sha256(value.get('created_at'))}"
    for path in dict.fromkeys((*before, *after)):
        edit = kinds.FileEdit(
            _path(before.get(path)) or _path(after.get(path)) or path,
            "checkpoint",
            _file_content(before.get(path)),
            _file_content(after.get(path)),
        )
        reading.add(edit, native_id=f"{point}:{path}")
    rest = {k: v for k, v in value.items() if k in ("prompt_index",)}
    reading.add(kinds.Lifecycle("checkpoint", detail=rest or None), native_id=point)
    reading.extra(value, _KNOWN["point"], "rewind_point", native_id=point)


def _file_content(snapshot: object) -> str | None:
    """Return the content of a file's copy: a text, or an object that holds it; None where there was no file."""
    content = snapshot if isinstance(snapshot, str) else mapping(snapshot).get("content")
    return content if isinstance(content, str) else None


def _path(snapshot: object) -> str:
    return text(mapping(snapshot).get("path"))


def _read_checkpoint(reading: Reading) -> None:
    """Emit what a compaction kept, which is what the model continued with."""
    value = reading.value
    reading.date(value.get("created_at"), "created_at")
    name = f"checkpoint:{text(value.get('checkpoint_id')) or reading.state.name}"
    kept = [content_text(mapping(item).get("content")) for item in reading.items(value, "compacted_history")]
    said = "\n\n".join(t for t in kept if t)
    rest = {
        k: v for k, v in value.items() if k in _KNOWN["checkpoint"] and k not in ("compacted_history", "created_at")
    }
    detail = {k: v for k, v in rest.items() if v not in (None, "", [], {})}
    reading.add(kinds.Lifecycle("checkpoint", said, detail or None), native_id=name)
    reading.extra(value, _KNOWN["checkpoint"], "compaction_checkpoint", native_id=name)


def _read_prompt_context(reading: Reading) -> None:
    """Emit the instruction files that were loaded, wherever in the document they stand, and the rest."""
    rest = {k: _without_files(reading, v) for k, v in reading.value.items()}
    detail = {k: v for k, v in rest.items() if v not in (None, "", [], {})}
    reading.note("prompt_context", detail=detail, native_id="prompt_context")


def _without_files(reading: Reading, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    left: list[Any] = []
    for item in value:
        file = mapping(item)
        path = text(file.get("path")) or text(file.get("name"))
        said = next((file[k] for k in _CONTEXT_TEXTS if isinstance(file.get(k), str)), "")
        if path and said:
            give_instructions(reading, said, path)
        else:
            left.append(item)
    return left


def _read_state(reading: Reading) -> None:
    """Emit a document of settings or counters, whole."""
    name = reading.state.name.removesuffix(".json").removesuffix(".jsonl") or "state"
    entries = items(reading.value.get("entries")) or items(reading.value.get("todos"))
    kind = "todo" if name == "plan" and entries else "goal" if name == "state" else name
    detail = {k: v for k, v in reading.value.items() if v not in (None, "", [], {}, 0, False)}
    reading.add(kinds.Lifecycle(kind, detail=detail or None), native_id=f"state:{name}")


def _read_subagent_meta(reading: Reading) -> None:
    value = reading.value
    reading.date(value.get("started_at", value.get("created_at")), "started_at")
    said = text(value.get("prompt")) or text(value.get("description"))
    rest = {k: v for k, v in value.items() if v not in (None, "", [], {}) and v != said}
    reading.add(kinds.Lifecycle("subagent", said, rest or None), native_id=f"subagent_meta:{content_sha256(value)}")


def _read_feedback(reading: Reading) -> None:
    value = reading.value
    reading.date(value.get("timestamp", value.get("created_at")))
    said = text(value.get("text")) or text(value.get("feedback")) or text(value.get("comment"))
    rest = {k: v for k, v in value.items() if v not in (None, "", [], {}) and v != said}
    reading.add(kinds.Lifecycle("feedback", said, rest or None))


READERS: dict[str, Callable[[Reading], None]] = {
    "updates": read_line,
    "chat": read_item,
    "events": _read_event,
    "summary": _read_summary,
    "prompt_context": _read_prompt_context,
    "rewind_points": _read_rewind_point,
    "checkpoint": _read_checkpoint,
    "subagent_meta": _read_subagent_meta,
    "feedback": _read_feedback,
    "settings": _read_state,
    "prompt_history": _read_prompt_history,
}
"""Which function reads the objects of which role."""


_MAX_LINES = 50
_CHAT_TYPES = frozenset(("system", "user", "assistant", "tool_result", "reasoning", "backend_tool_call"))
_FOREIGN_KEYS = frozenset(("uuid", "parentUuid", "sessionId", "message", "timestamp", "payload", "parentId", "jsonrpc"))
_EVENT_MARKS = frozenset(("session_relationship", "conversation_message_count", "schema_version"))
_HISTORY_KEYS = frozenset(("timestamp", "session_id", "prompt", "is_bash"))
_CUT_UPDATE = re.compile(rb'\s*\{"timestamp":\d+,"method":"(?:session|_x\.ai/session)/update","params":\{')
_CUT_SYSTEM = re.compile(rb'\s*\{"type":"system","content":"You are Grok\b')
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


def _role(value: dict[str, Any]) -> str | None:
    if "jsonrpc" in value:
        return None
    params = value.get("params", value)
    update = mapping(params).get("update")
    if isinstance(update, dict) and isinstance(update.get("sessionUpdate"), str):
        is_whole = isinstance(value.get("timestamp"), int) or value.keys() <= {"sessionId", "update", "_meta"}
        return "updates" if is_whole else None
    if value.keys() >= _HISTORY_KEYS:
        return "prompt_history"
    if isinstance(value.get("ts"), str) and isinstance(value.get("type"), str) and value.keys() & _EVENT_MARKS:
        return "events"
    if isinstance(value.get("info"), dict) and "num_chat_messages" in value and "current_model_id" in value:
        return "summary"
    if isinstance(value.get("prompt_index"), int) and isinstance(value.get("file_snapshots"), dict):
        return "rewind_points"
    return "chat" if _is_chat(value) else None


def _is_chat(value: dict[str, Any]) -> bool:
    """Only lines that no other agent writes count: most of them look like anybody's."""
    if value.keys() & _FOREIGN_KEYS:
        return False
    if value.get("role") == "assistant" and "type" not in value:  # as written before `type` (format notes, section 4)
        return isinstance(value.get("content"), str) and isinstance(value.get("model_id"), str)
    if text(value.get("type")) not in _CHAT_TYPES:
        return False
    match value["type"]:
        case "assistant":
            return isinstance(value.get("content"), str) and isinstance(value.get("model_id"), str)
        case "user":
            return isinstance(value.get("content"), list) and bool(value.keys() & {"prompt_index", "synthetic_reason"})
        case "backend_tool_call":
            return "tool_type" in mapping(value.get("kind"))
    return False


def parent_of(info: SourceInfo) -> str:
    """Return the session in whose folder a subagent's own files lie, "" for any other source."""
    parts = _below_sessions(info.path)
    return parts[1] if len(parts) >= 5 and parts[2] == "subagents" else ""


def folder_of(info: SourceInfo) -> str:
    """Return the working directory that the group's folder is named after; "" where it is named by a hash."""
    parts = _below_sessions(info.path)
    named = unquote(parts[0]) if len(parts) >= 2 else ""
    return named if _ABSOLUTE.match(named) else ""


def _below_sessions(path: str) -> list[str]:
    parts = path.split("/")
    for at in range(len(parts) - 3, -1, -1):
        if parts[at] == "sessions":
            return parts[at + 1 :]
    return []


def _values(head: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects among the first lines, or the one document that the head is."""
    lines = head.split(b"\n", _MAX_LINES)[:_MAX_LINES]
    for line in (head, *lines) if lines and lines[0].strip() in (b"{", b"") else lines:
        value = decoded_json(line) if line.lstrip()[:1] == b"{" else None
        if isinstance(value, dict):
            yield value


class GrokAdapter(KitAdapter[GrokState], slug="grok"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a source that lies in no known layout, None for what Grok Build did not write."""
        for value in _values(head):
            role = _role(value)
            if role is not None:
                return role
        if _CUT_UPDATE.match(head) is not None and b'"sessionUpdate"' in head:
            return "updates"
        is_chat = path.rsplit("/", 1)[-1] == "chat_history.jsonl" and _CUT_SYSTEM.match(head) is not None
        return "chat" if is_chat else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the session's folder, else what the first lines say."""
        if info.role == "prompt_history":
            return "prompt_history"
        parts = _below_sessions(info.path)
        if len(parts) >= 5 and parts[2] == "subagents" and info.role in ("updates", "chat"):
            return parts[3]
        if len(parts) >= 3:
            return parts[1]
        for value in _values(head):
            params = mapping(value.get("params"))
            found = (
                text(params.get("sessionId"))
                or text(value.get("sessionId"))
                or text(mapping(value.get("info")).get("id"))
            )
            if found:
                return found
        return group_in(HEAD_SESSION, head) or first_line_name(head)

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"document": parent_of(info) if info.role == "updates" else "", "cwd": folder_of(info)}

    def read(self, reading: Reading) -> None:
        state = reading.state
        said = reading.record.value
        if state.role == "system_prompt" and isinstance(said, str):
            give_instructions(reading, said, "system_prompt")
            return
        read = READERS.get(state.role)
        if read is None or not isinstance(said, dict):
            read_odd(reading)
            return
        read(reading)
        if state.role == "updates" and not state.is_started:
            reading.set(is_started=True)
            reading.start(cwd=state.cwd, model=reading.now("model"), parent_session=state.document)
            reading.events.insert(0, reading.events.pop())
