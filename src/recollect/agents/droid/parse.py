"""Factory Droid: parses a record into events. Pure; never raises on content.

Messages have Anthropic blocks; the user's role also carries results, reminders and notices. Traps are in README.md.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.calls import Waiting, arrived, edits_of, expect, give_edits
from recollect.agents.kit.content import (
    CALL_TYPES,
    MEDIA_TYPES,
    block_text,
    content_parts,
    content_text,
    media_part,
    without_opaque,
)
from recollect.agents.kit.names import MAX_PATH_CHARS, content_name, short
from recollect.agents.kit.values import decoded_json, instant, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.payloads import Compaction, Lifecycle, SessionStart
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool


class DroidState(kit.BaseState, frozen=True, gc=False, omit_defaults=True):
    waiting: tuple[Waiting, ...] = ()
    model: str = ""
    cwd: str = ""


Reading = kit.Reading[DroidState]


# Results of tools, and the edits that went with the good ones.

_EXIT = re.compile(r"(?:exit(?:ed with)? code|exitCode)\"?:? ?(-?\d{1,9})\b", re.IGNORECASE)
_EXIT_CHARS = 300
"""A command's exit code stands in the first line of its result, or in the last."""
_JSON_CHARS = 65_536


def operation_of(name: str) -> Literal["create", "modify"]:
    """Return what an editing tool does to a file whose text it is given whole."""
    return "create" if name.lower() == "create" else "modify"


def read_result(reading: Reading, block: dict[str, Any]) -> None:
    """Emit a tool's result and the edits it stands for."""
    call_id = reading.text(block, "tool_use_id")
    content = block.get("content")
    add_result(reading, call_id, content_text(content), block.get("is_error"), content)


def add_result(reading: Reading, call_id: str, body: str, is_error: object, content: object = None) -> None:
    """Emit a result by its text. Old versions mark a failure in the text only: `Error: …`, an exit code, `success`."""
    call = arrived(reading, call_id)
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    success = _said(body).get("success")
    first, last = body[:_EXIT_CHARS].partition("\n")[0], body[-_EXIT_CHARS:].rstrip().rpartition("\n")[2]
    found = _EXIT.search(first) if first.startswith("Error:") else None
    found = found or (_EXIT.search(last) if last.startswith(("[", "Process", "Error", "Exit")) else None)
    exit_code = int(found[1]) if found else None
    has_failed = body.startswith("Error:") or bool(exit_code) or success is False
    ok = not is_error if isinstance(is_error, bool) else not has_failed
    parts = reading.readable(content_parts(content), "tool_result.content.source.data")
    native_id = f"result:{short(call_id)}" if call_id else None
    reading.add(
        kinds.ToolResult(call_id, call.name, ok and success is not False, exit_code, body, parts=parts),
        native_id=native_id,
    )
    if ok and success is not False:
        give_edits(reading, call.edits, short(call_id))


def _said(body: str) -> dict[str, Any]:
    """Return what a result that is a JSON object says."""
    if not body.startswith("{") or len(body) > _JSON_CHARS:
        return {}
    return mapping(decoded_json(body.encode("utf-8", "replace")))


# Saved output of `droid exec --output-format stream-json`: a flat record for each message, call and result.

_KNOWN = known_fields("droid")
_FIELDS = known_by_type("droid", "record")


def stream_session(value: dict[str, Any]) -> str:
    """Return the session of a record of such output, "" for what is no such record."""
    kind = value.get("type")
    is_call = kind == "tool_call" and "toolName" in value and "parameters" in value
    is_end = kind == "completion" and "finalText" in value
    return text(value.get("session_id")) or text(value.get("sessionId")) if is_call or is_end else ""


def read_stream(reading: Reading) -> None:
    value = reading.value
    kind = reading.text(value, "type")
    reading.date(value.get("timestamp"))
    name = short(reading.text(value, "id"))
    reading.native_id = f"{kind}:{name or content_name(value)}" if kind in _FIELDS else None
    known = _FIELDS.get(kind)
    if known is None:
        reading.unknown(kind or "record")
        return
    match kind:
        case "system":
            start = kinds.SessionStart(cwd=reading.text(value, "cwd"), model=reading.text(value, "model"))
            reading.add(start, native_id="start")
            reading.set(model=short(start.model))
        case "message":
            _read_message(reading)
        case "reasoning":
            reading.add(kinds.Thinking(reading.text(value, "text")))
        case "tool_call":
            call_id, name = _call_id(reading), reading.text(reading.value, "toolName")
            arguments = reading.value.get("parameters")
            native_id = f"call:{short(call_id)}" if call_id else None
            reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments), native_id=native_id)
            edits = edits_of(arguments, operation_of(name)) if canonical_tool(name) == "edit" else ()
            expect(reading, call_id, name, edits)
        case "tool_result":
            _read_result(reading)
        case "completion":
            # Emit the final answer, which no message repeats, and the tokens of the whole run.
            said = reading.text(value, "finalText")
            reading.say(kinds.AssistantMessage(said, reading.now("model")))
            usage = reading.mapping(value, "usage")
            names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            key, name = f"droid:{reading.state.session}:{reading.native_id}", f"{reading.native_id}/usage"
            reading.spend(reading.now("model"), reading.counts(usage, names), key, native_id=name)
        case _:
            reading.add(kinds.Lifecycle("api_error", text=reading.text(value, "message")))
    reading.extra(value, _KNOWN["envelope"] | known, kind)


def _read_message(reading: Reading) -> None:
    said = reading.text(reading.value, "text")
    if reading.value.get("role") == "assistant":
        reading.add(kinds.AssistantMessage(said, reading.now("model")))
        return
    head, mark, rest = said.partition("</system-reminder>")
    if mark and head.startswith("<system-reminder>"):
        reading.add(kinds.UserMessage(head + mark, "injected"), native_id=f"{reading.native_id}/context")
        said = rest.lstrip()
    reading.say(kinds.UserMessage(said))


def _call_id(reading: Reading) -> str:
    return reading.text(reading.value, "toolCallId") or reading.text(reading.value, "id")


def _read_result(reading: Reading) -> None:
    value = reading.value
    call_id = _call_id(reading)
    given = value.get("value", value.get("error"))
    facts = mapping(given)
    if not facts:
        add_result(reading, call_id, given if isinstance(given, str) else flatten(given), value.get("isError"))
        return
    exit_code = whole(facts.get("exitCode"))
    body = "\n".join(filter(None, (text(facts.get("stdout")), text(facts.get("stderr"))))) or flatten(facts)
    ok = value.get("isError") is not True and not exit_code
    call = arrived(reading, call_id)
    native_id = f"result:{short(call_id)}" if call_id else None
    reading.add(kinds.ToolResult(call_id, call.name, ok, exit_code, body), native_id=native_id)


_VISIBILITIES = frozenset(("llm_only", "user_only"))
_REMINDER = re.compile(r"\s*<system-(reminder|notification)>.*?</system-\1>\s*", re.DOTALL)
_FILE = re.compile(r"Contents of [^\n]{1,1000} \(lines \d+-\d+ of \d+\):\n")
"""A file named with @ in the prompt follows it as a block of its own."""


def read_message(reading: Reading) -> None:
    message = reading.mapping(reading.value, "message")
    role = reading.text(message, "role")
    content = message.get("content")
    if isinstance(content, str):
        blocks: list[Any] = [{"type": "text", "text": content}]
    else:
        blocks = content if isinstance(content, list) else []
        if content is not None and not isinstance(content, list):
            reading.wrong("message.content")
            blocks = [{"type": "text", "text": flatten(content)}]
    if role == "assistant":
        _read_assistant(reading, message, blocks)
    elif role == "user":
        _read_user(reading, message, blocks)
    else:
        reading.unknown(f"message/{role}" if role else "message")
    reading.extra(message, _KNOWN["message"], "message.message")
    reading.extra(reading.value, _KNOWN["messages_record"], "message")


def _read_user(reading: Reading, message: dict[str, Any], blocks: list[Any]) -> None:
    visibility = reading.text(message, "visibility")
    reading.odd_value("message.visibility", visibility, _VISIBILITIES)
    said: list[str] = []
    injected: list[str] = []
    parts: list[kinds.Part] = []
    for number, block in enumerate(blocks, 1):
        kind = text(block.get("type")) if isinstance(block, dict) else ""
        if kind == "tool_result":
            read_result(reading, block)
        elif kind in MEDIA_TYPES:
            part, body, is_readable = media_part(block)
            parts.append(part)
            said.append(body)
            if not is_readable:
                reading.wrong("message.content.source.data", "bad_base64")
        elif kind == "text" or isinstance(block, str):
            human, harness = _sorted(block_text(block), is_first=number == 1)
            said.append(human)
            injected.append(harness)
        else:
            reading.unknown(kind or "block", block, native_id=reading.below(f"block/{number}"))
    prompt, context = ("\n".join(filter(None, texts)) for texts in (said, injected))
    if visibility == "user_only":
        reading.add(kinds.Lifecycle("notice", text=prompt or context))
        return
    if visibility:
        prompt, context = "", "\n".join(filter(None, (prompt, context)))
    reading.say(kinds.UserMessage(context, "injected"), native_id=reading.below("context"))
    reading.say(kinds.UserMessage(prompt, "human", tuple(parts)))


def _sorted(written: str, *, is_first: bool) -> tuple[str, str]:
    """Return (what the person wrote, what the harness added) of a block of text."""
    if not is_first and _FILE.match(written):
        return "", written
    reminders: list[str] = []
    while (found := _REMINDER.match(written)) is not None:
        reminders.append(found[0].strip())
        written = written[found.end() :]
    return written, "\n".join(reminders)


def _read_assistant(reading: Reading, message: dict[str, Any], blocks: list[Any]) -> None:
    model = reading.text(message, "modelId") or reading.text(message, "model")
    message_id = text(message.get("openaiMessageId"))
    counts: dict[str, int] = {}
    before, now = reading.now("model"), short(model)
    if now and before and now != before:
        reading.add(kinds.Lifecycle("model", model=model), native_id=reading.below("model"))
    if now:
        reading.set(model=now)
    for number, block in enumerate(blocks, 1):
        kind = text(block.get("type")) if isinstance(block, dict) else ""
        if kind == "text" or isinstance(block, str):
            body = block_text(block)
            if body:
                reading.add(kinds.AssistantMessage(body, model, "", message_id), native_id=_next(reading, counts, ""))
        elif kind in ("thinking", "redacted_thinking"):
            thought = reading.text(block, "thinking") or text(block.get("text"))
            name = _next(reading, counts, "thinking")
            reading.add(kinds.Thinking(thought, message_id, is_encrypted=not thought), native_id=name)
        elif kind in CALL_TYPES:
            _read_tool_use(reading, block, message_id)
        elif kind in MEDIA_TYPES:
            part, body, _ = media_part(block)
            payload = kinds.AssistantMessage(body, model, "", message_id, (part,))
            reading.add(payload, native_id=_next(reading, counts, "media"))
        else:
            reading.unknown(kind or "block", block, native_id=reading.below(f"block/{number}"))


def _read_tool_use(reading: Reading, block: dict[str, Any], message_id: str) -> None:
    call_id, name = reading.text(block, "id"), reading.text(block, "name")
    arguments = block.get("input")
    native_id = f"call:{short(call_id)}" if call_id else None
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments, message_id), native_id=native_id)
    edits = edits_of(arguments, operation_of(name)) if canonical_tool(name) == "edit" else ()
    expect(reading, call_id, name, edits)


def _next(reading: Reading, counts: dict[str, int], kind: str) -> str | None:
    """Return the name of the next block of a kind: the message's own, and below it from the second on."""
    count = counts[kind] = counts.get(kind, 0) + 1
    name = kind or "text"
    if not kind and count == 1:
        return reading.native_id
    return reading.below(name if count == 1 else f"{name}/{count}")


SETTINGS = "settings"
STREAM = "stream"
TRANSCRIPT = "transcript"


_UNTITLED = "New Session"
_ENDED = ("completed", "")
_FAILED = ("error", "failed")


def read_record(reading: Reading) -> None:
    value = reading.value
    kind = reading.text(value, "type")
    reading.native_id = short(reading.text(value, "id")) or None
    reading.parent_id = short(reading.text(value, "parentId")) or None
    reading.date(value.get("timestamp"))
    read = _READERS.get(kind)
    if read is None:
        reading.unknown(kind or "record")
    else:
        read(reading)


def _read_start(reading: Reading) -> None:
    """Emit the session's start and its title; the title is the first prompt until the agent has found a better one."""
    value = reading.value
    facts = mapping(value.get("session")) or value
    cwd, version = reading.text(facts, "cwd"), facts.get("version")
    start = SessionStart(
        cwd=cwd,
        # A whole number is the format's, text is the program's.
        tool_version=version if isinstance(version, str) else "",
        forked_from=text(facts.get("parent")),
        parent_session=text(facts.get("callingSessionId")),
        agent_name=text(facts.get("decompSessionType")),
    )
    reading.add(start, native_id="start")
    titles = (text(facts.get("sessionTitle")), text(facts.get("title")))
    reading.entitle(next((t for t in titles if t and t != _UNTITLED), ""))
    last = text(facts.get("lastCwd"))
    if last and last != cwd:
        reading.add(Lifecycle("cwd", cwd=last), native_id="cwd")
    reading.set(is_started=True, cwd=short(last or cwd, MAX_PATH_CHARS))
    reading.extra(value, _KNOWN["start"], "session_start", native_id="start")


def _read_compaction(reading: Reading) -> None:
    value = reading.value
    summary = mapping(value.get("summary"))
    said = reading.text(value, "summaryText") or "\n".join(
        filter(None, (text(summary.get(k)) for k in ("title", "body")))
    )
    anchor = text(mapping(value.get("anchorMessage")).get("id"))
    reading.add(
        Compaction(
            text(value.get("summaryKind")),
            said,
            tokens_after=reading.whole(value, "summaryTokens"),
            continues_at=anchor,
        )
    )
    info = value.get("systemInfo")
    if info:
        reading.kept("compaction_state.systemInfo", without_opaque(info), native_id=reading.below("system"))
    reading.extra(value, _KNOWN["compaction"], "compaction_state")


def _read_todos(reading: Reading) -> None:
    value = reading.value
    todos = value.get("todos")
    said = mapping(todos).get("todos")
    reading.add(Lifecycle("todo", text=said if isinstance(said, str) else flatten(todos)))
    reading.extra(value, _KNOWN["todo"], "todo_state")


def _read_outcome(reading: Reading) -> None:
    """Emit the end of a turn, which has neither id nor time. What is neither done nor an error was interrupted."""
    value = reading.value
    reason = reading.text(value, "reason")
    name = "turn_ended" if reason in _ENDED else "turn_aborted" if reason in _FAILED else "interrupted"
    detail = {k: value[k] for k in ("reason", "resultKind") if value.get(k)}
    turn = short(reading.text(value, "turnId"))
    reading.add(Lifecycle(name, text=reason, detail=detail or None), native_id=f"turn:{turn}" if turn else None)
    reading.extra(value, _KNOWN["outcome"], "agent_turn_outcome", native_id=f"turn:{turn}" if turn else None)


def _read_settings(reading: Reading) -> None:
    """Emit a change of settings, and of the model with it."""
    rest: dict[str, Any] = {k: v for k, v in reading.value.items() if k not in ("type", "id", "timestamp", "parentId")}
    reading.add(Lifecycle("settings", detail=without_opaque(rest) or None, model=text(rest.get("model"))))


_READERS: dict[str, Callable[[Reading], None]] = {
    "session_start": _read_start,
    "message": read_message,
    "compaction_state": _read_compaction,
    "todo_state": _read_todos,
    "agent_turn_outcome": _read_outcome,
    "session_settings": _read_settings,
}


_TOTALS = frozenset(("tokenUsage", "inclusiveTokenUsage", "lastCallTokenUsage", "childInclusiveTokenUsageBySessionId"))


def is_settings(value: Any) -> bool:
    """Say whether a document is a settings file of Droid."""
    facts = mapping(value)
    return "inputTokens" in mapping(facts.get("tokenUsage")) and bool(
        facts.keys() & {"assistantActiveTimeMs", "autonomyMode", "providerLock"}
    )


def read_settings(reading: Reading) -> None:
    """Emit the session's settings and its tokens. The only time in it is that of the first request."""
    value = reading.value
    reading.infer(instant(value.get("providerLockTimestamp")))
    model = reading.text(value, "model")
    rest = {k: v for k, v in value.items() if k in _KNOWN["parse_record"] and k not in _TOTALS and v not in (None, "")}
    if rest:
        reading.add(Lifecycle("settings", detail=without_opaque(rest), model=model), native_id="settings")
    usage = reading.mapping(value, "tokenUsage")
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens", "thinkingTokens")
    *counts, thought = reading.counts(usage, names)
    key = f"droid:{reading.state.session}"
    reading.spend(model, counts, key, native_id="usage", reasoning_tokens=min(thought, counts[1]))
    reading.extra(usage, _KNOWN["usage"], "settings.tokenUsage", native_id="usage")
    reading.extra(value, _KNOWN["parse_record"], "settings", native_id="settings")


_MAX_LINES = 20
_SUFFIX = ".settings"


class DroidAdapter(KitAdapter[DroidState], slug="droid"):
    readers: ClassVar = {SETTINGS: read_settings, STREAM: read_stream, "": read_record}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. The messages alone could be another agent's; the header is Droid's."""
        values = _values(head)
        for value in values:
            if value.get("type") == "session_start" and _header_id(value):
                return TRANSCRIPT
        if any(stream_session(value) for value in values):
            return STREAM
        return SETTINGS if path.endswith(".settings.json") and is_settings(decoded_json(head)) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the file's stem in the agent's own layout, else what the content says."""
        stem = info.stem.removesuffix(_SUFFIX)
        if info.role == SETTINGS or info.path.startswith("sessions/"):
            return stem or first_line_name(head)
        found = _header_id if info.role == TRANSCRIPT else stream_session
        return next((name for value in _values(head) if (name := found(value))), stem) or first_line_name(head)


def _header_id(value: dict[str, Any]) -> str:
    """Return the id that a header gives; the first versions kept it one level deeper."""
    if value.get("type") != "session_start":
        return ""
    return text(value.get("id")) or text(mapping(value.get("session")).get("id"))


def _values(head: bytes) -> list[dict[str, Any]]:
    return [mapping(decoded_json(line)) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]]
