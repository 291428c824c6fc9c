"""Shelley: parses a row into events. Pure; never raises on content."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter
from recollect.agents.kit.calls import TurnState, decoded_arguments, edits_of, give_call, give_result
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import Marks, content_sha256, count_name, name_of, short_name, times_counted
from recollect.agents.kit.values import Json, instant, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool


class ShelleyState(TurnState, frozen=True, gc=False, omit_defaults=True):
    """The memory between rows; bounded whatever comes."""

    said: Marks = ()
    """Hashes of the messages so far, the newest last: a compaction copies some of them."""
    is_copying: bool = False
    """A summary came, and since then only copies."""


Reading = kit.Reading[ShelleyState]
"""A row in hand."""


# The content of one message of Shelley. Its types are bare numbers, which begin at 2.
#
# Evidence: the agent's published type `llm.Content`: types share their counter with the two roles.

_TEXT, _THINKING, _REDACTED, _CALL, _RESULT, _SERVER_CALL, _SEARCH_RESULT, _SEARCH_ITEM = range(2, 10)
_MAX_DEPTH = 8
_KNOWN = known_fields("shelley")


def said_in(reading: Reading, blocks: list[Any]) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return all texts of a message and its images."""
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in map(mapping, blocks):
        if whole(block.get("Type")) != _TEXT:
            continue
        texts.append(reading.text(block, "Text"))
        if text(block.get("MediaType")):
            parts.append(_image(reading, block))
    return "\n".join(t for t in texts if t), tuple(parts)


def read_blocks(reading: Reading, blocks: list[Any], name: str, display: Json, say: Callable[[], None]) -> None:
    """Emit the blocks of a message. display: what the tools of the row showed, by their call. say: gives the texts."""
    shown = {text(mapping(d).get("tool_use_id")): mapping(d).get("display") for d in items(display)}
    is_said = all(whole(mapping(block).get("Type")) != _TEXT for block in blocks)
    if is_said:
        say()
    for number, block in enumerate(blocks, 1):
        where = f"{name}/{number}"
        kind = whole(mapping(block).get("Type"))
        if kind == _TEXT:
            if not is_said:
                is_said = True
                say()
        elif kind is None or kind not in _READERS or not isinstance(block, dict):
            written = mapping(block).get("Type")
            reading.unknown(str(written)[:80] if written is not None else "content", block, native_id=where)
            continue
        else:
            _READERS[kind](reading, block, where, shown)
        reading.extra(mapping(block), _KNOWN["record"], "content", native_id=where)


def _read_thinking(reading: Reading, block: dict[str, Any], where: str, shown: dict[str, Json]) -> None:
    thought = text(block.get("Thinking")) or text(block.get("Text"))
    is_encrypted = not thought and bool(block.get("Data") or block.get("Signature"))
    reading.say(kinds.Thinking(thought, is_encrypted=is_encrypted), native_id=where)


def _read_call(reading: Reading, block: dict[str, Any], where: str, shown: dict[str, Json]) -> None:
    name = reading.text(block, "ToolName")
    arguments = decoded_arguments(block.get("ToolInput"))
    call = kinds.ToolCall(reading.text(block, "ID"), name, canonical_tool(name), arguments)
    give_call(reading, call, where, _edits(arguments) if call.canonical == "edit" else ())


def _edits(arguments: Json) -> tuple[kinds.FileEdit, ...]:
    """Return what `patch` asks for; its list is called after the tool in one of its generations."""
    given = mapping(arguments)
    several = given.get("patches", given.get("edits"))
    pieces = [several] if isinstance(several, dict) else items(several)
    path = text(given.get("path"))
    if not pieces or not path:
        return edits_of(arguments)
    found: list[kinds.FileEdit] = []
    for piece in map(mapping, pieces):
        before, after = (w if isinstance(w, str) else None for w in (piece.get("oldText"), piece.get("newText")))
        found.append(kinds.FileEdit(path, "modify", before, after))
    return tuple(found)


def _read_result(reading: Reading, block: dict[str, Any], where: str, shown: dict[str, Json]) -> None:
    call_id = text(block.get("ToolUseID")) or text(block.get("ID"))
    texts: list[str] = []
    parts: list[kinds.Part] = []
    _collect(reading, items(block.get("ToolResult")), texts, parts, 0)
    display = block.get("Display") if block.get("Display") is not None else shown.get(call_id)
    diffs = _diffs(display)
    result = kinds.ToolResult(
        call_id,
        ok=block.get("ToolError") is not True,
        text="\n".join(t for t in texts if t),
        structured=None if diffs or not display else without_opaque(display),
        duration_ms=_duration(block),
        parts=tuple(parts),
    )
    give_result(reading, result, where, diffs or None)


def _collect(reading: Reading, blocks: list[Any], texts: list[str], parts: list[kinds.Part], depth: int) -> None:
    for block in blocks:
        given = mapping(block)
        inner = items(given.get("ToolResult"))
        if not isinstance(block, dict):
            texts.append(flatten(block))
        elif text(given.get("MediaType")):
            texts.append(text(given.get("Text")))
            parts.append(_image(reading, given))
        elif given.get("Text"):
            texts.append(flatten(given.get("Text")))
        elif inner and depth < _MAX_DEPTH:
            _collect(reading, inner, texts, parts, depth + 1)
        else:
            texts.append(" ".join(t for t in (text(given.get("Title")), text(given.get("URL"))) if t))


def _diffs(display: Json) -> tuple[kinds.FileEdit, ...]:
    """Return the edit that a tool showed: its diff, or in older versions also the whole file before and after."""
    given = mapping(display)
    path, diff = text(given.get("path")), text(given.get("diff"))
    before, after = given.get("oldContent"), given.get("newContent")
    if not path or not (diff or isinstance(after, str)):
        return ()
    if isinstance(before, str) and isinstance(after, str):
        return (kinds.FileEdit(path, "modify" if before else "create", before, after),)
    return (kinds.FileEdit(path, diff=diff),)


def _duration(block: dict[str, Any]) -> int | None:
    start, end = instant(block.get("ToolUseStartTime")), instant(block.get("ToolUseEndTime"))
    return (end - start) // 1000 if start is not None and end is not None and end >= start else None


def _image(reading: Reading, block: dict[str, Any]) -> kinds.Part:
    part, is_readable = base64_part("image", text(block.get("MediaType")), block.get("Data"))
    if not is_readable and block.get("Data"):
        reading.wrong("Data", "bad_base64")
    return part


_READERS: dict[int, Callable[[Reading, dict[str, Any], str, dict[str, Json]], None]] = {
    _THINKING: _read_thinking,
    _REDACTED: _read_thinking,
    _CALL: _read_call,
    _SERVER_CALL: _read_call,
    _RESULT: _read_result,
    _SEARCH_RESULT: _read_result,
    _SEARCH_ITEM: _read_result,
}


_STOPPED = "[Operation cancelled]"
_TALK = frozenset(("user", "agent", "tool"))
_NOTES = {"error": "api_error", "warning": "warning"}
_KINDS = _TALK | {"system", "gitinfo", *_NOTES}
_ERRORS = frozenset(("truncation", "llm_request"))
_MARK_BYTES = 8


def _read_conversation(reading: Reading) -> None:
    """Emit what the conversation's row says: where it runs, its lineage and its title."""
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    parent = reading.text(row, "parent_conversation_id")
    is_subagent = bool(parent) and row.get("user_initiated") in (0, False)
    slug = reading.text(row, "slug")
    reading.start(
        **reading.told(row, cwd="cwd", model="model"),
        resumed_from="" if is_subagent else parent,
        parent_session=parent if is_subagent else "",
        agent_name=slug if is_subagent else "",
    )
    reading.note("title", title=slug, native_id="title")
    tags = [t for t in items(row.get("tags")) if isinstance(t, str)]
    if tags:
        reading.add(kinds.Lifecycle("tag", text=", ".join(tags)), native_id="tags")
    if row.get("archived") in (1, True):
        reading.add(kinds.Lifecycle("archived"), native_id="archived")
    reading.extra(row, _KNOWN["conversation"], "conversations", native_id="start")


def _read_message(reading: Reading) -> None:
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    origin = text(row.get("forked_from_message_id")) or text(row.get("message_id"))
    name = short_name(origin) if origin else name_of(reading, "m", row.get("sequence_id"), row.get("llm_data"))
    kind = reading.text(row, "type")
    llm = reading.mapping(row, "llm_data")
    blocks = reading.items(llm, "Content")
    about = mapping(row.get("user_data"))
    if _is_copy(reading, kind, llm):
        copied = kinds.Lifecycle("copied_message", text=said_in(reading, blocks)[0], detail={"type": kind})
        reading.add(copied, native_id=name)
        return
    if kind not in _KINDS:
        reading.unknown(kind or "message", native_id=name)
        return
    said, parts = said_in(reading, blocks)
    message = _Message(row, llm, about, name, said, parts)
    read_blocks(reading, blocks, name, row.get("display_data"), lambda: _say(reading, kind, message))
    _add_usage(reading, row, name)
    reading.extra(row, _KNOWN["message"], "messages", native_id=name)
    reading.extra(llm, _KNOWN["llm"], "llm_data", native_id=name)


class _Message(NamedTuple):
    """A row with what was found out of it."""

    row: dict[str, Any]
    llm: dict[str, Any]
    about: dict[str, Any]
    name: str
    said: str
    parts: tuple[kinds.Part, ...]


def _say(reading: Reading, kind: str, message: _Message) -> None:
    """Emit the words of a message: a person's, the model's or the agent's own."""
    _, llm, about, name, said, _ = message
    if kind == "user" and about.get("distilled") == "true":
        reading.set(is_copying=True)
        summary = text(about.get("distillation_content")) or said
        reading.add(kinds.Compaction(summary=summary, continues_at=name), native_id=name)
    elif about.get("distill_status"):
        reading.add(kinds.Lifecycle("distillation", text=said, detail=about), native_id=name)
    elif kind in ("user", "tool"):
        _add_user(reading, message)
    elif kind == "agent":
        row, llm, _, name, said, parts = message
        error = text(llm.get("ErrorType"))
        if said == _STOPPED:
            reading.add(kinds.Lifecycle("interrupted", text=said), native_id=name)
        elif error:
            reading.odd_value("llm_data.ErrorType", error, _ERRORS)
            reading.add(kinds.Lifecycle("api_error", text=said, detail={"type": error}), native_id=name)
        elif said or parts:
            model = text(row.get("model_name")) or text(mapping(row.get("usage_data")).get("model"))
            stop = "end_turn" if llm.get("EndOfTurn") is True else ""
            reading.add(kinds.AssistantMessage(said, model, stop, name, parts), native_id=name)
    elif kind == "system":
        reading.add(kinds.Instructions(said, "system"), native_id=name)
    elif kind == "gitinfo":
        _add_git(reading, about, said, name)
    else:
        detail = {k: llm[k] for k in ("ErrorType", "ErrorRetryable") if llm.get(k)}
        words = said or text(about.get("text"))
        reading.add(kinds.Lifecycle(_NOTES[kind], text=words, detail=detail or None), native_id=name)


def _is_copy(reading: Reading, kind: str, llm: dict[str, Any]) -> bool:
    """Say whether a message only repeats one from before the summary, as compactions do with the newest ones."""
    if kind not in _TALK or not llm:
        return False
    name = content_sha256(kind, llm.get("Content"))
    marks: Marks = reading.now("said")
    if reading.now("is_copying"):
        if times_counted(marks, name):
            return True
        reading.set(is_copying=False)
    reading.set(said=count_name(marks, name)[1])
    return False


def _add_user(reading: Reading, message: _Message) -> None:
    """Emit what a person wrote. A row of nothing but results is none."""
    is_waiting = message.row.get("excluded_from_context") in (1, True)
    words = message.said or text(message.about.get("text"))
    reading.say(kinds.UserMessage(words, "queued" if is_waiting else "human", message.parts), native_id=message.name)


def _add_git(reading: Reading, about: dict[str, Any], said: str, name: str) -> None:
    """Emit a change of branch or commit, as the agent saw it."""
    detail = {k: about[k] for k in ("worktree", "commit", "subject") if about.get(k)}
    branch = text(about.get("branch"))
    words = text(about.get("text")) or said
    reading.add(kinds.Lifecycle("branch", text=words, detail=detail or None, branch=branch), native_id=name)


def _add_usage(reading: Reading, row: dict[str, Any], name: str) -> None:
    """Emit what a response cost; rows of people and tools have counts of nothing."""
    usage = reading.mapping(row, "usage_data")
    if not usage:
        return
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    model, cost = text(usage.get("model")) or text(row.get("model_name")), reading.money(usage, "cost_usd") or None
    counts = reading.counts(usage, names)
    reading.spend(model, counts, f"shelley:{name}", native_id=f"{name}/usage", cost_usd=cost)
    reading.extra(usage, _KNOWN["usage"], "usage_data", native_id=name)


class ShelleyAdapter(KitAdapter[ShelleyState], slug="shelley"):
    readers: ClassVar = {"session": _read_conversation, "": _read_message}
