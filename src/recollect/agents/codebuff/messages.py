"""Messages of a chat: the document is written anew as they grow, so what each gives is named below its id.

Evidence: `ChatMessage` and `ContentBlock` in Codebuff's `cli/src/types/chat.ts`.
"""

from __future__ import annotations

import re

from recollect.agents.codebuff.blocks import Place, read_blocks
from recollect.agents.codebuff.state import Reading
from recollect.agents.kit.names import name_of, short
from recollect.agents.kit.values import items, mapping, number, text, whole
from recollect.model.payloads import AssistantMessage, Lifecycle, Origin, Part, SessionStart, TokenUsage, UserMessage

_FIELDS = frozenset((
    "id", "variant", "content", "blocks", "timestamp", "parentId", "agent", "isCompletion", "credits", "completionTime",
    "isComplete", "metadata", "validationErrors", "userError", "attachments", "textAttachments", "fileAttachments",
))  # fmt: skip
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?\s*([AP]M)?", re.IGNORECASE)
_COMMAND = re.compile(r"/[a-z][\w:-]*(?: [^\n]*)?")
_NOON = 12
_DAY_MINUTES = 24 * 60
_MINUTE_US = 60_000_000
_USD_PER_CREDIT = 0.01


def read_message(reading: Reading) -> None:
    """Give the events of one message."""
    value = reading.value
    variant = reading.text(value, "variant")
    _date(reading)
    reading.native_id = short(reading.text(value, "id")) or name_of(reading, variant, value)
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.add(SessionStart(), native_id="start")
    if variant == "user":
        _read_user(reading)
    elif variant in ("ai", "agent"):
        _read_answer(reading)
    elif variant == "error":
        reading.add(Lifecycle("api_error", text=reading.text(value, "content")))
    else:
        reading.unknown(variant or text(value.get("type")) or "message")
        return
    failed = reading.text(value, "userError")
    if failed:
        reading.add(Lifecycle("api_error", text=failed), native_id=f"{reading.native_id}/error")
    reading.extra(value, _FIELDS, "message")


def _date(reading: Reading) -> None:
    """Take the time. A time of day is counted from the first one, which is the chat's beginning: no zone is needed."""
    written = reading.value.get("timestamp")
    clock = _CLOCK.fullmatch(written.strip()) if isinstance(written, str) else None
    began = reading.state.began
    if clock is None:
        reading.date(written)
        return
    hour = int(clock[1]) % 24
    if clock[3]:
        hour = hour % _NOON + (_NOON if clock[3].upper() == "PM" else 0)
    minute = hour * 60 + int(clock[2])
    first = reading.state.first_minute if reading.state.first_minute >= 0 else minute
    days = reading.state.days + (minute < reading.state.last_minute)
    reading.set(first_minute=first, last_minute=minute, days=min(days, 10_000))
    if began is not None:
        reading.infer(began + (min(days, 10_000) * _DAY_MINUTES + minute - first) * _MINUTE_US)


def _read_user(reading: Reading) -> None:
    value = reading.value
    parts = [
        Part("file" if key == "fileAttachments" else "image", path=text(mapping(one).get("path")))
        for key in ("attachments", "fileAttachments")
        for one in items(value.get(key))
    ]
    pasted = [text(mapping(one).get("content")) for one in items(value.get("textAttachments"))]
    read_blocks(reading, items(value.get("blocks")), Place(reading.native_id or ""), media=parts)
    said = reading.text(value, "content")
    origin: Origin = "command" if _COMMAND.fullmatch(said) else "human"
    reading.add(UserMessage(said, origin, tuple(parts)), "user")
    if any(pasted):
        reading.add(UserMessage("\n".join(pasted), "injected"), "user", native_id=f"{reading.native_id}/pasted")


def _read_answer(reading: Reading) -> None:
    """Give an answer: its blocks in order; the content only where there are none."""
    value = reading.value
    blocks = items(value.get("blocks"))
    said = reading.text(value, "content")
    name = reading.native_id or ""
    if said and not any(mapping(block).get("type") == "text" for block in blocks):
        reading.add(AssistantMessage(said), "assistant")
    read_blocks(reading, blocks, Place(name))
    credits_used = number(value.get("credits"))
    if credits_used:
        key = f"codebuff:{reading.state.session}:{name}"
        usage = TokenUsage(cost_usd=credits_used * _USD_PER_CREDIT, dedupe_key=key)
        reading.add(usage, "assistant", native_id=f"{name}/usage")
    errors = items(value.get("validationErrors"))
    if errors:
        said = "\n".join(text(mapping(error).get("message")) for error in errors)
        reading.add(Lifecycle("validation_error", text=said), native_id=f"{name}/validation")
    if whole(value.get("isComplete")) is None and value.get("isCompletion") is True and value.get("completionTime"):
        detail = {"completionTime": value["completionTime"]}
        reading.add(Lifecycle("turn_ended", detail=detail), native_id=f"{name}/ended")
