"""Parses input and output messages in all the shapes that senders use.

As parts (`{"role", "parts": [{"type": "text", "content"}]}`), as OpenAI's or Anthropic's content, as plain text; as
structured attributes or as JSON in a string, which a limit on the length of attributes may have cut.
"""

import hashlib
import json
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import MAX_NAME_CHARS, BaseState
from recollect.agents.kit.adapter import Reading as KitReading
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.content import base64_part, content_text, data_url_part, media_part
from recollect.agents.kit.names import content_sha256, short
from recollect.agents.kit.values import items, mapping, text, word_set
from recollect.model.payloads import Json, Part
from recollect.model.text import flatten

# What is carried from record to record, and its limits.
#
# All of it is bounded: what is forgotten is at worst given again under the same name, which the store takes for a
# replay.

MAX_SEEN = 8192
MAX_SESSIONS = 48
MAX_TRACES = 128
MAX_SAID = 512


class Known(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A session that was met: the agent whose calls came first, and the newest model."""

    session: str
    agent: str = ""
    model: str = ""


class Said(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The number that a text got among equal ones: by which span (0: a sum of others), in which trace."""

    name: int
    span: int
    trace: int
    number: int
    since: int = 0
    """When the call began whose history said so: a call from before it is no repetition. 0 without a history."""


class OtelState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """What the parser of telemetry remembers."""

    sessions: tuple[Known, ...] = ()
    traces: tuple[tuple[str, str], ...] = ()
    """(trace, session), learned from any span of the trace that names its conversation."""
    seen: tuple[int, ...] = ()
    """Marks of what was given."""
    said: tuple[Said, ...] = ()
    waiting: tuple[Waiting, ...] = ()


Reading = KitReading[OtelState]


def mark(*parts: str) -> int:
    """Return 63 bits that stand for some texts."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big") >> 1


def session_name(written: str) -> str:
    """Return a session's name as it can be stored: long ones, and what cannot be encoded, by their hash."""
    if len(written) <= MAX_NAME_CHARS and short(written) == written:
        return written
    return f"{short(written, 100)}-{content_sha256(written)}"


class Memory:
    """The state while one record is read: changed here, written back once at its end."""

    def __init__(self, reading: Reading) -> None:
        state = reading.state
        self._reading = reading
        self._seen = set(state.seen)
        self._new_marks: list[int] = []
        self._sessions = {known.session: known for known in state.sessions}
        self._traces = dict(state.traces)
        self._said = list(state.said)
        self.waiting = state.waiting

    def store(self) -> None:
        """Write everything back into the state, bounded."""
        state = self._reading.state
        changes: dict[str, Any] = {}
        if self._new_marks:
            changes["seen"] = (*state.seen, *self._new_marks)[-MAX_SEEN:]
        sessions = tuple(self._sessions.values())[-MAX_SESSIONS:]
        traces = tuple(self._traces.items())[-MAX_TRACES:]
        said = tuple(self._said[-MAX_SAID:])
        now = {"sessions": sessions, "traces": traces, "said": said, "waiting": self.waiting}
        changes |= {name: value for name, value in now.items() if value != getattr(state, name)}
        if changes:
            self._reading.set(**changes)

    def is_seen(self, *names: str) -> bool:
        """Say whether something was given."""
        return mark(*names) in self._seen

    def see(self, *names: str) -> bool:
        """Note that something is given; return False where it was before."""
        found = mark(*names)
        if found in self._seen:
            return False
        self._seen.add(found)
        self._new_marks.append(found)
        return True

    def session_of_trace(self, trace: str) -> str:
        """Return the session that a span of the trace named, "" for none."""
        return self._traces.get(short(trace, 64), "")

    def learn_trace(self, trace: str, session: str) -> None:
        """Remember which session a trace belongs to. The first to say it counts."""
        if trace:
            self._traces.setdefault(short(trace, 64), session)

    def known(self, session: str) -> Known | None:
        """Return what is known of a session, None for one that is met for the first time."""
        return self._sessions.get(session)

    def meet(self, known: Known) -> None:
        """Remember a session, as the newest."""
        self._sessions.pop(known.session, None)
        self._sessions[known.session] = known

    def number(self, name: tuple[str, str], where: tuple[str, str], *, start: int, at_least: int = 0) -> int:
        """Return the number of a text (session, name) among equal ones of its session, from 1.

        where: the span ("" for a sum of others) and its trace. at_least: how many of them the history that a call
        repeats has, with this one; 0: there is no history to tell. Then a text is new unless the same span said it
        before, or the sum above it in the same trace.
        """
        wanted = mark(*name)
        by, within = (mark(part) if part else 0 for part in where)
        equal = [said for said in self._said if said.name == wanted]
        if at_least:
            number = at_least
        else:
            before = (said.number for said in equal if said.since <= start)
            number = _told(equal, by, within) or max(before, default=0) + 1
        entry = Said(wanted, by, within, number, start if at_least else 0)
        if entry not in equal:
            self._said.append(entry)
        return number


def _told(equal: list[Said], by: int, within: int) -> int:
    """Return the number that a text has already, 0 for none."""
    if not by:
        return next((said.number for said in reversed(equal) if within and said.trace == within), 0)
    own = next((said.number for said in equal if said.span == by), 0)
    claimed = {said.number for said in equal if said.span}
    above = (s.number for s in equal if within and s.trace == within and not s.span and s.number not in claimed)
    return own or next(above, 0)


MESSAGE_FIELDS = known_fields("otel")["message"]
PART_FIELDS = known_fields("otel")["part"]
_TEXTS = frozenset(("text", "input_text", "output_text", "refusal"))
_THOUGHTS = frozenset(("reasoning", "thinking", "thought"))
_CALLS = frozenset(("tool_call", "tool_use", "function_call", "function", "server_tool_call", "server_tool_use"))
_RESULTS = word_set("tool_call_response tool_result function_call_output server_tool_call_response function_response")
_MEDIA = word_set("blob file uri image image_url input_image document audio video input_audio input_file")
_MAX_PARTS = 10_000


class MessageCall(msgspec.Struct, frozen=True, gc=False):
    """A tool call in a message."""

    call_id: str
    name: str
    arguments: Json
    is_whole: bool = True


class MessageAnswer(msgspec.Struct, frozen=True, gc=False):
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
    calls: list[MessageCall] = []
    results: list[MessageAnswer] = []
    parts: list[Part] = []
    odd: list[tuple[str, Json]] = []
    """Parts of types that are not known."""
    extra: dict[str, Json] = {}
    finish: str = ""
    are_media_readable: bool = True

    @property
    def text(self) -> str:
        return "\n".join(t for t in self.texts if t)

    @property
    def thinking(self) -> str:
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
        message.results.append(MessageAnswer(answers or text(written.get("id")), content, name=named))
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
    message.calls.append(MessageCall(call_id, text(both.get("name")), arguments, is_whole))


def _take_result(message: Message, part: dict[str, Any]) -> None:
    inner = mapping(part.get("functionResponse")) or mapping(part.get("server_tool_call_response"))
    both = {**inner, **part}
    content = both.get("response", both.get("result", both.get("content", both.get("output"))))
    names = ("id", "tool_use_id", "tool_call_id", "call_id")
    call_id = next((text(both[name]) for name in names if text(both.get(name))), "")
    message.results.append(
        MessageAnswer(call_id, decoded(content)[0], both.get("is_error") is True, text(both.get("name")))
    )


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
