"""Parses tool calls and results, from the model's items and from the interface's end events.

A call is told by an item and its outcome by an output item and, depending on how the session was persisted, by an
end event or a completed item with the same call id. Where the call is known, an end event adds only what the output
item doesn't say (exit code, success, duration, structured result), and nothing where the outcome is settled; where
the call is unknown (a user's own shell command, a trimmed file), it gives the call and its whole result.

Edits: the patch in a call's arguments is given as file edits at once, because nobody knows whether an end event will
follow; `patch_apply_end` and FileChange give edits only for calls whose patch was not seen. Whether a patch applied
is said by the results of its call.
"""

import hashlib
import re
from typing import Literal

import msgspec

from recollect.agents.codex.dialogue import image_of_base64, read_content, readable, without
from recollect.agents.codex.step import EVENT, ITEM, SEARCH, Step, is_twin
from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import note_fields, note_value
from recollect.agents.kit.values import decoded_json, word_set
from recollect.model.payloads import FileEdit, Json, Part, TokenUsage, ToolCall, ToolResult
from recollect.model.tools import canonical_tool

# File edits: the `*** Begin Patch` text of apply_patch, and the change lists of patch events.

BEGIN = "*** Begin Patch"
_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*)")
_MOVE = "*** Move to: "
_END = "*** End Patch"
_CHANGES = frozenset(("add", "delete", "update"))


def find_patches(arguments: Json) -> list[str]:
    """Return the patch texts in a call's arguments: `input`, `patch`, or a shell command with a heredoc."""
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    found: list[str] = []
    for value in values:
        texts = value if isinstance(value, list) else (value,)
        found.extend(t for t in texts if isinstance(t, str) and BEGIN in t)
    return found


def edits_of_patch(patch: str, call_id: str) -> list[FileEdit]:
    """Return one edit per file of all `*** Begin Patch` blocks in a text, in order.

    An added file has its text in `after`; an updated one has its hunks in `diff`. Of a block cut short, what is there.
    """
    edits: list[FileEdit] = []
    verb = path = ""
    body: list[str] = []
    is_inside = False
    for line in patch.splitlines():
        header = _HEADER.match(line) if is_inside else None
        if header is not None or line.startswith(_END):
            if verb:
                edits.append(_edit(verb, path, body, call_id))
            verb, path = (header[1], header[2].strip()) if header is not None else ("", "")
            body = []
            is_inside = header is not None
        elif BEGIN in line:
            is_inside = True
        elif verb:
            body.append(line)
    if verb:
        edits.append(_edit(verb, path, body, call_id))
    return edits


def _edit(verb: str, path: str, body: list[str], call_id: str) -> FileEdit:
    if verb == "Add":
        after = "".join(line[1:] + "\n" for line in body if line.startswith("+"))
        return FileEdit(path=path, operation="create", after=after, call_id=call_id)
    if verb == "Delete":
        return FileEdit(path=path, operation="delete", call_id=call_id)
    if body and body[0].startswith(_MOVE):
        new_path = body[0].removeprefix(_MOVE).strip()
        return FileEdit(path=path, operation="rename", diff="\n".join(body[1:]), new_path=new_path, call_id=call_id)
    return FileEdit(path=path, operation="modify", diff="\n".join(body), call_id=call_id)


def edits_of_changes(step: Step, changes: Json, call_id: str) -> list[FileEdit]:
    """Return one edit per path of `patch_apply_end.changes` or a FileChange item.

    A change is `{"type": "update", ...}`, in older builds `{"update": {...}}`.
    """
    edits: list[FileEdit] = []
    for path, change in step.mapping(changes, "changes").items():
        body = step.mapping(change, "change")
        kind = body.get("type")
        if not isinstance(kind, str):
            kind = next((k for k in ("add", "delete", "update") if k in body), "")
            body = step.mapping(body.get(kind), "change")
        note_value(step.drift, "change.type", kind, _CHANGES)
        if kind == "add":
            after = step.text(body.get("content"), "content")
            edits.append(FileEdit(path=path, operation="create", after=after, call_id=call_id))
        elif kind == "delete":
            before = step.text(body.get("content"), "content") or None
            edits.append(FileEdit(path=path, operation="delete", before=before, call_id=call_id))
        else:
            diff = step.text(body.get("unified_diff"), "unified_diff")
            new_path = step.text(body.get("move_path"), "move_path")
            operation: Literal["rename", "modify"] = "rename" if new_path else "modify"
            edits.append(FileEdit(path=path, operation=operation, diff=diff, new_path=new_path, call_id=call_id))
    return edits


# Token counts: what is a new response, and how the copies of it in forks are told.
#
# `total_token_usage` is cumulative and falls after some resumes and compactions, so nothing is ever subtracted:
# `last_token_usage` is the response. A count whose total did not move is the same response told again (rate-limit
# refresh). Evidence: format notes: Codex, traps 1 and 2.
#
# A fork's file begins with its parent's counts under new timestamps, so the key of a response holds no time. Turn ids
# are copied unchanged and are unique where they are UUIDs: key = turn id + totals + response. Builds before that get
# the owning thread and the number of resets instead: key = owner + turn id + resets + totals + response. The owner is
# what the last `session_meta` says: its `forked_from_id`, else its id. A fork's own header names its parent, and the
# copied headers follow in the parent's order, so a copied count has the same owner in both files.

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MAX_TOKENS = 2**53
_KNOWN = known_fields("codex")
_COUNTS = word_set("""
    input_tokens cached_input_tokens cache_write_input_tokens output_tokens reasoning_output_tokens total_tokens
""")

Counts = tuple[int, int, int, int, int]
"""Tokens read, read from the cache, put out, of these reasoning, in total."""


def token_count(step: Step, payload: dict[str, Json]) -> None:
    """Emit the usage of a response that was not counted yet; a count without `info` says nothing."""
    info = step.mapping(payload.get("info"), "info")
    if not info:
        return
    note_fields(step.drift, info, _KNOWN["info"], "event_msg/token_count.info")
    last = _counts(step, info.get("last_token_usage"), "last_token_usage")
    total = _counts(step, info.get("total_token_usage"), "total_token_usage")
    state = step.state
    seen = total if total[4] else last
    if seen == state.usage:
        return
    resets = state.resets + 1 if state.usage and seen[4] < state.usage[4] else state.resets
    step.set(usage=seen, resets=resets)
    read, cached, output, reasoning, _ = last
    if not (read or cached or output):  # after a compaction: an estimate of the new context, not a response
        return
    step.emit(
        TokenUsage(
            model=state.model,
            input_tokens=max(0, read - cached),
            output_tokens=output,
            cache_read_tokens=cached,
            reasoning_tokens=reasoning,
            dedupe_key=_dedupe_key(step, total, last),
        )
    )


def _dedupe_key(step: Step, total: Counts, last: Counts) -> str:
    state = step.state
    if _UUID.fullmatch(state.turn_id):
        name = f"{state.turn_id}|{total}|{last}"
    else:
        name = f"{state.owner}|{state.turn_id}|{state.resets}|{total}|{last}"
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12, person=b"codex.usage").hexdigest()


def _counts(step: Step, value: Json, name: str) -> Counts:
    counts = step.mapping(value, name)
    note_fields(step.drift, counts, _COUNTS, f"event_msg/token_count.info.{name}")
    read = _count(step, counts, "input_tokens")
    output = _count(step, counts, "output_tokens")
    return (
        read,
        _count(step, counts, "cached_input_tokens"),
        output,
        _count(step, counts, "reasoning_output_tokens"),
        _count(step, counts, "total_tokens") or read + output,
    )


def _count(step: Step, counts: dict[str, Json], field: str) -> int:
    value = counts.get(field)
    if type(value) is int and 0 <= value < _MAX_TOKENS:
        return value
    number = step.whole(value, field)
    if number is None:
        return 0
    if not 0 <= number < _MAX_TOKENS:
        step.defect("number_out_of_range", f"{field} is {number}")
        return 0
    return number


_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
_WALL_TIME = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds", re.MULTILINE)
_HEADER_CHARS = 400
"""The header ends at the line `Output:` and is never longer."""
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|s|µs|us)")
_STATUSES = {"completed": True, "failed": False, "declined": False, "in_progress": None, "inprogress": None}
"""What the status of an ended call says of its success."""
_UNIT_MS = {"ms": 1.0, "s": 1000.0, "µs": 0.001, "us": 0.001}


def call_id_of(step: Step, payload: dict[str, Json]) -> str:
    """Return `call_id` (one old event writes `callId`), else the item's own id."""
    call_id = payload.get("call_id")
    if type(call_id) is str and call_id:
        return call_id
    call_id = call_id if call_id is not None else payload.get("callId")
    return step.text(call_id, "call_id") or step.text(payload.get("id"), "id")


def function_call(step: Step, payload: dict[str, Json]) -> None:
    """A call whose arguments are JSON inside a string (trap 4: not always valid)."""
    raw = payload.get("arguments")
    arguments = _decoded(step, raw) if isinstance(raw, str) else raw
    name = step.text(payload.get("name"), "name")
    namespace = step.text(payload.get("namespace"), "namespace")
    _give_call(step, payload, name=name, namespace=namespace, arguments=arguments)
    if not isinstance(raw, str) or BEGIN in raw:
        _give_patches(step, arguments, call_id_of(step, payload))


def custom_tool_call(step: Step, payload: dict[str, Json]) -> None:
    """A call whose input is free text (apply_patch)."""
    arguments = {"input": step.text(payload.get("input"), "input")}
    _give_call(step, payload, name=step.text(payload.get("name"), "name"), arguments=arguments)
    _give_patches(step, arguments, call_id_of(step, payload))


def local_shell_call(step: Step, payload: dict[str, Json]) -> None:
    """A command that the model runs through its built-in shell tool."""
    arguments = without(step.mapping(payload.get("action"), "action")) or {}
    _give_call(step, payload, name="local_shell", arguments=arguments)
    _give_patches(step, arguments, call_id_of(step, payload))


def web_search_call(step: Step, payload: dict[str, Json]) -> None:
    """A search made by the model's provider. It has no call id, so its end event is paired by the query."""
    action = step.mapping(payload.get("action"), "action")
    if step.knows("calls", call_id_of(step, payload)) or is_twin(step, _query(action), SEARCH, ITEM):
        return
    _give_call(step, payload, name="web_search", arguments=action)


def tool_search_call(step: Step, payload: dict[str, Json]) -> None:
    """A search for tools that are loaded on demand."""
    raw = payload.get("arguments")
    arguments = _decoded(step, raw) if isinstance(raw, str) else raw
    _give_call(step, payload, name="tool_search", arguments=arguments)


def image_generation(step: Step, payload: dict[str, Json]) -> None:
    """An image made by the model's provider, as an item or as an end event: call and result in one."""
    call_id = call_id_of(step, payload)
    if step.knows("settled", call_id):
        return
    prompt = step.text(payload.get("revised_prompt"), "revised_prompt")
    if not step.knows("calls", call_id):
        _give_call(step, payload, name="image_generation", arguments={"prompt": prompt})
    path = step.text(payload.get("saved_path"), "saved_path")
    data = step.text(payload.get("result"), "result")
    if not data and not path:
        return
    image = image_of_base64(step, data, "") if data else Part(type="image")
    if path:
        image = msgspec.structs.replace(image, path=path)
    step.note("settled", call_id)
    step.emit(ToolResult(call_id=call_id, name="image_generation", parts=(image,)))


def tool_output(step: Step, payload: dict[str, Json]) -> None:
    """What a call gave back to the model: text, blocks, or an old object, also as JSON inside the text (trap 5)."""
    call_id = call_id_of(step, payload)
    output = payload.get("output")
    if isinstance(output, str) and output.startswith(('{"output"', '{"metadata"')):
        # The object written inside an output's text, else the text itself.
        value = decoded_json(output)
        output = value if isinstance(value, dict) and "output" in value and "metadata" in value else output
    exit_code = duration_ms = ok = None
    parts: tuple[Part, ...] = ()
    if isinstance(output, str):
        text = output
    elif isinstance(output, dict) and not ("text" in output or "image_url" in output):
        metadata = step.mapping(output.get("metadata"), "metadata")
        exit_code = step.whole(metadata.get("exit_code"), "exit_code")
        duration_ms = _duration_ms(metadata.get("duration_seconds"))
        if isinstance(output.get("success"), bool):
            ok = output["success"]
        body = output.get("output", output.get("content"))
        if body is None:
            text = readable(without(output, "metadata"))
        else:
            texts, parts = read_content(step, body)
            text = "\n".join(texts)
    else:
        texts, parts = read_content(step, output)
        text = "\n".join(texts)
    if exit_code is None:
        exit_code, stated_ms = _read_header(text)
        duration_ms = stated_ms if duration_ms is None else duration_ms
    if ok is None and exit_code is not None:
        ok = exit_code == 0
    if ok is not None:
        step.note("settled", call_id)
    step.emit(ToolResult(call_id=call_id, ok=ok, exit_code=exit_code, text=text, duration_ms=duration_ms, parts=parts))


def tool_search_output(step: Step, payload: dict[str, Json]) -> None:
    text = readable(payload.get("tools"))
    step.emit(ToolResult(call_id=call_id_of(step, payload), name="tool_search", text=text))


def command_end(step: Step, payload: dict[str, Json]) -> None:
    """A command ended: `exec_command_end` or a CommandExecution item."""
    call_id = call_id_of(step, payload)
    if step.knows("settled", call_id):
        return
    text = ""
    if not step.knows("calls", call_id):
        arguments = {k: payload[k] for k in ("command", "cwd") if payload.get(k)}
        _give_call(step, payload, name="shell", arguments=arguments)
        text = step.text(payload.get("aggregated_output"), "aggregated_output")
        if not text:
            streams = (step.text(payload.get(k), k) for k in ("stdout", "stderr"))
            text = "\n".join(s for s in streams if s)
    exit_code = step.whole(payload.get("exit_code"), "exit_code")
    ok, took_ms = _ok_of(step, payload, exit_code), _duration_ms(payload.get("duration"))
    _give_outcome(step, ToolResult(call_id=call_id, ok=ok, exit_code=exit_code, text=text, duration_ms=took_ms))


def mcp_end(step: Step, payload: dict[str, Json]) -> None:
    """An MCP tool answered: `mcp_tool_call_end` or an McpToolCall item."""
    call_id = call_id_of(step, payload)
    invocation = step.mapping(payload.get("invocation", payload), "invocation")
    is_known = step.knows("calls", call_id)
    if not is_known:
        name = f"mcp__{step.text(invocation.get('server'), 'server')}__{step.text(invocation.get('tool'), 'tool')}"
        _give_call(step, payload, name=name, arguments=invocation.get("arguments"))
    took_ms = _duration_ms(payload.get("duration"))
    result = payload.get("result")
    error = payload.get("error")
    if isinstance(result, dict) and ("Ok" in result or "Err" in result):
        error = result.get("Err", error)
        result = result.get("Ok")
    if result is None and error is not None:
        text = "" if is_known else readable(error)
        _give_outcome(step, ToolResult(call_id=call_id, ok=False, text=text, duration_ms=took_ms))
        return
    body = step.mapping(result, "result")
    texts, parts = ([], ()) if is_known else read_content(step, body.get("content"))
    is_error = body.get("isError", body.get("is_error"))
    _give_outcome(
        step,
        ToolResult(
            call_id=call_id,
            ok=not is_error if isinstance(is_error, bool) else None,
            text="\n".join(texts),
            structured=body.get("structuredContent", body.get("structured_content")),
            duration_ms=took_ms,
            parts=parts,
        ),
    )


def patch_end(step: Step, payload: dict[str, Json]) -> None:
    """A patch was applied or refused: `patch_apply_end` or a FileChange item."""
    call_id = call_id_of(step, payload)
    ok = _ok_of(step, payload, None)
    if not step.knows("patched", call_id) and ok is not False:
        _give_edits(step, edits_of_changes(step, payload.get("changes"), call_id), call_id)
    if step.knows("settled", call_id):
        return
    text = ""
    if not step.knows("calls", call_id):
        streams = (step.text(payload.get(k), k) for k in ("stdout", "stderr"))
        text = "\n".join(s for s in streams if s)
    _give_outcome(step, ToolResult(call_id=call_id, ok=ok, text=text))


def search_end(step: Step, payload: dict[str, Json]) -> None:
    """A web search ended: `web_search_end`, a WebSearch item, or a search Extension item."""
    call_id = call_id_of(step, payload)
    action = step.mapping(payload.get("action"), "action")
    query = _query(action) or step.text(payload.get("query"), "query")
    if not step.knows("calls", call_id) and not is_twin(step, query, SEARCH, EVENT):
        _give_call(step, payload, name="web_search", arguments=action or {"query": query})
    results = payload.get("results")
    if results:
        step.emit(ToolResult(call_id=call_id, name="web_search", text=readable(results)))


def dynamic_tool_request(step: Step, payload: dict[str, Json]) -> None:
    """The model asked for a tool that the host program lent to the session; usually an item told it already."""
    if not step.knows("calls", call_id_of(step, payload)):
        name = step.text(payload.get("tool"), "tool")
        namespace = step.text(payload.get("namespace"), "namespace")
        _give_call(step, payload, name=name, namespace=namespace, arguments=payload.get("arguments"))


def dynamic_tool_end(step: Step, payload: dict[str, Json]) -> None:
    """A tool that the host program lent to the session answered."""
    call_id = call_id_of(step, payload)
    texts: list[str] = []
    parts: tuple[Part, ...] = ()
    if not step.knows("calls", call_id):
        dynamic_tool_request(step, payload)
        texts, parts = read_content(step, payload.get("content_items", payload.get("contentItems")))
    ok, took_ms = _ok_of(step, payload, None), _duration_ms(payload.get("duration"))
    _give_outcome(step, ToolResult(call_id=call_id, ok=ok, text="\n".join(texts), duration_ms=took_ms, parts=parts))


def image_view(step: Step, payload: dict[str, Json]) -> None:
    """The model looked at an image file: `view_image_tool_call` or an ImageView item."""
    part = Part(type="image", path=step.text(payload.get("path"), "path"))
    step.emit(ToolResult(call_id=call_id_of(step, payload), name="view_image", parts=(part,)))


def _give_call(step: Step, payload: dict[str, Json], *, name: str, arguments: Json, namespace: str = "") -> None:
    call_id = call_id_of(step, payload)
    canonical = canonical_tool(name)
    if namespace:
        name = namespace + ("" if namespace.endswith("__") else "__") + name
        # A server may call its tool as the agent calls one of its own ("find"), so its namespace decides.
        if canonical == "other" or namespace.startswith("mcp__"):
            canonical = canonical_tool(name)
    step.note("calls", call_id)
    item_id = payload.get("id")
    message_id = item_id if isinstance(item_id, str) and item_id != call_id else ""
    step.emit(ToolCall(call_id=call_id, name=name, canonical=canonical, arguments=arguments, message_id=message_id))


def _give_patches(step: Step, arguments: Json, call_id: str) -> None:
    for patch in find_patches(arguments):
        _give_edits(step, edits_of_patch(patch, call_id), call_id)


def _give_edits(step: Step, edits: list[FileEdit], call_id: str) -> None:
    if edits:
        step.note("patched", call_id)
    for edit in edits:
        step.emit(edit, "assistant")


def _give_outcome(step: Step, result: ToolResult) -> None:
    """Emit the result of an end event where it says anything that was not given yet."""
    is_news = result.ok is not None and not step.knows("settled", result.call_id)
    if is_news or result.text or result.parts or result.structured:
        if result.ok is not None:
            step.note("settled", result.call_id)
        step.emit(result)


def _ok_of(step: Step, payload: dict[str, Json], exit_code: int | None) -> bool | None:
    success = payload.get("success")
    if isinstance(success, bool):
        return success
    if exit_code is not None:
        return exit_code == 0
    status = payload.get("status")
    if isinstance(status, str):
        note_value(step.drift, "tool.status", status.lower(), _STATUSES.keys())
        return _STATUSES.get(status.lower())
    return None


def _decoded(step: Step, raw: str) -> Json:
    if not raw:
        return {}
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError) as e:
        step.defect("bad_arguments", str(e))
        return {"raw": raw}


def _read_header(text: str) -> tuple[int | None, int | None]:
    """Return (exit code, duration in milliseconds) of the header that a shell tool puts before its output."""
    if not text.startswith(("Exit code:", "Chunk ID:", "Wall time:", "Process exited")):
        return None, None
    head = text[:_HEADER_CHARS].partition("\nOutput:")[0]
    code = _EXIT_CODE.search(head)
    wall = _WALL_TIME.search(head)
    return (
        int(code[1]) if code is not None else None,
        round(float(wall[1]) * 1000) if wall is not None else None,
    )


def _duration_ms(value: Json) -> int | None:
    """Return milliseconds of `{"secs", "nanos"}`, a number of seconds, or text such as "1.5s"."""
    if isinstance(value, dict):
        seconds, nanos = value.get("secs"), value.get("nanos")
        if type(seconds) is int and type(nanos) is int and 0 <= seconds < 2**40 and 0 <= nanos < 2**40:
            return seconds * 1000 + nanos // 1_000_000
        return None
    if isinstance(value, str):
        m = _DURATION.fullmatch(value)
        return round(float(m[1]) * _UNIT_MS[m[2]]) if m is not None else None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**40:
        return round(value * 1000)
    return None


def _query(action: dict[str, Json]) -> str:
    """Return what names a web search in both of its records: the query, the queries, or the page."""
    for key in ("query", "queries", "url"):
        value = action.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return "\n".join(v for v in value if isinstance(v, str))
    return ""
