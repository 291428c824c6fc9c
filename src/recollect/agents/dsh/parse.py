"""DeepSeek Harness: parses a record into events. Pure; never raises on content.

A record is a header, an event `{type, seq, time, data}`, or a row of packed pieces of a stream.
Traps are in README.md beside this file.
"""

from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import unquote

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.calls import Waiting, arrived, edits_of, expect, give_edits
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.names import NamingState, content_name, name_of, numbered, short
from recollect.agents.kit.values import Json, decoded_json, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

LOG = "log"
LOG_ZSTD = "log_zstd"

MAX_PIECES_CHARS = 32_768
"""Streamed text that is kept until its message comes."""


class Streamed(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What was streamed of a response so far. key: its turn and step."""

    key: str = ""
    said: str = ""
    thought: str = ""


class DshState(NamingState, frozen=True, gc=False, omit_defaults=True):
    model: str = ""
    prompt: str = ""
    """A hash of the system prompt that was given last."""
    streamed: Streamed = Streamed()
    waiting: tuple[Waiting, ...] = ()


Reading = kit.Reading[DshState]


# Pieces of a streamed response. They count only where the whole message never comes: after an interruption.
#
# Format 0 packs runs of them into rows `text-chunks`, `reasoning-chunks`, `tool-call-chunks`; from format 2 on
# they stand in the message.

PACKED = {"text-chunks": "text-delta", "reasoning-chunks": "reasoning-delta", "tool-call-chunks": "tool-call-delta"}


def read_packed(reading: Reading, kind: str) -> None:
    """Take a row of packed pieces."""
    data = reading.mapping(reading.value, "data")
    pieces = [piece for piece in reading.items(data, "texts") if isinstance(piece, str)]
    _take(reading, data, PACKED[kind], "".join(pieces))


def read_piece(reading: Reading, data: dict[str, Any]) -> None:
    """Take one piece; what begins, ends or counts a stream says nothing that the message does not."""
    chunk = reading.mapping(data, "chunk")
    _take(reading, data, text(chunk.get("type")), text(chunk.get("text")))


def _take(reading: Reading, data: dict[str, Any], kind: str, piece: str) -> None:
    key = f"{whole(data.get('turn'))}/{whole(data.get('step'))}"
    streamed: Streamed = reading.now("streamed")
    if streamed.key != key:
        give_streamed(reading)
        streamed = Streamed(key)
    field = {"text-delta": "said", "reasoning-delta": "thought"}.get(kind)
    if field is not None:
        kept = (getattr(streamed, field) + piece)[:MAX_PIECES_CHARS].encode("utf-8", "replace").decode("utf-8")
        streamed = msgspec.structs.replace(streamed, **{field: kept})
    reading.set(streamed=streamed)


def give_streamed(reading: Reading) -> None:
    """Emit what was streamed of a response that never came whole."""
    streamed: Streamed = reading.now("streamed")
    reading.set(streamed=Streamed())
    name = f"streamed:{streamed.key}"
    if streamed.thought:
        reading.add(kinds.Thinking(streamed.thought), native_id=f"{name}/thinking")
    if streamed.said:
        reading.add(kinds.AssistantMessage(streamed.said, reading.now("model"), "interrupted"), native_id=name)


def text_of_stream(stream: Any) -> str:
    """Return the text of a stream that stands in an event, as format 2 has it."""
    return "".join(
        piece for run in items(stream) for piece in items(mapping(run).get("texts")) if isinstance(piece, str)
    )


# Messages, calls, results and tokens.
#
# Evidence: format notes: other agents, DeepSeek Harness; `SessionEventMap` as its readers check it.

_KNOWN = known_fields("dsh")
_COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


def content_of(reading: Reading, content: Json, name: str) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return the text and the attachments of a message; a block of an unknown type is an event of its own."""
    if isinstance(content, str):
        return content, ()
    said: list[str] = []
    parts: list[kinds.Part] = []
    for number, block in enumerate(items(content), 1):
        kind = text(mapping(block).get("type"))
        if kind == "text":
            said.append(reading.text(block, "text"))
        elif kind in ("image", "file"):
            parts.append(_attachment(kind, mapping(block.get("attachment"))))
        elif kind not in ("reasoning", "tool-call", "tool-result"):
            reading.unknown(kind or "block", without_opaque(block), native_id=f"{name}/block/{number}")
    return "\n".join(filter(None, said)), tuple(parts)


def _attachment(kind: str, attachment: dict[str, Any]) -> kinds.Part:
    """Return an attachment, which lies in a store of its own; only its names stand here."""
    media_type = text(attachment.get("mediaType")) or text(attachment.get("mimeType"))
    size = whole(attachment.get("size")) or whole(attachment.get("bytes")) or 0
    path = text(attachment.get("path")) or text(attachment.get("name"))
    return kinds.Part(
        kind, text(attachment.get("sha256")), media_type, max(0, size), path, text(attachment.get("locator"))
    )


def read_user(reading: Reading, data: dict[str, Any]) -> None:
    """Emit a message in the user's role; a person's has the source `user`."""
    name = short(text(data.get("id"))) or name_of(reading, "user", data)
    source = reading.mapping(data, "source")
    said, parts = content_of(reading, data.get("content"), name)
    origin = text(source.get("kind"))
    reading.add(kinds.UserMessage(said, "human" if origin == "user" else "injected", parts), native_id=name)
    reading.extra(data, _KNOWN["user"], "user/message", native_id=name)


def read_system(reading: Reading, data: dict[str, Any]) -> None:
    message = mapping(data.get("message")) or data
    name = short(text(message.get("id"))) or name_of(reading, "system", data)
    said, _ = content_of(reading, message.get("content"), name)
    reading.add(kinds.Instructions(said, text(mapping(message.get("source")).get("kind"))), native_id=name)


def read_assistant(reading: Reading, data: dict[str, Any]) -> None:
    """Emit a response: thoughts, text, and the calls it asked for."""
    # Forget the pieces: their message has come.
    reading.set(streamed=Streamed())
    message = reading.mapping(data, "message")
    name = short(text(message.get("id"))) or name_of(reading, "assistant", message)
    model = text(mapping(message.get("source")).get("model")) or reading.now("model")
    content = message.get("content")
    said, parts = content_of(reading, content, name)
    blocks = [mapping(block) for block in items(content)]
    thought = "\n".join(text(b.get("text")) for b in blocks if b.get("type") == "reasoning")
    reading.say(kinds.Thinking(thought), native_id=f"{name}/thinking")
    if said or parts:
        stop = "interrupted" if data.get("interrupted") is True else ""
        reading.add(kinds.AssistantMessage(said, model, stop, parts=parts), native_id=name)
    for block in blocks:
        if block.get("type") == "tool-call":
            _give_call(reading, text(block.get("id")), text(block.get("name")), block.get("arguments"))
    read_usage(reading, mapping(data.get("usage")) or _usage_in(data.get("stream")), model, name=name)
    reading.extra(message, _KNOWN["message"], "assistant/message.message", native_id=name)
    reading.extra(data, _KNOWN["assistant"], "assistant/message", native_id=name)


def _usage_in(stream: Json) -> dict[str, Any]:
    """Return the last count of a stream: each is the running total of the response."""
    chunks = [mapping(mapping(item).get("chunk")) for item in items(stream)]
    return next((mapping(c.get("usage")) for c in reversed(chunks) if c.get("type") == "usage"), {})


def read_usage(reading: Reading, usage: dict[str, Any], model: str, *, name: str) -> None:
    """Emit a response's tokens: what is cached is no part of the input, what is thought is part of the output."""
    *counts, thought = reading.counts(usage, _COUNTS)
    # A fork repeats records with their times; only messages have ids that no other session has.
    is_message = not name.startswith(("assistant:", "compaction:"))
    key = f"dsh:{name}" if is_message else f"dsh:{name}@{whole(reading.value.get('time'))}"
    thought = min(thought, counts[1])
    reading.spend(model, counts, key, "assistant", native_id=f"{name}/usage", reasoning_tokens=thought)


def read_call(reading: Reading, data: dict[str, Any]) -> None:
    """Emit a call as it began to run; its response asked for it under the same name."""
    call_id = reading.text(data, "callId")
    _give_call(reading, call_id, reading.text(data, "name"), data.get("arguments"))
    reading.extra(data, _KNOWN["call"], "tool/call", native_id=f"call:{short(call_id)}")


def _give_call(reading: Reading, call_id: str, name: str, written: Json) -> None:
    arguments = written
    if isinstance(written, str):
        try:
            arguments = msgspec.json.decode(written.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            reading.wrong("arguments", "bad_arguments")
    native_id = f"call:{short(call_id)}" if call_id else name_of(reading, "call", name, arguments)
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments), native_id=native_id)
    expect(reading, call_id, name, edits_of(arguments) if canonical_tool(name) == "edit" else ())


def read_result(reading: Reading, data: dict[str, Any]) -> None:
    """Emit a result. The block, an error beside the message, or an exit code says that a call failed."""
    message = reading.mapping(data, "message")
    block = next((mapping(b) for b in items(message.get("content")) if mapping(b).get("type") == "tool-result"), {})
    call_id = text(mapping(message.get("source")).get("callId")) or text(block.get("toolCallId"))
    name = f"result:{short(call_id)}" if call_id else name_of(reading, "result", message)
    said, parts = content_of(reading, block.get("content"), name)
    error, meta = reading.mapping(data, "error"), data.get("meta")
    facts = mapping(meta)
    code = whole(facts.get("exitCode"))
    ok = block.get("isError") is not True and not error and not code
    call = arrived(reading, call_id)
    structured = without_opaque({k: v for k, v in (("error", error), ("meta", meta)) if v}) or None
    payload = kinds.ToolResult(call_id, call.name, ok, code, said or flatten(error), structured, parts=parts)
    reading.add(payload, native_id=name)
    if ok:
        give_edits(reading, call.edits, short(call_id))
    reading.extra(data, _KNOWN["result"], "tool/result", native_id=name)


def see_model(reading: Reading, model: str) -> None:
    before, now = reading.now("model"), short(model)
    if now and now != before:
        reading.set(model=now)
        name = f"model@{whole(reading.value.get('time'))}"
        reading.add(kinds.Lifecycle("model", model=model), native_id=name)


# The header, and which reader takes which event; what happens around the conversation becomes `lifecycle` events.
#
# Events are named for their messages, calls and times, never for `seq`: a migration to the next format counts again.

_LIFECYCLE = {
    "agent-preset/selected": "mode", "plan/mode": "mode", "sandbox/mode": "permission",
    "permission/preset": "permission",
    "approval/policy": "permission", "approval/asked": "permission", "approval/decided": "permission",
    "command/run": "command", "command/done": "command", "compaction/start": "compaction_started",
    "compaction/end": "compaction_ended", "goal/change": "goal", "hook/invoked": "hook", "hook/result": "hook",
    "llm/retry": "retry", "llm/retry-started": "retry", "request/context": "context", "session/end-seed": "end_seed",
    "subagent/descriptor": "subagent", "subagent/model-selection-policy": "subagent", "team/member": "team",
    "team/message/delivered": "team", "team/message/queued": "team", "team/task": "task", "todo/write": "todo",
    "tool-workflow/agent-end": "workflow", "tool-workflow/agent-start": "workflow", "tool-workflow/run-end": "workflow",
    "tool-workflow/run-start": "workflow", "tool/code-dispatch": "dispatch", "tool/code-dispatch-start": "dispatch",
    "step/start": "step_started", "turn/start": "turn_started", "agent/inbox/spliced": "inbox",
    "feedback/record": "feedback", "feedback/message-put": "feedback", "feedback/message-delete": "feedback",
    "schedule/change": "schedule", "session/title-llm-request": "title_request",
    "session-log-deepseek/delivery-accepted": "delivery", "web/deepseek-search-llm-request": "search_request",
}  # fmt: skip
"""Events around the conversation, and what they are called here."""
_ENDED = ("completed", "")
_FAILED = ("error", "failed", "max-steps", "step-limit", "output-limit")


def read_record(reading: Reading) -> None:
    value = reading.value
    kind = reading.text(value, "type")
    if kind == "session" and "data" not in value:
        # Emit the session's start. A session that another one began is its subagent or its fork.
        reading.date(value.get("createdAt"), "createdAt")
        parent = text(value.get("parentSession"))
        is_subagent = text(value.get("origin")) == "subagent" or bool(whole(value.get("delegationDepth")))
        preset = text(value.get("agentPreset"))
        reading.start(
            cwd=reading.text(value, "cwd"),
            forked_from="" if is_subagent else parent,
            parent_session=parent if is_subagent else "",
            agent_name=preset if is_subagent else "",
        )
        if preset and not is_subagent:
            reading.add(kinds.Lifecycle("mode", text=preset), native_id="preset")
        reading.extra(value, _KNOWN["header"], "session", native_id="start")
        return
    reading.date(value.get("time0") if kind in PACKED else value.get("time"), "time")
    if kind in PACKED:
        read_packed(reading, kind)
        return
    data = reading.mapping(value, "data")
    reading.native_id = numbered(reading, f"{short(kind)}@{whole(value.get('time'))}") if kind in _BY_TIME else None
    reader = _READERS.get(kind)
    if reader is not None:
        reader(reading, data)
    elif kind in _LIFECYCLE:
        _read_lifecycle(reading, _LIFECYCLE[kind], data)
    else:
        reading.unknown(kind or "record", without_opaque(value), native_id=f"unknown:{content_name(value)}")
        return
    reading.extra(value, _KNOWN["envelope"], "event", native_id=reading.native_id or f"event:{content_name(value)}")


def _read_turn_end(reading: Reading, data: dict[str, Any]) -> None:
    """Emit the end of a turn; what is neither done nor failed was interrupted."""
    give_streamed(reading)
    reason = data.get("reason")
    kind = text(mapping(reason).get("kind"))
    name = "turn_ended" if kind in _ENDED else "turn_aborted" if kind in _FAILED else "interrupted"
    reading.add(kinds.Lifecycle(name, text=kind, detail=without_opaque(mapping(reason)) or None))


def _read_step_end(reading: Reading, data: dict[str, Any]) -> None:
    give_streamed(reading)
    _read_lifecycle(reading, "step_ended", data)


def _read_attempt(reading: Reading, data: dict[str, Any]) -> None:
    """Emit an attempt of the model that came to nothing, with what it had said."""
    rest = {k: v for k, v in data.items() if k != "stream"}
    said = text_of_stream(data.get("stream"))
    reading.add(kinds.Lifecycle("attempt", text=said, detail=without_opaque(rest) or None))


def _read_request(reading: Reading, data: dict[str, Any]) -> None:
    """Emit what a request was made with: a new model, and a new system prompt."""
    header = reading.mapping(data, "header")
    see_model(reading, text(mapping(header.get("config")).get("model")))
    prompt = header.get("system", header.get("systemPrompt"))
    said = prompt if isinstance(prompt, str) else flatten(prompt) if prompt else ""
    mark = content_name(said) if said else ""
    if said and mark != reading.now("prompt"):
        reading.set(prompt=mark)
        reading.add(kinds.Instructions(said, "system"), native_id=f"system:{mark}")


def _read_summary(reading: Reading, data: dict[str, Any]) -> None:
    """Emit a compaction: its end only says that it went well."""
    name = f"compaction:{short(text(data.get('compactionId'))) or content_name(data)}"
    summary, _ = content_of(reading, data.get("summary"), name)
    before = reading.whole(data, "shadowedTokenCount")
    reading.add(kinds.Compaction(text(data.get("trigger")), summary, before), native_id=name)
    read_usage(reading, mapping(data.get("usage")), text(data.get("model")), name=name)


def _read_lifecycle(reading: Reading, name: str, data: dict[str, Any]) -> None:
    """Emit what happened around the conversation. Marks of turns and steps without more to say are kept short."""
    rest = {k: v for k, v in data.items() if k not in ("turn", "step") and v not in (None, "", [], {})}
    said = next((rest[k] for k in ("text", "title", "kind", "preset", "mode") if isinstance(rest.get(k), str)), "")
    call_id = text(rest.get("callId"))
    reading.add(kinds.Lifecycle(name, text=said, detail=without_opaque(rest) or None, call_id=call_id))


_READERS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "user/message": read_user,
    "system/message": read_system,
    "assistant/message": read_assistant,
    "assistant/chunk": read_piece,
    "assistant/attempt": _read_attempt,
    "tool/call": read_call,
    "tool/result": read_result,
    "session/title": lambda reading, data: reading.add(kinds.Lifecycle("title", title=reading.text(data, "title"))),
    "turn/end": _read_turn_end,
    "step/end": _read_step_end,
    "request/header": _read_request,
    "compaction/summary": _read_summary,
    "compaction/prune": lambda reading, data: reading.add(
        kinds.Compaction("prune", "", reading.whole(data, "shadowedTokenCount"))
    ),
}
_BY_TIME = frozenset((
    *_LIFECYCLE, "session/title", "turn/end", "step/end", "assistant/attempt", "compaction/prune",
))  # fmt: skip
"""Events without an id: their type and time name them, and their number among equal ones."""


_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class DshAdapter(KitAdapter[DshState], slug="dsh"):
    readers: ClassVar = {"": read_record}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a header with a format version and a time of creation in milliseconds."""
        name = path.rsplit("/", 1)[-1]
        if head.startswith(_ZSTD_MAGIC):
            return LOG_ZSTD if name.startswith("session.") and name.endswith(".jsonl.zstd") else None
        value = mapping(_header(head))
        is_header = value.get("type") == "session" and isinstance(value.get("createdAt"), int)
        return LOG if is_header and isinstance(value.get("version"), int) and text(value.get("id")) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: what the header says, else the folder's name, which is the id encoded."""
        told = text(mapping(_header(head)).get("id"))
        return told or unquote(info.folder) or first_line_name(head)


def _header(head: bytes) -> object:
    return decoded_json(head.partition(b"\n")[0])
