"""Tool calls of a request: the answer shows that they were made, the metadata says with what and what came back.

The metadata's ids are those of the model's API, the answer's are the interface's own in most builds: where they differ,
calls are joined by tool and order. Evidence: recorded sessions of the extension 0.31 and 0.37.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.copilot.edits import arguments_of, edits_of_call
from recollect.agents.kit.copilot.state import storable
from recollect.agents.kit.reading import Reading
from recollect.agents.vscode.asked import Asked
from recollect.agents.vscode.state import Group, Invocation, VSCodeState
from recollect.agents.vscode.tools import model_name
from recollect.agents.vscode.values import markdown, path_of, rendered
from recollect.model.payloads import FileEdit, Json, Part, ToolCall, ToolResult
from recollect.model.tools import canonical_tool

_SUFFIX = "__vscode-"
_EXIT = re.compile(r"(?:Command )?exited with (?:exit )?code:? (-?\d{1,9})\b")
_FAILED = ("ERROR while calling tool", "ERROR: ", "Error: ")
_EXIT_WINDOW_CHARS = 300
_DENIED = (0, 5)
"""`isConfirmed.type` of a call that the user refused or skipped."""
_ITEM = frozenset((
    "kind", "presentation", "invocationMessage", "pastTenseMessage", "originMessage", "isConfirmed", "isComplete",
    "source", "toolId", "toolCallId", "toolSpecificData", "resultDetails", "generatedTitle", "subAgentInvocationId",
    "fromSubAgent", "isAttachedToThinking", "confirmationMessages", "icon",
))  # fmt: skip


class Call:
    """A call of the metadata: its arguments, its result, and where the answer shows it."""

    __slots__ = ("arguments", "call_id", "edits", "invocation", "name", "result")

    def __init__(self, told: dict[str, Any], results: dict[str, Any]) -> None:
        self.call_id = text(told.get("id"))
        self.name = text(told.get("name"))
        self.arguments = arguments_of(told.get("arguments"))
        self.result = results.get(self.call_id)
        self.invocation: Invocation | None = None
        self.edits: list[tuple[str, FileEdit]] = []


def calls_of(asked: Asked, metadata: dict[str, Any]) -> list[Call]:
    """Return the calls of a request's rounds, joined with what the answer shows of them."""
    results = mapping(metadata.get("toolCallResults"))
    told = [
        Call(mapping(call), results)
        for one in items(metadata.get("toolCallRounds"))
        for call in items(mapping(one).get("toolCalls"))
    ]
    free = list(asked.invocations)
    for call in told:
        short = call.call_id.partition(_SUFFIX)[0]
        call.invocation = next((i for i in free if i.call_id in (call.call_id, short)), None)
        if call.invocation is not None:
            free.remove(call.invocation)
    for call in told:
        if call.invocation is None:
            call.invocation = next((i for i in free if i.name == call.name), None)
            if call.invocation is not None:
                free.remove(call.invocation)
    _name_edits(asked, told)
    return told + _results_alone(asked, told, results)


def _results_alone(asked: Asked, told: list[Call], results: dict[str, Any]) -> list[Call]:
    """Return the results that no round has a call for: older builds write no rounds. Joined by id, then by order."""
    known = {call.call_id for call in told}
    taken = {call.invocation.place for call in told if call.invocation is not None}
    free = [i for i in asked.invocations if i.place not in taken]
    alone = [Call({"id": key}, results) for key in results if key not in known]
    for call in alone:
        named = next((i for i in free if i.call_id == call.call_id), None)
        call.invocation = named or (free[0] if free else None)
        if call.invocation is not None:
            free.remove(call.invocation)
    return alone


def _name_edits(asked: Asked, calls: list[Call]) -> None:
    """Name each edit after the group of the answer that shows it, else after its call."""
    groups = list(asked.groups)
    for call in calls:
        name = call.invocation.call_id if call.invocation is not None else call.call_id
        for n, edit in enumerate(edits_of_call(call.name, call.arguments, name)):
            group = next((g for g in groups if _same_file(g.path, edit.path)), None)
            if group is not None:
                groups.remove(group)
                call.edits.append((group_name(asked, group.place), edit))
            else:
                call.edits.append((f"edit:{name}:{n}", edit))


def claimed(asked: Asked, calls: list[Call]) -> set[int]:
    """Return the places of the groups whose edits are told in full by a call."""
    names = {name for call in calls for name, _ in call.edits}
    return {g.place for g in asked.groups if group_name(asked, g.place) in names}


def group_name(asked: Asked, place: int) -> str:
    """Return the id of the edits that the answer shows at a place."""
    return f"{asked.request}/edit/{place}"


def _same_file(one: str, other: str) -> bool:
    return one.replace("\\", "/").lower() == other.replace("\\", "/").lower()


def give_told(reading: Reading[VSCodeState], call: Call, item: dict[str, Any] | None = None) -> None:
    """Give a call of the metadata, its result and its edits. item: what the answer shows of it, if that is at hand."""
    shown = call.invocation
    name = shown.call_id if shown is not None else call.call_id
    tool = call.name or (shown.name if shown is not None else "")
    if call.name or item is not None:
        arguments = call.arguments if call.name or item is None else _shown_input(item)
        payload = ToolCall(name, tool, canonical_of(tool), arguments)
        reading.add(payload, "assistant", native_id=f"call:{name}")
    body, parts, is_readable = rendered(mapping(call.result).get("content"))
    if not is_readable:
        reading.wrong("toolCallResults.content", "bad_base64")
    if call.result is None and (shown is None or shown.ok is None):
        return
    said, structured = ("", None) if body or item is None else _shown_output(item)
    result = _result(shown, name, tool, body or said, structured, parts)
    reading.add(result, "tool", native_id=f"result:{name}")
    if result.ok is not False:
        for native_id, edit in call.edits:
            reading.add(edit, "tool", native_id=native_id)


def _result(
    shown: Invocation | None, call_id: str, name: str, body: str, structured: Json, parts: tuple[Part, ...]
) -> ToolResult:
    ok = shown.ok if shown is not None and shown.ok is not None else not body.startswith(_FAILED)
    exit_code = shown.exit_code if shown is not None else None
    if exit_code is None and canonical_tool(name) == "shell":
        ends = _EXIT.search(body[:_EXIT_WINDOW_CHARS]) or _EXIT.search(body[-_EXIT_WINDOW_CHARS:])
        exit_code = int(ends[1]) if ends else None
    if exit_code not in (None, 0) or body.startswith(_FAILED):
        ok = False
    duration = shown.duration_ms if shown is not None else None
    return ToolResult(call_id, name, ok, exit_code, body, structured, duration, parts)


def invocation_of(asked: Asked, place: int, item: dict[str, Any]) -> Invocation:
    """Return what the answer shows of a call, as it is remembered."""
    call_id = text(item.get("toolCallId")) or f"{asked.request}/{place}"
    data = mapping(item.get("toolSpecificData"))
    state = mapping(data.get("terminalCommandState"))
    exit_code = whole(state.get("exitCode"))
    ok: bool | None = None
    if _is_denied(item.get("isConfirmed")):
        ok = False
    elif item.get("isComplete") is True:
        ok = exit_code in (None, 0) and mapping(item.get("resultDetails")).get("isError") is not True
    name = model_name(text(item.get("toolId")))
    return Invocation(place, storable(call_id), storable(name), ok, exit_code, whole(state.get("duration")))


def _is_denied(confirmed: Json) -> bool:
    """A boolean in older builds, later an object; without either nothing was asked."""
    if isinstance(confirmed, dict):
        return whole(confirmed.get("type")) in _DENIED
    return confirmed is False


def give_shown(
    reading: Reading[VSCodeState], asked: Asked, shown: Invocation, item: dict[str, Any], call: Call | None
) -> None:
    """Give a call that the answer shows: as the metadata tells it where that is known, else as shown."""
    reading.is_sidechain = bool(item.get("subAgentInvocationId")) or item.get("fromSubAgent") is True
    if call is not None:
        give_told(reading, call, item)
    else:
        payload = ToolCall(shown.call_id, shown.name, canonical_of(shown.name), _shown_input(item))
        reading.add(payload, "assistant", native_id=f"call:{shown.call_id}")
        if shown.ok is not None:
            body, structured = _shown_output(item)
            result = _result(shown, shown.call_id, shown.name, body, structured, ())
            reading.add(result, "tool", native_id=f"result:{shown.call_id}")
    reading.is_sidechain = False
    reading.extra(item, _ITEM, "toolInvocation", native_id=f"{asked.request}/part/{shown.place}")


def _shown_input(item: dict[str, Any]) -> Json:
    data = mapping(item.get("toolSpecificData"))
    if data.get("kind") == "terminal":
        line = mapping(data.get("commandLine"))
        command = next((line[k] for k in ("userEdited", "toolEdited", "original") if text(line.get(k))), None)
        return {"command": command or data.get("command"), "language": data.get("language")}
    if "rawInput" in data:
        return data["rawInput"]
    told = {k: data[k] for k in ("description", "agentName", "prompt", "todoList") if k in data}
    if told:
        return told
    written = mapping(item.get("resultDetails")).get("input")
    if written is not None:
        return arguments_of(written)
    message = markdown(item.get("invocationMessage"))
    return {"message": message} if message else None


def _shown_output(item: dict[str, Any]) -> tuple[str, Json]:
    """Return the text and the places that the answer shows of a result."""
    data = mapping(item.get("toolSpecificData"))
    details = item.get("resultDetails")
    places: Json = None
    if isinstance(details, list):
        places = [p for p in map(path_of, details) if p] or None
    output = mapping(details).get("output")
    said = output if isinstance(output, str) else rendered(output)[0]
    said = said or text(mapping(data.get("terminalCommandOutput")).get("text")) or text(data.get("result"))
    return said or markdown(item.get("pastTenseMessage")), places


def canonical_of(name: str) -> str:
    """Return the canonical name of a tool; those of MCP servers begin with `mcp_`."""
    return "mcp" if name.startswith("mcp_") else canonical_tool(name)


def group_of(asked: Asked, place: int, item: dict[str, Any]) -> Group:
    """Return what is remembered of edits that the answer shows."""
    before = [i.call_id for i in asked.invocations if i.place < place]
    return Group(place, storable(path_of(item.get("uri"))), before[-1] if before else "")


def give_group(reading: Reading[VSCodeState], asked: Asked, group: Group, item: dict[str, Any]) -> None:
    """Give edits as the answer shows them: where, and what is written there; not what stood there before."""
    lines: list[str] = []
    for batch in items(item.get("edits")):
        for edit in items(batch) if isinstance(batch, list) else [batch]:
            one = mapping(edit)
            place = mapping(one.get("range"))
            first, last = whole(place.get("startLineNumber")) or 0, whole(place.get("endLineNumber")) or 0
            written = text(one.get("text"))
            added = written.split("\n") if written else []
            if place or added:
                lines.append(f"@@ -{first},{max(0, last - first + 1)} +{first},{len(added)} @@")
                lines += [f"+{line}" for line in added]
            elif one:
                lines.append(f"@@ {msgspec.json.encode(one).decode('utf-8')}" if _is_plain(one) else "@@")
    path = path_of(item.get("uri"))
    edit = FileEdit(path, "modify", diff="\n".join(lines), call_id=group.call_id)
    reading.add(edit, "tool", native_id=group_name(asked, group.place))


def _is_plain(value: dict[str, Any]) -> bool:
    """Say whether a small notebook edit can be written on one line."""
    try:
        return len(msgspec.json.encode(value)) < 2000
    except (UnicodeEncodeError, RecursionError, OverflowError, msgspec.EncodeError):
        return False
