"""Text in the user's role: who wrote it, and what of it.

Claude Code writes its own reminders, command envelopes, notices and the editor's context as user text, sometimes around
a real prompt in the same record. Evidence: format notes: Claude Code, "system-injected user records".
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from recollect.agents.claude.state import Reading
from recollect.agents.kit.access import mapping
from recollect.agents.kit.content.anthropic import block_text, content_text, media_part
from recollect.agents.kit.drift import note_fields, note_type, note_value
from recollect.model.payloads import Compaction, Lifecycle, Origin, Part, UserMessage

_PREFIX = re.compile(r"\s*<(system-reminder|ide_[a-z_]+|new-diagnostics|local-command-caveat)>.*?</\1>\s*", re.DOTALL)
_SUFFIXES = ("system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics")
_SUFFIX_ENDS = tuple(f"</{tag}>" for tag in _SUFFIXES)
_INJECTED_TAGS = (
    "<system-reminder>",
    "<local-command-",
    "<task-notification>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<ide_",
    "<teammate-message",
    "<user-prompt-submit-hook>",
    "<post-tool-use-hook>",
    "<session-start-hook>",
)
_INJECTED_STARTS = ("Stop hook feedback:", "Caveat:")
_COMMAND_TAGS = ("<command-name>", "<command-message>", "<command-args>")
_TYPED_TAGS = {"<bash-input>": "!", "<user-memory-input>": "#"}
"""What the person typed after a prefix character, by the envelope it is written in."""
_INTERRUPTED = "[Request interrupted"
_SOURCES = frozenset(("typed", "queued", "system", "sdk"))
_AUTHORS = frozenset(("human", "task-notification"))
_QUEUED = frozenset("type prompt commandMode timestamp origin source_uuid isMeta imagePasteIds".split())
"""The fields of a `queued_command` attachment."""


class Pieces(NamedTuple):
    """User text taken apart: the harness's part, and the rest with who wrote it."""

    injected: str
    text: str
    origin: Origin


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
    """Give the events of a user record's text and images: what the harness wrote first, then what the person wrote."""
    texts: list[str] = []
    parts: list[Part] = []
    if isinstance(content, str):
        texts.append(content)
    else:
        blocks = content if isinstance(content, list) else [content]
        for block in blocks:
            _take_block(reading, block, texts, parts)
    record = reading.record
    if record.get("isCompactSummary") is True:
        reading.add(Compaction(summary="\n".join(texts), continues_at=reading.native_id or ""))
        return
    forced = _forced_origin(reading)
    if forced == "injected":
        reading.add(UserMessage("\n".join(texts), "injected", tuple(parts)), "user")
        return
    _add_texts(reading, texts, tuple(parts), forced)


def _take_block(reading: Reading, block: Any, texts: list[str], parts: list[Part]) -> None:
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


def _forced_origin(reading: Reading) -> Origin | None:
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


def _add_texts(reading: Reading, texts: list[str], parts: tuple[Part, ...], origin: Origin | None) -> None:
    injected: list[str] = []
    said: list[str] = []
    is_command = False
    for whole_text in texts:
        if whole_text.startswith(_INTERRUPTED):
            reading.add(Lifecycle("interrupted", text=whole_text))
            continue
        pieces = split_prompt(whole_text)
        if pieces.injected:
            injected.append(pieces.injected)
        if pieces.text:
            said.append(pieces.text)
            is_command = is_command or pieces.origin == "command"
    if injected or not (said or parts or reading.events):
        reading.add(UserMessage("\n".join(injected), "injected"), "user")
    if said or parts:
        text = "\n".join(said)
        reading.add(UserMessage(text, "command" if is_command else origin or "human", parts), "user")
        if is_command:
            add_rename(reading, text)


def add_rename(reading: Reading, command: str) -> None:
    """Give a title where a command is `/rename TITLE`."""
    if command.startswith("/rename "):
        reading.add(Lifecycle("title", title=command.removeprefix("/rename ").strip()))


def read_queued(reading: Reading, attachment: dict[str, Any]) -> None:
    """Give a prompt typed while the agent worked; only an attachment holds it. Evidence: trap 5."""
    prompt = attachment.get("prompt")
    parts: list[Part] = []
    texts: list[str] = []
    for block in prompt if isinstance(prompt, list) else ():
        _take_block(reading, block, texts, parts)
    text = "\n".join(texts) if isinstance(prompt, list) else content_text(prompt)
    if prompt is not None and not isinstance(prompt, str | list):
        reading.wrong("attachment.prompt")
    kind = mapping(attachment.get("origin")).get("kind")
    note_value(reading.drift, "queued_command.origin.kind", kind, _AUTHORS)
    note_fields(reading.drift, attachment, _QUEUED, "queued_command")
    is_notice = attachment.get("commandMode") == "task-notification" or attachment.get("isMeta") is True
    if is_notice or (isinstance(kind, str) and kind not in ("human", "")):
        reading.add(UserMessage(text, "injected", tuple(parts)), "user")
        return
    pieces = split_prompt(text)
    if pieces.injected:
        reading.add(UserMessage(pieces.injected, "injected"), "user")
    if pieces.text or parts or not pieces.injected:
        reading.add(UserMessage(pieces.text, "queued", tuple(parts)), "user")
