"""Amp: parses a message of a thread into events. Pure; never raises on content."""

import re
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.calls import Operation, Waiting, arrived, edits_of, expect, give_edits
from recollect.agents.kit.content import (
    CALL_TYPES,
    MEDIA_TYPES,
    content_parts,
    content_text,
    media_part,
    without_opaque,
)
from recollect.agents.kit.names import NamingState, name_of
from recollect.agents.kit.values import Json, group_in, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool


class AmpState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """Names, calls without a result, and the model in use."""

    waiting: tuple[Waiting, ...] = ()
    model: str = ""


AmpReading = Reading[AmpState]


# What a tool gave back: Amp's own run (`toolUseID`, `run`), or a block of the Anthropic API in old threads.
#
# Evidence: format notes: Amp; trimmed captures of two threads.

_KNOWN = known_fields("amp")
_STATUSES = frozenset(("done", "error", "cancelled", "rejected-by-user", "in-progress", "queued", "blocked-on-user"))
_OK = {"done": True, "error": False, "cancelled": False, "rejected-by-user": False}
_SHOWN = ("output", "content", "diff")
"""Fields of a result that hold its text, the first that there is."""
_EDITORS: dict[str, Operation] = {
    "edit_file": "modify",
    "create_file": "create",
    "apply_patch": "modify",
    "undo_edit": "modify",
    "format_file": "modify",
}
_FENCE = re.compile(r"```(?:diff)?\n(.*?)\n?```\s*", re.S)
_MAX_DEPTH = 6


def give_call(reading: AmpReading, block: dict[str, Any], message_id: str) -> None:
    """Emit a tool call, and remember it until its result comes."""
    call_id, name = reading.text(block, "id"), reading.text(block, "name")
    arguments = block.get("input")
    call = kinds.ToolCall(call_id, name, canonical_tool(name), arguments, message_id)
    reading.add(call, native_id=f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments))
    operation = _EDITORS.get(name)
    expect(reading, call_id, name, edits_of(arguments, operation) if operation else ())


def give_result(reading: AmpReading, block: dict[str, Any]) -> None:
    """Emit a tool's result and the edits that it proves. A run that still continues has none yet."""
    call_id = reading.text(block, "toolUseID") or reading.text(block, "tool_use_id")
    if "run" in block:
        _give_run(reading, reading.mapping(block, "run"), call_id)
    else:
        content = block.get("content")
        parts = reading.readable(content_parts(content), "tool_result.content.source.data")
        call = arrived(reading, call_id)
        ok = block.get("is_error") is not True
        result = kinds.ToolResult(call_id, call.name, ok, text=content_text(content), parts=parts)
        _give(reading, result, call, "")
    reading.extra(block, _KNOWN["result"], "tool_result", native_id=f"result:{call_id}")


def _give_run(reading: AmpReading, run: dict[str, Any], call_id: str) -> None:
    status = reading.text(run, "status")
    reading.odd_value("run.status", status, _STATUSES)
    result, error = run.get("result"), mapping(run.get("error"))
    ok = _OK.get(status)
    reading.extra(run, _KNOWN["run"], "run", native_id=f"run:{call_id}")
    if ok is None and result is None:
        return
    facts = mapping(result)
    exit_code = whole(facts.get("exitCode"))
    if exit_code or facts.get("success") is False:
        ok = False
    body = _shown(result) or text(error.get("message")) or flatten(without_opaque(error)) or _reason(run, status)
    call = arrived(reading, call_id)
    known = (*_SHOWN, "exitCode", "absolutePath", "success")
    structured = without_opaque({k: v for k, v in facts.items() if k not in known}) or None
    parts = content_parts(result)[0]
    diff = text(facts.get("diff"))
    shown = kinds.ToolResult(call_id, call.name, ok, exit_code, body, structured, parts=parts)
    _give(reading, shown, call, diff, _path_of(facts, run))


def _give(reading: AmpReading, result: kinds.ToolResult, call: Waiting, diff: str, path: str = "") -> None:
    call_id = result.call_id
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", result.text)
    reading.add(result, native_id=native_id)
    if result.ok is not False and call.name in _EDITORS:
        give_edits(reading, _with_diff(call.edits, _FENCE.sub(r"\1", diff), path), call_id)


def _with_diff(edits: tuple[kinds.FileEdit, ...], diff: str, path: str) -> tuple[kinds.FileEdit, ...]:
    """Return the edits with the diff that the run shows, where one edit lacks its texts."""
    if not edits and path:
        edits = (kinds.FileEdit(path),)
    if not diff or len(edits) != 1 or edits[0].before is not None or edits[0].after is not None or edits[0].diff:
        return edits
    return (msgspec.structs.replace(edits[0], diff=diff),)


def _path_of(facts: dict[str, Any], run: dict[str, Any]) -> str:
    tracked = [text(path).removeprefix("file://") for path in items(run.get("trackFiles"))]
    return text(facts.get("absolutePath")) or (tracked[0] if len(tracked) == 1 else "")


def _reason(run: dict[str, Any], status: str) -> str:
    return text(run.get("reason")) or text(run.get("message")) or (status if status != "done" else "")


def _shown(result: Json, depth: int = 0) -> str:
    """Return the text of a result: what the tool printed or read, else all its words."""
    if isinstance(result, str):
        return result
    if isinstance(result, dict) and depth < _MAX_DEPTH:
        for key in _SHOWN:
            if key in result:
                return _shown(result[key], depth + 1)
        rest = {k: v for k, v in result.items() if k not in ("exitCode", "success")}
        return flatten(without_opaque(rest))
    return content_text(result) if result is not None else ""


# One message of a thread: its blocks, its state and what it cost.
#
# Evidence: format notes: Amp; trimmed captures of two threads.

_KEPT = ("userState", "fileMentions", "discoveredGuidanceFiles")
_STATES = frozenset(("complete", "streaming", "cancelled", "error"))


def read_message(reading: AmpReading) -> None:
    message = reading.value
    role = message.get("role")
    if not isinstance(role, str) or role not in ("user", "assistant"):
        if message:
            reading.native_id = name_of(reading, "message", message)
            reading.unknown(f"message/{role}" if isinstance(role, str) else "message", without_opaque(message))
        else:
            read_odd(reading)
        return
    number = whole(message.get("messageId"))
    name = f"m{number}" if number is not None else name_of(reading, "m", role, message.get("content"))
    reading.native_id = name
    usage = reading.mapping(message, "usage")
    reading.date(reading.mapping(message, "meta").get("sentAt") or usage.get("timestamp"), "time")
    if role == "user":
        _read_user(reading, message, name)
    else:
        _read_assistant(reading, message, name, usage)
    # Give that an answer was broken off, and how long the turn took.
    state = reading.mapping(message, "state")
    kind = reading.text(state, "type")
    reading.odd_value("state.type", kind, _STATES)
    if kind == "cancelled" or message.get("interrupted") is True:
        reading.add(kinds.Lifecycle("interrupted"), native_id=f"{name}/interrupted")
    elif kind == "error":
        detail = {k: v for k, v in state.items() if k != "type"}
        reading.add(kinds.Lifecycle("api_error", detail=detail or None), native_id=f"{name}/error")
    elapsed = reading.whole(message, "turnElapsedMs")
    if elapsed is not None:
        reading.add(kinds.Lifecycle("turn_ended", detail={"elapsed_ms": elapsed}), native_id=f"{name}/ended")
    for field in _KEPT:
        value = message.get(field)
        if any(value.values()) if isinstance(value, dict) else value:
            reading.kept(field, value, native_id=f"{name}/{field}")
    reading.extra(message, _KNOWN["message"], "message", native_id=name)


def _blocks(reading: AmpReading, message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else reading.items(message, "content")


def _read_user(reading: AmpReading, message: dict[str, Any], name: str) -> None:
    said: list[str] = []
    parts: list[kinds.Part] = []
    for number, block in enumerate(_blocks(reading, message)):
        value = mapping(block)
        kind = value.get("type")
        if kind == "text" and value.get("hidden") is True:
            reading.add(kinds.UserMessage(reading.text(value, "text"), "injected"), native_id=f"{name}/hidden/{number}")
        elif kind == "text":
            said += filter(None, [reading.text(value, "text")])
            reading.extra(value, _KNOWN["text"], "text", native_id=f"{name}/{number}")
        elif kind == "tool_result":
            give_result(reading, value)
        elif isinstance(kind, str) and kind in MEDIA_TYPES:
            parts.append(_image(reading, value))
        else:
            reading.unknown(f"user/{kind}", without_opaque(block), native_id=f"{name}/{number}")
    if said or parts:
        origin: kinds.Origin = "injected" if message.get("parentToolUseId") else "human"
        reading.add(kinds.UserMessage("\n".join(said), origin, tuple(parts)))


def _read_assistant(reading: AmpReading, message: dict[str, Any], name: str, usage: dict[str, Any]) -> None:
    """Emit an answer: each text and thought that is not blank, the calls, and the usage."""
    model = text(usage.get("model"))
    if model and len(model) <= 200:
        reading.set(model=model)
    model = model or reading.now("model")
    stop_reason = text(mapping(message.get("state")).get("stopReason"))
    texts = thoughts = 0
    for number, block in enumerate(_blocks(reading, message)):
        value = mapping(block)
        kind = value.get("type")
        if kind == "text":
            said = reading.text(value, "text")
            if said.strip():
                texts += 1
                native_id = name if texts == 1 else f"{name}/text/{texts}"
                answer = kinds.AssistantMessage(said, model, stop_reason, name)
                reading.add(answer, native_id=native_id)
            reading.extra(value, _KNOWN["text"], "text", native_id=f"{name}/{number}")
        elif kind in ("thinking", "redacted_thinking"):
            thought = reading.text(value, "thinking")
            thoughts += 1
            native_id = f"{name}/thinking" if thoughts == 1 else f"{name}/thinking/{thoughts}"
            reading.add(kinds.Thinking(thought, name, not thought), native_id=native_id)
            reading.extra(without_opaque(value), _KNOWN["thinking"], "thinking", native_id=f"{name}/{number}")
        elif isinstance(kind, str) and kind in CALL_TYPES:
            give_call(reading, value, name)
            reading.extra(value, _KNOWN["call"], "tool_use", native_id=f"{name}/{number}")
        elif kind == "tool_result":
            give_result(reading, value)
        elif isinstance(kind, str) and kind in MEDIA_TYPES:
            answer = kinds.AssistantMessage("", model, stop_reason, name, (_image(reading, value),))
            reading.add(answer, native_id=f"{name}/image/{number}")
        else:
            reading.unknown(f"assistant/{kind}", without_opaque(block), native_id=f"{name}/{number}")
    if usage:
        reading.add(_usage(reading, usage, name), "assistant", native_id=f"{name}/usage")
        reading.extra(usage, _KNOWN["usage"], "usage", native_id=f"{name}/usage")


def _image(reading: AmpReading, block: dict[str, Any]) -> kinds.Part:
    part, _, is_readable = media_part(block)
    if not is_readable:
        reading.wrong("content.source.data", "bad_base64")
    return part


def _usage(reading: AmpReading, usage: dict[str, Any], name: str) -> kinds.TokenUsage:
    """Return the tokens of one inference. Models that bill no cache writes have their whole new prompt there."""
    model = reading.text(usage, "model") or reading.now("model")
    fresh, written = reading.count(usage, "inputTokens"), reading.count(usage, "cacheCreationInputTokens")
    if model.startswith("gpt-"):
        fresh, written = fresh + written, 0
    return kinds.TokenUsage(
        model,
        fresh,
        reading.count(usage, "outputTokens"),
        reading.count(usage, "cacheReadInputTokens"),
        written,
        dedupe_key=f"{reading.state.session}:{name}",
    )


# What stands around the messages of a thread: where and when it began, its title, and its relatives.
#
# Left in the archive: `~debug` and `meta.traces`, which repeat usage and times, and what identifies the machine.
# Evidence: format notes: Amp; trimmed captures of two threads.

_KEPT_OF_THREAD = ("draft", "queuedMessages", "activatedSkills")
_PLATFORM = ("client", "clientVersion", "os", "osVersion")


def read_thread(reading: AmpReading) -> None:
    """Emit the members of the document that stand before or after the messages."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    if "created" in value or "id" in value:
        reading.date(value.get("created"), "created")
        forked = text(value.get("forkedFromThreadID"))
        parent = text(value.get("mainThreadID"))
        reading.start(forked_from=forked, parent_session=parent if parent != value.get("id") else "")
    if "env" in value:
        _read_environment(reading, mapping(reading.mapping(value, "env").get("initial")))
    reading.entitle(reading.text(value, "title"))
    mode = reading.text(value, "agentMode")
    reading.note("mode", mode, native_id="mode")
    for relationship in reading.items(value, "relationships"):
        _read_relationship(reading, mapping(relationship))
    for name in _KEPT_OF_THREAD:
        if value.get(name):
            reading.kept(name, value[name], native_id=name)
    meta = {k: v for k, v in reading.mapping(value, "meta").items() if k != "traces" and v not in (None, "", [], {})}
    if meta:
        reading.kept("meta", meta, native_id="meta")
    reading.extra(value, _KNOWN["thread"], "thread", native_id="thread")


def _read_environment(reading: AmpReading, initial: dict[str, Any]) -> None:
    tree = mapping(next(iter(items(initial.get("trees"))), None))
    repository, platform = mapping(tree.get("repository")), mapping(initial.get("platform"))
    cwd = text(tree.get("uri")).removeprefix("file://")
    tags = [tag for tag in items(initial.get("tags")) if isinstance(tag, str)]
    model = next((tag.removeprefix("model:") for tag in tags if tag.startswith("model:")), "")
    reading.start(
        **reading.told(repository, git_commit="sha", git_remote="url"),
        **reading.told(platform, tool_version="clientVersion", originator="client"),
        cwd=cwd,
        repo_root=cwd if repository else "",
        git_branch=text(repository.get("ref")).removeprefix("refs/heads/"),
        model=model,
        native_id="start/env",
    )
    others = [text(mapping(t).get("uri")) for t in items(initial.get("trees"))[1:]]
    detail = {key: platform[key] for key in _PLATFORM if platform.get(key)}
    if others:
        detail["trees"] = others
    reading.note("environment", detail=detail, native_id="environment")


def _read_relationship(reading: AmpReading, value: dict[str, Any]) -> None:
    """Emit a relative of the thread. `role` is the other's: a handoff's child continues from its parent's summary."""
    other = text(value.get("threadID")) or text(value.get("threadId"))
    kind, role = text(value.get("type")), text(value.get("role"))
    if not other:
        reading.wrong("relationships")
        return
    name = f"relationship:{kind}:{other}"
    comment = text(value.get("comment"))
    if kind == "handoff" and role == "parent":
        reading.start(resumed_from=other, native_id=f"{name}/start")
        reading.add(kinds.Compaction("handoff", comment), native_id=name)
    elif kind == "fork" and role == "parent":
        reading.start(forked_from=other, native_id=f"{name}/start")
    else:
        detail = {k: v for k, v in value.items() if k not in ("comment", "type") and v not in (None, "")}
        reading.add(kinds.Lifecycle(kind or "relationship", text=comment, detail=detail), native_id=name)


_THREAD_ID = re.compile(rb'"id" ?: ?"(T-[0-9A-Za-z-]{1,100})"')


class AmpAdapter(KitAdapter[AmpState], slug="amp"):
    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: a thread keeps its id."""
        return f"threads/{info.name}"

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the id in the file's name, else the one inside."""
        if info.stem.startswith("T-"):
            return info.stem
        return group_in(_THREAD_ID, head) or info.stem or first_line_name(head)

    def read(self, reading: AmpReading) -> None:
        if reading.at == "messages":
            read_message(reading)
        else:
            read_thread(reading)
