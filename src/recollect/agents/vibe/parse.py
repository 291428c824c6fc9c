"""Mistral Vibe: parses a record into events; README.md has its traps. Pure; never raises on content."""

import re
from typing import Any, ClassVar

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.calls import Waiting, arrived, edits_of, expect, give_edits
from recollect.agents.kit.content import arguments_of, chat_content
from recollect.agents.kit.names import NamingState, name_of, short
from recollect.agents.kit.values import Json, decoded_json, instant, mapping, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool


class VibeState(NamingState, frozen=True, gc=False, omit_defaults=True):
    parent: str = ""
    """Of a subagent: the session that started it."""
    agent: str = ""
    waiting: tuple[Waiting, ...] = ()


Reading = kit.Reading[VibeState]


# The file of a session's facts: written again after every turn.
#
# Its `config` may hold what authorises MCP servers; only the model's name is taken from it.

_KNOWN = known_fields("vibe")
_CHAIN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-(?P<chain>[0-9a-f]{12})")
_SHORT = 8


def is_meta(value: Any) -> bool:
    """Say whether a document is the facts of a session of Vibe."""
    facts = mapping(value)
    is_own = "session_prompt_tokens" in mapping(facts.get("stats")) or "title_source" in facts
    return is_own and isinstance(facts.get("session_id"), str) and isinstance(facts.get("environment"), dict)


def read_meta(reading: Reading) -> None:
    """Emit the session's start, title, system prompt and tokens."""
    value, state = reading.value, reading.state
    reading.date(value.get("start_time"), "start_time")
    model = text(value.get("model")) or text(mapping(value.get("config")).get("active_model"))
    before = text(value.get("parent_session_id"))[:_SHORT]
    reading.start(
        **reading.told(
            value, cwd="environment.working_directory working_dir", git_branch="git_branch", git_commit="git_commit"
        ),
        model=model,
        forked_from="" if state.parent or before == state.session else before,
        parent_session=state.parent,
        agent_name=state.agent,
    )
    reading.entitle(reading.text(value, "title"))
    profile = text(mapping(value.get("agent_profile")).get("name"))
    reading.note("mode", profile, native_id="profile")
    prompt = chat_content(mapping(value.get("system_prompt")).get("content"))[0]
    reading.say(kinds.Instructions(prompt, "system"), native_id="system")
    reading.note("loops", detail=value.get("loops"), native_id="loops")
    reading.date(value.get("end_time"), "end_time")
    # Emit the running total. Cached tokens are part of the prompt's. A compaction or rewind goes on in a new session
    # whose total includes the old one's. Such sessions share the end of their ids, so one key names them all, and one
    # of them counts.
    stats = reading.mapping(value, "stats")
    put, got = reading.count(stats, "session_prompt_tokens"), reading.count(stats, "session_completion_tokens")
    cached = min(reading.count(stats, "session_cached_tokens"), put)
    if put or got:
        session_id = text(reading.value.get("session_id"))
        told = _CHAIN.fullmatch(session_id)
        chain = told["chain"] if told is not None and not reading.state.parent else reading.state.session
        reading.add(kinds.TokenUsage(model, put - cached, got, cached, dedupe_key=f"vibe:{chain}"), native_id="usage")
    counts = {k: v for k, v in stats.items() if k.startswith(("steps", "tool_calls_", "context_tokens")) and v}
    reading.note("stats", detail=counts, native_id="stats")
    reading.extra(stats, _KNOWN["stats"], "meta.stats", native_id="stats")
    reading.extra(value, _KNOWN["record"], "meta", native_id="meta")


# The rows of a conversation: OpenAI's roles, with reasoning beside the text and tool results as tagged text.
#
# Evidence: `LLMMessage` in Vibe's `core/types.py`; tags in `core/utils/tags.py`.

_TAG = re.compile(r"<(user_cancellation|tool_error|vibe_stop_event|vibe_warning)>(.*?)</\1>", re.DOTALL)
_EXIT = re.compile(r"^(?:returncode|Return code|exit_code): (-?\d{1,9})$", re.MULTILINE)
_EXIT_CHARS = 65_536


def read_message(reading: Reading) -> None:
    value = reading.value
    role = reading.text(value, "role")
    said, parts, are_readable = chat_content(value.get("content"))
    if not are_readable:
        reading.wrong("content", "bad_base64")
    written = short(reading.text(value, "message_id"))
    if role == "tool":
        _read_result(reading, said)
        reading.extra(value, _KNOWN["row"], "tool", native_id=reading.native_id)
        return
    reading.native_id = written or name_of(reading, role or "row", value)
    if role == "user":
        _read_user(reading, said, parts)
    elif role == "assistant":
        _read_assistant(reading, said, parts)
    elif role == "system":
        reading.add(kinds.Instructions(said, "system"))
    else:
        reading.unknown(role or text(value.get("type")) or "row")
        return
    reading.extra(value, _KNOWN["row"], role)


def _read_user(reading: Reading, said: str, parts: tuple[Any, ...]) -> None:
    tag = _TAG.match(said)
    if tag is not None and tag[1] == "user_cancellation":
        reading.add(kinds.Lifecycle("interrupted", text=tag[2]))
        return
    is_harness = reading.value.get("injected") is True or tag is not None
    reading.add(kinds.UserMessage(said, "injected" if is_harness else "human", parts))


def _read_assistant(reading: Reading, said: str, parts: tuple[Any, ...]) -> None:
    value = reading.value
    model, name = reading.text(value, "model"), reading.native_id
    thought = chat_content(value.get("reasoning_content"))[0]
    is_sealed = not thought and bool(value.get("reasoning_state") or value.get("reasoning_signature"))
    if thought or is_sealed:
        own = short(text(value.get("reasoning_message_id")))
        reading.add(kinds.Thinking(thought, is_encrypted=is_sealed), native_id=own or f"{name}/thinking")
    stop = _TAG.search(said) if said.endswith("</vibe_stop_event>") else None
    if stop is not None:
        reading.add(kinds.Lifecycle("turn_aborted", text=stop[2]), native_id=f"{name}/stop")
        said = said[: stop.start()].rstrip()
    reading.say(kinds.AssistantMessage(said, model, parts=parts))
    for number, call in enumerate(reading.items(value, "tool_calls"), 1):
        if isinstance(call, dict):
            _read_call(reading, call, number)
        else:
            reading.wrong("tool_calls")
            reading.unknown("tool_call", call, native_id=f"{name}/call/{number}")


def _read_call(reading: Reading, call: dict[str, Any], number: int) -> None:
    function = reading.mapping(call, "function")
    call_id, name = reading.text(call, "id"), reading.text(function, "name")
    arguments = arguments_of(
        reading, function.get("arguments"), "tool_calls.function.arguments", empty="", errors="replace"
    )
    native_id = f"call:{short(call_id)}" if call_id else f"{reading.native_id}/call/{number}"
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments), native_id=native_id)
    expect(reading, call_id, name, _edits(name, arguments))
    reading.extra(call, _KNOWN["call"], "tool_call", native_id=native_id)
    reading.extra(function, _KNOWN["function"], "tool_call.function", native_id=native_id)


def _edits(name: str, arguments: Json) -> tuple[kinds.FileEdit, ...]:
    if canonical_tool(name) != "edit":
        return ()
    given = mapping(arguments)
    if name == "search_replace" and isinstance(given.get("content"), str):
        return edits_of({"path": given.get("file_path", given.get("path")), "diff": given["content"]})
    return edits_of(given)


def _read_result(reading: Reading, said: str) -> None:
    """Emit a tool's result. Failures and refusals are told by a tag around the text, never by a field."""
    value = reading.value
    call_id = reading.text(value, "tool_call_id")
    call = arrived(reading, call_id)
    short_id = short(call_id)
    native_id = f"result:{short_id}" if call_id else name_of(reading, "result", value)
    reading.native_id = native_id
    tag = _TAG.match(said)
    exit_code = _EXIT.search(said[-_EXIT_CHARS:])
    code = int(exit_code[1]) if exit_code else None
    ok = tag is None and not code
    name = reading.text(value, "name") or call.name
    reading.add(kinds.ToolResult(call_id, name, ok, code, tag[2] if tag is not None else said), native_id=native_id)
    if ok:
        give_edits(reading, call.edits, short_id)
    elif tag is not None and tag[1] == "user_cancellation":
        kind = "permission" if "skipped" in tag[2] else "interrupted"
        reading.add(kinds.Lifecycle(kind, text=tag[2], call_id=call_id), native_id=f"{native_id}/cancelled")


MESSAGES = "messages"
META = "meta"

_FOLDER = re.compile(r"(?P<prefix>.*)_(?P<day>\d{8})_(?P<time>\d{6})_(?P<id>[0-9a-f]{8})", re.DOTALL)
_ROLES = frozenset(("user", "assistant", "tool", "system"))
_AGENTS = "agents"
_MAX_LINES = 20


class VibeAdapter(KitAdapter[VibeState], slug="vibe"):
    readers: ClassVar = {META: read_meta, "": read_message}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Rows alone are like many others': only under Vibe's own name."""
        name = path.rsplit("/", 1)[-1]
        if name == "meta.json":
            return META if is_meta(decoded_json(head)) else None
        if name != "messages.jsonl":
            return None
        rows = [mapping(decoded_json(line)) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]]
        told = [row for row in rows if row]
        is_told = bool(told) and all(text(row.get("role")) in _ROLES and row.keys() <= _KNOWN["row"] for row in told)
        return MESSAGES if is_told and any("message_id" in row for row in told) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the short id at the end of the folder's name, as Vibe itself finds sessions."""
        return _session(info.folder) or first_line_name(head)

    def begin(self, info: SourceInfo) -> VibeState:
        """See `Adapter.begin`. The folder's name holds the only time there is."""
        folders = info.folders
        is_subagent = len(folders) > 2 and folders[-2] == _AGENTS
        told = _FOLDER.fullmatch(info.folder)
        when = f"{told['day'][:4]}-{told['day'][4:6]}-{told['day'][6:]}T{_clock(told['time'])}Z" if told else ""
        return VibeState(
            session=info.session,
            role=info.role,
            ts=instant(when) if when else None,
            parent=short(_session(folders[-3])) if is_subagent else "",
            agent=short(told["prefix"]) if told and is_subagent else "",
        )


def _session(folder: str) -> str:
    told = _FOLDER.fullmatch(folder)
    return told["id"] if told else folder


def _clock(digits: str) -> str:
    return f"{digits[:2]}:{digits[2:4]}:{digits[4:]}"
