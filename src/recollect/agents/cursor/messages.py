"""Parses messages of the transcripts and of the command line's store.

Neither has ids of messages, so events are named by what they say: the transcript's copy of a message then has the name
that the store gave it. Transcripts write blocks as Anthropic's API does, the store as the AI SDK.
Evidence: format notes: Cursor, stores B and C.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from recollect.agents.cursor.state import (
    MAX_HUMANS,
    Edit,
    Human,
    Step,
    called,
    decoded,
    digest,
    give_cwd,
    named,
    pruned,
    remember_call,
    short,
    take_edits,
    take_images,
)
from recollect.agents.facts import known_fields
from recollect.agents.kit.content import base64_part, content_parts, content_text, media_part
from recollect.agents.kit.values import Json, items, mapping, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Tools as Cursor's stores write them: names, arguments, outcomes, and the files that a call changes.
#
# The editor names its tools `edit_file_v2`, the command line and the transcripts `Write`; arguments differ alike.
# Evidence: format notes: Cursor, "Edits" and "Traps".

_EDITS = word_set("""
    edit_file search_replace write write_file create_file strreplace multiedit editnotebook edit_notebook apply_patch
    applypatch reapply delete delete_file
""")
_DELETES = frozenset(("delete", "delete_file"))
_PATHS = (
    "path", "file_path", "target_file", "targetFile", "relativeWorkspacePath", "relative_workspace_path",
    "target_notebook", "notebook_path",
)  # fmt: skip
_BEFORE = ("old_string", "oldString", "old_str")
_AFTER = ("new_string", "newString", "new_str", "streamContent", "contents", "content", "file_text", "code_edit")
_PATCHES = ("patch", "input", "diff")
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_PATCH_OPERATIONS = {"Add": "create", "Update": "modify", "Delete": "delete"}
_BODIES = ("output", "contents", "content", "text", "result", "stdout", "fileContents", "message")
_EXITS = ("exitCodeV2", "exitCode", "exit_code")
_EXIT_LINE = re.compile(r"(?:Error: )?Exit code: (-?\d{1,9})\b")
Operation = Literal["create", "modify", "delete", "rename", "checkpoint"]
_OPERATIONS: dict[str, Operation] = {"create": "create", "modify": "modify", "delete": "delete"}


class Body(NamedTuple):
    """What a tool gave back: its text, what else it says, images, and the exit code that it states."""

    text: str = ""
    structured: Json = None
    parts: tuple[kinds.Part, ...] = ()
    exit_code: int | None = None


def canonical(name: str) -> str:
    """Return the canonical name of a tool; the editor's tools of MCP servers are `mcp_server_tool`."""
    plain = name.removesuffix("_v2")
    if plain.lower().startswith(("mcp_", "mcp-")) or plain in ("CallMcpTool", "mcp"):
        return "mcp"
    return canonical_tool(plain)


def call_key(call_id: str) -> str:
    """Return what names a call in every store: `call_…`, without the item's id that follows on a second line."""
    return short(call_id.partition("\n")[0].strip())


def edits_of(key: str, name: str, arguments: Json) -> list[Edit]:
    """Return the changes that a call asks for; none where the tool changes no file."""
    plain = name.removesuffix("_v2").lower()
    if plain not in _EDITS:
        return []
    values = mapping(arguments)
    patch = arguments if isinstance(arguments, str) else _first(values, _PATCHES) or ""
    if "*** Begin Patch" in patch:
        return list(_patched(key, patch))
    path = _first(values, _PATHS) or ""
    changes = [_change(key, path, mapping(edit)) for edit in items(values.get("edits")) if isinstance(edit, dict)]
    if plain in _DELETES:
        changes = [Edit(key, path, "delete")]
    return changes or ([_change(key, path, values)] if path else [])


def _change(key: str, path: str, values: dict[str, Any]) -> Edit:
    return Edit(key, path, before=_first(values, _BEFORE), after=_first(values, _AFTER))


def _patched(key: str, patch: str) -> Iterator[Edit]:
    found = list(_PATCHED.finditer(patch))
    for this, following in zip_longest(found, found[1:]):
        body = patch[this.end() : following.start() if following else None]
        yield Edit(key, this[2], _PATCH_OPERATIONS[this[1]], diff=body.partition("*** End Patch")[0].strip("\n"))


def _first(values: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((values[n] for n in names if isinstance(values.get(n), str)), None)


def give_edits(step: Step, edits: tuple[Edit, ...] | list[Edit], *, result: Json, call_id: str) -> None:
    """Emit the changes that a call made. Where the call names a file only, the result may hold the hunks."""
    facts = mapping(result)
    seen: set[str] = set()
    for edit in edits:
        diff = edit.diff
        if not diff and edit.before is None and edit.after is None:
            diff = _hunks(facts)
        name = f"edit:{edit.call}:{edit.path if len(edit.path) <= 100 else digest(edit.path)}"
        if name in seen:
            name = f"{name}:{len(seen)}"
        seen.add(name)
        step.add(
            kinds.FileEdit(
                edit.path,
                _OPERATIONS.get(edit.operation, "modify"),
                edit.before if not diff else None,
                edit.after if not diff else None,
                diff=diff,
                call_id=call_id,
                backup=text(facts.get("beforeContentId")),
            ),
            native_id=name,
        )


def _hunks(facts: dict[str, Any]) -> str:
    stated = _first(facts, ("diffString", "unifiedDiff"))
    if stated:
        return stated
    chunks = items(mapping(facts.get("diff")).get("chunks"))
    return "\n".join(filter(None, (text(mapping(c).get("diffString")) for c in chunks)))


def body_of(value: Json) -> Body:
    """Return what a tool gave back, written as JSON (also inside a text), as blocks or as plain text."""
    result = decoded(value)
    if isinstance(result, bytes):
        return Body()
    if isinstance(result, str):
        return Body(result, exit_code=_exit_line(result))
    parts: list[kinds.Part] = []
    if isinstance(result, list):
        blocks, _ = content_parts(result)
        return Body(content_text(take_images(result, parts)), parts=(*blocks, *parts))
    if not isinstance(result, dict):
        return Body("" if result is None else flatten(result))
    clean = take_images(result, parts)
    main = next((n for n in _BODIES if isinstance(clean.get(n), str) and clean[n]), None)
    stated = next((whole(clean[n]) for n in _EXITS if clean.get(n) is not None), None)
    if main is None:
        content = clean.get("content")
        body = content_text(content) if isinstance(content, list) else flatten(pruned(clean))
        return Body(body, None, tuple(parts), stated)
    told = (main, *_EXITS)
    rest = {k: v for k, v in clean.items() if k not in told and not (isinstance(v, str) and v in clean[main])}
    return Body(clean[main], pruned(rest), tuple(parts), stated if stated is not None else _exit_line(clean[main]))


def _exit_line(said: str) -> int | None:
    found = _EXIT_LINE.match(said)
    return int(found[1]) if found else None


# Text in the user's role: what the person asked, and what Cursor wrote around it.
#
# Transcripts and the command line's store wrap the question in `<user_query>` and put the time, the machine, open files
# and rules beside it. Evidence: format notes: Cursor, stores B and C.

_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_TIME = re.compile(r"<timestamp>(.*?)</timestamp>", re.DOTALL)
_SPOKEN_TIME = re.compile(
    r"(?:\w+, )?(\w{3})\w* (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d) ?(AM|PM) ?\(?(?:UTC|GMT)([+-]\d{1,2})?(?::?(\d\d))?\)?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HARNESS = re.compile(
    r"\s*<(?:user_info|system_reminder|system-reminder|rules|user_rules|always_applied_workspace_rules|git_status|"
    r"project_layout|open_and_recently_viewed_files|agent_transcripts|agent_skills|mcp_file_system|attached_files|"
    r"additional_data|context|conversation_summary|environment_context|system_notification)\b"
)
_WORKSPACE = re.compile(r"^\s*Workspace Path: (.+?)\s*$", re.MULTILINE)


class Prompt(NamedTuple):
    """A user text taken apart: the person's words, the harness's, and the time that stands beside them."""

    human: str
    injected: str
    at: str


def split_prompt(said: str) -> Prompt:
    """Take a user text apart. Without the wrapping tag it is the person's, unless it starts with one of the harness."""
    time = _TIME.search(said)
    at = time[1].strip() if time else ""
    rest = _TIME.sub("", said) if time else said
    asked = [q.strip() for q in _QUERY.findall(rest)]
    if asked:
        return Prompt("\n".join(filter(None, asked)), _QUERY.sub("", rest).strip(), at)
    if _HARNESS.match(rest):
        return Prompt("", rest.strip(), at)
    return Prompt(rest.strip() if time else rest, "", at)


def iso_of(spoken: str) -> str:
    """Return "Saturday, Mar 7, 2026, 3:12 PM (UTC-8)" as an ISO time; any other text as it is."""
    found = _SPOKEN_TIME.fullmatch(spoken)
    if found is None or found[1] not in _MONTHS:
        return spoken
    hour = int(found[4]) % 12 + (12 if found[6] == "PM" else 0)
    offset = int(found[7] or 0)
    zone = f"{'-' if offset < 0 else '+'}{abs(offset):02}:{found[8] or '00'}"
    month = _MONTHS.index(found[1]) + 1
    return f"{found[3]}-{month:02}-{int(found[2]):02}T{hour:02}:{found[5]}:00{zone}"


def give_prompt(step: Step, said: str, parts: tuple[kinds.Part, ...] = ()) -> str:
    """Emit a user text of a store without ids: the harness's part first. Return the person's message's name."""
    prompt = split_prompt(said)
    if prompt.at:
        step.date(iso_of(prompt.at))
    if prompt.injected:
        step.add(kinds.UserMessage(prompt.injected, "injected"), native_id=named(step, "context", prompt.injected))
        workspace = _WORKSPACE.search(prompt.injected)
        if workspace:
            give_cwd(step, workspace[1])
    if not prompt.human and not parts:
        return ""
    name = named(step, "ask", prompt.human)
    step.add(kinds.UserMessage(prompt.human, parts=parts), native_id=name)
    return name


_REDACTED = "[REDACTED]"
_CALLS = frozenset(("tool_use", "tool-call", "tool_call", "mcp_tool_use"))
_RESULTS = frozenset(("tool_result", "tool-result", "command_output"))
_THOUGHTS = frozenset(("thinking", "reasoning"))
_WITHHELD = frozenset(("redacted", "redacted_thinking", "redacted-reasoning"))
_MEDIA = frozenset(("image", "document", "file"))
_KNOWN = known_fields("cursor")
_OUTCOME = frozenset(("success", "isError"))
_EXITS_OF_MESSAGES = ("exitCode", "exit_code")
_DURATIONS = ("executionTime", "localExecutionTimeMs", "durationMs")
_TOLD = frozenset(
    (
        *_EXITS_OF_MESSAGES,
        *_DURATIONS,
        "command",
        "beforeFullFileContent",
        "afterFullFileContent",
        "diffString",
        "conversationSteps",
    )
)
"""What a result's other fields, its call or its edits tell."""


def read_message(step: Step, role: str, content: Json, message: dict[str, Any], *, model: str = "") -> None:
    """Emit the events of a message. `message` holds what stands beside the content."""
    blocks: list[Json] = content if isinstance(content, list) else [content]
    if content is None:
        return
    if not isinstance(content, str | list):
        step.wrong("content")
    if role == "system":
        said = content_text(content)
        step.add(kinds.Instructions(said, "system"), native_id=named(step, "system", said))
        return
    if role == "user":
        _read_user(step, blocks, message)
    for block in blocks:
        if isinstance(block, str):
            if role == "assistant":
                _give_said(step, block, model)
            elif role != "user":
                step.kept(role, block, native_id=named(step, "kept", block))
        elif not isinstance(block, dict):
            step.wrong("content")
            step.kept("content", block, native_id=named(step, "kept", block))
        else:
            _read_block(step, role, block, message, model=model)


def _read_user(step: Step, blocks: list[Json], message: dict[str, Any]) -> None:
    """Emit the person's message: all texts of it, and its images."""
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in blocks:
        kind = text(block.get("type")) if isinstance(block, dict) else ""
        if isinstance(block, str):
            texts.append(block)
        elif kind == "text":
            texts.append(text(block.get("text")))
        elif kind in _MEDIA:
            parts.append(_media(step, block))
    said = "\n".join(filter(None, texts))
    if not said and not parts:
        return
    if _options(message).get("isSummary") is True:
        step.add(kinds.Compaction(summary=said), native_id=named(step, "compaction", said))
        step.set(is_summed_up=True)
        return
    name = give_prompt(step, said, tuple(parts))
    if name:
        humans: tuple[Human, ...] = step.now("humans")
        step.set(humans=(*humans, Human(step.native_id or name, name, before=step.state.newest))[-MAX_HUMANS:])


def _media(step: Step, block: dict[str, Any]) -> kinds.Part:
    if "source" in block:
        return media_part(block)[0]
    kind = text(block.get("type"))
    media_type = text(block.get("mimeType")) or text(block.get("mediaType"))
    data = block.get("image", block.get("data"))
    url = text(data) if text(data).startswith(("http:", "https:")) else text(block.get("url"))
    path = text(block.get("filename"))
    if url or data is None:
        return kinds.Part(kind, media_type=media_type, path=path, url=url)
    written = text(data).partition(";base64,")[2] or data
    return step.readable(base64_part(kind, media_type, written, path=path), "content.data")


def _read_block(step: Step, role: str, block: dict[str, Any], message: dict[str, Any], *, model: str) -> None:
    kind = block.get("type")
    kind = kind if isinstance(kind, str) else ""
    before = len(step.events)
    if kind == "text":
        if role == "assistant":
            _give_said(step, step.text(block, "text"), model or _model(block))
        elif role != "user":
            said = step.text(block, "text")
            step.kept(role, said, native_id=named(step, "kept", said))
    elif kind in _THOUGHTS:
        thought = text(block.get("thinking")) or text(block.get("text"))
        if thought:
            step.add(kinds.Thinking(thought), native_id=named(step, "think", thought))
        elif block.get("signature"):
            step.add(kinds.Thinking(is_encrypted=True), native_id=named(step, "withheld", ""))
    elif kind in _WITHHELD:
        step.add(kinds.Thinking(is_encrypted=True), native_id=named(step, "withheld", ""))
    elif kind in _CALLS:
        tool = text(block.get("toolName")) or text(block.get("name"))
        arguments = take_images(block.get("args", block.get("input")), [])
        call_id = text(block.get("toolCallId")) or text(block.get("id"))
        give_call(step, tool, arguments, call_id)
    elif kind in _RESULTS:
        _read_result(step, block, message)
    elif kind in _MEDIA:
        if role != "user":
            step.add(kinds.AssistantMessage(parts=(_media(step, block),)), native_id=named(step, "say", block))
    else:
        clean = take_images(block, [])
        step.unknown(kind or "block", clean, native_id=named(step, "block", block))
    name = step.events[before].native_id if len(step.events) > before else f"block:{digest(block)}"
    if kind in _CALLS or kind in _RESULTS or kind == "text" or kind in _THOUGHTS:
        step.extra(block, _KNOWN["block"], kind, native_id=name)


def _give_said(step: Step, said: str, model: str) -> None:
    """Emit the words of the assistant. A transcript marks a thought that it leaves out with `[REDACTED]`."""
    rest = said.rstrip()
    is_withheld = rest.endswith(_REDACTED)
    if is_withheld:
        said = rest.removesuffix(_REDACTED).rstrip()
    if said.strip():
        step.add(kinds.AssistantMessage(said, model=model), native_id=named(step, "say", said))
    if is_withheld:
        step.add(kinds.Thinking(is_encrypted=True), native_id=named(step, "withheld", ""))


def _options(source: dict[str, Any]) -> dict[str, Any]:
    return mapping(mapping(source.get("providerOptions")).get("cursor"))


def _model(block: dict[str, Any]) -> str:
    return text(_options(block).get("modelName"))


def model_of(message: dict[str, Any], content: Json) -> str:
    """Return the model of a message of the command line's store, which its thoughts or the message name."""
    found = text(_options(message).get("modelName"))
    blocks = content if isinstance(content, list) else []
    return found or next((m for m in (_model(mapping(b)) for b in blocks) if m), "")


def give_call(step: Step, tool: str, arguments: Json, call_id: str) -> str:
    """Emit a call, remember it, and return its id; one without an id is called after what it asks for."""
    key = call_key(call_id)
    name = f"call:{key}" if key else named(step, "use", [tool, arguments])
    key = key or name
    call_id = call_id or name
    step.add(kinds.ToolCall(call_id, tool, canonical(tool), arguments), native_id=name)
    remember_call(step, key, tool, edits_of(key, tool, arguments))
    return call_id


def _read_result(step: Step, block: dict[str, Any], message: dict[str, Any]) -> None:
    call_id = text(block.get("toolCallId")) or text(block.get("tool_use_id")) or text(block.get("id"))
    written = next((block[n] for n in ("result", "content", "output", "text") if block.get(n) is not None), None)
    body = body_of(written)
    if not body.text and block.get("experimental_content") is not None:
        body = body_of(block["experimental_content"])
    high = mapping((_options(block) or _options(message)).get("highLevelToolCallResult"))
    output = mapping(high.get("output"))
    success = mapping(output.get("success"))
    exit_code = body.exit_code
    stated = next((whole(success[n]) for n in _EXITS_OF_MESSAGES if success.get(n) is not None), None)
    exit_code = exit_code if exit_code is not None else stated
    flags = (block.get("is_error"), block.get("isError"), high.get("isError"), output.get("isError"))
    ok: bool | None = None
    if any(f is True for f in flags) or exit_code or high.get("rawErrorMessages"):
        ok = False
    elif any(f is False for f in flags) or exit_code == 0 or success:
        ok = True
    parts = [*body.parts]
    clean = mapping(take_images(success or {k: v for k, v in output.items() if k not in _OUTCOME}, parts))
    rest = {k: v for k, v in clean.items() if k not in _TOLD and not (isinstance(v, str) and v in body.text)}
    images, _ = content_parts(block.get("experimental_content"))
    known = {p.sha256 for p in parts}
    parts += [p for p in images if p.sha256 not in known]
    structured = {**mapping(body.structured), **rest} or body.structured
    said = body.text or flatten(high.get("rawErrorMessages"))
    duration = next((whole(success[n]) for n in _DURATIONS if n in success), None)
    give_result(
        step,
        kinds.ToolResult(
            call_id,
            text(block.get("toolName")) or text(block.get("name")),
            ok,
            exit_code,
            said,
            structured or None,
            duration,
            tuple(parts),
        ),
        success,
    )
    agent = text(success.get("agentId"))
    step.note("subagent", agent, call_id=call_id, native_id=f"subagent:{digest(agent)}")


def give_result(step: Step, result: kinds.ToolResult, facts: dict[str, Any]) -> None:
    """Emit a result and, where it went well, the changes that its call asked for."""
    key = call_key(result.call_id)
    name = f"result:{key}" if key else named(step, "result", result.text)
    tool = result.name or called(step, key)
    step.add(
        kinds.ToolResult(
            result.call_id, tool, result.ok, result.exit_code, result.text, result.structured, result.duration_ms,
            result.parts,
        ),
        native_id=name
    )  # fmt: skip
    edits = take_edits(step, key) if key else ()
    if result.ok is not False:
        give_edits(step, edits, result=facts, call_id=result.call_id)
