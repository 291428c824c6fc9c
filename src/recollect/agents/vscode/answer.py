"""Parses the pieces of an answer. Markdown and its inline references form one text; the rest are separate events.

A mutation log tells of one piece at a time, and again when it has grown: the text that a piece belongs to is remembered
and given as a new version under the same id, which is the place where it begins.
"""

import re
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.copilot_events import arguments_of, edits_of_call
from recollect.agents.kit.copilot_session import storable
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.agents.vscode.requests import (
    MAX_RUN_BYTES,
    MAX_RUNS,
    Group,
    Invocation,
    OpenRequest,
    Run,
    VSCodeState,
    is_internal,
    markdown,
    model_name,
    path_of,
    reference,
    rendered,
)
from recollect.model.payloads import AssistantMessage, FileEdit, Json, Lifecycle, Part, Thinking, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Tool calls of a request: the answer shows that they were made, the metadata says with what and what came back.
#
# The metadata's ids are those of the model's API, the answer's are the interface's own in most builds: where they
# differ, calls are joined by tool and order. Evidence: recorded sessions of the extension 0.31 and 0.37.

_SUFFIX = "__vscode-"
_EXIT = re.compile(r"(?:Command )?exited with (?:exit )?code:? (-?\d{1,9})\b")
_FAILED = ("ERROR while calling tool", "ERROR: ", "Error: ")
_EXIT_WINDOW_CHARS = 300
_DENIED = (0, 5)
"""`isConfirmed.type` of a call that the user refused or skipped."""
_KNOWN = known_fields("vscode")


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


def calls_of(asked: OpenRequest, metadata: dict[str, Any]) -> list[Call]:
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
    # Name each edit after the group of the answer that shows it, else after its call.
    groups = list(asked.groups)
    for call in told:
        name = call.invocation.call_id if call.invocation is not None else call.call_id
        for n, edit in enumerate(edits_of_call(call.name, call.arguments, name)):
            group = next((g for g in groups if _same_file(g.path, edit.path)), None)
            if group is not None:
                groups.remove(group)
                call.edits.append((group_name(asked, group.place), edit))
            else:
                call.edits.append((f"edit:{name}:{n}", edit))
    return told + _results_alone(asked, told, results)


def _results_alone(asked: OpenRequest, told: list[Call], results: dict[str, Any]) -> list[Call]:
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


def claimed(asked: OpenRequest, calls: list[Call]) -> set[int]:
    """Return the places of the groups whose edits are told in full by a call."""
    names = {name for call in calls for name, _ in call.edits}
    return {g.place for g in asked.groups if group_name(asked, g.place) in names}


def group_name(asked: OpenRequest, place: int) -> str:
    """Return the id of the edits that the answer shows at a place."""
    return f"{asked.request}/edit/{place}"


def _same_file(one: str, other: str) -> bool:
    return one.replace("\\", "/").lower() == other.replace("\\", "/").lower()


def give_told(reading: Reading[VSCodeState], call: Call, item: dict[str, Any] | None = None) -> None:
    """Emit a call of the metadata, its result and its edits. item: what the answer shows of it, if that is at hand."""
    shown = call.invocation
    name = shown.call_id if shown is not None else call.call_id
    tool = call.name or (shown.name if shown is not None else "")
    if call.name or item is not None:
        arguments = call.arguments if call.name or item is None else _shown_input(item)
        reading.add(ToolCall(name, tool, canonical_of(tool), arguments), native_id=f"call:{name}")
    body, parts, is_readable = rendered(mapping(call.result).get("content"))
    if not is_readable:
        reading.wrong("toolCallResults.content", "bad_base64")
    if call.result is None and (shown is None or shown.ok is None):
        return
    said, structured = ("", None) if body or item is None else _shown_output(item)
    result = _result(shown, name, tool, body or said, structured, parts)
    reading.add(result, native_id=f"result:{name}")
    if result.ok is not False:
        for native_id, edit in call.edits:
            reading.add(edit, native_id=native_id)


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


def invocation_of(asked: OpenRequest, place: int, item: dict[str, Any]) -> Invocation:
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


def group_of(asked: OpenRequest, place: int, item: dict[str, Any]) -> Group:
    """Return what is remembered of edits that the answer shows."""
    before = [i.call_id for i in asked.invocations if i.place < place]
    return Group(place, storable(path_of(item.get("uri"))), before[-1] if before else "")


def give_group(reading: Reading[VSCodeState], asked: OpenRequest, group: Group, item: dict[str, Any]) -> None:
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
    reading.add(edit, native_id=group_name(asked, group.place))


def _is_plain(value: dict[str, Any]) -> bool:
    """Say whether a small notebook edit can be written on one line."""
    try:
        return len(msgspec.json.encode(value)) < 2000
    except (UnicodeEncodeError, RecursionError, OverflowError, msgspec.EncodeError):
        return False


_TEXTS = frozenset(("", "markdownContent", "markdownVuln", "inlineReference"))
_SILENT = frozenset(("undoStop", "codeblockUri", "prepareToolInvocation", "mcpServersStarting",
                     "clearToPreviousToolInvocation"))  # fmt: skip
"""Marks of the interface, which say nothing and interrupt no text."""
_GROUPS = frozenset(("textEditGroup", "notebookEditGroup"))
_CALL = "toolInvocationSerialized"
_ASIDES = {
    "progressMessage": "progress",
    "progressTask": "progress",
    "progressTaskSerialized": "progress",
    "warning": "warning",
    "confirmation": "permission",
    "elicitation": "permission",
    "elicitationSerialized": "permission",
    "command": "command_offered",
    "extensions": "extensions",
    "treeData": "tree",
    "multiDiffData": "diff_shown",
    "pullRequest": "pr_link",
    "hook": "hook",
    "questionCarousel": "question",
    "workspaceEdit": "workspace_edit",
    "disabledClaudeHooks": "hook",
    "references": "references",
    "reference": "references",
    "markdownVulnerability": "warning",
}
"""Pieces that become a `lifecycle` event, and its name."""
_FENCE = re.compile(r"\s*`{3,}\s*")


def scan(asked: OpenRequest, response: list[Any]) -> None:
    """Note the calls, the edits and the thinking of a whole answer before it is read."""
    asked.invocations.clear()
    asked.groups.clear()
    asked.has_thinking = False
    for place, found in enumerate(response):
        _note(asked, place, mapping(found))


def _note(asked: OpenRequest, place: int, item: dict[str, Any]) -> None:
    kind = text(item.get("kind"))
    if kind == _CALL and not is_internal(text(item.get("toolId"))):
        asked.invocations = [i for i in asked.invocations if i.place != place]
        asked.invocations.append(invocation_of(asked, place, item))
    elif kind in _GROUPS:
        asked.groups = [g for g in asked.groups if g.place != place]
        asked.groups.append(group_of(asked, place, item))
    elif kind == "thinking" and _thought(item):
        asked.has_thinking = True


def forget(reading: Reading[VSCodeState], asked: OpenRequest, place: int) -> None:
    """Forget what stood at a place of the answer and after it."""
    asked.invocations = [i for i in asked.invocations if i.place < place]
    asked.groups = [g for g in asked.groups if g.place < place]
    kept = []
    for run in reading.now("runs"):
        if run.request == asked.request and run.start + len(run.texts) > place:
            if run.start < place:
                kept.append(Run(run.request, run.start, run.texts[: place - run.start]))
        else:
            kept.append(run)
    reading.set(runs=tuple(kept))


def read_answer(
    reading: Reading[VSCodeState], asked: OpenRequest, response: list[Any], metadata: dict[str, Any]
) -> None:
    """Emit a whole answer, with the calls as the metadata tells them, in the order in which they are shown."""
    scan(asked, response)
    calls = calls_of(asked, metadata)
    shown_in_full = claimed(asked, calls)
    waiting = list(calls)
    start, texts = 0, list[str]()
    for place, found in enumerate(response):
        item = mapping(found)
        kind = _kind(reading, item, found)
        if kind in _TEXTS or kind in _SILENT:
            start = start if texts else place
            texts.append(_words(item, kind))
            _see_text(reading, asked, place, item, kind)
            continue
        _say(reading, asked, start, texts)
        texts = []
        if kind == _CALL:
            _read_call(reading, asked, place, item, waiting)
        elif kind not in _GROUPS:
            _read_other(reading, asked, place, found, kind)
        elif place not in shown_in_full:
            give_group(reading, asked, group_of(asked, place, item), item)
    _say(reading, asked, start, texts)
    if texts:
        _remember(reading, Run(asked.request, start, tuple(texts)))
    for call in waiting:
        asked.at_answer(reading)
        give_told(reading, call)


def _read_call(
    reading: Reading[VSCodeState], asked: OpenRequest, place: int, item: dict[str, Any], waiting: list[Call]
) -> None:
    """Emit a call where it is shown, and before it those of the metadata that are not shown at all."""
    asked.at_answer(reading)
    if is_internal(text(item.get("toolId"))):
        name = f"{asked.request}/part/{place}"
        reading.add(Lifecycle("internal_tool", text=text(item.get("toolId"))), native_id=name)
        return
    shown = invocation_of(asked, place, item)
    found = next((c for c in waiting if c.invocation is not None and c.invocation.place == place), None)
    if found is not None:
        while waiting[0] is not found and waiting[0].invocation is None:
            give_told(reading, waiting.pop(0))
        waiting.remove(found)
    # Emit a call that the answer shows: as the metadata tells it where that is known, else as shown.
    reading.is_sidechain = bool(item.get("subAgentInvocationId")) or item.get("fromSubAgent") is True
    if found is not None:
        give_told(reading, found, item)
    else:
        payload = ToolCall(shown.call_id, shown.name, canonical_of(shown.name), _shown_input(item))
        reading.add(payload, native_id=f"call:{shown.call_id}")
        if shown.ok is not None:
            body, structured = _shown_output(item)
            result = _result(shown, shown.call_id, shown.name, body, structured, ())
            reading.add(result, native_id=f"result:{shown.call_id}")
    reading.is_sidechain = False
    reading.extra(item, _KNOWN["item"], "toolInvocation", native_id=f"{asked.request}/part/{shown.place}")


def read_piece(reading: Reading[VSCodeState], asked: OpenRequest, place: int, found: Any) -> None:
    """Emit one piece of an answer that a log tells of, or what it makes of the text that it belongs to."""
    item = mapping(found)
    kind = _kind(reading, item, found)
    _note(asked, place, item)
    if kind in _TEXTS or kind in _SILENT:
        _see_text(reading, asked, place, item, kind)
        run = _with_piece(reading, asked, place, _words(item, kind), is_silent=kind in _SILENT)
        if run is not None:
            _say(reading, asked, run.start, list(run.texts))
            _remember(reading, run)
        return
    # End the text that a piece of another kind now interrupts.
    runs = [
        Run(r.request, r.start, r.texts[: place - r.start])
        if r.request == asked.request and r.start < place < r.start + len(r.texts)
        else r
        for r in reading.now("runs")
        if r.request != asked.request or r.start != place
    ]
    reading.set(runs=tuple(runs))
    if kind == _CALL:
        _read_call(reading, asked, place, item, [])
    elif kind in _GROUPS:
        asked.at_answer(reading)
        give_group(reading, asked, group_of(asked, place, item), item)
    else:
        _read_other(reading, asked, place, found, kind)


def _kind(reading: Reading[VSCodeState], item: dict[str, Any], found: Any) -> str:
    """Return the kind of a piece; Markdown has none. What is no piece at all has one that nothing knows."""
    kind = item.get("kind")
    if kind is None and ("value" in item or "content" in item):
        return ""
    if isinstance(found, str):
        return ""
    if not isinstance(kind, str) or not kind:
        reading.wrong("response.kind")
        return "piece"
    return kind


def _words(item: dict[str, Any], kind: str) -> str:
    """Return what a piece adds to the text around it; the fences around edits add nothing."""
    if kind in _SILENT:
        return ""
    if kind == "inlineReference":
        return reference(item)
    said = markdown(item) or markdown(item.get("content"))
    return "" if _FENCE.fullmatch(said) else said


def _see_text(reading: Reading[VSCodeState], asked: OpenRequest, place: int, item: dict[str, Any], kind: str) -> None:
    """Take the folder that links are relative to: it is the one that the session works in."""
    if kind in _SILENT:
        return
    folder = path_of(item.get("baseUri")) if isinstance(item.get("baseUri"), dict) else ""
    folder = folder.rstrip("/") or folder
    if folder and storable(folder) != reading.now("cwd"):
        reading.set(cwd=storable(folder))
        asked.at_answer(reading)
        reading.add(Lifecycle("cwd", cwd=folder), native_id=f"{asked.request}/cwd/{place}")
    reading.extra(item, _KNOWN["markdown"], "markdown", native_id=f"{asked.request}/part/{place}")


def _say(reading: Reading[VSCodeState], asked: OpenRequest, start: int, texts: list[str]) -> None:
    said = "".join(texts)
    if said.strip():
        asked.at_answer(reading)
        reading.add(AssistantMessage(said, asked.model), native_id=f"{asked.request}/said/{start}")


def _with_piece(
    reading: Reading[VSCodeState], asked: OpenRequest, place: int, words: str, *, is_silent: bool
) -> Run | None:
    """Return the text that a piece belongs to, with it; None for a mark that belongs to no text."""
    for run in reversed(reading.now("runs")):
        offset = place - run.start
        if run.request == asked.request and 0 <= offset <= len(run.texts):
            return Run(run.request, run.start, (*run.texts[:offset], words, *run.texts[offset + 1 :]))
    return None if is_silent else Run(asked.request, place, (words,))


def _remember(reading: Reading[VSCodeState], run: Run) -> None:
    """Remember a text that may grow; of a very long one the next piece begins another."""
    others = tuple(r for r in reading.now("runs") if (r.request, r.start) != (run.request, run.start))
    try:
        size = sum(len(t.encode()) + 8 for t in run.texts)
    except UnicodeEncodeError:
        size = MAX_RUN_BYTES + 1
    kept = (*others, run) if size <= MAX_RUN_BYTES else others
    reading.set(runs=kept[-MAX_RUNS:])


def _thought(item: dict[str, Any]) -> str:
    value = item.get("value")
    if isinstance(value, list):
        return "".join(v for v in value if isinstance(v, str))
    return value if isinstance(value, str) else ""


def _read_other(reading: Reading[VSCodeState], asked: OpenRequest, place: int, found: Any, kind: str) -> None:
    """Give thinking, an aside of the interface, or a piece that nothing knows."""
    item = mapping(found)
    name = f"{asked.request}/part/{place}"
    asked.at_answer(reading)
    if kind == "thinking":
        thought = _thought(item)
        reading.say(Thinking(thought), native_id=f"{asked.request}/thinking/{place}")
        title = text(item.get("generatedTitle"))
        reading.note("thinking_title", title, native_id=f"{name}/title")
        reading.extra(item, _KNOWN["thinking"], "thinking", native_id=name)
    elif kind in _ASIDES:
        shown = markdown(item.get("content")) or markdown(item.get("title")) or markdown(item.get("message"))
        rest = without_opaque({k: v for k, v in item.items() if k not in ("kind", "content", "title")})
        reading.add(Lifecycle(_ASIDES[kind], text=shown, detail=rest or None), native_id=name)
    else:
        body = without_opaque(found)
        reading.unknown(f"response/{kind}", flatten(body) if isinstance(body, str) else body, native_id=name)
