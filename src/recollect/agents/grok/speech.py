"""Messages that come in chunks: put together, and given as they grow.

A chunk goes on with the message before it while speaker, prompt and kind stay the same; records around the
conversation (commands, plans, hooks) don't cut it. Every version replaces the one before: a half-written turn is
searchable at once. Long messages are given when they grew by an eighth, and to their end when something else begins,
so that what is written stays within a few times the message. Evidence: format notes: Grok Build, section 7.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.grok.prompts import split_prompt
from recollect.agents.grok.state import MAX_PARTS, MAX_PROMPTS, MAX_SPEECH_CHARS, Prompt, Reading, Speech
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.content.anthropic import base64_part
from recollect.agents.kit.naming import content_sha256, count_name, short, spaceless
from recollect.model.events import Role
from recollect.model.payloads import AssistantMessage, Origin, Part, Payload, Thinking, UserMessage
from recollect.model.text import flatten

_PREFIXES = {"user": "ask", "host": "ask", "agent": "say", "thought": "thought"}
_COUNTERS = {"user": "asked", "host": "asked", "agent": "said", "thought": "thought"}
_FREE_VERSIONS = 16
_GROWTH = 8
_MAX_LINK_CHARS = 500
_CONTENT_FIELDS = frozenset(
    ("type", "text", "data", "mimeType", "uri", "name", "resource", "annotations", "title", "description", "size",
     "_meta")
)  # fmt: skip


def name_message(reading: Reading, kind: str) -> str:
    """Return the name of the next message: its prompt and its number there, as in the stream so in the history."""
    counter = _COUNTERS[kind]
    number = reading.now(counter) + 1
    reading.set(**{counter: number})
    mark = reading.now("mark")
    return f"ask:{mark}" if kind == "user" and number == 1 else f"{_PREFIXES[kind]}:{mark}.{number}"


def begin_prompt(reading: Reading, mark: str) -> None:
    """Count the messages from here on as those of another prompt."""
    reading.set(mark=mark, asked=0, said=0, thought=0)


def hear(reading: Reading, kind: str, update: dict[str, Any], meta: dict[str, Any]) -> None:
    """Take one chunk of a message."""
    content = update.get("content")
    block = content if isinstance(content, dict) else {"type": "text", "text": content}
    if not isinstance(content, dict | str):
        reading.wrong("content")
    reading.extra(block, _CONTENT_FIELDS, "content")
    own = mapping(update.get("_meta"))
    command = text(mapping(block.get("_meta")).get("bashCommand")) or text(own.get("bashCommand"))
    if kind == "user" and (own.get("hostTurn") is True or meta.get("hostTurn") is True):
        kind = "host"
    said, part = read_content(reading, block)
    if command:
        said = f"!{command}" if command in said or not said else f"!{command}\n{said}"
    elif kind == "user":
        said, asides = split_prompt(said)
        for aside in asides:
            _give_aside(reading, aside)
        if not said.strip() and part is None and asides:
            return
    index = whole(own.get("promptIndex")) if "promptIndex" in own else whole(meta.get("promptIndex"))
    prompt = text(meta.get("promptId")) or text(own.get("promptId"))
    speech = reading.now("speech")
    if speech is None or not _goes_on(speech, kind, prompt, index) or command:
        settle(reading)
        speech = _begin(reading, kind, prompt, index, is_command=bool(command))
    parts = (*speech.parts, part) if part is not None and len(speech.parts) < MAX_PARTS else speech.parts
    speech = msgspec.structs.replace(
        speech, text=speech.text + said, parts=parts, prompt=speech.prompt or short(prompt)
    )
    if speech.versions < _FREE_VERSIONS or len(speech.text) - speech.given > speech.given // _GROWTH:
        speech = _give(reading, speech)
    is_full = len(speech.text) > MAX_SPEECH_CHARS or not _is_storable(speech.text)
    reading.set(speech=None if is_full or command else speech)


def settle(reading: Reading) -> None:
    """End the message whose chunks came: what of it was not given yet is given now."""
    speech: Speech | None = reading.now("speech")
    if speech is None:
        return
    if len(speech.text) > speech.given:
        _give(reading, speech)
    reading.set(speech=None)


def read_content(reading: Reading, block: dict[str, Any]) -> tuple[str, Part | None]:
    """Return the text of a content block of the protocol, and the part that it is if it is no text."""
    kind = text(block.get("type")) or "text"
    if kind == "text":
        said = block.get("text")
        return (said if isinstance(said, str) else flatten(said)), None
    if kind in ("image", "audio"):
        part, is_readable = base64_part(kind, short(text(block.get("mimeType"))), block.get("data"))
        uri = short(text(block.get("uri")), _MAX_LINK_CHARS)
        if not is_readable and not uri:
            reading.wrong("content.data", "bad_base64")
        return "", msgspec.structs.replace(part, url=uri) if uri else part
    if kind == "resource_link":
        return "", _link(kind, block)
    if kind == "resource":
        resource = reading.mapping(block, "resource")
        body = text(resource.get("text"))
        if body:
            _give_aside(reading, body)
        return "", _link(kind, resource)
    reading.unknown(f"content/{kind}", block)
    return "", None


def _link(kind: str, block: dict[str, Any]) -> Part:
    uri = short(text(block.get("uri")), _MAX_LINK_CHARS)
    path = uri.removeprefix("file://") if uri.startswith("file://") else short(text(block.get("name")), _MAX_LINK_CHARS)
    return Part(type=kind, media_type=short(text(block.get("mimeType"))), path=path, url=uri)


def _goes_on(speech: Speech, kind: str, prompt: str, index: int | None) -> bool:
    is_other_prompt = bool(prompt) and bool(speech.prompt) and short(prompt) != speech.prompt
    return speech.kind == kind and not is_other_prompt and (index is None or index == speech.index)


def _begin(reading: Reading, kind: str, prompt: str, index: int | None, *, is_command: bool) -> Speech:
    origin: Origin = "command" if is_command else "injected" if kind == "host" else "human"
    if kind == "user" and not _begin_turn(reading, index, is_command=is_command) and not is_command:
        origin = "queued"
    return Speech(
        kind,
        origin=origin,
        prompt=short(prompt),
        index=index,
        ts=reading.ts,
        ts_quality=reading.ts_quality,
        name=name_message(reading, kind),
    )


def _begin_turn(reading: Reading, index: int | None, *, is_command: bool) -> bool:
    """Remember a human prompt; False where it belongs to a turn that runs: typed while the agent worked, a command."""
    prompts: tuple[Prompt, ...] = reading.now("prompts")
    if index is None:
        if is_command:
            return False
        index = prompts[-1].index + 1 if prompts else 0
    if prompts and prompts[-1].index >= index:
        return False
    top: int = reading.now("top")
    if index > top:
        begin_prompt(reading, str(index))
    else:
        reading.set(repeats=reading.now("repeats") + 1)
        begin_prompt(reading, f"{index}r{reading.now('repeats')}")
    reading.set(top=max(top, index), prompts=(*prompts, Prompt(index, reading.now("last")))[-MAX_PROMPTS:])
    return True


def _give(reading: Reading, speech: Speech) -> Speech:
    """Give the message as far as it is known, in the place of what was given of it before."""
    if not speech.text and not speech.parts:
        return speech
    payload: Payload
    role: Role = "user"
    if speech.kind in ("user", "host"):
        payload = UserMessage(speech.text, speech.origin, speech.parts)
    elif speech.kind == "thought":
        payload, role = Thinking(speech.text), "assistant"
    else:
        payload, role = AssistantMessage(speech.text, reading.now("model"), parts=speech.parts), "assistant"
    ts, quality = reading.ts, reading.ts_quality
    reading.ts, reading.ts_quality = speech.ts, speech.ts_quality
    # Also told by `replaces`: such an event holds text of records before its own.
    reading.add(payload, role, native_id=speech.name, replaces=(speech.name, 0) if speech.versions else None)
    reading.ts, reading.ts_quality = ts, quality
    reading.set(last=speech.name)
    return msgspec.structs.replace(speech, given=len(speech.text), versions=speech.versions + 1)


def _give_aside(reading: Reading, said: str) -> None:
    counted, seen = count_name(reading.now("seen"), content_sha256(reading.state.session, "aside", spaceless(said)))
    reading.set(seen=seen)
    reading.add(UserMessage(said, "injected"), "user", native_id=f"aside:{counted}")


def _is_storable(said: str) -> bool:
    try:
        said.encode()
    except UnicodeEncodeError:
        return False
    return True
