"""A request while it is read: what the user asked, and what must be known of it to read its answer."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import base64_part
from recollect.agents.kit.copilot.state import storable
from recollect.agents.kit.instants import instant
from recollect.agents.kit.reading import Reading
from recollect.agents.vscode.state import (
    MAX_GROUPS,
    MAX_INVOCATIONS,
    MAX_SEEN,
    Group,
    Invocation,
    Seen,
    VSCodeState,
)
from recollect.agents.vscode.values import path_of
from recollect.model.payloads import Lifecycle, Origin, Part, SessionStart, UserMessage

_MESSAGE = frozenset(("text", "parts"))
_MAX_PARTS = 256


class Asked:
    """What is known of one request: loaded from the state, changed while reading, stored again."""

    __slots__ = ("groups", "has_thinking", "invocations", "model", "request", "ts")

    def __init__(self, request: str) -> None:
        self.request = request
        self.ts: int | None = None
        self.model = ""
        self.invocations: list[Invocation] = []
        self.groups: list[Group] = []
        self.has_thinking = False

    @classmethod
    def known(cls, reading: Reading[VSCodeState], request: str) -> Asked:
        """Return what the state knows of a request."""
        asked = cls(request)
        seen = next((s for s in reading.now("seen") if s.request == request), None)
        if seen is not None:
            asked.ts, asked.model, asked.has_thinking = seen.ts, seen.model, seen.has_thinking
            asked.invocations, asked.groups = list(seen.invocations), list(seen.groups)
        return asked

    def keep(self, reading: Reading[VSCodeState]) -> None:
        """Store it among the newest requests."""
        seen = Seen(
            self.request,
            self.ts,
            self.model,
            tuple(self.invocations[-MAX_INVOCATIONS:]),
            tuple(self.groups[-MAX_GROUPS:]),
            self.has_thinking,
        )
        others = tuple(s for s in reading.now("seen") if s.request != self.request)
        reading.set(seen=(*others, seen)[-MAX_SEEN:])

    def take_facts(self, reading: Reading[VSCodeState], value: dict[str, Any]) -> None:
        """Take the time and the model of a request, and give what changed since the one before."""
        written = value.get("timestamp")
        if written is not None:
            self.ts = instant(written)
            if self.ts is None:
                reading.wrong("timestamp", "bad_timestamp")
        model = model_of(value)
        if model:
            self.model = storable(model)
            if self.model != reading.now("model"):
                reading.set(model=self.model)
                self.at_answer(reading)
                reading.add(Lifecycle("model", model=model), native_id=f"{self.request}/model")
        version = text(mapping(value.get("agent")).get("extensionVersion"))
        if version and version != reading.now("version"):
            reading.set(version=storable(version))
            start = SessionStart(tool_version=version, originator="GitHub Copilot Chat")
            reading.add(start, native_id=f"start/{version}")

    def at_question(self, reading: Reading[VSCodeState]) -> None:
        """Take the request's own time for the next events."""
        if self.ts is not None:
            reading.ts = reading.last_ts = self.ts
            reading.ts_quality = "exact"

    def at_answer(self, reading: Reading[VSCodeState], after_ms: int | None = None) -> None:
        """Take the request's time for what has none of its own; after_ms: how long the answer took."""
        if self.ts is not None:
            reading.infer(self.ts + (after_ms or 0) * 1000)


def model_of(value: dict[str, Any]) -> str:
    """Return the model of a request: the one it was resolved to, else the one chosen, else the one shown."""
    result = mapping(value.get("result"))
    resolved = text(mapping(result.get("metadata")).get("resolvedModel"))
    chosen = text(value.get("modelId")).rpartition("/")[2]
    if resolved:
        return resolved
    if chosen and chosen != "auto":
        return chosen
    return text(result.get("details")).partition(" • ")[0].strip()


def read_question(reading: Reading[VSCodeState], asked: Asked, value: dict[str, Any]) -> None:
    """Give what the user asked, with the files, images and selections that belong to it."""
    message = value.get("message")
    asked.at_question(reading)
    if isinstance(message, str):
        said = message
    else:
        found = reading.mapping(value, "message")
        said = reading.text(found, "text") or _joined(found)
        reading.extra(found, _MESSAGE, "message", native_id=asked.request)
    if message is None and "response" not in value and "result" in value:
        return
    origin: Origin = "command" if mapping(value.get("slashCommand")) else "human"
    reading.add(UserMessage(said, origin, _variables(reading, value)), "user", native_id=asked.request)


def _joined(message: dict[str, Any]) -> str:
    return "".join(text(mapping(part).get("text")) for part in items(message.get("parts")))


def _variables(reading: Reading[VSCodeState], value: dict[str, Any]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for found in items(mapping(value.get("variableData")).get("variables"))[:_MAX_PARTS]:
        one = mapping(found)
        kind = text(one.get("kind")) or ("directory" if one.get("isDirectory") is True else "file")
        held = one.get("value")
        encoded = mapping(held).get("$base64")
        media_type = text(one.get("mimeType"))
        name = text(one.get("name")) or text(one.get("id"))
        if kind == "image" and encoded is not None:
            part, is_readable = base64_part(kind, media_type, encoded, path=name)
            if not is_readable:
                reading.wrong("variables.value", "bad_base64")
            parts.append(part)
        else:
            path = path_of(held) if isinstance(held, dict) else ""
            parts.append(Part(kind, media_type=media_type, path=path or name))
    return tuple(parts)
