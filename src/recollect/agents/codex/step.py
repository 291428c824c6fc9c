"""The parser's state between records, and the parsing of one record."""

from __future__ import annotations

import hashlib
from typing import TypeVar

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import note_fields
from recollect.agents.kit.values import instant, whole
from recollect.model.events import Draft, Role, TsQuality
from recollect.model.payloads import Json, Payload
from recollect.model.records import Defect, Drift, Parsed
from recollect.model.text import flatten

MAX_REMEMBERED = 64
"""Twins, calls and instructions remembered each: bounds the state whatever the source holds."""
_MAX_TEXT = 4096
_MAX_CALL_ID = 64

Key = TypeVar("Key", bound=int | str)


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is carried from record to record; under 128 KiB whatever the source holds.

    unpaired: dialogue that still waits for its twin, as hashes; unpaired_before: the same of the turn before.
    calls, settled, patched: ids of the calls given, of those whose outcome is known, and of those whose patch was
    given as file edits. usage: the last token totals; resets: how often they fell.
    owner: the thread that keys of usage are counted under (see `tools`).
    """

    role: str
    last_ts: int | None = None
    is_started: bool = False
    thread_id: str = ""
    forked_from: str = ""
    owner: str = ""
    turn_id: str = ""
    model: str = ""
    cwd: str = ""
    settings: int = 0
    instructions: tuple[int, ...] = ()
    unpaired: tuple[int, ...] = ()
    unpaired_before: tuple[int, ...] = ()
    calls: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    patched: tuple[str, ...] = ()
    compactions: tuple[str, ...] = ()
    usage: tuple[int, ...] = ()
    resets: int = 0


class Step:
    """The work on one record: the state so far, the record's time, and what came out of it."""

    __slots__ = ("defects", "drift", "events", "index", "last_ts", "quality", "state", "ts")

    def __init__(self, state: State, index: int) -> None:
        self.state = state
        self.index = index
        self.last_ts = state.last_ts
        self.ts: int | None = None
        self.quality: TsQuality = "missing"
        self.events: list[Draft] = []
        self.defects: list[Defect] = []
        self.drift: list[Drift] = []

    def emit(self, payload: Payload, role: Role = "system", *, session: str | None = None) -> None:
        """Add an event at the record's time."""
        self.events.append(Draft(payload, role, self.ts, self.quality, session=session))

    def defect(self, code: str, detail: str) -> None:
        """Note content that could not be read as meant."""
        self.defects.append(Defect(code, detail[:200], self.index))

    def set(self, **changes: object) -> None:
        """Change the state."""
        self.state = msgspec.structs.replace(self.state, last_ts=self.last_ts, **changes)

    def finish(self) -> Parsed[State]:
        """Return what came out of the record."""
        if self.last_ts != self.state.last_ts:
            self.set()
        return Parsed(self.state, tuple(self.events), tuple(self.defects), tuple(self.drift))

    def at(self, value: Json) -> None:
        """Take the record's time; where it has none, the last one seen stands in, marked inferred."""
        ts = instant(value)
        if ts is not None:
            self.ts = self.last_ts = ts
            self.quality = "exact"
            return
        if value is not None:
            self.defect("bad_timestamp", flatten(value))
        self.ts = self.last_ts
        self.quality = "missing" if self.ts is None else "inferred"

    def text(self, value: Json, name: str) -> str:
        """Return text. What is not text is a defect, and its readable content is given all the same."""
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        self.defect("wrong_type", f"{name} is {type(value).__name__}")
        return flatten(value)

    def mapping(self, value: Json, name: str) -> dict[str, Json]:
        """Return an object, or an empty one and a defect."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.defect("wrong_type", f"{name} is {type(value).__name__}")
        return {}

    def items(self, value: Json, name: str) -> list[Json]:
        """Return a list, or an empty one and a defect."""
        if isinstance(value, list):
            return value
        if value is not None:
            self.defect("wrong_type", f"{name} is {type(value).__name__}")
        return []

    def whole(self, value: Json, name: str) -> int | None:
        """Return a whole number, or None and a defect."""
        if value is None:
            return None
        number = whole(value)
        if number is None:
            self.defect("wrong_type", f"{name} is {type(value).__name__}")
        return number

    def begin_turn(self, turn_id: str) -> bool:
        """Note that a turn begins; False when it was known already or has no id."""
        turn_id = bounded(turn_id)
        if not turn_id or turn_id == self.state.turn_id:
            return False
        # A twin can stand on the other side of the line that opens its turn, so one turn of grace.
        self.set(turn_id=turn_id, unpaired_before=self.state.unpaired, unpaired=(), compactions=())
        return True

    def is_new_instruction(self, text: str) -> bool:
        """Return whether these instructions are new in this source, and remember them."""
        key = hash_text(text)
        if key in self.state.instructions:
            return False
        self.set(instructions=remember(self.state.instructions, key))
        return True

    def knows_call(self, call_id: str) -> bool:
        """Return whether the call was given as an event (among the last ones)."""
        return bool(call_id) and _short_id(call_id) in self.state.calls

    def is_settled(self, call_id: str) -> bool:
        """Return whether the outcome of the call was given as an event (among the last ones)."""
        return bool(call_id) and _short_id(call_id) in self.state.settled

    def is_patched(self, call_id: str) -> bool:
        """Return whether the call's patch was given as file edits (among the last ones)."""
        return bool(call_id) and _short_id(call_id) in self.state.patched

    def note_call(self, call_id: str) -> None:
        """Remember that the call was given."""
        if call_id:
            self.set(calls=remember(self.state.calls, _short_id(call_id)))

    def note_settled(self, call_id: str) -> None:
        """Remember that the outcome of the call was given."""
        if call_id:
            self.set(settled=remember(self.state.settled, _short_id(call_id)))

    def note_patched(self, call_id: str) -> None:
        """Remember that the call's patch was given as file edits."""
        if call_id:
            self.set(patched=remember(self.state.patched, _short_id(call_id)))


# The two channels that tell the same story, and what of it they repeat: the low bits of a twin's key.
ITEM, EVENT = 0, 1
USER, ASSISTANT, THINKING, SEARCH = 0, 2, 4, 6


def is_twin(step: Step, text: str, what: int, channel: int) -> bool:
    """Return whether `text` was already given from the other channel; pairs are one to one.

    Otherwise remember it, so that its twin is known when it comes. The same text twice in one channel is two
    messages ("yes", "yes"); only a message of the other channel takes one away.
    Evidence: format notes: Codex, representation ("every turn exists twice").
    """
    key = (hash_text(text.strip()) & ~7) | what | channel
    state = step.state
    if key ^ 1 in state.unpaired:
        step.set(unpaired=_without(state.unpaired, key ^ 1))
        return True
    if key ^ 1 in state.unpaired_before:
        step.set(unpaired_before=_without(state.unpaired_before, key ^ 1))
        return True
    step.set(unpaired=remember(state.unpaired, key))
    return False


def hash_text(text: str) -> int:
    """Return 64 bits that name a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def remember(known: tuple[Key, ...], key: Key) -> tuple[Key, ...]:
    """Return `known` with `key` at its end, the oldest left out beyond the bound."""
    return (*known[1 - MAX_REMEMBERED :], key)


def bounded(text: str) -> str:
    """Return a text fit for the state: short, and of characters that can be encoded."""
    text = text[:_MAX_TEXT]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _without(known: tuple[int, ...], key: int) -> tuple[int, ...]:
    at = known.index(key)
    return known[:at] + known[at + 1 :]


def _short_id(call_id: str) -> str:
    return call_id if len(call_id) <= _MAX_CALL_ID and call_id.isascii() else f"#{hash_text(call_id):016x}"


# Fields that this version knows, by type of record; any other that says something is counted as drift.
#
# The lists hold every field of the format notes and of the rollouts they were checked against, also where it is only
# bookkeeping of the agent. Types whose whole payload is given as detail, and those that nobody has described, have
# none.

_FIELDS = known_fields("codex")
_COMMAND = (
    "process_id command cwd parsed_cmd source interaction_input stdout stderr aggregated_output exit_code duration "
    "formatted_output status completed_at_ms"
)
_IMAGE = "status revised_prompt result saved_path"
_RECORDS = {
    "session_meta": "id session_id timestamp cwd originator cli_version source thread_source forked_from_id "
    "parent_thread_id agent_path agent_nickname agent_role model_provider base_instructions instructions dynamic_tools "
    "history_mode multi_agent_version memory_mode context_window git",
    "turn_context": "turn_id trace_id cwd workspace_roots model effort summary approval_policy approvals_reviewer "
    "sandbox_policy file_system_sandbox_policy permission_profile active_permission_profile collaboration_mode "
    "multi_agent_mode multi_agent_version personality realtime_active comp_hash current_date timezone network "
    "user_instructions developer_instructions base_instructions truncation_policy final_output_json_schema",
    "compacted": "message replacement_history window_number first_window_id previous_window_id window_id",
}
_ITEMS = {
    "message": "role content phase end_turn",
    "agent_message": "author recipient content",
    "reasoning": "summary content encrypted_content",
    "function_call": "call_id name namespace arguments",
    "function_call_output": "call_id output",
    "custom_tool_call": "call_id name namespace input",
    "custom_tool_call_output": "call_id output",
    "local_shell_call": "call_id action",
    "local_shell_call_output": "call_id output",
    "web_search_call": "call_id action",
    "tool_search_call": "call_id execution arguments",
    "tool_search_output": "call_id execution tools",
    "image_generation_call": f"call_id {_IMAGE}",
    "compaction": "encrypted_content",
    "compaction_summary": "encrypted_content",
    "context_compaction": "encrypted_content",
    "ghost_snapshot": "ghost_commit",
}
_OF_ITEMS = "type id status timestamp metadata internal_chat_message_metadata_passthrough"
_EVENTS = {
    "user_message": "message images image_details local_images local_image_details audio local_audio text_elements "
    "client_id kind",
    "agent_message": "message phase memory_citation",
    "agent_reasoning": "text",
    "agent_reasoning_raw_content": "text",
    "token_count": "info rate_limits",
    "task_started": "started_at model_context_window collaboration_mode_kind",
    "task_complete": "last_agent_message started_at completed_at duration_ms time_to_first_token_ms error",
    "turn_aborted": "reason started_at completed_at duration_ms",
    "exec_command_end": f"call_id {_COMMAND}",
    "mcp_tool_call_end": "call_id invocation result error duration plugin_id read_only_hint connector_id link_id "
    "app_name action_name template_id mcp_app_resource_uri",
    "patch_apply_end": "call_id stdout stderr success status changes auto_approved",
    "web_search_end": "call_id query action results",
    "image_generation_end": f"call_id {_IMAGE}",
    "view_image_tool_call": "call_id path",
    "dynamic_tool_call_request": "call_id callId turnId namespace tool arguments",
    "dynamic_tool_call_response": "call_id callId turnId namespace tool arguments content_items contentItems success "
    "error duration",
    "context_compacted": "",
    "thread_rolled_back": "num_turns",
    "thread_name_updated": "thread_id thread_name name",
    "thread_settings_applied": "thread_settings",
    "thread_goal_updated": "threadId turnId goal",
    "item_completed": "thread_id item started_at_ms completed_at_ms",
    "error": "message error codex_error_info",
    "stream_error": "message codex_error_info additional_details",
}
_COMPLETED = {
    "UserMessage": "client_id content",
    "HookPrompt": "fragments content",
    "AgentMessage": "content phase memory_citation",
    "Reasoning": "summary_text raw_content",
    "Plan": "text",
    "CommandExecution": _COMMAND,
    "DynamicToolCall": "namespace tool arguments status content_items contentItems success error duration",
    "McpToolCall": "server tool arguments status result error duration readOnlyHint connectorId mcpAppResourceUri "
    "linkId appName templateId actionName pluginId",
    "WebSearch": "query action results",
    "Extension": "kind query action results",
    "FileChange": "changes status auto_approved stdout stderr",
    "ImageView": "path",
    "ImageGeneration": _IMAGE,
    "ContextCompaction": "",
}
_KNOWN = {
    **{kind: frozenset(fields.split()) for kind, fields in _RECORDS.items()},
    **{f"response_item/{kind}": frozenset(f"{_OF_ITEMS} {fields}".split()) for kind, fields in _ITEMS.items()},
    **{f"event_msg/{kind}": frozenset(f"type turn_id {fields}".split()) for kind, fields in _EVENTS.items()},
    **{f"item_completed/{kind}": frozenset(f"type id {fields}".split()) for kind, fields in _COMPLETED.items()},
}
_KNOWN["event_msg/turn_started"] = _KNOWN["event_msg/task_started"]
_KNOWN["event_msg/turn_complete"] = _KNOWN["event_msg/task_complete"]


def note_envelope(step: Step, record: dict[str, Json]) -> None:
    """Note the unknown fields around a payload."""
    note_fields(step.drift, record, _FIELDS["envelope"], "record")


def note_payload(step: Step, tag: str, payload: dict[str, Json]) -> None:
    """Note the unknown fields of a payload. tag: `kind`, or `kind/type` where the payload says what it is."""
    known = _KNOWN.get(tag)
    if known is not None:
        note_fields(step.drift, payload, known, tag)
