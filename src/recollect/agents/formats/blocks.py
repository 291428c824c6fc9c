"""Parses content blocks as a description names them, in addition to those of the AI SDK."""

import re
from typing import Any

from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.calls import decoded_arguments, give_call, give_result
from recollect.agents.kit.content import (
    Speaker,
    base64_part,
    content_parts,
    content_text,
    data_url_part,
    read_content,
    without_opaque,
)
from recollect.agents.kit.language import BlockType, Format, ResultPieces, When, holds, names, paths
from recollect.agents.kit.values import Json, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Parses items of the OpenAI Agents SDK for JavaScript: messages, reasoning, calls and results.

_TEXTS = ("text", "input_text", "output_text", "refusal")
_IMAGES = frozenset(("input_image", "image"))
_STATUSES = frozenset(("in_progress", "completed", "incomplete"))
_ALL = frozenset(("id", "type", "providerData", "status"))
_FIELDS: dict[str, frozenset[str]] = {
    "message": _ALL | {"role", "content"},
    "reasoning": _ALL | {"content", "rawContent"},
    "function_call": _ALL | {"name", "callId", "arguments", "namespace"},
    "function_call_result": _ALL | {"name", "callId", "output"},
}


def read_item(reading: Reading[Any], model: str, extras: frozenset[str]) -> None:
    """Emit what one item says. extras: fields that the agent adds."""
    item = reading.value
    kind = text(item.get("type"))
    if kind not in _FIELDS:
        reading.unknown(kind or "record")
        return
    if kind == "message":
        said, parts = _content(reading, reading.value.get("content"))
        role = reading.text(reading.value, "role")
        if role == "user":
            reading.add(kinds.UserMessage(said, parts=parts))
        elif role == "assistant":
            reading.say(kinds.AssistantMessage(said, model, parts=parts))
        elif role in ("system", "developer"):
            reading.add(kinds.Instructions(said, role))
        else:
            reading.unknown(role or "message")
    elif kind == "reasoning":
        pieces = items(item.get("rawContent")) or items(item.get("content"))
        thought = "\n".join(t for t in (text(mapping(p).get("text")) for p in pieces) if t)
        reading.say(kinds.Thinking(thought))
    elif kind == "function_call":
        name, call_id = reading.text(item, "name"), reading.text(item, "callId")
        call = kinds.ToolCall(call_id, name, canonical_tool(name), decoded_arguments(item.get("arguments")))
        give_call(reading, call, reading.native_id)
    else:
        # Emit a result. Whether it is one is all that its status says.
        output = item.get("output")
        if isinstance(output, dict) and isinstance(output.get("text"), str):
            output = output["text"]
        is_content = isinstance(output, str | list)
        said, parts = _content(reading, output if is_content else [output] if output else [])
        ok = False if item.get("status") == "incomplete" else None
        result = kinds.ToolResult(reading.text(item, "callId"), reading.text(item, "name"), ok, text=said, parts=parts)
        give_result(reading, result, reading.native_id)
    reading.odd_value(f"{kind}.status", item.get("status"), _STATUSES)
    reading.extra(item, _FIELDS[kind] | extras, kind)


def _content(reading: Reading[Any], content: Json) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return a message's text and images; text may also be under the name of its type."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in items(content):
        given = mapping(block)
        if text(given.get("type")) in _IMAGES:
            parts.append(
                reading.readable(
                    data_url_part("image", text(given.get("image", given.get("imageUrl")))), "content.image"
                )
            )
            continue
        found = next((given[k] for k in _TEXTS if isinstance(given.get(k), str)), None)
        texts.append(found if found is not None else flatten(block))
    return "\n".join(t for t in texts if t), tuple(parts)


def is_any(value: Json, conditions: tuple[When, ...]) -> bool:
    """Say whether one of some conditions holds."""
    return any(holds(value, when) for when in conditions)


def read_aisdk(reading: Reading[Any], content: Json, speaker: Speaker, form: Format) -> None:
    """Emit the content of a message of the AI SDK, and apart from it what the harness put into it."""
    name, role = speaker.name, speaker.role
    own = speaker._replace(fields=names(form.extras))
    blocks = [_renamed(block, form) for block in content] if isinstance(content, list) else content
    if role == "assistant":
        _read_answer(reading, blocks, own, form)
    elif not isinstance(blocks, list):
        read_content(reading, blocks, own)
    elif role == "user":
        read_content(reading, [block for block in blocks if not _is_added(block, form)], own)
        for number, block in enumerate((block for block in blocks if _is_added(block, form)), 1):
            _read_added(reading, block, f"{name}/added/{number}" if name else None, form)
    else:
        others: list[Any] = []
        for number, block in enumerate(blocks, 1):
            is_pieces = form.pieces and mapping(block).get("type") == "tool-result" and "output" not in block
            if is_pieces and form.pieces:
                _read_pieces(reading, block, f"{name}/{number}" if name else None, form.pieces)
            else:
                others.append(block)
        read_content(reading, others, speaker)


def _read_answer(reading: Reading[Any], content: Json, speaker: Speaker, form: Format) -> None:
    """Emit an answer without the notes in it, then the notes."""
    found: list[str] = []

    def cut(said: Json) -> Json:
        if not isinstance(said, str) or not form.summary:
            return said
        found.extend(note.strip() for note in re.findall(form.summary, said))
        return re.sub(form.summary, "", said)

    if isinstance(content, list):
        is_text = [isinstance(b, dict) and b.get("type") == "text" and "text" in b for b in content]
        content = [{**b, "text": cut(b["text"])} if said else b for b, said in zip(content, is_text, strict=True)]
    read_content(reading, cut(content), speaker)
    if any(found):
        where = f"{speaker.name}/summary" if speaker.name else None
        reading.add(kinds.Lifecycle("message_summary", text="\n".join(found)), native_id=where)


def _renamed(block: Json, form: Format) -> Json:
    """Return a block under the names of the AI SDK."""
    if not isinstance(block, dict) or text(block.get("type")) not in form.renamed:
        return block
    given = form.renamed[block["type"]]
    return {"type": given["type"], **{given.get(k, k): v for k, v in block.items() if k != "type"}}


def _is_added(block: Json, form: Format) -> bool:
    return text(mapping(block).get("type")) in form.instructions or is_any(block, form.injected)


def _read_added(reading: Reading[Any], block: dict[str, Any], where: str | None, form: Format) -> None:
    kind = text(block.get("type"))
    if kind not in form.instructions:
        reading.add(kinds.UserMessage(text(block.get("text")), "injected"), native_id=where)
        return
    name = text(block.get("name"))
    reading.add(kinds.Instructions(f"{name}\n{flatten(block.get('content'))}", f"{kind}:{name}"), native_id=where)
    reading.extra(block, names(form.instructions[kind]), kind, native_id=where)


def _read_pieces(reading: Reading[Any], result: dict[str, Any], where: str | None, form: ResultPieces) -> None:
    """Emit what a tool gave back, without what the harness added for the model, and whose session a child's is."""
    given = [mapping(piece) for piece in items(result.get("content"))]
    shown = [piece for piece in given if not is_any(piece, form.injected)]
    call_id = reading.text(result, "toolCallId")
    codes = [code for piece in given if (code := whole(piece.get(form.exit_code))) is not None]
    beside = [without_opaque(p) for p in given if p.get("type") not in ("text", None) and not p.get("text")]
    is_failed = result.get("isError") is True or any(codes)
    give_result(
        reading,
        kinds.ToolResult(
            call_id,
            text(result.get("toolName")),
            False if is_failed else True if "isError" in result or codes else None,
            codes[-1] if codes else None,
            "\n".join(filter(None, (text(p.get("text")) for p in shown))) or text(result.get("content")),
            beside or None,
        ),
        where,
    )
    _give_added(reading, [p for p in given if is_any(p, form.injected)], where)
    for piece in given:
        found = re.search(form.child, text(piece.get("text")))
        if found:
            reading.add(kinds.Lifecycle("subagent", detail={"session": found[1]}, call_id=call_id))
            reading.start(parent_session=reading.state.session, native_id="parent", session=found[1])
    reading.extra(result, names(form.fields), "tool-result", native_id=where)


def _give_added(reading: Reading[Any], pieces: list[dict[str, Any]], where: str | None) -> None:
    added = "\n".join(text(piece.get("text")) for piece in pieces)
    reading.say(kinds.UserMessage(added, "injected"), native_id=f"{where}/added" if where else None)


class OwnBlocks:
    """The content of one message, whose blocks the description names. hint: no person wrote it."""

    def __init__(self, reading: Reading[Any], form: Format, name: str, *, is_hint: bool) -> None:
        self._reading = reading
        self._form = form
        self._name = name
        self._is_hint = is_hint

    def read(self, message: dict[str, Any], path: str, role: str) -> None:
        """Emit the texts and media as one message, the other blocks one by one."""
        content = message.get(path)
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else self._reading.items(message, path)
        is_said = False
        for number, block in enumerate(blocks, 1):
            if self._is_said(block) and not is_said:
                is_said = True
                self._say(blocks, role, text(message.get("name")) or "system")
            self._read(block, f"{self._name}/{number}")

    def _type(self, block: Json) -> BlockType | None:
        return self._form.blocks.get(text(mapping(block).get("type")))

    def _is_said(self, block: Json) -> bool:
        known = self._type(block)
        return known is not None and known.kind in ("text", "media") and not is_any(block, self._form.injected)

    def _say(self, blocks: list[Any], role: str, source: str) -> None:
        reading = self._reading
        texts: list[str] = []
        parts: list[kinds.Part] = []
        for block in filter(self._is_said, blocks):
            known = self._type(block)
            if known is not None and known.kind == "text":
                said = reading.text(block, known.text)
                texts.append(said.strip() if self._form.trims else said)
            else:
                parts.append(self._part(block))
        said = "\n".join(filter(None, texts))
        if not said and not parts:
            return
        if role == "user":
            reading.add(
                kinds.UserMessage(said, "injected" if self._is_hint else "human", tuple(parts)), native_id=self._name
            )
        elif role == "assistant":
            reading.add(kinds.AssistantMessage(said, message_id=self._name, parts=tuple(parts)), native_id=self._name)
        else:
            reading.add(kinds.Instructions(said, source), native_id=self._name)

    def _part(self, block: dict[str, Any]) -> kinds.Part:
        kind = text(block.get("type"))
        source = self._reading.mapping(block, "source")
        media_type, path = text(source.get("media_type")), text(block.get("filename"))
        if source.get("type") != "base64":
            return kinds.Part(type=kind, media_type=media_type, path=path, url=text(source.get("url")))
        return self._reading.readable(base64_part(kind, media_type, source.get("data"), path=path), f"{kind}.source")

    def _read(self, block: Json, where: str) -> None:
        reading, known = self._reading, self._type(block)
        kind = text(mapping(block).get("type"))
        if known is None or not isinstance(block, dict):
            reading.unknown(kind or "block", block, native_id=where)
            return
        given = reading.mapping(block, known.inside) if known.inside else block
        if known.kind == "text" and is_any(block, self._form.injected):
            reading.add(kinds.UserMessage(text(block.get(known.text)), "injected"), native_id=where)
        elif known.kind == "thinking":
            thought = reading.text(given, known.text)
            reading.say(kinds.Thinking(thought), native_id=where)
        elif known.kind == "call":
            found = [given.get(path) for path in paths(known.arguments)]
            arguments = next((one for one in found if one not in (None, {})), found[0])
            name, call_id = self._reading.text(given, known.name), self._reading.text(given, known.id)
            asked = decoded_arguments(arguments) if known.decoded else arguments
            give_call(self._reading, kinds.ToolCall(call_id, name, canonical_tool(name), asked), where)
        elif known.kind == "result":
            self._result(given, known, where)
        if known.inside:
            reading.extra(given, names(known.inner), kind, native_id=where)
        reading.extra(block, names(known.fields), kind, native_id=where)

    def _result(self, given: dict[str, Any], known: BlockType, where: str) -> None:
        """Emit a result, without what the harness added to it."""
        reading, content = self._reading, given.get(known.output)
        pieces = items(content)
        added = [mapping(piece) for piece in pieces if is_any(piece, self._form.injected)]
        shown = [p for p in pieces if not is_any(p, self._form.injected)] if isinstance(content, list) else content
        said = content_text(shown)
        ok: bool | None = None
        if known.ok:
            word = reading.text(given, known.ok)
            reading.odd_value(f"{known.inside or 'tool_result'}.{known.ok}", word, frozenset(known.words))
            ok = known.words.get(word)
        code = re.match(known.exit_code, said) if known.exit_code else None
        if code or (known.failed and re.match(known.failed, said)):
            ok = False
        result = kinds.ToolResult(
            reading.text(given, known.id),
            reading.text(given, known.name),
            ok,
            int(code[1]) if code else None,
            said,
            parts=self._parts(content),
        )
        give_result(reading, result, where)
        _give_added(reading, added, where)

    def _parts(self, content: Json) -> tuple[kinds.Part, ...]:
        if any(block.kind == "media" for block in self._form.blocks.values()):
            media = [p for p in items(content) if (known := self._type(p)) is not None and known.kind == "media"]
            return tuple(map(self._part, media))
        return self._reading.readable(content_parts(content), "tool_result.content")
