"""goose: parses a row, or a line of an older file, into events. Pure; never raises on content.

Evidence: format notes: goose, "content_json"; the agent's published types.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.calls import Waiting, arrived, edits_of, expect, file_edits
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import content_name, short_name
from recollect.agents.kit.values import Json, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.payloads import Instructions, Lifecycle, TokenUsage
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What the parser of goose carries from record to record.

_MAX_NAMES = 512


class Ledger(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Sums of the rows of `usage_ledger`, as written: input with its cached part."""

    rows: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Named(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How many messages had a name, and what the newest of them said."""

    name: str
    gist: str
    count: int


class GooseState(kit.BaseState, frozen=True):
    named: tuple[Named, ...] = ()
    """The newest names of messages, the last at the end."""
    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet."""
    put_away: bool = False
    """Messages that the model sees no more came, and no summary of them yet."""
    ledger: Ledger = Ledger()


Reading = kit.Reading[GooseState]
"""A record in hand."""


def occurrence(reading: Reading, name: str, gist: str) -> str:
    """Return the name for one more message called so: `name`, then `name/2` and so on.

    gist: tells messages of one name apart; the same as the last time is the same message again.
    """
    known: tuple[Named, ...] = reading.now("named")
    before = next((n for n in reversed(known) if n.name == name), None)
    if before is None:
        found = Named(name, gist, 1)
    elif before.gist == gist:
        found = before
    else:
        found = Named(name, gist, before.count + 1)
    rest = tuple(n for n in known if n is not before)
    reading.set(named=(*rest, found)[-_MAX_NAMES:])
    return name if found.count == 1 else f"{name}/{found.count}"


# Tools of goose: their canonical names, what an edit's arguments ask for, and what a result holds.
#
# Evidence: format notes: goose; the arguments of the developer extension in its two generations.

_OWN = ("developer__", "platform__", "todo__", "subagent__", "summon__", "dynamic_task__", "skills__")
"""Extensions that come with goose; the tools of all others are those of an MCP server."""
_WRITES = frozenset(("write", "str_replace", "insert", "edit_file", "create"))
"""Commands of `text_editor` that change a file; `view` and `undo_edit` give no text."""
_MAX_COUNT = 1 << 53


class Answer(NamedTuple):
    """What a tool gave back."""

    text: str
    ok: bool | None
    exit_code: int | None = None
    structured: Json = None
    parts: tuple[kinds.Part, ...] = ()
    is_readable: bool = True


def canonical(name: str) -> str:
    """Return the canonical name of a tool; goose writes `extension__tool`."""
    own = next((prefix for prefix in _OWN if name.startswith(prefix)), None)
    return canonical_tool(name if own is None else name.removeprefix(own))


def edits_asked_by(name: str, arguments: Json) -> tuple[kinds.FileEdit, ...]:
    given = mapping(arguments)
    tool = name.rpartition("__")[2]
    if tool == "text_editor" and text(given.get("command")) not in _WRITES:
        return ()
    if tool == "text_editor" and given.get("command") == "insert":
        given = {"path": given.get("path"), "old_str": "", "new_str": given.get("new_str")}
    elif tool == "edit" and "before" in given:
        given = {"path": given.get("path"), "old_str": given.get("before"), "new_str": given.get("after")}
    elif canonical(name) != "edit":
        return ()
    return edits_of(given) if given else ()


def answer_of(result: dict[str, Any]) -> Answer:
    """Read `toolResult`: `{status, value}` with a list, or an object around the list; or `{status, error}`."""
    if result.get("status") == "error" or ("error" in result and "value" not in result):
        error = result.get("error")
        return Answer(error if isinstance(error, str) else flatten(error), False)
    value = result.get("value", result if "content" in result else None)
    outer = mapping(value)
    texts, parts, is_readable = _contents(outer.get("content") if outer else value)
    structured = outer.get("structuredContent")
    exit_code = whole(mapping(structured).get("exit_code", mapping(structured).get("exitCode")))
    is_failed = outer.get("isError") is True or exit_code not in (None, 0)
    ok = False if is_failed else True if result.get("status") == "success" or outer.get("isError") is False else None
    return Answer("\n".join(texts), ok, exit_code, _beyond(structured, texts), parts, is_readable)


def _contents(content: Json) -> tuple[list[str], tuple[kinds.Part, ...], bool]:
    """Return texts, images, and whether these could be read. What is said to user and model alike comes once."""
    texts: list[str] = []
    parts: list[kinds.Part] = []
    is_readable = True
    for item in [content] if isinstance(content, str) else items(content):
        block = mapping(item)
        kind = text(block.get("type"))
        said = ""
        if kind in ("image", "audio"):
            part, is_fine = base64_part(kind, text(block.get("mimeType")), block.get("data"))
            parts.append(part)
            is_readable = is_readable and is_fine
        elif kind == "resource_link":
            parts.append(kinds.Part(type=kind, media_type=text(block.get("mimeType")), url=text(block.get("uri"))))
        elif kind == "resource":
            said = _resource(mapping(block.get("resource")), parts)
        elif kind == "text" or (not kind and "text" in block):
            said = text(block.get("text"))
        else:
            said = item if isinstance(item, str) else flatten(without_opaque(item))
        if said and said.strip() not in (known.strip() for known in texts):
            texts.append(said)
    return texts, tuple(parts), is_readable


def _resource(resource: dict[str, Any], parts: list[kinds.Part]) -> str:
    """Return the text of an embedded resource; its bytes become a part."""
    uri, media_type = text(resource.get("uri")), text(resource.get("mimeType"))
    if "blob" in resource:
        part, _ = base64_part("resource", media_type, resource.get("blob"), path=uri)
        parts.append(part)
        return ""
    parts.append(kinds.Part(type="resource", media_type=media_type, url=uri))
    return text(resource.get("text"))


def _beyond(structured: Json, texts: list[str]) -> Json:
    """Return what a structured result holds beyond the text."""
    if not isinstance(structured, dict):
        return structured
    said = "\n".join(texts)
    rest = {
        k: v
        for k, v in structured.items()
        if k not in ("exit_code", "exitCode")
        and v not in (None, "", [], {}, False)
        and not (isinstance(v, str) and v.strip() in said)
    }
    return rest or None


def clamped(count: int) -> int:
    """Return a count that can be added up for ever."""
    return min(count, _MAX_COUNT)


_MADE_UP = re.compile(r"msg_\d{8}_\d+_")
"""Ids that a migration or an import gave to messages without one: another store of the same session has others."""
_INTERRUPTED_CALL = "Interrupted by the user"
_INTERRUPTED = re.compile(
    r"The existing call to \S+ was interrupted\. How would you like to proceed\?$"
    r"|We interrupted |Interrupted before the model replied"
)
"""What the harness says in the assistant's role after the user stopped it."""

_BLOCK_FIELDS = known_by_type("goose", "block")
_NOTIFICATIONS = frozenset(("thinkingMessage", "inlineMessage", "creditsExhausted"))
_ACTIONS = frozenset(("toolConfirmation", "elicitation", "elicitationResponse"))


def name_of(reading: Reading, message_id: object, role: object, created: object, content: Json) -> str:
    """Return the name of a message: its id, else what it says and when. One id on two messages tells them apart."""
    said = [_gist(block) for block in items(content)] if isinstance(content, list) else [flatten(content)]
    gist = content_name([role, created, said])
    if isinstance(message_id, str) and message_id and not _MADE_UP.match(message_id):
        return occurrence(reading, short_name(message_id), gist)
    return occurrence(reading, gist, gist)


def _gist(block: Json) -> Json:
    """Return what stays of a block when titles and other notes are added to it."""
    if not isinstance(block, dict):
        return flatten(block)
    return [block.get(k) for k in ("type", "id", "text", "thinking", "msg")]


class Visibility:
    """Who sees a message: what only the model sees was written by the harness."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.is_seen_by_user = metadata.get("userVisible", metadata.get("user_visible")) is not False
        self.is_seen_by_agent = metadata.get("agentVisible", metadata.get("agent_visible")) is not False


def read_content(reading: Reading, role: str, content: Json, seen: Visibility, mid: str) -> None:
    """Emit the events of a message's blocks: its texts as one message, the rest one by one."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        reading.wrong("content")
        reading.kept("content", blocks, native_id=mid)
        return
    is_said = False
    for number, block in enumerate(blocks, 1):
        if not is_said and text(mapping(block).get("type")) in ("text", "image"):
            is_said = True
            said, parts = _said(reading, blocks)
            # Emit the text: a person's, the model's, the harness's, or the summary of what was put away.
            if not seen.is_seen_by_user:
                if reading.now("put_away") and said:
                    reading.set(put_away=False)
                    reading.add(kinds.Compaction(summary=said, continues_at=mid), native_id=f"{mid}/compaction")
                elif role == "user":
                    reading.add(kinds.UserMessage(said, "injected", parts), native_id=mid)
                else:
                    reading.add(kinds.Lifecycle("context", text=said), native_id=mid)
            elif role == "user":
                reading.add(kinds.UserMessage(said, "human", parts), native_id=mid)
            elif _INTERRUPTED.match(said):
                reading.add(kinds.Lifecycle("interrupted", text=said), native_id=mid)
            else:
                reading.add(kinds.AssistantMessage(said, parts=parts), native_id=mid)
        _read_block(reading, block, f"{mid}/{number}", mid)
    if not blocks and role == "assistant":
        reading.add(kinds.AssistantMessage(), native_id=mid)
    is_talk = any(text(mapping(b).get("type")) in ("text", "toolRequest", "toolResponse") for b in blocks)
    if is_talk and seen.is_seen_by_user and not seen.is_seen_by_agent:
        reading.set(put_away=True)


def _said(reading: Reading, blocks: list[Any]) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return all texts and images of a message."""
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in blocks:
        kind = text(mapping(block).get("type"))
        if kind == "text":
            texts.append(reading.text(block, "text"))
        elif kind == "image":
            parts.append(
                reading.readable(base64_part("image", text(block.get("mimeType")), block.get("data")), "image.data")
            )
    return "\n".join(t for t in texts if t), tuple(parts)


def _read_block(reading: Reading, block: Json, name: str, mid: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    known = _BLOCK_FIELDS.get(kind) if isinstance(kind, str) else None
    if known is None or not isinstance(kind, str):
        reading.unknown(kind if isinstance(kind, str) else "block", block, native_id=name)
        return
    read = _BLOCKS.get(kind)
    if read is not None:
        read(reading, block, mid if kind in _CALLS else name)
    reading.extra(block, known, kind, native_id=name)


def _read_thinking(reading: Reading, block: dict[str, Any], name: str) -> None:
    thought = text(block.get("thinking")) or text(block.get("text"))
    is_encrypted = not thought and bool(block.get("signature") or block.get("data"))
    reading.say(kinds.Thinking(thought, is_encrypted=is_encrypted), native_id=f"{name}/thinking")


def _read_request(reading: Reading, block: dict[str, Any], mid: str) -> None:
    """Emit a call. One that the model wrote so that it could not be read is no call."""
    call_id = reading.text(block, "id")
    native_id = f"{mid}/call:{short_name(call_id)}"
    asked = reading.mapping(block, "toolCall")
    value = mapping(asked.get("value")) or (asked if "name" in asked else {})
    if not value:
        error = asked.get("error")
        words = error if isinstance(error, str) else flatten(error)
        reading.add(kinds.Lifecycle("invalid_tool_call", text=words, call_id=call_id), native_id=native_id)
        return
    name = reading.text(value, "name")
    arguments = value.get("arguments")
    reading.add(kinds.ToolCall(call_id, name, canonical(name), arguments), native_id=native_id)
    expect(reading, call_id, name, edits_asked_by(name, arguments))
    title = text(mapping(block.get("_meta")).get("goose.toolSummary.title"))
    reading.note("tool_title", title, call_id=call_id, native_id=f"{native_id}/title")


def _read_response(reading: Reading, block: dict[str, Any], mid: str) -> None:
    call_id = reading.text(block, "id")
    native_id = f"{mid}/result:{short_name(call_id)}"
    call = arrived(reading, call_id)
    answer = answer_of(reading.mapping(block, "toolResult"))
    if not answer.is_readable:
        reading.wrong("toolResult.content.data", "bad_base64")
    name = call.name if call is not None else ""
    result = kinds.ToolResult(
        call_id, name, answer.ok, answer.exit_code, answer.text, answer.structured, parts=answer.parts
    )
    reading.add(result, native_id=native_id)
    if answer.ok is False and answer.text.startswith(_INTERRUPTED_CALL):
        reading.add(
            kinds.Lifecycle("interrupted", text=answer.text, call_id=call_id), native_id=f"{native_id}/interrupted"
        )
    if call is not None and answer.ok is not False:
        for number, edit in enumerate(file_edits(call), 1):
            reading.add(edit, native_id=f"{native_id}/edit/{number}")


def _read_confirmation(reading: Reading, block: dict[str, Any], name: str) -> None:
    asked = {"tool": block.get("toolName"), "arguments": block.get("arguments")}
    prompt = text(block.get("prompt"))
    call_id = text(block.get("id"))
    reading.add(kinds.Lifecycle("permission", text=prompt, detail=asked, call_id=call_id), native_id=name)


def _read_action(reading: Reading, block: dict[str, Any], name: str) -> None:
    data = reading.mapping(block, "data")
    action = data.get("actionType")
    reading.odd_value("actionRequired.actionType", action, _ACTIONS)
    if action == "toolConfirmation":
        _read_confirmation(reading, data, name)
        return
    words = text(data.get("message"))
    rest = {k: v for k, v in data.items() if k not in ("actionType", "id", "message")}
    kind = "answer" if action == "elicitationResponse" else "question" if action == "elicitation" else "action"
    reading.add(kinds.Lifecycle(kind, text=words, detail=rest or None), native_id=name)


def _read_notification(reading: Reading, block: dict[str, Any], name: str) -> None:
    kind = block.get("notificationType")
    reading.odd_value("systemNotification.notificationType", kind, _NOTIFICATIONS)
    detail = {"type": kind, "data": block.get("data")}
    shown = {k: v for k, v in detail.items() if v is not None}
    reading.add(kinds.Lifecycle("notification", text=text(block.get("msg")), detail=shown or None), native_id=name)


def _read_compacted(reading: Reading, block: dict[str, Any], name: str) -> None:
    """Emit the mark of older versions; it says in a sentence that there was a compaction."""
    reading.set(put_away=False)
    reading.add(kinds.Compaction(summary=text(block.get("msg"))), native_id=name)


def _read_message(reading: Reading, block: dict[str, Any], name: str) -> None:
    kind = "api_error" if block.get("type") == "contextLengthExceeded" else "compaction_requested"
    reading.add(kinds.Lifecycle(kind, text=text(block.get("msg"))), native_id=name)


_CALLS = frozenset(("toolRequest", "frontendToolRequest", "toolResponse"))
"""Blocks with ids of their own; the others are named by their place in the message."""
_BLOCKS: dict[str, Callable[[Reading, dict[str, Any], str], None]] = {
    "thinking": _read_thinking,
    "reasoning": _read_thinking,
    "redactedThinking": _read_thinking,
    "toolRequest": _read_request,
    "frontendToolRequest": _read_request,
    "toolResponse": _read_response,
    "toolConfirmationRequest": _read_confirmation,
    "actionRequired": _read_action,
    "systemNotification": _read_notification,
    "conversationCompacted": _read_compacted,
    "summarizationRequested": _read_message,
    "contextLengthExceeded": _read_message,
}


_TOTALS = ("total_tokens", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
SESSION_FIELDS = frozenset(
    (
        *_TOTALS,
        *(f"accumulated_{name}" for name in _TOTALS),
        *"""id name description user_set_name session_type working_dir created_at updated_at extension_data
        accumulated_cost schedule_id recipe_json user_recipe_values_json provider_name model_config_json goose_mode
        archived_at project_id parent_session_id parent_delegation thread_id message_count recipe
        user_recipe_values""".split(),
    )
)
_LEDGER_FIELDS = frozenset((*_TOTALS, *"id session_id created_timestamp model cost cost_source is_compaction".split()))
_COST_SOURCES = frozenset(("provider_reported", "estimated", "carried_forward"))
_SESSION_TYPES = frozenset(("user", "scheduled", "sub_agent", "hidden", "terminal", "gateway", "acp"))
_NO_TITLES = frozenset(("CLI Session", "ACP Session", "New Chat", "New Session"))
"""What a session is called until somebody or the model gives it a name."""


def read_session(reading: Reading) -> None:
    """Emit what a row of `sessions` says: start and lineage, title, mode, recipe, and usage beyond the ledger."""
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    kind = reading.text(row, "session_type")
    reading.odd_value("sessions.session_type", kind, _SESSION_TYPES)
    parent = reading.text(row, "parent_session_id")
    title = reading.text(row, "name") or reading.text(row, "description")
    model = text(mapping(row.get("model_config_json")).get("model_name"))
    is_subagent = kind == "sub_agent"
    reading.start(
        cwd=reading.text(row, "working_dir"),
        model=model,
        originator=kind,
        forked_from="" if is_subagent else parent,
        parent_session=parent if is_subagent else "",
        agent_name=title if is_subagent else "",
    )
    if title and title not in _NO_TITLES:
        reading.add(Lifecycle("title", title=title), native_id="title")
    facts = {k: row[k] for k in ("provider_name", "goose_mode", "schedule_id", "project_id", "thread_id") if row.get(k)}
    reading.note("session_facts", detail=facts, native_id="facts")
    _read_recipe(reading, mapping(row.get("recipe_json")))
    add_totals(reading, row, model)
    reading.extra(row, SESSION_FIELDS, "sessions", native_id="start")


def _read_recipe(reading: Reading, recipe: dict[str, Any]) -> None:
    """Emit what a recipe tells the model; its prompt comes as the first message too."""
    words = [text(recipe.get(k)) for k in ("title", "description", "instructions", "prompt")]
    said = "\n\n".join(w for w in words if w)
    reading.say(Instructions(said, "recipe"), native_id="recipe")


def read_ledger(reading: Reading) -> None:
    """Emit one row of the ledger: one request, or what a session spent before the ledger began."""
    row = reading.value
    reading.date(row.get("created_timestamp"), "created_timestamp")
    reading.odd_value("usage_ledger.cost_source", row.get("cost_source"), _COST_SOURCES)
    number = reading.whole(row, "id")
    counts = _counts(reading, row, "")
    ledger: Ledger = reading.now("ledger")
    reading.set(
        ledger=Ledger(
            clamped(ledger.rows + 1),
            clamped(ledger.input_tokens + counts.input_tokens),
            clamped(ledger.output_tokens + counts.output_tokens),
            clamped(ledger.cache_read_tokens + counts.cache_read_tokens),
            clamped(ledger.cache_write_tokens + counts.cache_write_tokens),
        )
    )
    name = f"usage:{number}" if number is not None else f"usage:{ledger.rows}"
    cost = reading.money(row, "cost")
    key = f"goose:{reading.state.session}:{name}"
    reading.add(_usage(counts, reading.text(row, "model"), key, cost=cost, is_additive=True), native_id=name)
    if row.get("is_compaction") in (1, True):
        reading.add(Lifecycle("compaction_usage", detail={"usage": name}), native_id=f"{name}/compaction")
    reading.extra(row, _LEDGER_FIELDS, "usage_ledger", native_id=name)


def add_totals(reading: Reading, row: dict[str, Any], model: str) -> None:
    """Emit the session's own counters. They count as far as the ledger has not got them, which is never negative.

    The event is there whenever there are counters, so that an older version of it does not continue counting.
    """
    total = _counts(reading, row, "accumulated_")
    if total.input_tokens == total.output_tokens == 0:
        total = _counts(reading, row, "")
    if total.input_tokens == total.output_tokens == 0:
        return
    ledger: Ledger = reading.now("ledger")
    key = f"goose:{reading.state.session}:usage"
    if ledger.input_tokens >= total.input_tokens and ledger.output_tokens >= total.output_tokens:
        usage = _usage(total, model, key, cost=reading.money(row, "accumulated_cost"), is_additive=False)
    else:
        rest = Ledger(
            0,
            max(0, total.input_tokens - ledger.input_tokens),
            max(0, total.output_tokens - ledger.output_tokens),
            max(0, total.cache_read_tokens - ledger.cache_read_tokens),
            max(0, total.cache_write_tokens - ledger.cache_write_tokens),
        )
        cost = None if ledger.rows else reading.money(row, "accumulated_cost")
        usage = _usage(rest, model, key, cost=cost, is_additive=True)
    reading.add(usage, native_id="usage")


def _counts(reading: Reading, row: dict[str, Any], prefix: str) -> Ledger:
    return Ledger(0, *(reading.count(row, f"{prefix}{name}") for name in _TOTALS[1:]))


def _usage(counts: Ledger, model: str, key: str, *, cost: float | None, is_additive: bool) -> TokenUsage:
    """Return usage whose input is without the cached part, which goose counts in."""
    cached = counts.cache_read_tokens + counts.cache_write_tokens
    return TokenUsage(
        model=model,
        input_tokens=max(0, counts.input_tokens - cached),
        output_tokens=counts.output_tokens,
        cache_read_tokens=counts.cache_read_tokens,
        cache_write_5m_tokens=counts.cache_write_tokens,
        cost_usd=cost,
        dedupe_key=key,
        is_additive=is_additive,
    )


_KNOWN = known_fields("goose")
_ROLES = ("user", "assistant")


class GooseAdapter(KitAdapter[GooseState], slug="goose"):
    def read(self, reading: Reading) -> None:
        value = reading.record.value
        if not isinstance(value, dict):
            read_odd(reading)
        elif reading.state.role == "messages":
            # Emit a row of `messages`.
            row = reading.value
            reading.date(row.get("created_timestamp"), "created_timestamp")
            content = row.get("content_json")
            name = name_of(reading, row.get("message_id"), row.get("role"), row.get("created_timestamp"), content)
            _read_whole_message(reading, content, mapping(row.get("metadata_json")), name)
            reading.extra(row, _KNOWN["row"], "messages", native_id=name)
        elif reading.state.role == "session":
            if reading.at == "usage_ledger":
                read_ledger(reading)
            else:
                read_session(reading)
        elif "role" in value:
            # Emit a message of an older session file.
            line = reading.value
            reading.date(line.get("created"), "created")
            content = line.get("content")
            name = name_of(reading, line.get("id"), line.get("role"), line.get("created"), content)
            _read_whole_message(reading, content, mapping(line.get("metadata")), name)
            reading.extra(line, _KNOWN["line"], "message", native_id=name)
        else:
            # Emit the first line of an older session file, which is written again whenever the session continues.
            facts = reading.value
            if "working_dir" not in facts and "description" not in facts:
                reading.unknown("line")
                return
            reading.date(facts.get("created_at"), "created_at")
            parent = reading.text(facts, "parent_session_id")
            reading.start(cwd=reading.text(facts, "working_dir"), forked_from=parent)
            reading.entitle(reading.text(facts, "description"))
            add_totals(reading, facts, "")
            reading.extra(facts, SESSION_FIELDS, "session", native_id="start")


def _read_whole_message(reading: Reading, content: Any, metadata: dict[str, Any], name: str) -> None:
    role = reading.value.get("role")
    if role not in _ROLES:
        reading.unknown(f"message.{role}" if isinstance(role, str) else "message", native_id=name)
        return
    before = len(reading.events)
    read_content(reading, role, content, Visibility(metadata), name)
    reading.extra(metadata, _KNOWN["metadata"], "metadata", native_id=name)
    if len(reading.events) == before:
        reading.kept("message", native_id=name)
