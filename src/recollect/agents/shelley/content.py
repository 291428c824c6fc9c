"""The content of one message of Shelley. Its types are bare numbers, which begin at 2.

Evidence: the agent's published type `llm.Content`: types share their counter with the two roles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.kit.calls import decoded_arguments, edits_of, give_call, give_result
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.values import instant, items, mapping, text, whole
from recollect.agents.shelley.state import Reading
from recollect.model.payloads import FileEdit, Json, Part, Thinking, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_TEXT, _THINKING, _REDACTED, _CALL, _RESULT, _SERVER_CALL, _SEARCH_RESULT, _SEARCH_ITEM = range(2, 10)
_MAX_DEPTH = 8
FIELDS = frozenset(
    "ID Type Text MediaType Thinking Data Signature ToolName ToolInput ToolUseID ToolError ToolResult ToolUseStartTime "
    "ToolUseEndTime Display DisplayImageURL DisplayWidth DisplayHeight Cache Caller Citations Title URL "
    "EncryptedContent PageAge EncryptedIndex".split()
)


def said_in(reading: Reading, blocks: list[Any]) -> tuple[str, tuple[Part, ...]]:
    """Return all texts of a message and its images."""
    texts: list[str] = []
    parts: list[Part] = []
    for block in map(mapping, blocks):
        if whole(block.get("Type")) != _TEXT:
            continue
        texts.append(reading.text(block, "Text"))
        if text(block.get("MediaType")):
            parts.append(_image(reading, block))
    return "\n".join(t for t in texts if t), tuple(parts)


def read_blocks(reading: Reading, blocks: list[Any], name: str, display: Json, say: Callable[[], None]) -> None:
    """Give the blocks of a message. display: what the tools of the row showed, by their call. say: gives the texts."""
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
        reading.extra(mapping(block), FIELDS, "content", native_id=where)


def _read_thinking(reading: Reading, block: dict[str, Any], where: str, shown: dict[str, Json]) -> None:
    del shown
    thought = text(block.get("Thinking")) or text(block.get("Text"))
    is_encrypted = not thought and bool(block.get("Data") or block.get("Signature"))
    if thought or is_encrypted:
        reading.add(Thinking(thought, is_encrypted=is_encrypted), "assistant", native_id=where)


def _read_call(reading: Reading, block: dict[str, Any], where: str, shown: dict[str, Json]) -> None:
    del shown
    name = reading.text(block, "ToolName")
    arguments = decoded_arguments(block.get("ToolInput"))
    call = ToolCall(reading.text(block, "ID"), name, canonical_tool(name), arguments)
    give_call(reading, call, where, _edits(arguments) if call.canonical == "edit" else ())


def _edits(arguments: Json) -> tuple[FileEdit, ...]:
    """Return what `patch` asks for; its list is called after the tool in one of its generations."""
    given = mapping(arguments)
    several = given.get("patches", given.get("edits"))
    pieces = [several] if isinstance(several, dict) else items(several)
    path = text(given.get("path"))
    if not pieces or not path:
        return edits_of(arguments)
    found: list[FileEdit] = []
    for piece in map(mapping, pieces):
        before, after = (w if isinstance(w, str) else None for w in (piece.get("oldText"), piece.get("newText")))
        found.append(FileEdit(path, "modify", before, after))
    return tuple(found)


def _read_result(reading: Reading, block: dict[str, Any], where: str, shown: dict[str, Json]) -> None:
    call_id = text(block.get("ToolUseID")) or text(block.get("ID"))
    texts: list[str] = []
    parts: list[Part] = []
    _collect(reading, items(block.get("ToolResult")), texts, parts, 0)
    display = block.get("Display") if block.get("Display") is not None else shown.get(call_id)
    diffs = _diffs(display)
    result = ToolResult(
        call_id,
        ok=block.get("ToolError") is not True,
        text="\n".join(t for t in texts if t),
        structured=None if diffs or not display else without_opaque(display),
        duration_ms=_duration(block),
        parts=tuple(parts),
    )
    give_result(reading, result, where, diffs or None)


def _collect(reading: Reading, blocks: list[Any], texts: list[str], parts: list[Part], depth: int) -> None:
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


def _diffs(display: Json) -> tuple[FileEdit, ...]:
    """Return the edit that a tool showed: its diff, or in older versions also the whole file before and after."""
    given = mapping(display)
    path, diff = text(given.get("path")), text(given.get("diff"))
    before, after = given.get("oldContent"), given.get("newContent")
    if not path or not (diff or isinstance(after, str)):
        return ()
    if isinstance(before, str) and isinstance(after, str):
        return (FileEdit(path, "modify" if before else "create", before, after),)
    return (FileEdit(path, diff=diff),)


def _duration(block: dict[str, Any]) -> int | None:
    start, end = instant(block.get("ToolUseStartTime")), instant(block.get("ToolUseEndTime"))
    return (end - start) // 1000 if start is not None and end is not None and end >= start else None


def _image(reading: Reading, block: dict[str, Any]) -> Part:
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
