"""Parses the two conversation records: the model's messages with its tool calls, and the user's with results."""

import re
from typing import Any, NamedTuple

from recollect.agents.claude.results import read_tool_results
from recollect.agents.claude.state import MAX_NAME, SYNTHETIC, Reading, Turn, mark, read_usage
from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import note_fields, note_type, note_value
from recollect.agents.kit.content import (
    CALL_TYPES,
    MEDIA_TYPES,
    block_text,
    content_parts,
    content_text,
    media_part,
    without_opaque,
)
from recollect.agents.kit.values import items, mapping, text, word_set
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Text in the user's role: who wrote it, and what of it.
#
# Claude Code writes its own reminders, command envelopes, notices and the editor's context as user text, sometimes
# around a real prompt in the same record. Evidence: format notes: Claude Code, "system-injected user records".

_PREFIX = re.compile(r"\s*<(system-reminder|ide_[a-z_]+|new-diagnostics|local-command-caveat)>.*?</\1>\s*", re.DOTALL)
_SUFFIXES = ("system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics")
_SUFFIX_ENDS = tuple(f"</{tag}>" for tag in _SUFFIXES)
_INJECTED_TAGS = (
    "<system-reminder>", "<local-command-", "<task-notification>", "<bash-stdout>", "<bash-stderr>", "<ide_",
    "<teammate-message", "<user-prompt-submit-hook>", "<post-tool-use-hook>", "<session-start-hook>",
)  # fmt: skip
_INJECTED_STARTS = ("Stop hook feedback:", "Caveat:")
_COMMAND_TAGS = ("<command-name>", "<command-message>", "<command-args>")
_TYPED_TAGS = {"<bash-input>": "!", "<user-memory-input>": "#"}
"""What the person typed after a prefix character, by the envelope it is written in."""
_INTERRUPTED = "[Request interrupted"
_SOURCES = frozenset(("typed", "queued", "system", "sdk"))
_AUTHORS = frozenset(("human", "task-notification"))
_KNOWN = known_fields("claude")


class Pieces(NamedTuple):
    """User text taken apart: the harness's part, and the rest with who wrote it."""

    injected: str
    text: str
    origin: kinds.Origin


def split_prompt(text: str) -> Pieces:
    """Take the anchored blocks of the harness off a text and say who wrote the rest. Blocks in the middle stay."""
    if not text.lstrip().startswith(("<", *_INJECTED_STARTS)) and not text.rstrip().endswith(_SUFFIX_ENDS):
        return Pieces("", text, "human")
    start = 0
    while (block := _PREFIX.match(text, start)) is not None:
        start = block.end()
    end = _before_suffixes(text, start)
    rest = text[start:end].strip() if start or end < len(text) else text
    taken = "\n".join(t for t in (text[:start].strip(), text[end:].strip()) if t)
    head = rest.lstrip()
    if head.startswith(_COMMAND_TAGS):
        command, leftover = command_line(rest)
        return Pieces("\n".join(t for t in (taken, leftover) if t), command, "command")
    for tag, prefix in _TYPED_TAGS.items():
        if head.startswith(tag):
            typed = head[len(tag) :].removesuffix("\n").removesuffix(f"</{tag[1:]}")
            return Pieces(taken, prefix + typed, "command")
    if head.startswith((*_INJECTED_TAGS, *_INJECTED_STARTS)):
        return Pieces(text, "", "injected")
    return Pieces(taken, rest, "human")


def _before_suffixes(text: str, start: int) -> int:
    """Return where the blocks anchored at the end begin, not before `start`."""
    end = len(text)
    while True:
        trimmed = end
        while trimmed > start and text[trimmed - 1].isspace():
            trimmed -= 1
        tag = next((t for t in _SUFFIXES if text.endswith(f"</{t}>", start, trimmed)), None)
        opened = text.rfind(f"<{tag}>", start, trimmed) if tag is not None else -1
        if opened < 0:
            return end
        end = opened


def command_line(text: str) -> tuple[str, str]:
    """Return a command envelope as ("/name arguments", what else the text holds)."""
    name, rest = _cut(text, "command-name")
    message, rest = _cut(rest, "command-message")
    arguments, rest = _cut(rest, "command-args")
    line = f"/{(name or message).removeprefix('/')} {arguments}".strip()
    return line, rest.strip()


def _cut(text: str, tag: str) -> tuple[str, str]:
    """Return what stands in the first `<tag>…</tag>` and the text without it."""
    before, opened, tail = text.partition(f"<{tag}>")
    inner, closed, after = tail.partition(f"</{tag}>")
    return (inner.strip(), before + after) if opened and closed else ("", text)


def read_user_content(reading: Reading, content: Any) -> None:
    """Emit the events of a user record's text and images: what the harness wrote first, then what the person wrote."""
    texts: list[str] = []
    parts: list[kinds.Part] = []
    if isinstance(content, str):
        texts.append(content)
    else:
        blocks = content if isinstance(content, list) else [content]
        for block in blocks:
            _take_block(reading, block, texts, parts)
    record = reading.record
    if record.get("isCompactSummary") is True:
        reading.add(kinds.Compaction(summary="\n".join(texts), continues_at=reading.native_id or ""))
        return
    forced = _forced_origin(reading)
    if forced == "injected":
        reading.add(kinds.UserMessage("\n".join(texts), "injected", tuple(parts)))
        return
    _add_texts(reading, texts, tuple(parts), forced)


def _take_block(reading: Reading, block: Any, texts: list[str], parts: list[kinds.Part]) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in ("image", "document"):
        part, said, is_readable = media_part(block)
        parts.append(part)
        if said:
            texts.append(said)
        if not is_readable:
            reading.wrong("content.source.data", "bad_base64")
    elif kind != "tool_result":
        if kind != "text":
            note_type(reading.drift, f"user/{kind if isinstance(kind, str) else type(block).__name__}")
        if kind != "text" or not isinstance(block.get("text"), str):
            reading.wrong("message.content")
        said = block_text(block)
        if said:
            texts.append(said)


def _forced_origin(reading: Reading) -> kinds.Origin | None:
    """Return the origin that the record's own fields state, if they do."""
    record = reading.record
    if record.get("isMeta") is True or (reading.is_sidechain and reading.state.role != "subagent"):
        return "injected"
    kind = mapping(record.get("origin")).get("kind")
    source = record.get("promptSource")
    note_value(reading.drift, "user.origin.kind", kind, _AUTHORS)
    note_value(reading.drift, "user.promptSource", source, _SOURCES)
    if source == "system" or (isinstance(kind, str) and kind not in ("human", "")):
        return "injected"
    return "queued" if source == "queued" else None


def _add_texts(reading: Reading, texts: list[str], parts: tuple[kinds.Part, ...], origin: kinds.Origin | None) -> None:
    injected: list[str] = []
    said: list[str] = []
    is_command = False
    for whole_text in texts:
        if whole_text.startswith(_INTERRUPTED):
            reading.add(kinds.Lifecycle("interrupted", text=whole_text))
            continue
        pieces = split_prompt(whole_text)
        if pieces.injected:
            injected.append(pieces.injected)
        if pieces.text:
            said.append(pieces.text)
            is_command = is_command or pieces.origin == "command"
    if injected or not (said or parts or reading.events):
        reading.add(kinds.UserMessage("\n".join(injected), "injected"))
    if said or parts:
        text = "\n".join(said)
        reading.add(kinds.UserMessage(text, "command" if is_command else origin or "human", parts))
        if is_command:
            add_rename(reading, text)


def add_rename(reading: Reading, command: str) -> None:
    """Emit a title where a command is `/rename TITLE`."""
    if command.startswith("/rename "):
        reading.add(kinds.Lifecycle("title", title=command.removeprefix("/rename ").strip()))


def read_queued(reading: Reading, attachment: dict[str, Any]) -> None:
    """Emit a prompt typed while the agent worked; only an attachment holds it. Evidence: trap 5."""
    prompt = attachment.get("prompt")
    parts: list[kinds.Part] = []
    texts: list[str] = []
    for block in prompt if isinstance(prompt, list) else ():
        _take_block(reading, block, texts, parts)
    text = "\n".join(texts) if isinstance(prompt, list) else content_text(prompt)
    if prompt is not None and not isinstance(prompt, str | list):
        reading.wrong("attachment.prompt")
    kind = mapping(attachment.get("origin")).get("kind")
    note_value(reading.drift, "queued_command.origin.kind", kind, _AUTHORS)
    note_fields(reading.drift, attachment, _KNOWN["queued"], "queued_command")
    is_notice = attachment.get("commandMode") == "task-notification" or attachment.get("isMeta") is True
    if is_notice or (isinstance(kind, str) and kind not in ("human", "")):
        reading.add(kinds.UserMessage(text, "injected", tuple(parts)))
        return
    pieces = split_prompt(text)
    if pieces.injected:
        reading.add(kinds.UserMessage(pieces.injected, "injected"))
    if pieces.text or parts or not pieces.injected:
        reading.add(kinds.UserMessage(pieces.text, "queued", tuple(parts)))


_PROMPTS = ("human", "queued")
"""Origins whose records form the conversation's tree; commands hang on notices of their own."""
_STOP_REASONS = word_set("end_turn tool_use max_tokens stop_sequence pause_turn refusal model_context_window_exceeded")


def read_user(reading: Reading) -> None:
    """Emit the events of a `user` record: tool results, injected text, human text, and the rewind it may prove."""
    content = _content(reading)
    if isinstance(content, list):
        results = [b for b in content if isinstance(b, dict) and b.get("type") == "tool_result"]
        if results:
            read_tool_results(reading, results)
        if len(results) < len(content) or not content:
            read_user_content(reading, content)
    elif content is not None:
        read_user_content(reading, content)
    _see_turn(reading)
    plan = reading.record.get("planContent")
    if isinstance(plan, str) and plan:
        reading.add(kinds.Lifecycle("plan", text=plan))


def _content(reading: Reading) -> Any:
    message = reading.record.get("message")
    if isinstance(message, dict):
        return message.get("content")
    if message is not None:
        reading.wrong("message")
    return message if isinstance(message, str) else None


def _see_turn(reading: Reading) -> None:
    """Remember a human turn; give a rewind where it leaves the current branch.

    There is no record of a rewind: a new turn hangs on an older record that already has another turn below it; an edit
    of the first prompt hangs on nothing, as the first one did. One that hangs on the last record of a branch that was
    left goes back into that branch. The rewind comes before the turn's own events and has a
    name of its own, so that their parts are the same in a fork that copied only one branch.
    Evidence: format notes: Claude Code, "rewind / branch".
    """
    parent, child = reading.parent_id or "", reading.native_id
    if child is None or "parentUuid" not in reading.record or reading.is_sidechain or not _is_turn(reading):
        return
    turn = Turn(mark(parent), mark(child), reading.state.newest)
    earlier = next((i for i, t in enumerate(reading.turns) if t.parent == turn.parent), None)
    is_next = parent[-MAX_NAME:] == reading.state.leaf
    if earlier is not None:
        if reading.turns[earlier].child == turn.child or is_next:
            return
        rewind, kept = kinds.Rewind(reading.turns[earlier].before or parent, len(reading.turns) - earlier), earlier
    else:
        left = next((one for one in reading.left if one.leaf == mark(parent[-MAX_NAME:])), None)
        if left is None or is_next:
            reading.remember_turn(turn)
            return
        rewind, kept = kinds.Rewind(left.newest), len(reading.turns)
    reading.leave_branch()
    reading.remember_turn(Turn(turn.parent, turn.child, reading.add_rewind(rewind)), since=kept)


def _is_turn(reading: Reading) -> bool:
    return any(isinstance(e.payload, kinds.UserMessage) and e.payload.origin in _PROMPTS for e in reading.events)


def read_assistant(reading: Reading) -> None:
    """Emit the events of an `assistant` record: usually one block of a response, and the response's usage."""
    record = reading.record
    message = reading.mapping(record, "message")
    message_id = reading.text(message, "id")
    model = reading.text(message, "model")
    content = message.get("content")
    if record.get("isCompactSummary") is True:
        reading.add(kinds.Compaction(summary=content_text(content), continues_at=reading.native_id or ""))
    elif record.get("isApiErrorMessage") is True:
        error = {k: record[k] for k in ("error", "apiErrorStatus", "errorDetails") if record.get(k)}
        reading.add(kinds.Lifecycle("api_error", text=content_text(content), detail=error or None))
    else:
        _read_reply(reading, content, message, message_id=message_id, model="" if model == SYNTHETIC else model)
    read_usage(reading, message, message_id, model)


def _read_reply(reading: Reading, content: Any, message: dict[str, Any], *, message_id: str, model: str) -> None:
    stop_reason = reading.text(message, "stop_reason")
    note_value(reading.drift, "assistant.message.stop_reason", stop_reason, _STOP_REASONS)
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
    if content is not None and not isinstance(content, str | list):
        reading.wrong("message.content")
        blocks = [{"type": "text", "text": flatten(content)}]
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            said = block.get("text")
            body = said if isinstance(said, str) else block_text(block)
            if body is not said:
                reading.wrong("text")
            place = reading.superseded(message_id, "text", body) if body else None
            reading.add(kinds.AssistantMessage(body, model, stop_reason, message_id), replaces=place)
        elif kind == "thinking":
            thought = reading.text(block, "thinking")
            place = reading.superseded(message_id, "thinking", thought) if thought else None
            is_encrypted = not thought and bool(block.get("signature"))
            reading.add(kinds.Thinking(thought, message_id, is_encrypted), replaces=place)
        elif isinstance(kind, str) and kind in CALL_TYPES:
            _read_call(reading, block, message_id)
        else:
            _read_other(reading, block, message, message_id=message_id, model=model)
    if stop_reason == "end_turn":
        reading.forget_reply()


def _read_call(reading: Reading, block: dict[str, Any], message_id: str) -> None:
    call_id = reading.text(block, "id")
    name = reading.text(block, "name")
    place = reading.superseded(message_id, call_id, "") if call_id else None
    reading.remember_call(call_id, name)
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), block.get("input"), message_id), replaces=place)


def _read_other(reading: Reading, block: Any, message: dict[str, Any], *, message_id: str, model: str) -> None:
    """Emit the event of a rarer block: redacted thinking, media, a server tool's result, or an unknown one."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "redacted_thinking":
        reading.add(kinds.Thinking("", message_id, is_encrypted=True))
    elif isinstance(kind, str) and kind in MEDIA_TYPES:
        part, said, is_readable = media_part(block)
        if not is_readable:
            reading.wrong("content.source.data", "bad_base64")
        stop_reason = text(message.get("stop_reason"))
        reading.add(kinds.AssistantMessage(said, model, stop_reason, message_id, (part,)))
    elif isinstance(kind, str) and kind.endswith("_tool_result"):
        call_id = reading.text(block, "tool_use_id")
        content = block.get("content")
        failed = block.get("is_error") is True or "error_code" in mapping(content)
        reading.add(
            kinds.ToolResult(
                call_id=call_id,
                name=reading.called(call_id),
                ok=not failed,
                text=content_text(without_opaque(content)),
                parts=content_parts(content)[0],
            )
        )
    else:
        name = f"assistant/{text(kind) or type(block).__name__}"
        note_type(reading.drift, name)
        reading.add(kinds.Unknown(name, block_text(block)), "assistant")
