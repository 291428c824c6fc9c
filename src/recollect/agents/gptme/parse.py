"""gptme: parses a message into events; README.md has its traps. Pure; never raises on content."""

import json
import re
from typing import Any, ClassVar, NamedTuple

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.calls import Waiting, arrived, expect, give_edits
from recollect.agents.kit.names import NamingState, name_of, short
from recollect.agents.kit.values import Json, instant, mapping, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool


class GptmeState(NamingState, frozen=True, gc=False, omit_defaults=True):
    branch_of: str = ""
    """Of a branch: the conversation it left."""
    has_prompt: bool = False
    """A person has said something: system messages before that are instructions."""
    waiting: tuple[Waiting, ...] = ()
    """Calls that ran for certain, oldest first."""
    possible: tuple[Waiting, ...] = ()
    """Code blocks of the last message that may have been run: their language is a tool's and an example's alike."""
    model: str = ""


Reading = kit.Reading[GptmeState]


# Tool calls in the text of a message, in gptme's three spellings, and the thoughts before them.
#
# Markdown: a fenced block whose info string begins with a tool's name (```` ```patch a.py ````). XML: `<tool-use>`
# around an element of the tool's name. Function calls: `@tool(call id): {json}`.
# Evidence: gptme, `codeblock.py`, `tools/base.py`.

TOOLS = frozenset((
    "shell", "ipython", "save", "append", "patch", "morph", "read", "browser", "tmux", "gh", "subagent", "rag",
    "vision", "screenshot", "computer", "todo", "todowrite", "chats", "complete", "choice", "form", "lesson", "restart",
    "mcp", "precommit", "autocommit", "patch_many", "elicit", "hashline_edit",
))  # fmt: skip
"""Languages that only a call has."""
ALSO_TOOLS = {"bash": "shell", "sh": "shell", "python": "ipython", "py": "ipython"}
"""Languages that examples have too; older versions ran such blocks."""
_FENCE = "```"
_JSON = json.JSONDecoder(strict=False)
"""Unlike msgspec's, it says where a value ends."""
_THOUGHT = re.compile(r"\s*<(think|thinking)>\n?(.*?)\n?</\1>\s*", re.DOTALL)
_SIGNATURE = re.compile(r"<!--\s*think-sig:.*?-->\s*", re.DOTALL)
_TOOL_USE = re.compile(
    r"<tool-use>\s*<(?P<name>[A-Za-z_][\w.-]*)(?P<args>[^<>]*)>(?P<body>.*?)</(?P=name)>\s*</tool-use>", re.DOTALL
)
_ARGS = re.compile(r"args=(?:\"([^\"]*)\"|'([^']*)')")
_FUNCTION = re.compile(r"^@(?P<name>\w+)\((?P<id>[\w\-:.]+)\):\s*(?=\{)", re.MULTILINE)
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_MAX_CALLS = 64
"""Of one message; more beginnings than that which never end are no calls, and looking for their ends takes long."""


class Call(NamedTuple):
    """A tool call in a text. is_certain: False where its language is an example's too."""

    tool: str
    args: str
    body: str
    call_id: str = ""
    arguments: Any = None
    is_certain: bool = True


class Pieces(NamedTuple):
    """A message's text without the calls that are certain, its thoughts, and its calls in order."""

    said: str
    thoughts: str
    calls: tuple[Call, ...]
    is_sealed: bool


def pieces_of(content: str) -> Pieces:
    """Return what a text says, thinks, and asks of tools."""
    unsigned = _SIGNATURE.sub("", content) if content.count("think-sig:") <= _MAX_CALLS else content
    is_sealed = len(unsigned) != len(content)
    thoughts: list[str] = []
    at = 0
    while (found := _THOUGHT.match(unsigned, at)) is not None:
        thoughts.append(found[2])
        at = found.end()
    unsigned = unsigned[at:]
    said, calls = _functions(unsigned)
    if not calls:
        said, calls = _elements(unsigned)
    if not calls:
        said, calls = _fenced(unsigned)
    return Pieces(said.strip(), "\n".join(filter(None, thoughts)), tuple(calls[:_MAX_CALLS]), is_sealed)


def _functions(content: str) -> tuple[str, list[Call]]:
    calls: list[Call] = []
    said: list[str] = []
    at = unfinished = 0
    for found in _FUNCTION.finditer(content):
        if found.start() < at or unfinished > _MAX_CALLS:
            continue
        end = _end_of_json(content, found.end())
        if end is None:
            unfinished += 1
            continue
        try:
            arguments = msgspec.json.decode(content[found.end() : end].encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        said.append(content[at : found.start()])
        calls.append(Call(found["name"], "", "", found["id"], arguments))
        at = end
    return "".join((*said, content[at:])), calls


def _end_of_json(content: str, start: int) -> int | None:
    try:
        return _JSON.raw_decode(content, start)[1]
    except (ValueError, RecursionError):
        return None


def _elements(content: str) -> tuple[str, list[Call]]:
    calls: list[Call] = []
    if content.count("<tool-use>") > _MAX_CALLS:
        return content, calls
    for found in _TOOL_USE.finditer(content):
        args = _ARGS.search(found["args"])
        body = found["body"].strip()
        for written, meant in _ENTITIES:
            body = body.replace(written, meant)
        calls.append(Call(found["name"], (args[1] or args[2] or "") if args else "", body))
    return (_TOOL_USE.sub("", content), calls) if calls else (content, calls)


def _fenced(content: str) -> tuple[str, list[Call]]:
    """Return the fenced blocks that are calls. A block without an end, as after an interruption, is none."""
    lines = content.split("\n")
    ends = _ends_of_blocks(lines)
    said: list[str] = []
    calls: list[Call] = []
    at = 0
    while at < len(lines):
        info, end = lines[at][3:].strip(), ends.get(at)
        if end is None:
            said.append(lines[at])
            at += 1
            continue
        call = _call(info, "\n".join(lines[at + 1 : end]))
        if call is not None:
            calls.append(call)
        if call is None or not call.is_certain:
            said += lines[at : end + 1]
        at = end + 1
    return "\n".join(said), calls


def _ends_of_blocks(lines: list[str]) -> dict[int, int]:
    """Return the line that closes each block. A fence with an info string opens one, also inside, a bare one closes."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, line in enumerate(lines):
        if not line.startswith(_FENCE):
            continue
        if line.strip() != _FENCE:
            opened.append(at)
        elif opened:
            ends[opened.pop()] = at
    return ends


def _call(info: str, body: str) -> Call | None:
    language, _, args = info.partition(" ")
    if language in TOOLS:
        return Call(language, args.strip(), body)
    other = ALSO_TOOLS.get(language)
    return Call(other, args.strip(), body, is_certain=False) if other is not None else None


# What gptme's tools were asked to do, and how they ended.

_CONFLICT = re.compile(r"<<<<<<< ORIGINAL\n(.*?)\n?=======\n(.*?)\n?>>>>>>> UPDATED", re.DOTALL)
_EXIT = re.compile(r"(?:[Rr]eturn|[Ee]xit) code: ?(-?\d{1,9})\b")
_END_CHARS = 400
"""How a command ended stands at the end of its result, or in its first lines."""
_FAILURES = ("Error", "Failed", "Patch failed", "Aborted", "❌")
_WRITERS = frozenset(("save", "append", "patch", "morph"))


def arguments_of(call: Call) -> Json:
    """Return a call's arguments by name."""
    if call.arguments is not None:
        return call.arguments
    if call.tool in _WRITERS:
        return {"path": call.args, "patch" if call.tool == "patch" else "content": call.body}
    if call.tool == "shell":
        return {"command": call.body}
    return {"args": call.args, "code": call.body} if call.args else {"code": call.body}


def edits_of_call(call: Call) -> tuple[kinds.FileEdit, ...]:
    """Return what a call will have changed if it goes well. Whether `save` makes a new file is not said."""
    if call.tool not in _WRITERS:
        return ()
    given = mapping(call.arguments)
    path = call.args or text(given.get("path"))
    body = call.body or text(given.get("patch")) or text(given.get("content"))
    if call.tool == "patch":
        found = _CONFLICT.findall(body)
        return tuple(kinds.FileEdit(path, "modify", before, after) for before, after in found) or (
            kinds.FileEdit(path, diff=body),
        )
    if call.tool == "save":
        return (kinds.FileEdit(path, "modify", after=body),)
    return (kinds.FileEdit(path, diff="\n".join("+" + line for line in body.split("\n"))),)


def exit_code_of(result: str) -> int | None:
    """Return the exit code that a result states."""
    found = _EXIT.search(result[-_END_CHARS:]) or _EXIT.search(result[:_END_CHARS])
    return int(found[1]) if found else None


def has_failed(result: str) -> bool:
    """Say whether a result begins as those of failures do."""
    return result.lstrip().startswith(_FAILURES)


# Messages of a log, which have no ids: they are named for what they say, and when.
#
# Evidence: gptme, `message.py` (`to_dict`), `logmanager`.

_KNOWN = known_fields("gptme")
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens")
_USAGE_FIELDS = frozenset(_COUNTS)
_ZONED = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$")
_COMMAND = re.compile(r"/[a-z][\w-]*(?: [^\n]*)?")
_INTERRUPTED = "Interrupted by user"
_MAX_POSSIBLE = 8


def read_message(reading: Reading) -> None:
    value = reading.value
    role = reading.text(value, "role")
    said = reading.text(value, "content")
    # Take the time; one without a zone is the machine's own, so it is marked as inferred.
    written = reading.value.get("timestamp")
    if isinstance(written, str) and not _ZONED.search(written) and (at := instant(written)) is not None:
        reading.infer(at)
    else:
        reading.date(written)
    reading.native_id = name_of(reading, role or "row", said, value.get("timestamp"), value.get("call_id"))
    if not reading.now("is_started"):
        reading.set(is_started=True)
        if reading.state.branch_of:
            reading.start(forked_from=reading.state.branch_of)
        else:
            reading.start()
    metadata = reading.mapping(value, "metadata")
    if role == "user":
        is_harness = any(k in metadata for k in ("compaction_checkpoint_view", "skill_invocation_id"))
        if not is_harness:
            reading.set(has_prompt=True, waiting=(), possible=())
        reading.add(kinds.UserMessage(said, _origin(said, is_harness=is_harness), _files(reading)))
    elif role == "assistant":
        _read_assistant(reading, said, metadata)
    elif role in ("system", "tool"):
        _read_system(reading, said, metadata)
    else:
        reading.unknown(role or text(value.get("type")) or "row")
        return
    reading.extra(value, _KNOWN["record"], role)
    reading.extra(metadata, _KNOWN["metadata"], f"{role}.metadata")


def _files(reading: Reading) -> tuple[kinds.Part, ...]:
    hashes = reading.mapping(reading.value, "file_hashes")
    names = [name for name in reading.items(reading.value, "files") if isinstance(name, str)]
    return tuple(
        kinds.Part("file", url=name) if "://" in name else kinds.Part("file", text(hashes.get(name)), path=name)
        for name in names
    )


def _origin(said: str, *, is_harness: bool) -> kinds.Origin:
    if is_harness:
        return "injected"
    return "command" if _COMMAND.fullmatch(said) else "human"


def _read_assistant(reading: Reading, said: str, metadata: dict[str, Any]) -> None:
    model = text(metadata.get("served_model")) or text(metadata.get("model"))
    before, now = reading.now("model"), short(text(metadata.get("model")))
    if before and now and before != now:
        reading.add(kinds.Lifecycle("model", model=now), native_id=f"{reading.native_id}/model")
    pieces = pieces_of(said)
    if pieces.thoughts or pieces.is_sealed:
        thought = kinds.Thinking(pieces.thoughts, is_encrypted=not pieces.thoughts)
        reading.add(thought, native_id=f"{reading.native_id}/thinking")
    parts = _files(reading)
    if pieces.said or parts:
        reading.add(kinds.AssistantMessage(pieces.said, model, parts=parts))
    reading.set(waiting=(), possible=(), **({"model": now} if now else {}))
    for number, call in enumerate(pieces.calls, 1):
        if call.is_certain:
            call_id = _call_id(reading, call, number)
            payload = kinds.ToolCall(call_id, call.tool, canonical_tool(call.tool), arguments_of(call))
            reading.add(payload, native_id=f"call:{call_id}")
            expect(reading, call_id, call.tool, edits_of_call(call))
        else:
            # Remember a block that may be run: its call is given when something answers it.
            kept: tuple[Waiting, ...] = reading.now("possible")
            reading.set(possible=(*kept, Waiting(_call_id(reading, call, number), call.tool))[-_MAX_POSSIBLE:])
    # Emit a response's tokens; the oldest logs have them without a `usage` around.
    nested = mapping(metadata.get("usage"))
    usage = nested or metadata
    *counts, thinking = reading.counts(usage, _COUNTS)
    more = {"reasoning_tokens": min(thinking, counts[1]), "cost_usd": reading.money(metadata, "cost")}
    key = f"gptme:{reading.state.branch_of or reading.state.session}:{reading.native_id}"
    reading.spend(model, counts, key, "assistant", native_id=f"{reading.native_id}/usage", **more)
    reading.extra(nested, _USAGE_FIELDS, "metadata.usage")


def _call_id(reading: Reading, call: Call, number: int) -> str:
    return short(call.call_id) or f"{reading.native_id}/call/{number}"


def _read_system(reading: Reading, said: str, metadata: dict[str, Any]) -> None:
    """Emit what was said in the system's role: instructions, a tool's result, or a notice."""
    value = reading.value
    if said.strip() == _INTERRUPTED:
        reading.add(kinds.Lifecycle("interrupted", text=said))
        return
    call = _answered(reading, value, metadata) if not value.get("ui_only") else None
    if call is not None:
        code = exit_code_of(said)
        ok = not code and not has_failed(said)
        native_id = f"result:{call.call_id}" if call.call_id else reading.native_id
        reading.add(
            kinds.ToolResult(call.call_id, call.name, ok, code, said, parts=_files(reading)), native_id=native_id
        )
        if ok:
            give_edits(reading, call.edits, call.call_id)
    elif not reading.now("has_prompt") or value.get("pinned") is True:
        reading.add(kinds.Instructions(said, "system"))
    else:
        reading.add(kinds.UserMessage(said, "injected", _files(reading)))


def _answered(reading: Reading, value: dict[str, Any], metadata: dict[str, Any]) -> Waiting | None:
    """Return the call that a message answers: the one it names, else the oldest that waits."""
    named = short(text(value.get("call_id")))
    waiting: tuple[Waiting, ...] = reading.now("waiting")
    if named:
        return arrived(reading, named)
    if waiting:
        return arrived(reading, waiting[0].call_id)
    possible: tuple[Waiting, ...] = reading.now("possible")
    if possible:
        call, *rest = possible
        reading.set(possible=tuple(rest))
        reading.add(
            kinds.ToolCall(call.call_id, call.name, canonical_tool(call.name)), native_id=f"call:{call.call_id}"
        )
        return call
    tool = short(text(metadata.get("tool")))
    is_result = bool(tool) or value.get("role") == "tool"
    return Waiting("", tool) if is_result else None


BRANCH = "branch"


class GptmeAdapter(KitAdapter[GptmeState], slug="gptme"):
    readers: ClassVar = {"": read_message}

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the folder's name; a branch is a session of its own, below it."""
        folders = info.folders
        if info.role == BRANCH and len(folders) > 1:
            return f"{folders[-2]}/{info.stem}"
        return info.folder or first_line_name(head)

    def begin(self, info: SourceInfo) -> GptmeState:
        parent = info.session.rpartition("/")[0] if info.role == BRANCH else ""
        return GptmeState(session=short(info.session), role=info.role, branch_of=short(parent))
