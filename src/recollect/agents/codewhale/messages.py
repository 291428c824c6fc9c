"""Parses a message and its content blocks, from `messages` or from the journal.

Blocks are those of the Anthropic API with results as plain text. Evidence: reference: recall and MCP, 5.3.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import BaseState
from recollect.agents.kit.calls import Waiting, arrived, edits_asked, expect
from recollect.agents.kit.content import content_parts, content_text, data_url_part, without_opaque
from recollect.agents.kit.names import Marks, content_sha256, count_name, short, spaceless, times_counted
from recollect.agents.kit.values import Json, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What the parser of CodeWhale remembers between the records of one document, and how it names things.
#
# Nothing in a document has an id that lasts: journal ids and times are made again with every save. A thing is named by
# what it says; the second equal one is `/2`. A few words ("yes", "continue") are named with the message before them
# too, because after a compaction the same words are a new message, while what was kept must not be renamed. Evidence:
# reference: recall and MCP, 5.4 and 5.5.

MAX_ENTRIES = 512
MAX_ABANDONED = 16
MAX_LABEL_CHARS = 100
_FEW_CHARS = 64


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An entry of the journal: its id as a hash, the message it stands for, the names of that message's first and last
    event."""

    mark: int
    chain: str = ""
    name: str = ""
    last: str = ""


class Abandoned(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A branch that was left: the entry it hangs on, the first and the last event of its newest message."""

    parent: int
    name: str
    last: str = ""


class WhaleState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """Carried from record to record of one document.

    lineage: the session that names are made for, the parent's of a fork. created, updated, count, shared: what the
    metadata say of time, messages, and messages copied from the parent. index: messages read. before: hash of the
    message before. seen, seen_again: names counted in the messages, and in the journal. is_compacted: the messages
    begin with a summary. is_past_summary: so does what was read of the journal. first: name of a record's first event.
    ends: names of the first and the last event of each message. history: the event behind which the next one belongs
    that stood before the summary; "" for the beginning.
    """

    lineage: str = ""
    model: str = ""
    created: int | None = None
    updated: int | None = None
    count: int = 0
    shared: int = 0
    index: int = 0
    before: str = ""
    seen: Marks = ()
    seen_again: Marks = ()
    is_again: bool = False
    is_compacted: bool = False
    is_past_summary: bool = False
    first: str = ""
    has_new: bool = False
    ends: tuple[tuple[str, str], ...] = ()
    history: str = ""
    waiting: tuple[Waiting, ...] = ()
    entries: tuple[Entry, ...] = ()
    abandoned: tuple[Abandoned, ...] = ()


Reading = kit.Reading[WhaleState]


def name_thing(reading: Reading, kind: str, *content: Json, said: str = "", label: str = "") -> str | None:
    """Return the name of a thing; None in the journal for one that the messages hold already.

    said: its text, if it is a message. label: stands in the name in place of the hash, readable (a call's id).
    """
    lineage = reading.now("lineage") or reading.state.session
    context = reading.now("before") if 0 < len(said) <= _FEW_CHARS else ""
    base = content_sha256(lineage, kind, said, content, context)
    if reading.now("is_again"):
        counted, seen = count_name(reading.now("seen_again"), base)
        reading.set(seen_again=seen)
        is_known = times_counted(seen, base) <= times_counted(reading.now("seen"), base)
    else:
        counted, seen = count_name(reading.now("seen"), base)
        reading.set(seen=seen)
        is_known = False
    readable = short(label, MAX_LABEL_CHARS)
    name = f"{kind}:{readable}@{counted}" if readable else f"{kind}:{counted}"
    if not reading.now("first"):
        reading.set(first=name)
    if is_known:
        return None
    reading.set(has_new=True)
    return name


# Tools of CodeWhale: their canonical names, and the edits that a call asks for.
#
# An edit stands only in the call's arguments and is given when the result says that it was applied. `apply_patch` has
# one text for several files, unified or in the form "*** Update File".

_FILE = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: (.+)|\+\+\+ (?:b/)?(\S.*)|--- a/(\S.*))$", re.MULTILINE)
_MAX_FILES = 24
_PATCH_KEYS = ("patch", "diff", "input")


def canonical_of(name: str) -> str:
    """Return the canonical name of a tool; tools of other servers are called `mcp_<server>_<tool>`."""
    return "mcp" if name.startswith("mcp_") else canonical_tool(name)


def edits_of(name: str, arguments: object) -> tuple[kinds.FileEdit, ...]:
    """Return the edits that a call asks for. Of a patch, each has the part of the patch for its file."""
    if name != "apply_patch":
        return edits_asked(name, arguments)
    patch = arguments if isinstance(arguments, str) else ""
    for key in _PATCH_KEYS:
        patch = patch or text(mapping(arguments).get(key))
    starts: list[tuple[int, str]] = []
    for found in _FILE.finditer(patch):
        path = next(group for group in found.groups() if group is not None).strip()
        if starts and starts[-1][1] == path:  # `--- a/x` and `+++ b/x`
            continue
        starts.append((found.start(), path))
    if not starts:
        path = text(mapping(arguments).get("path"))
        return (kinds.FileEdit(path, diff=patch),) if patch else ()
    ends = [*(at for at, _ in starts[1:]), len(patch)]
    pieces = zip(starts, ends, strict=True)
    return tuple(kinds.FileEdit(path, diff=patch[at:end].rstrip("\n")) for (at, path), end in pieces)[:_MAX_FILES]


def give_edits(reading: Reading, call: Waiting, call_id: str, result: str) -> None:
    """Emit the edits of a call that was applied; `result` is the name of the result's event."""
    for number, edit in enumerate(call.edits, 1):
        given = msgspec.structs.replace(edit, call_id=call_id)
        name = f"{result.replace('result:', 'edit:', 1)}:{number}"
        reading.add(given, native_id=name)


ROLES = frozenset(("user", "assistant", "system", "tool", "developer", "assistant_interrupted"))
SUMMARY_MARK = "[compaction summary]"
BRANCH_MARK = "[branch summary]"
_META_START, _META_END = "<turn_meta>", "</turn_meta>"
_VOLATILE = frozenset(("cache_control", "signature", "thought_signature", "state", "caller"))
"""Fields of blocks that a later save may add or change without the message being another."""
_KNOWN = known_fields("codewhale")
_BLOCK_FIELDS = known_by_type("codewhale", "block")


def chain_of(message: dict[str, Any]) -> str:
    """Return the hash of what a message says, by which the next one knows its place."""
    blocks = message.get("content")
    if not isinstance(blocks, list):
        return content_sha256(message.get("role"), [{"type": "text", "text": blocks}])
    kept = [{k: v for k, v in b.items() if k not in _VOLATILE} if isinstance(b, dict) else b for b in blocks]
    return content_sha256(message.get("role"), kept)


def read_message(reading: Reading, message: dict[str, Any]) -> None:
    """Emit the events of one message, and remember it for the one after."""
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
    reading.extra(message, _KNOWN["message"], "message", native_id=name)


def _read_framing(reading: Reading, said: str, role: str) -> None:
    """Emit a summary that stands for what was cut off, or instructions."""
    if said.startswith(SUMMARY_MARK):
        reading.set(before="", is_past_summary=reading.now("is_again"), is_compacted=True)
        give_compaction(reading, said.removeprefix(SUMMARY_MARK).strip())
    elif said.startswith(BRANCH_MARK):
        give_branch(reading, said.removeprefix(BRANCH_MARK).strip(), None)
    elif said:
        name = name_thing(reading, "instructions", spaceless(said))
        if name is not None:
            reading.add(kinds.Instructions(said, role), native_id=name)


def give_compaction(reading: Reading, summary: str, detail: dict[str, Any] | None = None) -> None:
    """Emit a compaction by its summary. The journal's counts come with it, or after it as an event of their own."""
    name = name_thing(reading, "compaction", spaceless(summary))
    counts = detail or {}
    before, after = whole(counts.get("tokens_before")), whole(counts.get("tokens_after"))
    if name is not None:
        reading.add(kinds.Compaction(summary=summary, tokens_before=before, tokens_after=after), native_id=name)
    elif counts:
        detail_name = f"{reading.now('first')}/counts"
        reading.add(kinds.Lifecycle("compaction_counts", detail=counts), native_id=detail_name)


def give_branch(reading: Reading, summary: str, detail: dict[str, Any] | None) -> None:
    """Emit the summary of a branch that was left."""
    name = name_thing(reading, "branch", spaceless(summary))
    if name is not None:
        reading.add(kinds.Lifecycle("branch_summary", summary, detail), native_id=name)
    elif detail:
        reading.add(kinds.Lifecycle("branch_summary", detail=detail), native_id=f"{reading.now('first')}/detail")


def _read_blocks(reading: Reading, blocks: list[Any], role: str) -> None:
    texts: list[str] = []
    parts: list[kinds.Part] = []
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
                reading.add(kinds.AssistantMessage("", reading.now("model"), parts=tuple(parts)), native_id=name)
        if role == "assistant_interrupted":
            name = name_thing(reading, "interrupted", content_sha256(blocks))
            if name is not None:
                reading.add(kinds.Lifecycle("interrupted"), native_id=name)
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


def _give_prompt(reading: Reading, said: str, parts: tuple[kinds.Part, ...], role: str) -> None:
    """Emit what the person wrote; the turn's facts that the agent put around it are taken off."""
    human, asides = _without_meta(said)
    for aside in asides:
        name = name_thing(reading, "aside", spaceless(aside))
        if name is not None:
            reading.add(kinds.UserMessage(aside, "injected"), native_id=name)
    if not human.strip() and not parts:
        return
    name = name_thing(reading, "prompt", role, [p.sha256 or p.url for p in parts], said=human)
    if name is not None:
        reading.add(kinds.UserMessage(human, "human" if role == "user" else "injected", parts), native_id=name)


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
        reading.add(kinds.AssistantMessage(said, reading.now("model"), reason), native_id=name)


def _image(reading: Reading, block: dict[str, Any]) -> kinds.Part:
    image = block.get("image_url")
    url = image if isinstance(image, str) else text(mapping(image).get("url"))
    return reading.readable(data_url_part("image", url), "image_url")


def _read_thinking(reading: Reading, block: dict[str, Any]) -> None:
    said = reading.text(block, "thinking")
    is_encrypted = not said and bool(block.get("signature") or block.get("state"))
    if said or is_encrypted:
        name = name_thing(reading, "thinking", content_sha256(block) if is_encrypted else "", said=said)
        if name is not None:
            reading.add(kinds.Thinking(said, is_encrypted=is_encrypted), native_id=name)


def _read_call(reading: Reading, block: dict[str, Any]) -> None:
    call_id, tool = reading.text(block, "id"), reading.text(block, "name")
    arguments = block.get("input")
    name = name_thing(reading, "call", call_id, label=call_id)
    if name is None:
        return
    reading.add(kinds.ToolCall(call_id, tool, canonical_of(tool), arguments), native_id=name)
    expect(reading, short(call_id, MAX_LABEL_CHARS), tool, edits_of(tool, arguments))


def _read_result(reading: Reading, block: dict[str, Any]) -> None:
    """Emit a result. It succeeded unless it says otherwise."""
    content = block.get("content")
    said = content if isinstance(content, str) else content_text(content)
    extra = reading.items(block, "content_blocks")
    parts = reading.readable(content_parts(extra if extra else content), "content_blocks")
    more = content_text(extra) if extra else ""
    is_error = block.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    structured = {"content_blocks": more} if more and said and more not in said else None
    _give_result(
        reading, block, kinds.ToolResult(ok=is_error is not True, text=said or more, structured=structured, parts=parts)
    )


def _read_server_result(reading: Reading, block: dict[str, Any]) -> None:
    """Emit the result of a tool that ran at the provider: any JSON, with streams and an exit code of code that ran."""
    content = block.get("content")
    value = mapping(content)
    exit_code = whole(value.get("return_code", value.get("exit_code")))
    is_error = text(value.get("type")).endswith("_error") or value.get("is_error") is True or bool(exit_code)
    streams = [text(value.get(k)) for k in ("stdout", "stderr")]
    said = "\n".join(s for s in streams if s) or content_text(content)
    _give_result(reading, block, kinds.ToolResult(ok=not is_error, exit_code=exit_code, text=said))


def _give_result(reading: Reading, block: dict[str, Any], result: kinds.ToolResult) -> None:
    """Emit a result under its call's name, and the edits that it says were applied."""
    call_id = reading.text(block, "tool_use_id")
    name = name_thing(reading, "result", call_id, label=call_id)
    if name is None:
        return
    call = arrived(reading, short(call_id, MAX_LABEL_CHARS))
    reading.add(msgspec.structs.replace(result, call_id=call_id, name=call.name), native_id=name)
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
