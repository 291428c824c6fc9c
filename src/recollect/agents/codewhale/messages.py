"""One message and its content blocks, as they stand in `messages` and again in the journal.

Blocks are those of the Anthropic API with results as plain text. Evidence: reference: recall and MCP, 5.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.codewhale.state import MAX_LABEL_CHARS, Reading, name_thing
from recollect.agents.codewhale.tools import canonical_of, edits_of, give_edits
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.calls import arrived, expect
from recollect.agents.kit.content.anthropic import content_parts, content_text, without_opaque
from recollect.agents.kit.content.openai import data_url_part
from recollect.agents.kit.naming import content_sha256, short, spaceless
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Json,
    Lifecycle,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten

ROLES = frozenset(("user", "assistant", "system", "tool", "developer", "assistant_interrupted"))
SUMMARY_MARK = "[compaction summary]"
BRANCH_MARK = "[branch summary]"
_META_START, _META_END = "<turn_meta>", "</turn_meta>"
_VOLATILE = frozenset(("cache_control", "signature", "thought_signature", "state", "caller"))
"""Fields of blocks that a later save may add or change without the message being another."""
_MESSAGE_FIELDS = frozenset(("role", "content"))
_BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset(("type", "text", "cache_control")),
    "image_url": frozenset(("type", "image_url")),
    "thinking": frozenset(("type", "thinking", "signature", "state")),
    "tool_use": frozenset(("type", "id", "name", "input", "caller", "thought_signature")),
    "server_tool_use": frozenset(("type", "id", "name", "input")),
    "tool_result": frozenset(("type", "tool_use_id", "content", "is_error", "content_blocks")),
    "tool_search_tool_result": frozenset(("type", "tool_use_id", "content")),
    "code_execution_tool_result": frozenset(("type", "tool_use_id", "content")),
}


def chain_of(message: dict[str, Any]) -> str:
    """Return the hash of what a message says, by which the next one knows its place."""
    blocks = message.get("content")
    if not isinstance(blocks, list):
        return content_sha256(message.get("role"), [{"type": "text", "text": blocks}])
    kept = [{k: v for k, v in b.items() if k not in _VOLATILE} if isinstance(b, dict) else b for b in blocks]
    return content_sha256(message.get("role"), kept)


def read_message(reading: Reading, message: dict[str, Any]) -> None:
    """Give the events of one message, and remember it for the one after."""
    before = len(reading.events)
    role = reading.text(message, "role")
    reading.odd_value("message.role", role, ROLES)
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if content is None or not isinstance(content, list | str):
        reading.wrong("content")
        blocks = [] if content is None else [{"type": "text", "text": flatten(content)}]
    if role in ("system", "developer"):
        _read_framing(reading, content_text(blocks), role)
    else:
        _read_blocks(reading, blocks, role)
        reading.set(before=chain_of(message))
    name = f"message:{content_sha256(reading.now('lineage'), message)}"
    if len(reading.events) == before and not reading.now("is_again"):
        reading.kept(f"message/{role}", message, native_id=name)
    reading.extra(message, _MESSAGE_FIELDS, "message", native_id=name)


def _read_framing(reading: Reading, said: str, role: str) -> None:
    """Give a summary that stands for what was cut off, or instructions."""
    if said.startswith(SUMMARY_MARK):
        reading.set(before="", is_past_summary=reading.now("is_again"), is_compacted=True)
        give_compaction(reading, said.removeprefix(SUMMARY_MARK).strip())
    elif said.startswith(BRANCH_MARK):
        give_branch(reading, said.removeprefix(BRANCH_MARK).strip(), None)
    elif said:
        name = name_thing(reading, "instructions", spaceless(said))
        if name is not None:
            reading.add(Instructions(said, role), native_id=name)


def give_compaction(reading: Reading, summary: str, detail: dict[str, Any] | None = None) -> None:
    """Give a compaction by its summary. The journal's counts come with it, or after it as an event of their own."""
    name = name_thing(reading, "compaction", spaceless(summary))
    counts = detail or {}
    before, after = whole(counts.get("tokens_before")), whole(counts.get("tokens_after"))
    if name is not None:
        reading.add(Compaction(summary=summary, tokens_before=before, tokens_after=after), native_id=name)
    elif counts:
        detail_name = f"{reading.now('first')}/counts"
        reading.add(Lifecycle("compaction_counts", detail=counts), native_id=detail_name)


def give_branch(reading: Reading, summary: str, detail: dict[str, Any] | None) -> None:
    """Give the summary of a branch that was left."""
    name = name_thing(reading, "branch", spaceless(summary))
    if name is not None:
        reading.add(Lifecycle("branch_summary", summary, detail), native_id=name)
    elif detail:
        reading.add(Lifecycle("branch_summary", detail=detail), native_id=f"{reading.now('first')}/detail")


def _read_blocks(reading: Reading, blocks: list[Any], role: str) -> None:
    texts: list[str] = []
    parts: list[Part] = []
    for block in blocks:
        kind = text(mapping(block).get("type"))
        if kind == "text":
            said = block.get("text")
            said = said if isinstance(said, str) else flatten(said)
            if role.startswith("assistant"):
                _give_reply(reading, said, role)
            elif said:
                texts.append(said)
        elif kind == "image_url":
            parts.append(_image(reading, block))
        else:
            read = _BLOCKS.get(kind)
            if read is None:
                _keep_block(reading, block, kind)
                continue
            read(reading, block)
        reading.extra(block, _BLOCK_FIELDS[kind], kind, native_id=f"block:{content_sha256(block)}")
    if role.startswith("assistant"):
        if parts:
            name = name_thing(reading, "reply", [p.sha256 or p.url for p in parts])
            if name is not None:
                reading.add(AssistantMessage("", reading.now("model"), parts=tuple(parts)), "assistant", native_id=name)
        if role == "assistant_interrupted":
            name = name_thing(reading, "interrupted", content_sha256(blocks))
            if name is not None:
                reading.add(Lifecycle("interrupted"), native_id=name)
    elif texts or parts:
        _give_prompt(reading, "\n\n".join(texts), tuple(parts), role)


def _keep_block(reading: Reading, block: Json, kind: str) -> None:
    name = name_thing(reading, "part", block)
    if name is None:
        return
    if not isinstance(block, dict):
        reading.wrong("content")
    body = without_opaque(block)
    reading.unknown(kind or "part", body if body is not None else "", native_id=name)


def _give_prompt(reading: Reading, said: str, parts: tuple[Part, ...], role: str) -> None:
    """Give what the person wrote; the turn's facts that the agent put around it are taken off."""
    human, asides = _without_meta(said)
    for aside in asides:
        name = name_thing(reading, "aside", spaceless(aside))
        if name is not None:
            reading.add(UserMessage(aside, "injected"), "user", native_id=name)
    if not human.strip() and not parts:
        return
    name = name_thing(reading, "prompt", role, [p.sha256 or p.url for p in parts], said=human)
    if name is not None:
        reading.add(UserMessage(human, "human" if role == "user" else "injected", parts), "user", native_id=name)


def _without_meta(said: str) -> tuple[str, list[str]]:
    bare = said.strip()
    if bare.endswith(_META_END) and (at := bare.rfind(_META_START)) >= 0:
        return bare[:at].rstrip(), [bare[at:]]
    if bare.startswith(_META_START) and (at := bare.find(_META_END)) >= 0:
        end = at + len(_META_END)
        return bare[end:].lstrip(), [bare[:end]]
    return said, []


def _give_reply(reading: Reading, said: str, role: str) -> None:
    if not said:
        return
    name = name_thing(reading, "reply", said=said)
    if name is not None:
        reason = "interrupted" if role == "assistant_interrupted" else ""
        reading.add(AssistantMessage(said, reading.now("model"), reason), "assistant", native_id=name)


def _image(reading: Reading, block: dict[str, Any]) -> Part:
    image = block.get("image_url")
    url = image if isinstance(image, str) else text(mapping(image).get("url"))
    part, is_readable = data_url_part("image", url)
    if not is_readable:
        reading.wrong("image_url", "bad_base64")
    return part


def _read_thinking(reading: Reading, block: dict[str, Any]) -> None:
    said = reading.text(block, "thinking")
    is_encrypted = not said and bool(block.get("signature") or block.get("state"))
    if said or is_encrypted:
        name = name_thing(reading, "thinking", content_sha256(block) if is_encrypted else "", said=said)
        if name is not None:
            reading.add(Thinking(said, is_encrypted=is_encrypted), "assistant", native_id=name)


def _read_call(reading: Reading, block: dict[str, Any]) -> None:
    call_id, tool = reading.text(block, "id"), reading.text(block, "name")
    arguments = block.get("input")
    name = name_thing(reading, "call", call_id, label=call_id)
    if name is None:
        return
    reading.add(ToolCall(call_id, tool, canonical_of(tool), arguments), "assistant", native_id=name)
    expect(reading, short(call_id, MAX_LABEL_CHARS), tool, edits_of(tool, arguments))


def _read_result(reading: Reading, block: dict[str, Any]) -> None:
    """Give a result. It succeeded unless it says otherwise."""
    content = block.get("content")
    said = content if isinstance(content, str) else content_text(content)
    extra = reading.items(block, "content_blocks")
    parts, are_readable = content_parts(extra if extra else content)
    if not are_readable:
        reading.wrong("content_blocks", "bad_base64")
    more = content_text(extra) if extra else ""
    is_error = block.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    structured = {"content_blocks": more} if more and said and more not in said else None
    _give_result(
        reading, block, ToolResult(ok=is_error is not True, text=said or more, structured=structured, parts=parts)
    )


def _read_server_result(reading: Reading, block: dict[str, Any]) -> None:
    """Give the result of a tool that ran at the provider: any JSON, with streams and an exit code of code that ran."""
    content = block.get("content")
    value = mapping(content)
    exit_code = whole(value.get("return_code", value.get("exit_code")))
    is_error = text(value.get("type")).endswith("_error") or value.get("is_error") is True or bool(exit_code)
    streams = [text(value.get(k)) for k in ("stdout", "stderr")]
    said = "\n".join(s for s in streams if s) or content_text(content)
    _give_result(reading, block, ToolResult(ok=not is_error, exit_code=exit_code, text=said))


def _give_result(reading: Reading, block: dict[str, Any], result: ToolResult) -> None:
    """Give a result under its call's name, and the edits that it says were applied."""
    call_id = reading.text(block, "tool_use_id")
    name = name_thing(reading, "result", call_id, label=call_id)
    if name is None:
        return
    call = arrived(reading, short(call_id, MAX_LABEL_CHARS))
    reading.add(msgspec.structs.replace(result, call_id=call_id, name=call.name), "tool", native_id=name)
    if result.ok:
        give_edits(reading, call, call_id, name)


_BLOCKS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "thinking": _read_thinking,
    "tool_use": _read_call,
    "server_tool_use": _read_call,
    "tool_result": _read_result,
    "tool_search_tool_result": _read_server_result,
    "code_execution_tool_result": _read_server_result,
}
