"""Antigravity: parses a record into events; README.md has its traps. Pure; never raises on content."""

import re
from collections.abc import Callable

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.calls import Waiting, arrived, expect, give_edits
from recollect.agents.kit.names import NamingState, content_name, name_of, numbered, short
from recollect.agents.kit.values import Json, decoded_json, items, mapping, path_of_address, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool

HISTORY = "history"
PLAN = "plan"
TRANSCRIPT = "transcript"


class AntigravityState(NamingState, frozen=True, gc=False, omit_defaults=True):
    model: str = ""
    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet, oldest first."""


Reading = kit.Reading[AntigravityState]


# Calls and their results, which nothing but their type and order joins.

RESULTS: dict[str, frozenset[str]] = {
    "LIST_DIRECTORY": frozenset(("list_dir", "list_directory")),
    "VIEW_FILE": frozenset(("view_file", "view_file_outline", "view_code_item")),
    "RUN_COMMAND": frozenset(("run_command",)),
    "COMMAND_STATUS": frozenset(("command_status",)),
    "SEND_COMMAND_INPUT": frozenset(("send_command_input",)),
    "CODE_ACTION": frozenset(("write_to_file", "write_file", "replace_file_content", "multi_replace_file_content")),
    "GREP_SEARCH": frozenset(("grep_search",)),
    "FIND": frozenset(("find_by_name",)),
    "SEARCH_WEB": frozenset(("search_web",)),
    "READ_URL_CONTENT": frozenset(("read_url_content", "view_content_chunk")),
    "GENERATE_IMAGE": frozenset(("generate_image",)),
    "BROWSER_SUBAGENT": frozenset(("browser_subagent",)),
    "INVOKE_SUBAGENT": frozenset(("invoke_subagent",)),
    "MCP_TOOL": frozenset(),
    "GENERIC": frozenset(),
}
"""The type of a result's step, and the tools that it may answer; none: any."""
_EXIT = re.compile(r"exit code:? ?(-?\d{1,9})\b", re.IGNORECASE)
_FIRST_CHARS = 400
_FAILURES = ("error", "the command failed", "failed", "encountered error", "the user rejected", "the user denied")
_HIDDEN = frozenset(("ERROR",))


def decoded_arguments(arguments: Json) -> Json:
    """Return a call's arguments. Each value is JSON in a text: `{"TargetFile": "\\"/a.py\\""}`."""
    if not isinstance(arguments, dict):
        return arguments
    return {key: _decoded(value) for key, value in arguments.items()}


def _decoded(value: Json) -> Json:
    if not isinstance(value, str) or not value or (value[0] not in '"[{' and value not in ("true", "false", "null")):
        return value
    return decoded_json(value.encode("utf-8", "replace"), value)


def edits_of_call(name: str, arguments: Json) -> tuple[kinds.FileEdit, ...]:
    """Return what a call will have changed if it goes well."""
    if canonical_tool(name) != "edit":
        return ()
    given = mapping(arguments)
    path = path_of_address(text(given.get("TargetFile")))
    whole = given.get("CodeContent")
    chunks = [mapping(chunk) for chunk in items(given.get("ReplacementChunks"))] or [given]
    found = [
        kinds.FileEdit(path, "modify", text(chunk.get("TargetContent")), text(chunk.get("ReplacementContent")))
        for chunk in chunks
        if "TargetContent" in chunk or "ReplacementContent" in chunk
    ]
    if found or not path:
        return tuple(found)
    return (kinds.FileEdit(path, "modify", after=whole if isinstance(whole, str) else None),)


def read_result(reading: Reading, kind: str, said: str) -> None:
    """Emit a step that is a tool's result. The step's status, or how the text begins, says that it failed."""
    # The oldest waiting call that a result of this type may answer; nobody called for some steps.
    names = RESULTS[kind]
    waiting: tuple[Waiting, ...] = reading.now("waiting")
    call = next((call for call in waiting if not names or call.name in names), None)
    call = arrived(reading, call.call_id) if call is not None else Waiting("")
    first = said[:_FIRST_CHARS]
    found = _EXIT.search(first)
    code = int(found[1]) if found is not None else None
    begins_badly = _without_times(first).lower().startswith(_FAILURES)
    ok = not code and not begins_badly and text(reading.value.get("status")) not in _HIDDEN
    reading.add(kinds.ToolResult(call.call_id, call.name or kind.lower(), ok, code, said))
    if ok:
        give_edits(reading, call.edits, call.call_id)
    if "user" in first.lower() and begins_badly:
        reading.add(
            kinds.Lifecycle("permission", text=first, call_id=call.call_id), native_id=f"{reading.native_id}/denied"
        )


def _without_times(said: str) -> str:
    """Return a result without the lines `Created At: …`, `Completed At: …` at its beginning."""
    lines = said.split("\n")
    while lines and (not lines[0] or lines[0].startswith(("Created At:", "Completed At:"))):
        lines.pop(0)
    return "\n".join(lines).lstrip()


# The steps of a transcript: what the person, the model and the system did, one line each.
#
# Evidence: format notes: other agents, Antigravity; sanitised transcripts of the CLI.

SOURCES = frozenset(("USER_EXPLICIT", "MODEL", "SYSTEM"))
_STATUSES = frozenset(("DONE", "RUNNING", "PENDING", "ERROR", "CANCELED", "CANCELLED", "GENERATING", "WAITING"))
_KNOWN = known_fields("antigravity")
_ASIDE = re.compile(r"<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE|USER_RULES|SYSTEM_MESSAGE)>.*?</\1>", re.DOTALL)
_REQUEST = re.compile(r"<USER_REQUEST>\n?(.*?)\n?</USER_REQUEST>", re.DOTALL)
_MODEL = re.compile(r"`Model Selection` from .{0,200}? to (.{1,200}?)\.?(?:\s|$)*(?:</|\n|$)")
_CANCELLED = ("CANCELED", "CANCELLED")


def read_step(reading: Reading) -> None:
    value = reading.value
    kind, source = reading.text(value, "type"), reading.text(value, "source")
    reading.date(value.get("created_at"), "created_at")
    reading.native_id = _name(reading, kind or source)
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.start()
    reading.odd_value("step.source", source, SOURCES)
    reading.odd_value("step.status", value.get("status"), _STATUSES)
    # The first versions wrote no type.
    reader = _READERS.get(kind or source)
    if reader is not None:
        reader(reading)
    elif kind in RESULTS:
        read_result(reading, kind, reading.text(value, "content"))
    else:
        reading.unknown(kind or "step")
        return
    if text(value.get("status")) in _CANCELLED:
        reading.add(kinds.Lifecycle("interrupted"), native_id=f"{reading.native_id}/cancelled")
    if value.get("truncated_fields"):
        detail = {"fields": value["truncated_fields"]}
        reading.add(kinds.Lifecycle("truncated", detail=detail), native_id=f"{reading.native_id}/truncated")
    reading.extra(value, _KNOWN["record"], kind or "step")


def _name(reading: Reading, kind: str) -> str:
    """Return the step's name: its number and type, which stay when it is logged again with more in it."""
    index = reading.whole(reading.value, "step_index")
    if index is not None:
        return f"step:{index}/{short(kind)}"
    return numbered(reading, f"step:{content_name(reading.value)}")


def _read_input(reading: Reading) -> None:
    """Emit what the person asked for; what the harness wrapped around it is an event of its own."""
    written = reading.text(reading.value, "content")
    request = _REQUEST.search(written)
    asked = request[1] if request is not None else written
    said = _ASIDE.sub("", asked).strip()
    rest = [written[: request.start()], written[request.end() :]] if request is not None else []
    asides = [found[0] for found in _ASIDE.finditer(asked)]
    context = "\n".join(filter(None, (*asides, *(piece.strip() for piece in rest))))
    if said or not context:
        reading.add(kinds.UserMessage(said))
    reading.say(kinds.UserMessage(context, "injected"), native_id=f"{reading.native_id}/context")
    model = _MODEL.search(context)
    if model is not None:
        reading.set(model=short(model[1]))
        reading.add(kinds.Lifecycle("model", model=model[1]), native_id=f"{reading.native_id}/model")


def _read_response(reading: Reading) -> None:
    value = reading.value
    thought, said = reading.text(value, "thinking"), reading.text(value, "content")
    reading.say(kinds.Thinking(thought), native_id=f"{reading.native_id}/thinking")
    reading.say(kinds.AssistantMessage(said, reading.now("model")))
    for number, call in enumerate(reading.items(value, "tool_calls"), 1):
        if isinstance(call, dict):
            # Emit a call; without an id of its own it is called after its step.
            name = reading.text(call, "name").removeprefix("default_api:")
            call_id = short(reading.text(call, "id")) or f"{reading.native_id}/{number}"
            arguments = decoded_arguments(call.get("args"))
            reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments), native_id=f"call:{call_id}")
            expect(reading, call_id, name, edits_of_call(name, arguments))
            reading.extra(call, _KNOWN["call"], "tool_call", native_id=f"call:{call_id}")
        else:
            reading.unknown("tool_call", call, native_id=f"{reading.native_id}/call/{number}")


def _read_notice(reading: Reading) -> None:
    reading.add(kinds.UserMessage(reading.text(reading.value, "content"), "injected"))


_READERS: dict[str, Callable[[Reading], None]] = {
    "USER_INPUT": _read_input,
    "USER_EXPLICIT": _read_input,
    "PLANNER_RESPONSE": _read_response,
    "MODEL": _read_response,
    "CHECKPOINT": lambda reading: reading.add(kinds.Compaction(summary=reading.text(reading.value, "content"))),
    "CONVERSATION_HISTORY": lambda reading: reading.add(
        kinds.Lifecycle("conversation_history", text=reading.text(reading.value, "content"))
    ),
    "SYSTEM_MESSAGE": _read_notice,
    "EPHEMERAL_MESSAGE": _read_notice,
    "SYSTEM": _read_notice,
    "ERROR_MESSAGE": lambda reading: reading.add(
        kinds.Lifecycle("api_error", text=reading.text(reading.value, "content"))
    ),
}


_BRAIN = "brain"


class AntigravityAdapter(KitAdapter[AntigravityState], slug="antigravity"):
    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the conversation's folder in the brain. Prompts name theirs line by line."""
        if info.role == HISTORY:
            return HISTORY
        folders = info.folders
        after = folders[folders.index(_BRAIN) + 1 :] if _BRAIN in folders else []
        return (after[0] if after else info.stem) or first_line_name(head)

    def read(self, reading: Reading) -> None:
        value = reading.record.value
        if reading.state.role == PLAN and isinstance(value, str):
            name = reading.state.name
            reading.add(kinds.Lifecycle("plan", text=value, detail={"file": name}), native_id=f"plan:{short(name)}")
        elif not isinstance(value, dict):
            read_odd(reading)
        elif reading.state.role == HISTORY:
            # Emit a line of the prompt history, which alone says in which folder a conversation was held.
            value = reading.value
            reading.date(value.get("timestamp"))
            said, session = reading.text(value, "display"), reading.text(value, "conversationId")
            name = name_of(reading, "prompt", value)
            workspace = reading.text(value, "workspace")
            if not session or not said:
                reading.kept("prompt", native_id=name)
                return
            reading.note("cwd", cwd=workspace, native_id=f"history:cwd:{workspace}", session=session)
            reading.add(kinds.UserMessage(said), native_id=name, session=session)
            reading.extra(value, _KNOWN["history"], "history", native_id=name)
        else:
            read_step(reading)
