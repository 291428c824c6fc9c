"""Messages of a model's input and output, in every shape that senders give them.

As parts (`{"role", "parts": [{"type": "text", "content"}]}`), as OpenAI's or Anthropic's content, as plain text; as
structured attributes or as JSON in a string, which a limit on the length of attributes may have cut.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import base64_part, content_text, media_part
from recollect.agents.kit.content.openai import data_url_part
from recollect.model.payloads import Json, Part
from recollect.model.text import flatten

MESSAGE_FIELDS = frozenset(
    """role parts content finish_reason name tool_calls tool_call_id id type index message refusal reasoning_content
    reasoning text tool_call_name function_call stop_reason author""".split()
)
PART_FIELDS = frozenset(
    """type content text thinking reasoning id call_id tool_call_id tool_use_id name arguments input args function
    response result output is_error mime_type media_type modality uri url file_id file data image_url source detail
    signature index refusal annotations summary server_tool_call server_tool_call_response caller cache_control status
    functionCall functionResponse inlineData thought tool_call""".split()
)
_TEXTS = frozenset(("text", "input_text", "output_text", "refusal"))
_THOUGHTS = frozenset(("reasoning", "thinking", "thought"))
_CALLS = frozenset(("tool_call", "tool_use", "function_call", "function", "server_tool_call", "server_tool_use"))
_RESULTS = frozenset(
    ("tool_call_response", "tool_result", "function_call_output", "server_tool_call_response", "function_response")
)
_MEDIA = frozenset(
    (
        "blob",
        "file",
        "uri",
        "image",
        "image_url",
        "input_image",
        "document",
        "audio",
        "video",
        "input_audio",
        "input_file",
    )
)
_MAX_PARTS = 10_000


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A tool call in a message."""

    call_id: str
    name: str
    arguments: Json
    is_whole: bool = True


class Given(msgspec.Struct, frozen=True, gc=False):
    """A tool's answer in a message."""

    call_id: str
    content: Json
    is_error: bool = False
    name: str = ""


class Message(msgspec.Struct, gc=False):
    """One message, sorted out by what its parts are."""

    role: str
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Asked] = []
    results: list[Given] = []
    parts: list[Part] = []
    odd: list[tuple[str, Json]] = []
    """Parts of types that are not known."""
    extra: dict[str, Json] = {}
    finish: str = ""
    are_media_readable: bool = True

    @property
    def text(self) -> str:
        """What was said."""
        return "\n".join(t for t in self.texts if t)

    @property
    def thinking(self) -> str:
        """What was thought."""
        return "\n".join(t for t in self.thoughts if t)


class Messages(msgspec.Struct, gc=False):
    """A list of messages. rest: text behind the last whole one, where a limit cut the list."""

    messages: list[Message]
    rest: str = ""


def decoded(value: Json) -> tuple[Json, bool]:
    """Return a value that may be JSON in a string, and False where it begins like JSON and is none."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value, True
    try:
        return msgspec.json.decode(value.encode("utf-8", "surrogatepass")), True
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value, False


def messages_of(value: Json, role: str) -> Messages:
    """Return the messages of an attribute. role: of plain text, and of messages that name none."""
    written, is_whole = decoded(value)
    rest = ""
    if not is_whole and isinstance(written, str):
        found, rest = _whole_elements(written)
        if not found:
            is_cut = written.lstrip().startswith(("[{", '{"role', '{"messages'))
            return Messages([], written) if is_cut else _plain(value, role)
        written = found
    if isinstance(written, dict):
        inner = written.get("messages", written.get("choices", written.get("contents")))
        written = inner if isinstance(inner, list) else [written]
    if isinstance(written, list):
        return Messages([message_of(m, role) for m in written[:_MAX_PARTS]], rest)
    return _plain(written, role)


def message_of(written: Json, role: str) -> Message:
    """Return one message."""
    if not isinstance(written, dict):
        return next(iter(_plain(written, role).messages), Message(role))
    inner = written.get("message")
    if isinstance(inner, dict):
        written = {**inner, **{k: v for k, v in written.items() if k != "message"}}
    if "role" not in written and "parts" not in written and text(written.get("type")) in _CALLS | _RESULTS:
        written = {"parts": [written]}
    message = Message(text(written.get("role")).lower() or role)
    message.finish = text(written.get("finish_reason")) or text(written.get("stop_reason"))
    message.extra = {k: v for k, v in written.items() if k not in MESSAGE_FIELDS}
    _take_thought(message, written.get("reasoning_content", written.get("reasoning")))
    answers = text(written.get("tool_call_id"))
    content = written.get("parts", written.get("content", written.get("text")))
    content, _ = decoded(content) if message.role not in ("user", "human") else (content, True)
    if answers or (message.role in ("tool", "function") and not _has_results(content)):
        named = text(written.get("name"))
        message.results.append(Given(answers or text(written.get("id")), content, name=named))
    else:
        _take_content(message, content)
    for call in items(decoded(written.get("tool_calls"))[0]):
        _take_call(message, mapping(call))
    if isinstance(written.get("function_call"), dict):
        _take_call(message, written["function_call"])
    return message


def result_text(content: Json) -> str:
    """Return what can be read of a tool's answer."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return content_text(content)
    return "" if content is None else flatten(content)


def _plain(value: Json, role: str) -> Messages:
    said = value if isinstance(value, str) else flatten(value)
    return Messages([Message(role, texts=[said])] if said else [])


def _has_results(content: Json) -> bool:
    return any(text(mapping(p).get("type")) in _RESULTS or "functionResponse" in mapping(p) for p in items(content))


def _take_content(message: Message, content: Json) -> None:
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        if content not in (None, ""):
            message.texts.append(content if isinstance(content, str) else flatten(content))
        return
    for part in content[:_MAX_PARTS]:
        if isinstance(part, dict):
            _take_part(message, part)
        elif part not in (None, ""):
            message.texts.append(part if isinstance(part, str) else flatten(part))


def _take_part(message: Message, part: dict[str, Any]) -> None:
    kind = text(part.get("type")) or _kind_by_keys(part)
    if kind in _TEXTS:
        said = part.get("content", part.get("text", part.get("refusal")))
        message.texts.append(said if isinstance(said, str) else flatten(said))
    elif kind in _THOUGHTS:
        _take_thought(message, part.get("content", part.get("thinking", part.get("text", part.get("summary")))))
    elif kind in _CALLS:
        _take_call(message, part)
    elif kind in _RESULTS:
        _take_result(message, part)
    elif kind in _MEDIA:
        found, is_readable = _media(kind, part)
        message.parts.append(found)
        message.are_media_readable = message.are_media_readable and is_readable
    else:
        message.odd.append((kind or "part", part))
        return
    for name, value in part.items():
        if name not in PART_FIELDS:
            message.extra.setdefault(f"parts.{name}", value)


def _kind_by_keys(part: dict[str, Any]) -> str:
    """Google's parts say what they are by their one key."""
    if "functionCall" in part:
        return "function_call"
    if "functionResponse" in part:
        return "function_response"
    if isinstance(part.get("text"), str):
        return "thought" if part.get("thought") is True else "text"
    return "text" if isinstance(part.get("content"), str) else ""


def _take_thought(message: Message, written: Json) -> None:
    if written not in (None, "", []):
        message.thoughts.append(written if isinstance(written, str) else flatten(written))


def _take_call(message: Message, part: dict[str, Any]) -> None:
    inner = mapping(part.get("function")) or mapping(part.get("functionCall")) or mapping(part.get("server_tool_call"))
    both = {**inner, **{k: v for k, v in part.items() if k not in ("function", "functionCall")}}
    arguments, is_whole = decoded(both.get("arguments", both.get("input", both.get("args"))))
    call_id = text(both.get("id")) or text(both.get("call_id")) or text(both.get("tool_call_id"))
    message.calls.append(Asked(call_id, text(both.get("name")), arguments, is_whole))


def _take_result(message: Message, part: dict[str, Any]) -> None:
    inner = mapping(part.get("functionResponse")) or mapping(part.get("server_tool_call_response"))
    both = {**inner, **part}
    content = both.get("response", both.get("result", both.get("content", both.get("output"))))
    names = ("id", "tool_use_id", "tool_call_id", "call_id")
    call_id = next((text(both[name]) for name in names if text(both.get(name))), "")
    message.results.append(Given(call_id, decoded(content)[0], both.get("is_error") is True, text(both.get("name"))))


def _media(kind: str, part: dict[str, Any]) -> tuple[Part, bool]:
    called = text(part.get("modality")) or kind
    media_type = text(part.get("mime_type")) or text(part.get("media_type"))
    if isinstance(part.get("source"), dict):
        found, _, is_readable = media_part(part)
        return found, is_readable
    data = part.get("data", part.get("content"))
    if isinstance(data, str):
        return base64_part(called, media_type, data)
    address = part.get("uri", part.get("image_url", part.get("url")))
    if isinstance(address, dict):
        address = address.get("url")
    if isinstance(address, str):
        return data_url_part(called, address)
    file = part.get("file_id", part.get("file"))
    return Part(type=called, media_type=media_type, path=text(file)), True


def _whole_elements(written: str) -> tuple[list[Json], str]:
    """Return the whole elements at the start of a JSON array that was cut, and the rest."""
    decode = json.JSONDecoder(strict=False).raw_decode
    found: list[Json] = []
    at = len(written) - len(written.lstrip()) + 1
    if not written.lstrip().startswith("["):
        return [], written
    while True:
        while at < len(written) and written[at] in " \t\r\n,":
            at += 1
        try:
            element, at = decode(written, at)
        except (ValueError, RecursionError):
            return found, written[at:]
        found.append(element)
