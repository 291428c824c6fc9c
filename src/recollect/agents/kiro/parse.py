"""Kiro: parses a record into events: the CLI's lines, the file beside them, the IDE's files. Never raises on content.

Evidence: format notes: Kiro; synthetic files of other readers.
"""

import binascii
import re
from typing import Any, ClassVar

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.calls import Waiting, arrived, edits_of, expect, give_edits, insertion_of
from recollect.agents.kit.content import base64_part, content_text, without_opaque
from recollect.agents.kit.history import give_title, message_of, read_entry
from recollect.agents.kit.names import NamingState, content_name, is_storable, name_of, numbered
from recollect.agents.kit.values import HEAD_SESSION, Json, group_in, items, mapping, number, text, whole
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool


class KiroState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """Names, calls without a result, and where the session works."""

    waiting: tuple[Waiting, ...] = ()
    cwd: str = ""
    model: str = ""
    folder: str = ""
    """The name of the folder that the file lies in: of a workspace, its path in base64."""


KiroReading = Reading[KiroState]


# Calls and results, as all three generations of the CLI write them.
#
# A command's failure is often told only by the exit status inside a result that succeeded.
# Evidence: format notes: Kiro; types of the CLI's open predecessor.

_EDITORS = frozenset(("fs_write", "write", "fswrite", "fsappend", "strreplace", "fs_append", "str_replace"))
_OK = {"success": True, "error": False}
_EXIT = ("exit_status", "exitStatus", "exit_code", "exitCode")


def give_call(reading: KiroReading, call_id: str, name: str, arguments: Json, message_id: str) -> None:
    """Emit a tool call, and remember it until its result comes."""
    call = kinds.ToolCall(call_id, name, "mcp" if name.startswith("@") else canonical_tool(name), arguments, message_id)
    reading.add(call, native_id=f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments))
    expect(reading, call_id, name, _asked_edits(name, arguments))


def _asked_edits(name: str, arguments: Json) -> tuple[kinds.FileEdit, ...]:
    key = name.lower()
    if key not in _EDITORS:
        return ()
    command = text(mapping(arguments).get("command")).lower()
    if command in ("insert", "append") or key.endswith("append"):
        return insertion_of(arguments)
    return edits_of(arguments, "create" if command == "create" else "modify")


def give_result(reading: KiroReading, value: dict[str, Any], tool: Json = None) -> None:
    """Emit a result: `{toolUseId | tool_use_id, content, status}`; tool: what the agent says of the tool itself."""
    call_id = reading.text(value, "toolUseId") or reading.text(value, "tool_use_id")
    status = reading.text(value, "status").lower()
    reading.odd_value("toolResult.status", status, frozenset(_OK))
    blocks = reading.items(value, "content")
    exit_code = next((code for code in map(_exit_code, blocks) if code is not None), None)
    ok = False if exit_code else _OK.get(status)
    call = arrived(reading, call_id)
    body = "\n".join(filter(None, map(_block_text, blocks)))
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", value)
    structured = {"tool": without_opaque(tool)} if tool else None
    reading.add(kinds.ToolResult(call_id, call.name, ok, exit_code, body, structured), native_id=native_id)
    if ok is not False:
        give_edits(reading, call.edits, call_id)


def _content(block: Json) -> Json:
    """Return what a block of a result holds: `{kind, data}` in lines, `{Text | Json: …}` in the database."""
    value = mapping(block)
    if "kind" in value:
        return value.get("data")
    for key in ("Text", "Json", "text", "json"):
        if key in value:
            return value[key]
    return block


def _exit_code(block: Json) -> int | None:
    facts = mapping(_content(block))
    return next((code for code in (whole(facts.get(key)) for key in _EXIT) if code is not None), None)


def _block_text(block: Json) -> str:
    content = _content(block)
    facts = mapping(content)
    if "stdout" in facts or "stderr" in facts:
        rest = {k: v for k, v in facts.items() if k not in ("stdout", "stderr", *_EXIT)}
        streams = [text(facts.get("stdout")), text(facts.get("stderr")), flatten(without_opaque(rest))]
        return "\n".join(filter(None, streams))
    return content if isinstance(content, str) else flatten(without_opaque(content))


# The CLI's database: one row is a whole conversation, written again with every turn.
#
# The same conversation may stand under several folders; rows come in the order of their last change, so that the
# newest one counts. `tools`, `transcript` (the same talk as lines), `tangent_state` (a copy of the history) and the
# trackers of files stay in the archive. Evidence: format notes: Kiro; types of the CLI's open predecessor.

_KNOWN = known_fields("kiro")


def read_row(reading: KiroReading) -> None:
    row = reading.value
    value = row.get("value")
    if not isinstance(value, dict):
        if row and value is not None:
            reading.wrong("value", "not_json" if isinstance(value, str) else "wrong_type")
            reading.kept("conversation", value, native_id=name_of(reading, "row", value))
        else:
            read_odd(reading)
        return
    reading.set(marks=(), waiting=(), cwd="", model="")
    before = len(reading.events)
    cwd = reading.text(row, "key")
    model = text(mapping(value.get("model_info")).get("model_id")) or text(value.get("model"))
    reading.set(cwd=cwd if is_storable(cwd) else "")
    reading.date(row.get("created_at"), "created_at")
    reading.start(cwd=cwd, model=model)
    _read_history(reading, value)
    next_message = mapping(value.get("next_message"))
    if next_message:
        _read_user(reading, next_message)
    summary = value.get("latest_summary")
    said = text(summary) or text(next(iter(items(summary)), None))
    if said:
        reading.add(kinds.Compaction("summary", said), native_id=f"compaction:{content_name(said)}")
    reading.extra(row, _KNOWN["row"], "conversations", native_id="row")
    reading.extra(without_opaque(value), _KNOWN["value"], "conversation", native_id="conversation")
    # Emit the events to the conversation that the value names: a row of the old table is overwritten by the next.
    session = text(value.get("conversation_id"))
    if not session or session == reading.state.session:
        return
    events = reading.events[before:]
    del reading.events[before:]
    for draft in events:
        reading.ts, reading.ts_quality = draft.ts, draft.ts_quality
        reading.add(draft.payload, draft.role, native_id=draft.native_id, session=session)


def _read_history(reading: KiroReading, value: dict[str, Any]) -> None:
    """Give each exchange: `{user, assistant, request_metadata}`, in older versions the pair `[user, assistant]`."""
    for written in reading.items(value, "history"):
        pair = items(written)
        entry = {"user": pair[0], "assistant": pair[1]} if len(pair) == 2 else mapping(written)
        if not entry:
            reading.wrong("history")
            continue
        _read_user(reading, mapping(entry.get("user")))
        request = mapping(entry.get("request_metadata"))
        model = text(request.get("model_id"))
        if model and model != reading.now("model") and is_storable(model):
            reading.set(model=model)
            name = numbered(reading, f"model:{model}")
            reading.add(kinds.Lifecycle("model", model=model), native_id=name)
        reading.date(request.get("stream_end_timestamp_ms"), "stream_end_timestamp_ms")
        _read_answer(reading, mapping(entry.get("assistant")))
        reading.extra(entry, _KNOWN["entry"], "history", native_id=name_of(reading, "entry", sorted(entry)))


def _read_user(reading: KiroReading, user: dict[str, Any]) -> None:
    content = mapping(user.get("content"))
    reading.date(user.get("timestamp"))
    cwd = text(mapping(mapping(user.get("env_context")).get("env_state")).get("current_working_directory"))
    if cwd and cwd != reading.now("cwd") and is_storable(cwd):
        reading.set(cwd=cwd)
        reading.add(kinds.Lifecycle("cwd", cwd=cwd), native_id=numbered(reading, f"cwd:{cwd}"))
    context = reading.text(user, "additional_context")
    if context:
        reading.add(kinds.UserMessage(context, "injected"), native_id=name_of(reading, "context", context))
    for kind, written in content.items():
        said = mapping(written)
        if kind not in ("Prompt", "ToolUseResults", "CancelledToolUses"):
            reading.unknown(f"user/{kind}", without_opaque(written), native_id=name_of(reading, "user", written))
            continue
        results = [mapping(result) for result in reading.items(said, "tool_use_results")]
        for result in results:
            give_result(reading, result)
        if kind == "CancelledToolUses":
            mark = content_name([result.get("tool_use_id") for result in results])
            reading.add(kinds.Lifecycle("interrupted"), native_id=numbered(reading, f"interrupted:{mark}"))
        _give_prompt(reading, user, text(said.get("prompt")))
    reading.extra(without_opaque(user), _KNOWN["user"], "user", native_id=name_of(reading, "fields", sorted(user)))


def _give_prompt(reading: KiroReading, user: dict[str, Any], said: str) -> None:
    parts = tuple(_image(mapping(image)) for image in items(user.get("images")))
    if said or parts:
        name = name_of(reading, "user", said, user.get("timestamp"))
        reading.add(kinds.UserMessage(said, parts=parts), native_id=name)


def _read_answer(reading: KiroReading, assistant: dict[str, Any]) -> None:
    for kind, written in assistant.items():
        answer = mapping(written)
        if kind not in ("Response", "ToolUse"):
            name = name_of(reading, "assistant", written)
            reading.unknown(f"assistant/{kind}", without_opaque(written), native_id=name)
            continue
        message_id = text(answer.get("message_id"))
        said = reading.text(answer, "content")
        name = numbered(reading, message_id) if message_id else name_of(reading, "said", said)
        thought = text(mapping(answer.get("thinking")).get("text")) or text(answer.get("thinking"))
        if answer.get("thinking"):
            reading.add(kinds.Thinking(thought, message_id, not thought), native_id=f"{name}/thinking")
        if said.strip():
            reading.add(kinds.AssistantMessage(said, reading.now("model"), message_id=message_id), native_id=name)
        for use in map(mapping, reading.items(answer, "tool_uses")):
            give_call(reading, text(use.get("id")), text(use.get("name")), use.get("args"), message_id)
            reading.extra(use, _KNOWN["use"], "tool_use", native_id=f"use:{text(use.get('id'))}")
        reading.extra(answer, _KNOWN["answer"], kind, native_id=name)


def _image(image: dict[str, Any]) -> kinds.Part:
    form = text(image.get("format")).lower()
    source = image.get("source")
    data = source if isinstance(source, str) else next(iter(mapping(source).values()), None)
    return base64_part("image", f"image/{form}" if form else "", data)[0]


_DATA = known_by_type("kiro", "data")
_TURN_TOKENS = (
    "input_token_count", "output_token_count", "cache_read_input_token_count", "cache_write_input_token_count",
)  # fmt: skip
_TURN_DETAILS = ("metering_usage", "context_usage_percentage", "model")
_USER_MARKS = ("--- USER MESSAGE BEGIN ---\n", "--- USER MESSAGE END ---")


def read_line(reading: KiroReading) -> None:
    line = reading.value
    kind = line.get("kind")
    data = mapping(line.get("data"))
    if not isinstance(kind, str):
        if line:
            reading.unknown("line")
        else:
            read_odd(reading)
        return
    if not reading.state.is_started:
        reading.set(is_started=True)
        _date(reading, data)
        reading.start()
    message_id = text(data.get("message_id"))
    reading.native_id = message_id or None
    _date(reading, data)
    if kind == "Prompt":
        _read_prompt(reading, data, message_id)
    elif kind == "AssistantMessage":
        _read_line_answer(reading, data, message_id)
    elif kind == "ToolResults":
        _read_results(reading, data, message_id)
    elif kind == "Compaction":
        summary = reading.text(data, "summary")
        name = f"compaction:{content_name(summary)}"
        reading.add(kinds.Compaction(text(data.get("strategy")), summary), native_id=name)
    else:
        reading.unknown(kind, without_opaque(line))
        return
    reading.extra(line, _KNOWN["line"], kind)
    reading.extra(data, _DATA[kind], f"{kind}.data")


def _date(reading: KiroReading, data: dict[str, Any]) -> None:
    """Take the time of a prompt: seconds, as a number or written out."""
    written = mapping(data.get("meta")).get("timestamp")
    if isinstance(written, str) and len(written) <= 32:
        try:
            reading.date(float(written))
            return
        except ValueError:
            pass
    reading.date(written)


def _read_prompt(reading: KiroReading, data: dict[str, Any], message_id: str) -> None:
    said: list[str] = []
    parts: list[kinds.Part] = []
    for index, block in enumerate(reading.items(data, "content")):
        value = mapping(block)
        kind, content = value.get("kind"), value.get("data")
        if kind == "text" and isinstance(content, str):
            said.append(_unwrapped(content))
        elif kind == "image":
            parts.append(_line_image(mapping(content)))
        elif kind == "toolResult":
            give_result(reading, mapping(content))
        else:
            reading.unknown(f"Prompt/{kind}", without_opaque(block), native_id=_inner(message_id, index))
    if said or parts:
        reading.add(kinds.UserMessage("\n".join(said), parts=tuple(parts)))


def _read_line_answer(reading: KiroReading, data: dict[str, Any], message_id: str) -> None:
    texts = thoughts = 0
    for index, block in enumerate(reading.items(data, "content")):
        value = mapping(block)
        kind, content = value.get("kind"), value.get("data")
        if kind == "text" and isinstance(content, str):
            if content.strip():
                texts += 1
                name = message_id if texts == 1 else f"{message_id}/text/{texts}"
                answer = kinds.AssistantMessage(content, reading.now("model"), message_id=message_id)
                reading.add(answer, native_id=name if message_id else None)
        elif kind == "thinking":
            thoughts += 1
            name = f"{message_id}/thinking" if thoughts == 1 else f"{message_id}/thinking/{thoughts}"
            thought = text(mapping(content).get("text")) or text(content)
            reading.add(kinds.Thinking(thought, message_id, not thought), native_id=name if message_id else None)
        elif kind == "toolUse":
            call = mapping(content)
            model = text(call.get("modelId"))
            if model and len(model) <= 200:
                reading.set(model=model)
            give_call(reading, text(call.get("toolUseId")), text(call.get("name")), call.get("input"), message_id)
        else:
            reading.unknown(f"AssistantMessage/{kind}", without_opaque(block), native_id=_inner(message_id, index))


def _read_results(reading: KiroReading, data: dict[str, Any], message_id: str) -> None:
    """Give results; beside them stands what the agent itself says of each tool, which of a server's tools is all."""
    about = reading.mapping(data, "results")
    for index, block in enumerate(reading.items(data, "content")):
        value = mapping(block)
        if value.get("kind") == "toolResult":
            result = mapping(value.get("data"))
            kind = mapping(mapping(mapping(about.get(text(result.get("toolUseId")))).get("tool")).get("kind"))
            give_result(reading, result, kind.get("Mcp"))
        elif value.get("kind") == "text":
            said = text(value.get("data"))
            reading.add(kinds.UserMessage(said, "injected"), native_id=_inner(message_id, index))
        else:
            reading.unknown(
                f"ToolResults/{value.get('kind')}", without_opaque(block), native_id=_inner(message_id, index)
            )


def _inner(message_id: str, index: int) -> str | None:
    return f"{message_id}/{index}" if message_id else None


def _unwrapped(written: str) -> str:
    """Return what the person wrote, without the context that the CLI puts before it."""
    begin, end = _USER_MARKS
    _, found, rest = written.partition(begin)
    return rest.rpartition(end)[0] or rest if found else written


def _line_image(data: dict[str, Any]) -> kinds.Part:
    form = text(data.get("format"))
    media_type = f"image/{form}" if form else ""
    source = data.get("source")
    written = source if isinstance(source, str) else mapping(source).get("data") or mapping(source).get("bytes")
    return base64_part("image", media_type, written)[0]


def read_sidecar(reading: KiroReading) -> None:
    """Emit the session's folder, title, agent and model, and what each turn cost."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    state = reading.mapping(value, "session_state")
    model = text(mapping(mapping(state.get("rts_model_state")).get("model_info")).get("model_id"))
    parent = reading.text(value, "parent_session_id")
    agent = text(state.get("agent_name"))
    reading.date(value.get("created_at"), "created_at")
    reading.start(
        cwd=reading.text(value, "cwd"),
        model=model,
        parent_session=parent,
        agent_name=agent if parent else "",
        native_id="sidecar/start",
    )
    reading.entitle(reading.text(value, "title"), "sidecar/title")
    detail = {"agent": agent, "reason": text(value.get("session_created_reason"))}
    if any(detail.values()):
        reading.add(
            kinds.Lifecycle("session", detail={k: v for k, v in detail.items() if v}), native_id="sidecar/session"
        )
    turns = reading.mapping(state, "conversation_metadata").get("user_turn_metadatas")
    for index, turn in enumerate(turns if isinstance(turns, list) else ()):
        _read_turn(reading, mapping(turn), index, model)
    reading.extra(value, _KNOWN["sidecar"], "sidecar", native_id="sidecar")


def _read_turn(reading: KiroReading, turn: dict[str, Any], index: int, model: str) -> None:
    """Emit a turn's tokens, which may all be 0, and its credits, which are no money."""
    loop = turn.get("loop_id")
    name = f"turn:{content_name(loop)}" if loop else f"turn:{index}"
    reading.date(turn.get("end_timestamp"), "end_timestamp")
    counts, key = reading.counts(turn, _TURN_TOKENS), f"{reading.state.session}:{name}"
    reading.spend(text(turn.get("model")) or model, counts, key, native_id=f"{name}/usage")
    detail: dict[str, Json] = {key: turn[key] for key in _TURN_DETAILS if turn.get(key) not in (None, "", [])}
    credits_spent = [number(mapping(item).get("value")) for item in reading.items(turn, "metering_usage")]
    if detail and any(value is not None for value in credits_spent):
        reading.add(kinds.Lifecycle("credits", detail=detail), native_id=f"{name}/credits")


_SYSTEM = ("# System Prompt", "# Identity", "<identity>", "## Included Rules", "You are operating in a workspace")
_ACKNOWLEDGED = "I will follow these instructions."
_WRAP = ("<kiro-ide-message>", "</kiro-ide-message>")


def read_item(reading: KiroReading) -> None:
    """Emit one item of a session's history."""
    item = reading.value
    message = message_of(reading)
    if not message:
        return
    role = message.get("role")
    own_id = text(message.get("id"))
    base = numbered(reading, own_id[:4096]) if own_id else name_of(reading, "item", role, message.get("content"))
    reading.native_id = base
    _read_message(reading, role, message.get("content"))
    for index, context in enumerate(reading.items(item, "contextItems")):
        value = mapping(context)
        part = kinds.Part("file", path=text(value.get("description")) or text(value.get("name")))
        reading.add(
            kinds.UserMessage(text(value.get("content")), "injected", (part,)), native_id=f"{base}/context/{index}"
        )
    execution = text(item.get("executionId")) or text(message.get("executionId"))
    if execution:
        reading.add(kinds.Lifecycle("execution", detail={"id": execution}), native_id=f"{base}/execution")
    reading.extra(item, _KNOWN["item"], "item", native_id=base)
    reading.extra(message, _KNOWN["message"], "message", native_id=base)


def read_chat(reading: KiroReading) -> None:
    """Emit one message of an execution, named by its content: the history that each execution repeats is one."""
    message = reading.value
    if not message:
        read_odd(reading)
        return
    role, content = message.get("role"), message.get("content")
    reading.native_id = name_of(reading, "chat", role, content)
    _read_message(reading, role, content)
    reading.extra(message, _KNOWN["chat_message"], "chat")


def _read_message(reading: KiroReading, role: Json, content: Json) -> None:
    said = _said(content)
    if role in ("user", "human"):
        # Give text in the user's role: instructions that the IDE puts there, or what the person wrote.
        plain = said.strip()
        found: list[kinds.Part] = []
        for part in content if isinstance(content, list) else ():
            value = mapping(part)
            url = text(mapping(value.get("imageUrl")).get("url"))
            if url.startswith("data:"):
                media_type, _, data = url[5:].partition(";base64,")
                image = reading.readable(base64_part("image", media_type[:100], data), "imageUrl")
                found.append(image)
            elif url:
                found.append(kinds.Part("image", url=url[:4096]))
        parts = tuple(found)
        if plain.startswith(_SYSTEM):
            reading.add(kinds.Instructions(said, "system_prompt"))
            return
        if plain.startswith(_WRAP[0]):
            plain = plain.removeprefix(_WRAP[0]).removesuffix(_WRAP[1]).strip()
        reading.say(kinds.UserMessage(plain, parts=parts))
    elif role in ("assistant", "bot"):
        if said.strip() == _ACKNOWLEDGED:
            reading.add(kinds.Lifecycle("notice", text=said))
        elif said:
            reading.add(kinds.AssistantMessage(said, reading.now("model")))
    elif role == "tool":
        reading.add(kinds.ToolResult(text=said))
    elif role == "system":
        reading.add(kinds.Instructions(said, "system"))
    else:
        reading.unknown(f"message/{role}" if isinstance(role, str) else "message", without_opaque(content))


def _said(content: Json) -> str:
    if not isinstance(content, list):
        return content_text(content)
    return "\n".join(filter(None, map(_part_text, content)))


def _part_text(part: Json) -> str:
    value = mapping(part)
    if value.get("type") in ("text", "mention"):
        return text(value.get("text"))
    return "" if value.get("type") in ("imageUrl", "image") else flatten(without_opaque(part))


def read_session(reading: KiroReading) -> None:
    """Emit what stands around a session's history: its folder and its title."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    cwd = reading.text(value, "workspaceDirectory")
    if cwd or "sessionId" in value:
        reading.start(cwd=cwd or folder_in(reading.state.folder))
    give_title(reading, value)
    model = text(value.get("selectedModel")) or text(value.get("defaultModelTitle"))
    if model:
        reading.set(model=model[:200])
        reading.add(kinds.Lifecycle("model", model=model), native_id="model")
    reading.extra(value, _KNOWN["session"], "session", native_id="session")


def read_execution(reading: KiroReading) -> None:
    """Emit what stands around the messages of an execution: its ids, model and times."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    metadata = reading.mapping(value, "metadata")
    if metadata:
        reading.date(metadata.get("startTime"), "startTime")
        model = text(metadata.get("modelId"))
        reading.set(model=model[:200])
        reading.start(model=model)
        reading.date(metadata.get("endTime"), "endTime")
        detail = {key: metadata[key] for key in ("workflow", "workflowId") if metadata.get(key)}
        reading.add(kinds.Lifecycle("turn_ended", detail=detail or None), native_id="ended")
    ids = {key: value[key] for key in ("executionId", "actionId") if value.get(key)}
    reading.note("execution", detail=ids, native_id="execution")
    for name in ("context", "validations"):
        if value.get(name):
            reading.kept(name, without_opaque(value[name]), native_id=f"{name}:{content_name(value[name])}")
    reading.extra(value, _KNOWN["chat"], "execution", native_id="document")
    reading.extra(metadata, _KNOWN["metadata"], "metadata", native_id="metadata")


def folder_in(name: str) -> str:
    """Return the path that the name of a workspace's folder holds in base64, "" where it holds none."""
    standard = name.replace("-", "+").replace("_", "/").rstrip("=/")
    try:
        return binascii.a2b_base64(standard + "=" * (-len(standard) % 4)).decode()
    except (ValueError, UnicodeDecodeError):
        return ""


_CONVERSATION = re.compile(rb'conversation_id\\*" ?: ?\\*"([0-9A-Za-z-]{1,100})')
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class KiroAdapter(KitAdapter[KiroState], slug="kiro"):
    readers: ClassVar = {
        "cli": read_line,
        "sidecar": read_sidecar,
        "conversation": read_row,
        "ide": lambda reading: (read_item if reading.at == "history" else read_session)(reading),
        "ide_index": lambda reading: read_entry(reading, _KNOWN["index"]),
        "chat": lambda reading: (read_chat if reading.at == "chat" else read_execution)(reading),
    }

    def identify(self, info: SourceInfo, head: bytes) -> str:
        folder = info.folder
        if info.role == "conversation" and not _UUID.fullmatch(info.document):
            # The old table names a conversation by its folder only; the id stands in the value.
            return group_in(_CONVERSATION, head) or info.document or first_line_name(head)
        if info.role == "chat":
            stem = info.name.removesuffix(".chat")
            return f"{folder}:{stem}" if folder else stem
        if info.role == "ide_index":
            return f"sessions:{folder}" if folder else "sessions"
        if info.role == "ide" and not folder:
            return group_in(HEAD_SESSION, head) or info.stem or first_line_name(head)
        return info.document or info.stem or first_line_name(head)

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"folder": info.folder[:4096]}
