"""Windsurf: parses a record into events. Pure; never raises on content.

Transcripts, payloads of hooks, and the older chat. Traps: README.md.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd, remember
from recollect.agents.kit.content import content_text, without_opaque
from recollect.agents.kit.names import NamingState, content_sha256, numbered, times_counted
from recollect.agents.kit.values import Json, decoded_json, items, mapping, path_of_address, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

HOOKS = "hooks"
TRANSCRIPT = "transcript"
WORKSPACE = "workspace"

# What the parser of Windsurf remembers, and how it names what has no id.

MAX_SESSIONS = 256


class WindsurfState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """sessions: hashes of the sessions that began. model, cwd: the newest of `of`."""

    sessions: tuple[str, ...] = ()
    of: str = ""
    model: str = ""
    cwd: str = ""


Step = Reading[WindsurfState]


def named(step: Step, kind: str, *content: Json) -> str:
    """Return a name made of content; equal content is count_name."""
    return numbered(step, f"{kind}:{content_sha256(*content)}")


def named_in(step: Step, session: str, kind: str, content: Json) -> str:
    """Return a name made of content, numbered within a session: the same in a source of this session alone."""
    return numbered(step, f"{session}:{kind}:{content_sha256(content)}")[len(session) + 1 :]


def is_before(step: Step, name: str) -> bool:
    """Say whether a payload before an action was seen that has the name of this one after it (`after:<hex>/2`)."""
    stem, _, number = name.partition("/")
    return times_counted(step.now("marks"), f"before:{stem.partition(':')[2]}") >= int(number or 1)


def begins(step: Step, session: str) -> bool:
    """Say whether a session has not been seen yet, and remember it."""
    known: tuple[str, ...] = step.now("sessions")
    mark = content_sha256(session)
    if mark in known:
        return False
    step.set(sessions=remember(known, mark, MAX_SESSIONS))
    return True


def move(step: Step, since: int, session: str) -> None:
    """Say that the events from a place on belong to a session, which is not always the source's."""
    if session != step.state.session:
        step.events[since:] = [msgspec.structs.replace(draft, session=session) for draft in step.events[since:]]


# The older chat of a workspace: one value that holds all conversations, as tabs of bubbles or as requests.
#
# It says neither when nor with which tools. Every conversation is a session of its own.
# Evidence: format notes: Windsurf, store 2.

_USER = (1, "1", "user", "human")
_ASSISTANT = (2, "2", "ai", "assistant")
_TEXTS = ("text", "rawText", "initText", "content")
_KNOWN = known_fields("windsurf")
_BUBBLE = frozenset(("type", "id", *_TEXTS))


def read_chat_row(step: Step) -> None:
    """Give all conversations of a row."""
    if "key" not in step.value:
        read_odd(step)
        return
    value = step.value.get("value")
    if value is None:
        return
    found = list(_conversations(value))
    if not found and value not in ("", [], {}) and not _is_empty(value):
        step.unknown(text(step.value.get("key")) or "row", value)
    for conversation in found:
        _read_conversation(step, conversation)


def _is_empty(value: Json) -> bool:
    """A chat that was opened and never used has no tab."""
    lists = [v for k, v in mapping(value).items() if k in ("tabs", "requests", "sessions")]
    return bool(lists) and not any(lists)


def _conversations(value: Json) -> Iterator[dict[str, Any]]:
    """Yield what has bubbles or requests: the value, its tabs or sessions, or the elements of a list."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    for item in listed:
        if not isinstance(item, dict):
            continue
        if _is_conversation(item):
            yield item
        for name in ("tabs", "sessions"):
            inner = item.get(name)
            yield from filter(_is_conversation, items(inner) or list(mapping(inner).values()))


def _is_conversation(value: Json) -> bool:
    fields = mapping(value)
    return isinstance(fields.get("bubbles"), list) or isinstance(fields.get("requests"), list)


def _read_conversation(step: Step, conversation: dict[str, Any]) -> None:
    bubbles, requests = items(conversation.get("bubbles")), items(conversation.get("requests"))
    if not bubbles and not requests:
        return
    at = len(step.events)
    step.ts, step.ts_quality = None, "missing"
    own = next((t for n in ("tabId", "sessionId", "id") if (t := text(conversation.get(n)))), "")
    session = own[:MAX_NAME_CHARS] or f"chat-{content_sha256((bubbles or requests)[0])}"
    step.start()
    step.entitle(next((t for n in ("chatTitle", "customTitle", "title") if (t := text(conversation.get(n)))), ""))
    for bubble in bubbles:
        _read_bubble(step, session, bubble)
    for request in requests:
        _read_request(step, session, request)
    step.extra(conversation, _KNOWN["tab"], "chat", native_id="chat")
    move(step, at, session)


def _name(step: Step, own: Json, session: str, kind: str, content: Json) -> str:
    written = text(own)
    return f"{kind}:{written[:MAX_NAME_CHARS]}" if written else named(step, kind, session, content)


def _read_bubble(step: Step, session: str, bubble: Json) -> None:
    fields = mapping(bubble)
    said = next((fields[n] for n in _TEXTS if isinstance(fields.get(n), str) and fields[n]), "")
    if fields and not said:
        return
    kind = fields.get("type")
    kind = kind if isinstance(kind, int | str) else ""
    name = _name(step, fields.get("id"), session, "bubble", bubble)
    if kind in _USER:
        step.add(kinds.UserMessage(said), native_id=name)
    elif kind in _ASSISTANT:
        step.add(kinds.AssistantMessage(said), native_id=name)
    else:
        step.unknown(f"bubble:{kind}" if fields else "bubble", bubble, native_id=name)
        return
    step.extra(fields, _BUBBLE, "bubble", native_id=name)


def _read_request(step: Step, session: str, request: Json) -> None:
    """Emit a question and the words of its answer, as VS Code's own chat writes them."""
    fields = mapping(request)
    message = fields.get("message")
    asked = message if isinstance(message, str) else text(mapping(message).get("text"))
    name = _name(step, fields.get("requestId"), session, "request", request)
    at = len(step.events)
    if fields.get("timestamp") is not None:
        step.date(fields["timestamp"])
    step.say(kinds.UserMessage(asked), native_id=name)
    words: list[str] = []
    for part in items(fields.get("response")):
        piece = mapping(part).get("value", mapping(part).get("content"))
        said = part if isinstance(part, str) else piece if isinstance(piece, str) else text(mapping(piece).get("value"))
        if said:
            words.append(said)
        elif isinstance(part, dict) and part:
            step.unknown(text(part.get("kind")) or "response", part, native_id=named(step, "response", session, part))
    if words:
        step.add(kinds.AssistantMessage("".join(words)), native_id=f"{name}/answer")
    if len(step.events) == at:
        step.unknown("request", request, native_id=name)
        return
    step.extra(fields, _KNOWN["request"], "request", native_id=name)


# Payloads of Cascade's hooks, one a line, as a hook that saves them was given them.
#
# A payload names its session (`trajectory_id`) and its turn (`execution_id`), not its call: the n-th payload before and
# the n-th after the same action of a turn belong together. Evidence: format notes: Windsurf, store 3.

_TOOLS = frozenset(("read_code", "write_code", "run_command", "mcp_tool_use"))
_ACTIONS = word_set("""
    pre_user_prompt post_cascade_response post_cascade_response_with_transcript post_setup_worktree session_start
    session_end
""")
_RESULT_FIELDS = frozenset(("mcp_result", "result", "output", "stdout", "stderr", "exit_code", "error"))
_BODIES = ("mcp_result", "result", "output", "stdout", "error")


def read_payload(step: Step) -> None:
    """Emit a payload, in the session that it names."""
    value = step.value
    step.date(value.get("timestamp"))
    session = step.text(value, "trajectory_id") or step.state.session
    turn, action = step.text(value, "execution_id"), step.text(value, "agent_action_name")
    info = step.mapping(value, "tool_info")
    # Emit a session's start at its first payload, and each change of model or folder.
    is_start = action == "session_start"
    model = step.text(step.value, "model_name")
    cwd = text(info.get("cwd")) or (text(info.get("worktree_path")) if is_start else "")
    if begins(step, session):
        step.start(cwd=cwd, model=model)
        step.set(of=session[:200], model=model, cwd=cwd)
    elif step.now("of") == session[:200]:
        if model and model != step.now("model"):
            step.add(kinds.Lifecycle("model", model=model), native_id=named(step, "model", session, model))
            step.set(model=model)
    else:
        step.set(of=session[:200], model=model, cwd=cwd)
    moment, _, kind = action.partition("_")
    before = len(step.events)
    if moment in ("pre", "post") and kind in _TOOLS:
        _read_tool(step, session, turn, is_after=moment == "post", kind=kind, info=info)
    else:
        _read_notice(step, session, turn, action, info)
    if action not in _ACTIONS and not (moment in ("pre", "post") and kind in _TOOLS):
        step.unknown(action or "payload", native_id=named(step, "unknown", session, value))
    elif len(step.events) == before and info:
        step.kept(action, native_id=named(step, "kept", session, value))
    if step.events:
        step.extra(value, _KNOWN["record"], "payload", native_id=step.events[-1].native_id)
    move(step, 0, session)


def _read_notice(step: Step, session: str, turn: str, action: str, info: dict[str, Any]) -> None:
    if action == "pre_user_prompt":
        said = step.text(info, "user_prompt")
        if said:
            step.add(kinds.UserMessage(said), native_id=named_in(step, session, "ask", said))
    elif action == "post_cascade_response":
        said = step.text(info, "response")
        if said:
            reply = kinds.AssistantMessage(said, model=step.text(step.value, "model_name"))
            step.add(reply, native_id=named_in(step, session, "say", said))
    elif action == "post_cascade_response_with_transcript":
        path = text(info.get("transcript_path")) or text(step.value.get("transcript_path"))
        if path:  # only what is given is counted
            step.note("hook", path, native_id=named(step, "hook", session, turn, path))
    elif action == "post_setup_worktree":
        path = text(info.get("worktree_path"))
        changed = kinds.Lifecycle(
            "cwd", text=flatten({k: v for k, v in info.items() if k != "worktree_path"}), cwd=path
        )
        step.add(changed, native_id=named(step, "worktree", session, info))
    elif action == "session_end":
        step.add(kinds.SessionEnd(text(info.get("reason"))), native_id=named(step, "end", session))
    elif action == "session_start" and info:
        step.add(kinds.Lifecycle("hook", text=flatten(info)), native_id=named(step, "hook", session, info))


def _read_tool(step: Step, session: str, turn: str, *, is_after: bool, kind: str, info: dict[str, Any]) -> None:
    asked = {k: v for k, v in info.items() if k not in _RESULT_FIELDS}
    tool = text(info.get("mcp_tool_name")) if kind == "mcp_tool_use" else kind
    canonical = "mcp" if kind == "mcp_tool_use" else canonical_tool(kind)
    # Payloads before and after an action are numbered apart, so that the n-th of both get one name.
    name = named(step, "after" if is_after else "before", session, turn, kind, asked)
    call_id = f"{kind}:{name.partition(':')[2]}"
    if not is_after or not is_before(step, name):
        arguments = asked.get("mcp_tool_arguments") if kind == "mcp_tool_use" else asked
        step.add(
            kinds.ToolCall(call_id, tool or kind, canonical, without_opaque(arguments)), native_id=f"call:{call_id}"
        )
    if is_after:
        _give_result(step, info, call_id, tool or kind)
        if kind == "write_code":
            path = path_of_address(step.text(info, "file_path"))
            for i, edit in enumerate(step.items(info, "edits")):
                change = mapping(edit)
                before, after = change.get("old_string"), change.get("new_string")
                step.add(
                    kinds.FileEdit(
                        path,
                        before=before if isinstance(before, str) else None,
                        after=after if isinstance(after, str) else None,
                        call_id=call_id,
                    ),
                    native_id=f"edit:{call_id}:{i}",
                )


def _give_result(step: Step, info: dict[str, Any], call_id: str, tool: str) -> None:
    """Emit the result; of most actions a payload says only that they are over."""
    written = next((info[name] for name in _BODIES if info.get(name) not in (None, "")), None)
    exit_code = whole(info.get("exit_code"))
    ok: bool | None = None
    if info.get("error") not in (None, "") or exit_code:
        ok = False
    elif exit_code == 0:
        ok = True
    body = content_text(without_opaque(mapping(written).get("content", written)))
    errors = text(info.get("stderr"))
    said = "\n".join(t for t in (body, errors) if t)
    step.add(kinds.ToolResult(call_id, tool, ok, exit_code, said), native_id=f"result:{call_id}")


# Cascade's transcripts: one step a line, `{"type": kind, "status": …, kind: {…}}`, without times and ids.
#
# Field names are those of one recorded transcript; a step of another kind is kept as unknown.
# Evidence: format notes: Windsurf, store 3.

_STATUSES = frozenset(("done", "error", "running", "pending", "cancelled", "canceled"))
_RUNNING = frozenset(("running", "pending"))
_STEP = frozenset(("type", "status"))


class Shape(NamedTuple):
    """The fields of a tool's step: what was asked, the text that came back, and the other things that did."""

    asked: tuple[str, ...]
    body: str = ""
    beside: tuple[str, ...] = ()


_SHAPES = {
    "view_file": Shape(("path", "start_line", "end_line"), "content"),
    "code_action": Shape(("path",), "", ("acknowledgement_type", "original_content", "new_content")),
    "run_command": Shape(("command", "cwd"), "output", ("exit_code", "user_rejected")),
    "list_directory": Shape(("path",), "output"),
    "find": Shape(("pattern", "search_directory"), "output", ("total_results",)),
    "grep_search": Shape(("query", "search_path"), "output", ("total_results",)),
    "list_resources": Shape(("server_name",), "output"),
}


def read_step(step: Step) -> None:
    if begins(step, step.state.session):
        step.start()
    kind, status = step.text(step.value, "type"), step.text(step.value, "status")
    step.odd_value("step.status", status, _STATUSES)
    body = step.value.get(kind)
    before = len(step.events)
    if isinstance(body, dict):
        if kind == "user_input":
            _read_said(step, body, "user_response")
        elif kind == "planner_response":
            _read_said(step, body, "response")
        elif kind in _SHAPES:
            _read_step_tool(step, kind, body, status)
    if len(step.events) == before:
        if kind in ("user_input", "planner_response", *_SHAPES):
            step.kept(kind, native_id=named(step, "kept", step.value))
        else:
            step.unknown(kind or "step", native_id=named(step, "unknown", step.value))
        return
    name = step.events[before].native_id
    step.extra(step.value, _STEP | {kind}, "step", native_id=name)


def _read_said(step: Step, body: dict[str, Any], field: str) -> None:
    """Emit the words of the person or of the model."""
    said = step.text(body, field)
    name = ""
    if said and field == "user_response":
        name = named(step, "ask", said)
        step.add(kinds.UserMessage(said), native_id=name)
    elif said:
        name = named(step, "say", said)
        step.add(kinds.AssistantMessage(said), native_id=name)
    step.extra(body, {field}, field, native_id=name or named(step, "kept", body))


def _read_step_tool(step: Step, kind: str, body: dict[str, Any], status: str) -> None:
    shape = _SHAPES[kind]
    asked = {name: _plain(body[name]) for name in shape.asked if name in body}
    call_id = named(step, kind, asked)
    step.add(
        kinds.ToolCall(call_id, kind, ("mcp" if kind == "list_resources" else canonical_tool(kind)), asked),
        native_id=f"call:{call_id}",
    )
    exit_code = whole(body.get("exit_code"))
    decision = text(body.get("acknowledgement_type"))
    is_refused = body.get("user_rejected") is True or decision.endswith(("_REJECT", "_REJECTED"))
    said = step.text(body, shape.body) if shape.body else ""
    if status not in _RUNNING or said:
        ok = status == "done" and not exit_code and not is_refused if status else None
        rest = {
            name: body[name]
            for name in shape.beside
            if name in body and name not in ("exit_code", "original_content", "new_content") and body[name] is not False
        }
        step.add(kinds.ToolResult(call_id, kind, ok, exit_code, said, rest or None), native_id=f"result:{call_id}")
        if kind == "code_action" and ok is not False:
            # Emit a change: the file before and after it, both whole.
            before, after = body.get("original_content"), body.get("new_content")
            edit = kinds.FileEdit(
                path_of_address(step.text(body, "path")),
                "modify" if isinstance(before, str) or after is None else "create",
                before if isinstance(before, str) else None,
                after if isinstance(after, str) else None,
                call_id=call_id,
            )
            step.add(edit, native_id=f"edit:{call_id}")
        if is_refused:
            step.add(kinds.Lifecycle("permission", text="rejected", call_id=call_id), native_id=f"permission:{call_id}")
    known = {*shape.asked, shape.body, *shape.beside}
    step.extra(body, known, kind, native_id=f"call:{call_id}")


def _plain(value: Json) -> Json:
    return path_of_address(value) if isinstance(value, str) else value


class WindsurfAdapter(KitAdapter[WindsurfState], slug="windsurf"):
    readers: ClassVar = {TRANSCRIPT: read_step, HOOKS: read_payload, WORKSPACE: read_chat_row}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. A step has nothing but its type, its status and what stands under its type."""
        first = _first(head)
        if isinstance(first.get("agent_action_name"), str) and isinstance(first.get("trajectory_id"), str):
            return HOOKS
        kind = first.get("type")
        if isinstance(kind, str) and first.keys() == _STEP | {kind} and isinstance(first[kind], dict):
            return TRANSCRIPT
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the trajectory; of a workspace's store its folder: its chats name themselves."""
        if info.role == WORKSPACE and info.folder:
            return f"workspace-{info.folder}"
        if info.role == HOOKS:
            return text(_first(head).get("trajectory_id")) or first_line_name(head)
        return info.stem or first_line_name(head)


def _first(head: bytes) -> dict[str, Any]:
    line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    return mapping(decoded_json(line))
