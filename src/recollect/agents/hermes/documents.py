"""What older versions and batch runs wrote: a session as one JSON document, as lines, or a line per trajectory.

Their messages have no ids and no times: a name is made of the content and of how often it came, the time is that of
the session.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.hermes.messages import identity_of, read_message
from recollect.agents.hermes.state import Reading
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.instants import instant
from recollect.agents.kit.naming import content_name, content_sha256, numbered
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Json,
    Lifecycle,
    Payload,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_HEADER_FIELDS = frozenset(
    """session_id model base_url platform session_start last_updated system_prompt tools message_count messages
    model_config cwd title source conversation_tags""".split()
)
_LINE_FIELDS = frozenset("role model platform tools timestamp cwd system_prompt session_id".split())
_TRAJECTORY_FIELDS = frozenset(
    """timestamp model prompt_index completed partial api_calls conversations toolsets_used tool_stats
    tool_error_counts metadata""".split()
)
_OFFSET = re.compile(r"[Zz]$|[+-]\d\d:?\d\d$")
_THINK = re.compile(r"<think>(.*?)</think>\s*", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>\s*", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)</tool_response>\s*", re.DOTALL)


def take_local_time(reading: Reading, written: object) -> None:
    """Take a time; one without an offset is that of a clock somewhere and is only inferred."""
    if isinstance(written, str) and not _OFFSET.search(written):
        at = instant(written)
        if at is None and written:
            reading.wrong("timestamp", "bad_timestamp")
        reading.infer(at)
    else:
        reading.date(written)


def read_document(reading: Reading) -> None:
    """Give the members of a session document: those around the messages, or one message."""
    if reading.at == "messages":
        read_file_message(reading, reading.value)
        return
    value = reading.value
    if "role" in value and "messages" not in value and "session_id" not in value:
        read_file_message(reading, value)
        return
    _read_header(reading, value)
    for message in reading.items(value, "messages"):
        if isinstance(message, dict):
            read_file_message(reading, message)
        else:
            reading.unknown("message", message)
    reading.extra(value, _HEADER_FIELDS, "session", native_id="start")


def _read_header(reading: Reading, value: dict[str, Any]) -> None:
    if value.get("session_start"):
        take_local_time(reading, value.get("session_start"))
    model = reading.text(value, "model")
    cwd = reading.text(value, "cwd") or text(mapping(value.get("model_config")).get("cwd"))
    if not reading.now("is_started"):
        reading.set(is_started=True)
        start = SessionStart(cwd=cwd, model=model, originator=reading.text(value, "platform"))
        reading.add(start, native_id="start")
    elif cwd:
        reading.add(Lifecycle("cwd", cwd=cwd), native_id="cwd")
    title = reading.text(value, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    prompt = reading.text(value, "system_prompt")
    if prompt:
        reading.add(Instructions(prompt, "system_prompt"), native_id="system-prompt")
    tags = value.get("conversation_tags")
    if tags:
        reading.add(Lifecycle("tag", detail=tags), native_id="tags")


def read_line(reading: Reading) -> None:
    """Give one line of an older session: its facts, or a message."""
    value = reading.value
    if value.get("role") != "session_meta":
        take_local_time(reading, value.get("timestamp"))
        read_file_message(reading, value)
        return
    take_local_time(reading, value.get("timestamp"))
    if not reading.now("is_started"):
        reading.set(is_started=True)
        model, platform = reading.text(value, "model"), reading.text(value, "platform")
        start = SessionStart(cwd=text(value.get("cwd")), model=model, originator=platform)
        reading.add(start, native_id="start")
    elif value.get("model"):
        reading.add(Lifecycle("model", model=reading.text(value, "model")), native_id=f"model/{reading.index}")
    prompt = reading.text(value, "system_prompt")
    if prompt:
        reading.add(Instructions(prompt, "system_prompt"), native_id="system-prompt")
    reading.extra(value, _LINE_FIELDS, "session_meta", native_id=f"meta/{reading.index}")


def read_file_message(reading: Reading, message: dict[str, Any]) -> None:
    """Give one message without an id of its own. An empty `session_meta` closes some documents and says nothing."""
    if message.get("role") == "session_meta":
        if len(message) > 1:
            reading.kept("session_meta", message, native_id=content_name(message))
        return
    name = numbered(reading, content_name(identity_of(message)))
    read_message(reading, message, name)


def read_trajectory(reading: Reading) -> None:
    """Give one line of a batch run, which is a session of its own: `conversations` of {from, value}."""
    value = reading.value
    turns = value.get("conversations")
    if not isinstance(turns, list):
        reading.unknown("trajectory", value)
        return
    take_local_time(reading, value.get("timestamp"))
    session = f"{reading.state.session}/{value['prompt_index']}-" if _is_number(value) else f"{reading.state.session}/"
    into = _Trajectory(reading, f"{session}{content_sha256(value)}")
    into.add(SessionStart(model=reading.text(value, "model"), originator="batch"), "start")
    for number, turn in enumerate(turns, 1):
        into.turn(turn, f"t{number}")
    facts = {k: v for k, v in value.items() if k not in ("conversations", "timestamp", "model") and v is not None}
    if facts:
        into.add(Lifecycle("trajectory", detail=facts), "facts")
    reading.drift += [d for d in _unknown_fields(reading, value) if d]


def _unknown_fields(reading: Reading, value: dict[str, Any]) -> list[Any]:
    """Return the drift of the unknown fields of a trajectory; their content stands in its facts."""
    before = len(reading.drift)
    events = len(reading.events)
    reading.extra(value, _TRAJECTORY_FIELDS, "trajectory")
    found = reading.drift[before:]
    del reading.drift[before:]
    del reading.events[events:]
    return found


def _is_number(value: dict[str, Any]) -> bool:
    return type(value.get("prompt_index")) is int


class _Trajectory:
    """The session that one line of a batch run is."""

    def __init__(self, reading: Reading, session: str) -> None:
        self._reading = reading
        self._session = session

    def add(self, payload: Payload, native_id: str, role: Any = "system") -> None:
        self._reading.add(payload, role, native_id=native_id, session=self._session)

    def turn(self, turn: Json, name: str) -> None:
        if not isinstance(turn, dict):
            self._reading.wrong("conversations")
            return
        said = turn.get("value")
        words = said if isinstance(said, str) else flatten(said)
        match turn.get("from"):
            case "system":
                self.add(Instructions(words, "system"), name)
            case "human":
                self.add(UserMessage(words), name, "user")
            case "gpt":
                self._reply(words, name)
            case "tool":
                self._responses(words, name)
            case other:
                self._reading.odd_value("trajectory.from", other, frozenset())
                self.add(Lifecycle("turn", text=words, detail={"from": other}), name)

    def _reply(self, words: str, name: str) -> None:
        for number, thought in enumerate(_THINK.findall(words), 1):
            if thought.strip():
                self.add(Thinking(thought.strip()), f"{name}/thinking/{number}", "assistant")
        words = _THINK.sub("", words)
        rest = _CALL.sub("", words).strip()
        calls = _CALL.findall(words)
        if rest or not calls:
            self.add(AssistantMessage(rest), name, "assistant")
        for number, written in enumerate(calls, 1):
            call = mapping(_decoded(written))
            tool = text(call.get("name"))
            arguments = call.get("arguments") if call else written.strip()
            asked = ToolCall(text(call.get("id")), tool, canonical_tool(tool), arguments)
            self.add(asked, f"{name}/call/{number}", "assistant")

    def _responses(self, words: str, name: str) -> None:
        responses = _RESPONSE.findall(words) or [words]
        for number, written in enumerate(responses, 1):
            answer = mapping(_decoded(written))
            content = answer.get("content") if answer else written.strip()
            structured = None if content is None or isinstance(content, str) else content
            result = ToolResult(
                text(answer.get("tool_call_id")),
                text(answer.get("name")),
                text=content if isinstance(content, str) else "",
                structured=structured,
            )
            self.add(result, f"{name}/result/{number}", "tool")


def _decoded(written: str) -> Json:
    try:
        return msgspec.json.decode(written.strip())
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
