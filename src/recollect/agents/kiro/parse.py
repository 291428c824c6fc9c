"""Kiro: parses a record into events. Pure; never raises on content."""

import binascii
import re
from typing import Any, ClassVar

from recollect.agents.facts import known_fields
from recollect.agents.kiro.lines import KiroReading, KiroState, read_line, read_row, read_sidecar
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.content import base64_part, content_text, without_opaque
from recollect.agents.kit.history import give_title, message_of, read_entry
from recollect.agents.kit.names import content_name, name_of, numbered
from recollect.agents.kit.values import HEAD_SESSION, Json, group_in, mapping, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

# The IDE: sessions of a workspace, and the older files of one execution each.
#
# Evidence: format notes: Kiro; other readers of the IDE's files.

_KNOWN = known_fields("kiro")
_SYSTEM = ("# System Prompt", "# Identity", "<identity>", "## Included Rules", "You are operating in a workspace")
_ACKNOWLEDGED = "I will follow these instructions."
_WRAP = ("<kiro-ide-message>", "</kiro-ide-message>")


def read_item(reading: KiroReading) -> None:
    """Emit one item of a session's history."""
    item = reading.value
    message = message_of(reading)
    if not message:
        return
    role = message.get("role")
    own_id = text(message.get("id"))
    base = numbered(reading, own_id[:4096]) if own_id else name_of(reading, "item", role, message.get("content"))
    reading.native_id = base
    _read_message(reading, role, message.get("content"))
    for number, context in enumerate(reading.items(item, "contextItems")):
        value = mapping(context)
        part = kinds.Part("file", path=text(value.get("description")) or text(value.get("name")))
        reading.add(
            kinds.UserMessage(text(value.get("content")), "injected", (part,)), native_id=f"{base}/context/{number}"
        )
    execution = text(item.get("executionId")) or text(message.get("executionId"))
    if execution:
        reading.add(kinds.Lifecycle("execution", detail={"id": execution}), native_id=f"{base}/execution")
    reading.extra(item, _KNOWN["item"], "item", native_id=base)
    reading.extra(message, _KNOWN["message"], "message", native_id=base)


def read_chat(reading: KiroReading) -> None:
    """Emit one message of an execution, named by its content: the history that each execution repeats is one."""
    message = reading.value
    if not message:
        read_odd(reading)
        return
    role, content = message.get("role"), message.get("content")
    reading.native_id = name_of(reading, "chat", role, content)
    _read_message(reading, role, content)
    reading.extra(message, _KNOWN["chat_message"], "chat")


def _read_message(reading: KiroReading, role: Json, content: Json) -> None:
    said = _said(content)
    if role in ("user", "human"):
        # Give text in the user's role: instructions that the IDE puts there, or what the person wrote.
        plain = said.strip()
        found: list[kinds.Part] = []
        for part in content if isinstance(content, list) else ():
            value = mapping(part)
            url = text(mapping(value.get("imageUrl")).get("url"))
            if url.startswith("data:"):
                media_type, _, data = url[5:].partition(";base64,")
                image = reading.readable(base64_part("image", media_type[:100], data), "imageUrl")
                found.append(image)
            elif url:
                found.append(kinds.Part("image", url=url[:4096]))
        parts = tuple(found)
        if plain.startswith(_SYSTEM):
            reading.add(kinds.Instructions(said, "system_prompt"))
            return
        if plain.startswith(_WRAP[0]):
            plain = plain.removeprefix(_WRAP[0]).removesuffix(_WRAP[1]).strip()
        reading.say(kinds.UserMessage(plain, parts=parts))
    elif role in ("assistant", "bot"):
        if said.strip() == _ACKNOWLEDGED:
            reading.add(kinds.Lifecycle("notice", text=said))
        elif said:
            reading.add(kinds.AssistantMessage(said, reading.now("model")))
    elif role == "tool":
        reading.add(kinds.ToolResult(text=said))
    elif role == "system":
        reading.add(kinds.Instructions(said, "system"))
    else:
        reading.unknown(f"message/{role}" if isinstance(role, str) else "message", without_opaque(content))


def _said(content: Json) -> str:
    if not isinstance(content, list):
        return content_text(content)
    return "\n".join(filter(None, map(_part_text, content)))


def _part_text(part: Json) -> str:
    value = mapping(part)
    if value.get("type") in ("text", "mention"):
        return text(value.get("text"))
    return "" if value.get("type") in ("imageUrl", "image") else flatten(without_opaque(part))


def read_session(reading: KiroReading) -> None:
    """Emit what stands around a session's history: its folder and its title."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    cwd = reading.text(value, "workspaceDirectory")
    if cwd or "sessionId" in value:
        reading.start(cwd=cwd or folder_in(reading.state.folder))
    give_title(reading, value)
    model = text(value.get("selectedModel")) or text(value.get("defaultModelTitle"))
    if model:
        reading.set(model=model[:200])
        reading.add(kinds.Lifecycle("model", model=model), native_id="model")
    reading.extra(value, _KNOWN["session"], "session", native_id="session")


def read_execution(reading: KiroReading) -> None:
    """Emit what stands around the messages of an execution: its ids, model and times."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    metadata = reading.mapping(value, "metadata")
    if metadata:
        reading.date(metadata.get("startTime"), "startTime")
        model = text(metadata.get("modelId"))
        reading.set(model=model[:200])
        reading.start(model=model)
        reading.date(metadata.get("endTime"), "endTime")
        detail = {key: metadata[key] for key in ("workflow", "workflowId") if metadata.get(key)}
        reading.add(kinds.Lifecycle("turn_ended", detail=detail or None), native_id="ended")
    ids = {key: value[key] for key in ("executionId", "actionId") if value.get(key)}
    reading.note("execution", detail=ids, native_id="execution")
    for name in ("context", "validations"):
        if value.get(name):
            reading.kept(name, without_opaque(value[name]), native_id=f"{name}:{content_name(value[name])}")
    reading.extra(value, _KNOWN["chat"], "execution", native_id="document")
    reading.extra(metadata, _KNOWN["metadata"], "metadata", native_id="metadata")


def folder_in(name: str) -> str:
    """Return the path that the name of a workspace's folder holds in base64, "" where it holds none."""
    standard = name.replace("-", "+").replace("_", "/").rstrip("=/")
    try:
        return binascii.a2b_base64(standard + "=" * (-len(standard) % 4)).decode()
    except (ValueError, UnicodeDecodeError):
        return ""


_CONVERSATION = re.compile(rb'conversation_id\\*" ?: ?\\*"([0-9A-Za-z-]{1,100})')
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class KiroAdapter(KitAdapter[KiroState], slug="kiro"):
    readers: ClassVar = {
        "cli": read_line,
        "sidecar": read_sidecar,
        "conversation": read_row,
        "ide": lambda reading: (read_item if reading.at == "history" else read_session)(reading),
        "ide_index": lambda reading: read_entry(reading, _KNOWN["index"]),
        "chat": lambda reading: (read_chat if reading.at == "chat" else read_execution)(reading),
    }

    def identify(self, info: SourceInfo, head: bytes) -> str:
        folder = info.folder
        if info.role == "conversation" and not _UUID.fullmatch(info.document):
            # The old table names a conversation by its folder only; the id stands in the value.
            return group_in(_CONVERSATION, head) or info.document or first_line_name(head)
        if info.role == "chat":
            stem = info.name.removesuffix(".chat")
            return f"{folder}:{stem}" if folder else stem
        if info.role == "ide_index":
            return f"sessions:{folder}" if folder else "sessions"
        if info.role == "ide" and not folder:
            return group_in(HEAD_SESSION, head) or info.stem or first_line_name(head)
        return info.document or info.stem or first_line_name(head)

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"folder": info.folder[:4096]}
