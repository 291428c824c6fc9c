"""Codex: recognises rollouts, names sessions and parses records into events. Pure.

A record is `{timestamp, type, payload}`; before 2025-09 the payload stood alone; the oldest rollouts are one JSON
document. What each type means is in `dialogue` (messages, headers, turns, compactions) and `tools` (calls, patches,
usage); `step` holds the state.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable

import msgspec

from recollect.agents.codex import dialogue, tools
from recollect.agents.codex.dialogue import compact, item_message, readable, readable_secret, unknown_text, without
from recollect.agents.codex.step import State, Step, bounded, note_envelope, note_payload
from recollect.agents.facts import facts_of
from recollect.agents.kit.adapter import note_type, note_value
from recollect.agents.kit.names import content_name
from recollect.agents.kit.values import text
from recollect.model.payloads import Json, Lifecycle, Rewind, Unknown, UserMessage
from recollect.model.records import Parsed, Record, SourceInfo

# Which function reads which type: `response_item` (the model's items), `event_msg` (what the interface was told).
#
# Items also stand alone in the oldest form; completed items replace most events in the paginated mode. Small events are
# read here.

Handler = Callable[[Step, dict[str, Json]], None]
_ABORT_REASONS = frozenset(("interrupted", "replaced", "review_ended", "budget_limited"))


def item_without_type(step: Step, payload: dict[str, Json]) -> None:
    """A message written without its type by builds of the transition; else unknown."""
    if "role" in payload and "content" in payload:
        note_payload(step, "response_item/message", payload)
        dialogue.item_message(step, payload)
    else:
        note_type(step.drift, "response_item/(none)")
        step.emit(Unknown(type="response_item", text=unknown_text(payload)))


def item_compaction(step: Step, payload: dict[str, Json]) -> None:
    """A `compaction` item: the shortened context, usually as ciphertext."""
    compact(step, "compaction", readable_secret(payload.get("encrypted_content")))


def task_started(step: Step, payload: dict[str, Json]) -> None:
    """A turn begins."""
    step.begin_turn(step.text(payload.get("turn_id"), "turn_id"))
    step.emit(Lifecycle(name="turn_started"))


def task_complete(step: Step, payload: dict[str, Json]) -> None:
    """A turn ended; its last message was given already."""
    error = payload.get("error")
    detail = {k: payload[k] for k in ("duration_ms", "time_to_first_token_ms") if payload.get(k) is not None}
    step.emit(Lifecycle(name="turn_ended", text=readable(error) if error else "", detail=detail or None))


def turn_aborted(step: Step, payload: dict[str, Json]) -> None:
    """A turn was stopped: interrupted, replaced, review_ended or budget_limited."""
    note_value(step.drift, "event_msg/turn_aborted.reason", payload.get("reason"), _ABORT_REASONS)
    step.emit(Lifecycle(name="turn_aborted", text=step.text(payload.get("reason"), "reason")))


def error(step: Step, payload: dict[str, Json]) -> None:
    """The model's service or the agent failed."""
    message = payload.get("message")
    if isinstance(message, str):
        step.emit(Lifecycle(name="api_error", text=message, detail=without(payload, "message")))
    else:
        step.emit(Lifecycle(name="api_error", text=unknown_text(payload)))


def rolled_back(step: Step, payload: dict[str, Json]) -> None:
    """The last user turns left the context; their lines stay."""
    step.emit(Rewind(turns_dropped=step.whole(payload.get("num_turns"), "num_turns")))


def name_updated(step: Step, payload: dict[str, Json]) -> None:
    """The thread got a title."""
    title = step.text(payload.get("thread_name", payload.get("name")), "thread_name")
    step.emit(Lifecycle(name="title", title=title))


def settings_applied(step: Step, payload: dict[str, Json]) -> None:
    """The settings of the thread changed between turns."""
    settings = step.mapping(payload.get("thread_settings"), "thread_settings")
    cwd = step.text(settings.get("cwd"), "cwd")
    model = step.text(settings.get("model"), "model")
    is_new_cwd = bool(cwd) and bounded(cwd) != step.state.cwd
    is_new_model = bool(model) and bounded(model) != step.state.model
    if is_new_cwd or is_new_model:
        step.set(cwd=bounded(cwd) or step.state.cwd, model=bounded(model) or step.state.model)
    step.emit(
        Lifecycle(
            name="mode",
            text=step.text(settings.get("approval_policy"), "approval_policy"),
            cwd=cwd if is_new_cwd else "",
            model=model if is_new_model else "",
        )
    )


def goal_updated(step: Step, payload: dict[str, Json]) -> None:
    """The thread's goal changed."""
    goal = step.mapping(payload.get("goal"), "goal")
    detail = without(goal, "objective", "threadId")
    step.emit(Lifecycle(name="task", text=step.text(goal.get("objective"), "objective"), detail=detail))


def plan(step: Step, item: dict[str, Json]) -> None:
    """A Plan item: the plan that the model proposes."""
    step.emit(Lifecycle(name="plan", text=step.text(item.get("text"), "text")))


def _noted(name: str, *, text_from: str = "", text: str = "") -> Handler:
    """Return a handler for events that are kept as they are, under a lifecycle name."""

    def handle(step: Step, payload: dict[str, Json]) -> None:
        words = step.text(payload.get(text_from), text_from) if text_from else text
        call_id = step.text(payload.get("call_id"), "call_id")
        detail = without(payload, "call_id", text_from)
        step.emit(Lifecycle(name=name, text=words, detail=detail, call_id=call_id))

    return handle


_COMPLETED: dict[str, Handler] = {
    "UserMessage": dialogue.completed_user_message,
    "HookPrompt": dialogue.hook_prompt,
    "AgentMessage": dialogue.completed_agent_message,
    "Reasoning": dialogue.completed_reasoning,
    "Plan": plan,
    "CommandExecution": tools.command_end,
    "DynamicToolCall": tools.dynamic_tool_end,
    "McpToolCall": tools.mcp_end,
    "WebSearch": tools.search_end,
    "FileChange": tools.patch_end,
    "ImageView": tools.image_view,
    "ImageGeneration": tools.image_generation,
    "ContextCompaction": lambda step, _: compact(step, "ContextCompaction", ""),
    "CollabAgentToolCall": _noted("subagent", text_from="prompt"),
    "SubAgentActivity": _noted("subagent"),
    "Sleep": _noted("sleep"),
}


def item_completed(step: Step, payload: dict[str, Json]) -> None:
    """An item of a turn is complete; in the paginated mode the only telling beside the model's items."""
    item = step.mapping(payload.get("item"), "item")
    kind = step.text(item.get("type"), "type")
    if kind == "Extension" and ("query" in item or "results" in item):
        handler: Handler | None = tools.search_end
    else:
        handler = _COMPLETED.get(kind)
    tag = f"item_completed/{kind}"
    if handler is None:
        note_type(step.drift, tag)
        step.emit(Unknown(type=tag, text=unknown_text(item or payload)))
    else:
        note_payload(step, tag, item)
        handler(step, item)


ITEMS: dict[str, Handler] = {
    "": item_without_type,
    "message": dialogue.item_message,
    "agent_message": dialogue.item_agent_message,
    "reasoning": dialogue.item_reasoning,
    "function_call": tools.function_call,
    "function_call_output": tools.tool_output,
    "custom_tool_call": tools.custom_tool_call,
    "custom_tool_call_output": tools.tool_output,
    "local_shell_call": tools.local_shell_call,
    "local_shell_call_output": tools.tool_output,
    "web_search_call": tools.web_search_call,
    "tool_search_call": tools.tool_search_call,
    "tool_search_output": tools.tool_search_output,
    "image_generation_call": tools.image_generation,
    "compaction": item_compaction,
    "compaction_summary": item_compaction,
    "context_compaction": item_compaction,
    "ghost_snapshot": _noted("checkpoint"),  # the working tree, committed aside to be able to undo
}
"""Handlers by the item's type; everything else is an unknown event."""

EVENTS: dict[str, Handler] = {
    "user_message": dialogue.event_user_message,
    "agent_message": dialogue.event_agent_message,
    "agent_reasoning": dialogue.event_reasoning,
    "agent_reasoning_raw_content": dialogue.event_reasoning,
    "token_count": tools.token_count,
    "task_started": task_started,
    "turn_started": task_started,
    "task_complete": task_complete,
    "turn_complete": task_complete,
    "turn_aborted": turn_aborted,
    "exec_command_end": tools.command_end,
    "mcp_tool_call_end": tools.mcp_end,
    "patch_apply_end": tools.patch_end,
    "web_search_end": tools.search_end,
    "image_generation_end": tools.image_generation,
    "view_image_tool_call": tools.image_view,
    "dynamic_tool_call_request": tools.dynamic_tool_request,
    "dynamic_tool_call_response": tools.dynamic_tool_end,
    "context_compacted": lambda step, _: compact(step, "context_compacted", ""),
    "thread_rolled_back": rolled_back,
    "thread_name_updated": name_updated,
    "thread_settings_applied": settings_applied,
    "thread_goal_updated": goal_updated,
    "item_completed": item_completed,
    "error": error,
    "stream_error": error,
    "undo_completed": _noted("undo", text_from="message"),
    "warning": _noted("warning", text_from="message"),
    "entered_review_mode": _noted("mode", text="review"),
    "exited_review_mode": _noted("mode", text="review ended"),
    "guardian_assessment": _noted("permission"),
    "sub_agent_activity": _noted("subagent", text_from="kind"),
    "collab_agent_spawn_end": _noted("subagent", text_from="prompt"),
    "collab_agent_interaction_end": _noted("subagent", text_from="prompt"),
    "collab_waiting_end": _noted("subagent"),
    "collab_close_end": _noted("subagent"),
    "collab_resume_end": _noted("subagent"),
}
"""Handlers by `payload.type` of an `event_msg`; everything else is an unknown event."""


TRANSCRIPT, TRANSCRIPT_ZST, TRANSCRIPT_JSON = "transcript", "transcript_zst", "transcript_json"
HISTORY, SESSION_INDEX = "history", "session_index"
_UUID_AT_END = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CUT_HEADER = re.compile(
    rb'\s*\{\s*"timestamp"\s*:\s*"[^"]{1,40}"\s*,\s*(?:"ordinal"\s*:\s*\d+\s*,\s*)?"type"\s*:\s*"session_meta"\s*,'
    rb'\s*"payload"\s*:\s*\{\s*(?:"session_id"\s*:\s*"[^"]*"\s*,\s*)?"id"\s*:\s*"([^"\\]+)"'
)
"""A first line that continues beyond the head: instructions and tool schemas can be longer than that."""
_CUT_DOCUMENT = re.compile(rb'\s*\{\s*"session"\s*:\s*\{[^{}]*"id"\s*:\s*"([^"\\]+)"[^{}]*\}\s*,\s*"items"\s*:\s*\[')
"""The oldest form, where the whole document is one record."""
_HEAD_LINES = 32
_WRAPPED: dict[str, Handler] = {
    "session_meta": dialogue.session_meta,
    "turn_context": dialogue.turn_context,
    "compacted": dialogue.compacted,
    "world_state": dialogue.world_state,
    "inter_agent_communication": dialogue.inter_agent,
    "inter_agent_communication_metadata": dialogue.inter_agent,
}
_DISPATCHED: dict[str, dict[str, Handler]] = {"response_item": ITEMS, "event_msg": EVENTS}
_BARE_FIELDS = frozenset(("timestamp", "role", "content", "model"))
_NO_TYPE = "(none)"
"""How a missing type is named as drift."""
_FINGERPRINT = frozenset((*_WRAPPED, *_DISPATCHED))


class CodexAdapter:
    """Reads the rollouts and the prompt history of OpenAI Codex."""

    facts = facts_of("codex")
    state_type = State

    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a source by its content; the path only decides between plain and compressed."""
        if head.startswith(_ZSTD_MAGIC):
            name = path.rsplit("/", 1)[-1]
            return TRANSCRIPT_ZST if name.startswith("rollout-") and name.endswith(".jsonl.zst") else None
        is_compressed = path.endswith(".zst")
        values = [value for value in _head_values(head) if isinstance(value, dict)]
        is_foreign = any(map(_is_foreign_message, values))
        for value in values:
            role = None if is_foreign and _is_bare_message(value) else _role_of(value)
            if role is not None:
                return TRANSCRIPT_ZST if role == TRANSCRIPT and is_compressed else role
        if _CUT_HEADER.match(head) is not None:
            return TRANSCRIPT_ZST if is_compressed else TRANSCRIPT
        return TRANSCRIPT_JSON if _CUT_DOCUMENT.match(head) is not None else None

    def source_key(self, info: SourceInfo) -> str:
        """Return `rollout/<thread id>`: the same in `sessions/`, in `archived_sessions/`, and as `.zst`."""
        if info.role in (HISTORY, SESSION_INDEX):
            return info.role
        thread = _UUID_AT_END.search(info.stem)
        if thread is not None:
            return f"rollout/{thread[0].lower()}"
        if info.name.startswith("rollout-"):
            return f"rollout/{info.stem}"
        return info.path.removesuffix(".zst")

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the thread id: from the name, else the first header, else a hash of the first line.

        Lines of the history and the index name their own sessions; what can't be read of them belongs to a session
        named after the file.
        """
        if info.role in (HISTORY, SESSION_INDEX):
            return info.role
        thread = _UUID_AT_END.search(info.stem)
        if thread is not None:
            return thread[0].lower()
        for value in _head_values(head):
            native = _thread_id_of(value) if isinstance(value, dict) else ""
            if native:
                return native
        cut = _CUT_HEADER.match(head) or _CUT_DOCUMENT.match(head)
        if cut is not None:
            return cut[1].decode("utf-8", "replace")
        return "file-" + hashlib.sha256(head.split(b"\n", 1)[0].rstrip(b"\r")).hexdigest()[:16]

    def begin(self, info: SourceInfo) -> State:
        return State(role=info.role)

    def parse(self, record: Record, state: State) -> Parsed[State]:
        """Return the events of one record; never raises on content."""
        step = Step(state, record.index)
        value = record.value
        if type(value) is not dict:
            step.at(None)
            step.defect("wrong_type", f"record is {type(value).__name__}")
            step.emit(Unknown(type=type(value).__name__, text=dialogue.unknown_text(value)))
        elif state.role == HISTORY:
            # A line of the prompt history, `{session_id, ts, text}`: `ts` is in seconds.
            step.at(value.get("ts"))
            session = step.text(value.get("session_id"), "session_id")
            text = step.text(value.get("text"), "text")
            if session and text:
                step.emit(UserMessage(text=text), session=session)
            else:
                step.emit(Unknown(type="history", text=dialogue.unknown_text(value)))
        elif state.role == SESSION_INDEX:
            # A line of the old title index, `{id, thread_name, updated_at}`.
            step.at(value.get("updated_at"))
            session = step.text(value.get("id"), "id")
            title = step.text(value.get("thread_name"), "thread_name")
            if session and title:
                step.emit(Lifecycle(name="title", title=title), session=session)
            else:
                step.emit(Unknown(type="session_index", text=dialogue.unknown_text(value)))
        elif type(payload := value.get("payload")) is dict:
            step.at(value.get("timestamp"))
            note_envelope(step, value)
            _wrapped(step, value.get("type"), payload)
        elif isinstance(value.get("items"), list):
            _document(step, value)
        else:
            _flat(step, value)
        return step.finish()


def _wrapped(step: Step, kind: Json, payload: dict[str, Json]) -> None:
    """A record of the present form."""
    kind = step.text(kind, "type")
    tag = kind
    handlers = _DISPATCHED.get(kind)
    if handlers is None:
        handler = _WRAPPED.get(kind)
    else:
        inner = step.text(payload.get("type"), "type")
        tag = f"{kind}/{inner}"
        handler = handlers.get(inner)
    if handler is not None:
        note_payload(step, tag, payload)
        handler(step, payload)
    else:
        note_type(step.drift, tag or _NO_TYPE)
        step.emit(Unknown(type=tag, text=dialogue.unknown_text(payload)))


def _flat(step: Step, value: dict[str, Json]) -> None:
    """A record of the oldest form: an item without a wrapper, a state mark, or the header. Times are inferred."""
    step.at(value.get("timestamp"))
    kind = value.get("type")
    handler = ITEMS.get(kind) if isinstance(kind, str) and kind else None
    if isinstance(kind, str) and kind in _FINGERPRINT:
        step.defect("wrong_type", f"payload is {type(value.get('payload')).__name__}")
        step.emit(Unknown(type=kind, text=dialogue.unknown_text(value)))
    elif handler is not None:
        note_payload(step, f"response_item/{kind}", value)
        handler(step, value)
    elif "record_type" in value:
        step.emit(Lifecycle(name="state", detail=without(value, "record_type")))
    elif _is_old_header(value):
        note_payload(step, "session_meta", value)
        dialogue.session_meta(step, value)
    elif _is_bare_message(value):
        item_message(step, value)
    else:
        name = step.text(kind, "type")
        note_type(step.drift, name or _NO_TYPE)
        step.emit(Unknown(type=name or "record", text=dialogue.unknown_text(value)))


def _document(step: Step, value: dict[str, Json]) -> None:
    """The oldest rollouts: one document `{session, items}`."""
    session = step.mapping(value.get("session"), "session")
    step.at(session.get("timestamp"))
    dialogue.session_meta(step, session)
    for item in value["items"]:
        if isinstance(item, dict):
            _flat(step, item)
        else:
            step.defect("wrong_type", f"item is {type(item).__name__}")
            step.emit(Unknown(type=type(item).__name__, text=dialogue.unknown_text(item)))
    # The document is rewritten as a whole: a name made of all of it would be another one with every save.
    seen: Counter[str] = Counter()
    for i, draft in enumerate(step.events):
        name = content_name(msgspec.to_builtins(draft.payload))
        seen[name] += 1
        numbered = f"{name}/{seen[name]}" if seen[name] > 1 else name
        step.events[i] = msgspec.structs.replace(draft, native_id=numbered)


def _is_old_header(value: dict[str, Json]) -> bool:
    return "type" not in value and "id" in value and ("instructions" in value or "git" in value)


def _thread_id_of(value: dict[str, Json]) -> str:
    """Return the thread id that a header gives, "" for any other record."""
    header: Json = None
    if value.get("type") == "session_meta":
        header = value.get("payload")
    elif _is_old_header(value):
        header = value
    elif isinstance(value.get("items"), list):
        header = value.get("session")
    native = header.get("id", header.get("session_id")) if isinstance(header, dict) else None
    return native if isinstance(native, str) else ""


def _role_of(value: dict[str, Json]) -> str | None:
    """Return the role of the source that a record comes from, None where it could be anybody's."""
    if text(value.get("type")) in _FINGERPRINT and isinstance(value.get("payload"), dict) and "timestamp" in value:
        return TRANSCRIPT
    if _is_old_header(value) and isinstance(value.get("timestamp"), str):
        return TRANSCRIPT
    if isinstance(value.get("session_id"), str) and isinstance(value.get("ts"), int) and "text" in value:
        return HISTORY
    if isinstance(value.get("id"), str) and isinstance(value.get("thread_name"), str) and "updated_at" in value:
        return SESSION_INDEX
    if isinstance(value.get("session"), dict) and isinstance(value.get("items"), list):
        return TRANSCRIPT_JSON
    if _is_bare_message(value) and set(value) <= _BARE_FIELDS and isinstance(value.get("timestamp"), str):
        return TRANSCRIPT
    return None


def _is_bare_message(value: dict[str, Json]) -> bool:
    """A message without header and type, as the oldest files have them; foreign lines carry more fields."""
    return "type" not in value and value.get("role") in ("user", "assistant") and isinstance(value.get("content"), str)


def _is_foreign_message(value: dict[str, Json]) -> bool:
    """A bare message as other agents write it: with another role, or with fields that the oldest rollouts have not."""
    if "type" in value or not isinstance(value.get("role"), str) or "content" not in value:
        return False
    return not (_is_bare_message(value) and set(value) <= _BARE_FIELDS)


def _head_values(head: bytes) -> list[Json]:
    """Return the decoded lines of a source's head, or the one document that it is; a cut line is left out."""
    values: list[Json] = []
    for line in (*head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES], head):
        if values and line is head:
            break
        try:
            values.append(msgspec.json.decode(line.removeprefix(b"\xef\xbb\xbf")))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return values
