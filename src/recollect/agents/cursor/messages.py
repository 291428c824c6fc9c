"""Messages of the transcripts and of the command line's store: a role, and content as text or blocks.

Neither has ids of messages, so events are named by what they say: the transcript's copy of a message then has the name
that the store gave it. Transcripts write blocks as Anthropic's API does, the store as the AI SDK.
Evidence: format notes: Cursor, stores B and C.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.cursor.decode import digest, take_images
from recollect.agents.cursor.prompts import give_prompt
from recollect.agents.cursor.state import MAX_HUMANS, Human, Step, called, named, remember_call, take_edits
from recollect.agents.cursor.tools import body_of, call_key, canonical, edits_of, give_edits
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.content.anthropic import base64_part, content_parts, content_text, media_part
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
)
from recollect.model.text import flatten

_REDACTED = "[REDACTED]"
_CALLS = frozenset(("tool_use", "tool-call", "tool_call", "mcp_tool_use"))
_RESULTS = frozenset(("tool_result", "tool-result", "command_output"))
_THOUGHTS = frozenset(("thinking", "reasoning"))
_WITHHELD = frozenset(("redacted", "redacted_thinking", "redacted-reasoning"))
_MEDIA = frozenset(("image", "document", "file"))
_BLOCK_FIELDS = frozenset(
    (
        "type", "text", "thinking", "signature", "data", "id", "name", "input", "toolCallId", "toolName", "args",
        "tool_use_id", "content", "is_error", "isError", "result", "experimental_content", "providerOptions",
        "source", "image", "mimeType", "mediaType", "filename", "url", "output", "cache_control",
        "providerMetadata", "experimental_providerMetadata",
    )
)  # fmt: skip
_OUTCOME = frozenset(("success", "isError"))
_EXITS = ("exitCode", "exit_code")
_DURATIONS = ("executionTime", "localExecutionTimeMs", "durationMs")
_TOLD = frozenset(
    (
        *_EXITS,
        *_DURATIONS,
        "command",
        "beforeFullFileContent",
        "afterFullFileContent",
        "diffString",
        "conversationSteps",
    )
)
"""What a result's other fields, its call or its edits tell."""


def read_message(step: Step, role: str, content: Json, message: dict[str, Any], *, model: str = "") -> None:
    """Give the events of a message. `message` holds what stands beside the content."""
    blocks: list[Json] = content if isinstance(content, list) else [content]
    if content is None:
        return
    if not isinstance(content, str | list):
        step.wrong("content")
    if role == "system":
        said = content_text(content)
        step.add(Instructions(said, "system"), native_id=named(step, "system", said))
        return
    if role == "user":
        _read_user(step, blocks, message)
    for block in blocks:
        if isinstance(block, str):
            if role == "assistant":
                _give_said(step, block, model)
            elif role != "user":
                step.kept(role, block, native_id=named(step, "kept", block))
        elif not isinstance(block, dict):
            step.wrong("content")
            step.kept("content", block, native_id=named(step, "kept", block))
        else:
            _read_block(step, role, block, message, model=model)


def _read_user(step: Step, blocks: list[Json], message: dict[str, Any]) -> None:
    """Give the person's message: all texts of it, and its images."""
    texts: list[str] = []
    parts: list[Part] = []
    for block in blocks:
        kind = text(block.get("type")) if isinstance(block, dict) else ""
        if isinstance(block, str):
            texts.append(block)
        elif kind == "text":
            texts.append(text(block.get("text")))
        elif kind in _MEDIA:
            parts.append(_media(step, block))
    said = "\n".join(filter(None, texts))
    if not said and not parts:
        return
    if _options(message).get("isSummary") is True:
        step.add(Compaction(summary=said), native_id=named(step, "compaction", said))
        step.set(is_summed_up=True)
        return
    name = give_prompt(step, said, tuple(parts))
    if name:
        humans: tuple[Human, ...] = step.now("humans")
        step.set(humans=(*humans, Human(step.native_id or name, name, before=step.state.newest))[-MAX_HUMANS:])


def _media(step: Step, block: dict[str, Any]) -> Part:
    if "source" in block:
        return media_part(block)[0]
    kind = text(block.get("type"))
    media_type = text(block.get("mimeType")) or text(block.get("mediaType"))
    data = block.get("image", block.get("data"))
    url = text(data) if text(data).startswith(("http:", "https:")) else text(block.get("url"))
    path = text(block.get("filename"))
    if url or data is None:
        return Part(kind, media_type=media_type, path=path, url=url)
    written = text(data).partition(";base64,")[2] or data
    part, is_readable = base64_part(kind, media_type, written, path=path)
    if not is_readable:
        step.wrong("content.data", "bad_base64")
    return part


def _read_block(step: Step, role: str, block: dict[str, Any], message: dict[str, Any], *, model: str) -> None:
    kind = block.get("type")
    kind = kind if isinstance(kind, str) else ""
    before = len(step.events)
    if kind == "text":
        if role == "assistant":
            _give_said(step, step.text(block, "text"), model or _model(block))
        elif role != "user":
            said = step.text(block, "text")
            step.kept(role, said, native_id=named(step, "kept", said))
    elif kind in _THOUGHTS:
        _give_thought(step, text(block.get("thinking")) or text(block.get("text")), block)
    elif kind in _WITHHELD:
        step.add(Thinking(is_encrypted=True), "assistant", native_id=named(step, "withheld", ""))
    elif kind in _CALLS:
        _read_call(step, block)
    elif kind in _RESULTS:
        _read_result(step, block, message)
    elif kind in _MEDIA:
        if role != "user":
            step.add(AssistantMessage(parts=(_media(step, block),)), "assistant", native_id=named(step, "say", block))
    else:
        clean = take_images(block, [])
        step.unknown(kind or "block", clean, native_id=named(step, "block", block))
    name = step.events[before].native_id if len(step.events) > before else f"block:{digest(block)}"
    if kind in _CALLS or kind in _RESULTS or kind == "text" or kind in _THOUGHTS:
        step.extra(block, _BLOCK_FIELDS, kind, native_id=name)


def _give_said(step: Step, said: str, model: str) -> None:
    """Give the words of the assistant. A transcript marks a thought that it leaves out with `[REDACTED]`."""
    rest = said.rstrip()
    is_withheld = rest.endswith(_REDACTED)
    if is_withheld:
        said = rest.removesuffix(_REDACTED).rstrip()
    if said.strip():
        step.add(AssistantMessage(said, model=model), "assistant", native_id=named(step, "say", said))
    if is_withheld:
        step.add(Thinking(is_encrypted=True), "assistant", native_id=named(step, "withheld", ""))


def _give_thought(step: Step, thought: str, block: dict[str, Any]) -> None:
    if thought:
        step.add(Thinking(thought), "assistant", native_id=named(step, "think", thought))
    elif block.get("signature"):
        step.add(Thinking(is_encrypted=True), "assistant", native_id=named(step, "withheld", ""))


def _options(source: dict[str, Any]) -> dict[str, Any]:
    return mapping(mapping(source.get("providerOptions")).get("cursor"))


def _model(block: dict[str, Any]) -> str:
    return text(_options(block).get("modelName"))


def model_of(message: dict[str, Any], content: Json) -> str:
    """Return the model of a message of the command line's store, which its thoughts or the message name."""
    found = text(_options(message).get("modelName"))
    blocks = content if isinstance(content, list) else []
    return found or next((m for m in (_model(mapping(b)) for b in blocks) if m), "")


def _read_call(step: Step, block: dict[str, Any]) -> None:
    tool = text(block.get("toolName")) or text(block.get("name"))
    arguments = take_images(block.get("args", block.get("input")), [])
    call_id = text(block.get("toolCallId")) or text(block.get("id"))
    give_call(step, tool, arguments, call_id)


def give_call(step: Step, tool: str, arguments: Json, call_id: str) -> str:
    """Give a call, remember it, and return its id; one without an id is called after what it asks for."""
    key = call_key(call_id)
    name = f"call:{key}" if key else named(step, "use", [tool, arguments])
    key = key or name
    call_id = call_id or name
    step.add(ToolCall(call_id, tool, canonical(tool), arguments), "assistant", native_id=name)
    remember_call(step, key, tool, edits_of(key, tool, arguments))
    return call_id


def _read_result(step: Step, block: dict[str, Any], message: dict[str, Any]) -> None:
    call_id = text(block.get("toolCallId")) or text(block.get("tool_use_id")) or text(block.get("id"))
    written = next((block[n] for n in ("result", "content", "output", "text") if block.get(n) is not None), None)
    body = body_of(written)
    if not body.text and block.get("experimental_content") is not None:
        body = body_of(block["experimental_content"])
    high = mapping((_options(block) or _options(message)).get("highLevelToolCallResult"))
    output = mapping(high.get("output"))
    success = mapping(output.get("success"))
    exit_code = body.exit_code
    stated = next((whole(success[n]) for n in _EXITS if success.get(n) is not None), None)
    exit_code = exit_code if exit_code is not None else stated
    flags = (block.get("is_error"), block.get("isError"), high.get("isError"), output.get("isError"))
    ok: bool | None = None
    if any(f is True for f in flags) or exit_code or high.get("rawErrorMessages"):
        ok = False
    elif any(f is False for f in flags) or exit_code == 0 or success:
        ok = True
    parts = [*body.parts]
    clean = mapping(take_images(success or {k: v for k, v in output.items() if k not in _OUTCOME}, parts))
    rest = {k: v for k, v in clean.items() if k not in _TOLD and not (isinstance(v, str) and v in body.text)}
    images, _ = content_parts(block.get("experimental_content"))
    known = {p.sha256 for p in parts}
    parts += [p for p in images if p.sha256 not in known]
    structured = {**mapping(body.structured), **rest} or body.structured
    said = body.text or flatten(high.get("rawErrorMessages"))
    duration = next((whole(success[n]) for n in _DURATIONS if n in success), None)
    give_result(
        step,
        ToolResult(
            call_id,
            text(block.get("toolName")) or text(block.get("name")),
            ok,
            exit_code,
            said,
            structured or None,
            duration,
            tuple(parts),
        ),
        success,
    )
    agent = text(success.get("agentId"))
    if agent:
        step.add(Lifecycle("subagent", text=agent, call_id=call_id), native_id=f"subagent:{digest(agent)}")


def give_result(step: Step, result: ToolResult, facts: dict[str, Any]) -> None:
    """Give a result and, where it went well, the changes that its call asked for."""
    key = call_key(result.call_id)
    name = f"result:{key}" if key else named(step, "result", result.text)
    tool = result.name or called(step, key)
    step.add(
        ToolResult(
            result.call_id, tool, result.ok, result.exit_code, result.text, result.structured, result.duration_ms,
            result.parts,
        ),
        "tool",
        native_id=name,
    )  # fmt: skip
    edits = take_edits(step, key) if key else ()
    if result.ok is not False:
        give_edits(step, edits, result=facts, call_id=result.call_id)
