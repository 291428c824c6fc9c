"""Parses messages as Gemini CLI and the first Qwen Code record them.

A message has an id, and is written again as a whole, under that id, when more of it is known. So everything that it
gives has one stable name: the text `<id>`, its thoughts `<id>/thinking/<n>`, its tokens `<id>/usage`, a call
`call:<call id>`, its result `result:<call id>`, its edit `edit:<call id>`.
Evidence: format notes: Gemini CLI, "JSONL grammar"; transcripts of 0.16 to 0.40.
"""

from __future__ import annotations

from typing import Any, TypeVar

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState, Reading
from recollect.agents.kit.google_parts import (
    Counts,
    Pieces,
    display_of,
    edit_of,
    read_content,
    response_failed,
    response_media,
    response_text,
    unwrap_shell,
    usage_of,
)
from recollect.agents.kit.names import Marks, content_sha256, count_name, short_name
from recollect.agents.kit.values import items, mapping, text
from recollect.model.payloads import (
    AssistantMessage,
    Json,
    Lifecycle,
    Origin,
    Part,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

S = TypeVar("S", bound=BaseState)

MODEL_TYPES = ("gemini", "qwen", "model")
NOTICE_TYPES = ("info", "error", "warning")
_KNOWN = known_fields("gemini")
_COUNTS = ("input", "output", "cached", "thoughts", "tool", "total")
_TOKEN_FIELDS = frozenset(_COUNTS)
_STATUSES = frozenset(("validating", "scheduled", "executing", "awaiting_approval", "success", "error", "cancelled"))
_ENDED = ("success", "error", "cancelled")
_INJECTED = (
    "<session_context>", "<state_snapshot>", "<hook_context>", "<system-reminder>", "<task-notification>",
    "This is the Gemini CLI. We are setting up the context", "This is the Qwen Code. We are setting up the context",
    "System: Please continue",
    "You have exceeded the maximum number of turns.", "I ran the following shell command:",
)  # fmt: skip
_FILES_BEGIN = "--- Content from referenced files ---"
_CANCELLED = "Request cancelled."
_API_ERROR = "[API Error"


class ChatState(BaseState, frozen=True):
    """The state of a parser that also reads conversations saved without ids: how often each content came."""

    counted: Marks = ()


N = TypeVar("N", bound=ChatState)


def read_message(reading: Reading[S], message: dict[str, Any], *, is_synthetic: bool = False) -> None:
    """Emit the events of one message. is_synthetic: the harness wrote it, so its user text is no person's."""
    message_id = reading.text(message, "id")
    reading.native_id = short_name(message_id) if message_id else None
    reading.date(message.get("timestamp"))
    kind = reading.text(message, "type")
    if kind == "user":
        _read_user(reading, message, is_synthetic=is_synthetic)
    elif kind in MODEL_TYPES:
        _read_reply(reading, message)
    elif kind in NOTICE_TYPES:
        said = _content(reading, message).said
        if said.strip() == _CANCELLED:
            name = "interrupted"
        elif kind == "error" and said.startswith(_API_ERROR):
            name = "api_error"
        else:
            name = kind
        reading.add(Lifecycle(name, text=said))
    else:
        reading.unknown(kind or "message", message)
        return
    reading.extra(message, _KNOWN["message"], "message")


def origin_of(said: str) -> Origin:
    """Say who wrote a text in the user's role, by the forms that the harness uses."""
    if said.lstrip().startswith(_INJECTED):
        return "injected"
    return "command" if _is_command(said) else "human"


def split_references(texts: list[str]) -> tuple[list[str], list[str]]:
    """Return a prompt's own texts, and those of the files it refers to, which the harness adds behind a marker."""
    for i, said in enumerate(texts):
        at = said.find(_FILES_BEGIN)
        if at >= 0 and (at == 0 or said[at - 1] == "\n"):
            own = [*texts[:i], said[:at].rstrip("\n")] if at else texts[:i]
            return own, [said[at:], *texts[i + 1 :]]
    return texts, []


def read_call(reading: Reading[S], call: dict[str, Any], message_id: str) -> str:
    """Emit a call in a content's `functionCall`; return its id."""
    call_id = text(call.get("id"))
    name = text(call.get("name"))
    native_id = f"call:{short_name(call_id)}" if call_id else reading.below(f"call/{content_sha256(call)}")
    reading.add(
        ToolCall(call_id, name, canonical_tool(name), call.get("args"), message_id), "assistant", native_id=native_id
    )
    return call_id


def read_response(reading: Reading[S], response: dict[str, Any]) -> None:
    """Emit a result in a content's `functionResponse`, without other sources."""
    call_id = text(response.get("id"))
    name = text(response.get("name"))
    said = response_text(response)
    shell = unwrap_shell(name, said)
    result = ToolResult(
        call_id,
        name,
        not response_failed(response) and not (shell and shell.exit_code),
        shell.exit_code if shell else None,
        shell.output if shell else said,
        (shell.facts or None) if shell else None,
        parts=tuple(response_media(response)),
    )
    native_id = f"result:{short_name(call_id)}" if call_id else reading.below(f"result/{content_sha256(response)}")
    reading.add(result, "tool", native_id=native_id)


def read_saved_turn(reading: Reading[N], turn: dict[str, Any]) -> None:
    """Emit one turn of a conversation saved by name: `{role, parts}`, without id or time.

    It is named by its content, because the file is rewritten each time.
    """
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.add(SessionStart(originator="saved conversation"), native_id="start")
    role = reading.text(turn, "role")
    content = {"role": role, "parts": turn.get("parts")}
    name, counted = count_name(reading.now("counted"), content_sha256(content))
    reading.set(counted=counted)
    kind = {"user": "user", "model": "gemini"}.get(role, role or "turn")
    read_message(reading, {"id": f"h-{name}", "type": kind, "content": turn.get("parts")})
    reading.extra(turn, _KNOWN["turn"], "turn")


def read_logged_prompt(reading: Reading[S]) -> None:
    """Emit a prompt of `logs.json`, in the session that it names."""
    value = reading.value
    reading.date(value.get("timestamp"))
    said = reading.text(value, "message")
    named = reading.text(value, "sessionId")
    reading.native_id = f"log:{content_sha256([value.get('messageId'), value.get('timestamp'), said])}"
    kind = reading.text(value, "type")
    if kind == "user":
        reading.add(UserMessage(said, origin_of(said)), "user", session=named or None)
    else:
        reading.unknown(kind or "prompt")
    reading.extra(value, _KNOWN["log"], "prompt")


def _read_user(reading: Reading[S], message: dict[str, Any], *, is_synthetic: bool) -> None:
    pieces = _content(reading, message)
    shown = read_content(message.get("displayContent")).said
    own, referenced = split_references(pieces.texts)
    said = "\n".join(own)
    if shown and shown != said:
        referenced = [said, *referenced] if shown not in said else [said.replace(shown, "", 1).strip(), *referenced]
        said = shown
    origin: Origin = "injected" if is_synthetic else origin_of(said)
    for response in pieces.responses:
        read_response(reading, response)
    if said or pieces.media or not (pieces.responses or pieces.others or referenced):
        reading.add(UserMessage(said, origin, tuple(pieces.media)), "user")
    added = "\n".join(t for t in referenced if t)
    if added:
        native_id = reading.below("context")
        reading.add(UserMessage(added, "injected"), "user", native_id=native_id)
    for call in pieces.calls:
        read_call(reading, call, "")
    _read_others(reading, pieces)


def _read_reply(reading: Reading[S], message: dict[str, Any]) -> None:
    message_id = text(message.get("id"))
    model = reading.text(message, "model")
    written = message.get("timestamp")
    _read_thoughts(reading, reading.items(message, "thoughts"), message_id)
    reading.date(written)
    pieces = _content(reading, message)
    for i, thought in enumerate(pieces.thoughts, 1):
        reading.add(Thinking(thought, message_id), "assistant", native_id=reading.below(f"thinking/content/{i}"))
    if pieces.said or pieces.media:
        reading.add(AssistantMessage(pieces.said, model, "", message_id, tuple(pieces.media)), "assistant")
    calls = [c for c in reading.items(message, "toolCalls") if isinstance(c, dict)]
    if len(calls) < len(items(message.get("toolCalls"))):
        reading.wrong("toolCalls")
    listed = {call["id"] for call in calls if isinstance(call.get("id"), str)}
    for call in pieces.calls:
        if text(call.get("id")) not in listed:
            read_call(reading, call, message_id)
    for call in calls:
        _read_recorded_call(reading, call, message_id)
        reading.date(written)
    for response in pieces.responses:
        if text(response.get("id")) not in listed:
            read_response(reading, response)
    _read_others(reading, pieces)
    tokens = reading.mapping(message, "tokens")
    if tokens:
        # Emit the tokens of a message: the input includes the cached ones, thoughts are counted beside the output.
        key = f"{reading.state.session}:{message_id}" if message_id else ""
        counts = Counts(
            *(reading.count(tokens, name) for name in ("input", "output", "cached", "thoughts", "tool", "total"))
        )
        usage = usage_of(counts, model, key, thoughts_are_apart=True)
        if usage is not None:
            reading.add(usage, "assistant", native_id=reading.below("usage"))
        reading.extra(tokens, _TOKEN_FIELDS, "tokens")


def _read_thoughts(reading: Reading[S], thoughts: list[Any], message_id: str) -> None:
    for i, thought in enumerate(thoughts, 1):
        native_id = reading.below(f"thinking/{i}")
        if not isinstance(thought, dict):
            reading.wrong("thoughts")
            reading.kept("thought", thought, native_id=native_id)
            continue
        reading.date(thought.get("timestamp"), "thoughts.timestamp")
        subject, description = reading.text(thought, "subject"), reading.text(thought, "description")
        body = f"{subject}\n{description}" if subject and description else subject or description
        reading.add(Thinking(body, message_id), "assistant", native_id=native_id)
        reading.extra(thought, _KNOWN["thought"], "thought", native_id=native_id)


def _read_recorded_call(reading: Reading[S], call: dict[str, Any], message_id: str) -> None:
    """Emit a call of `toolCalls`, and its result and edit once it has ended."""
    call_id, name = reading.text(call, "id"), reading.text(call, "name")
    short = short_name(call_id) if call_id else f"{reading.native_id}/{content_sha256([name, call.get('args')])}"
    native_id = f"call:{short}"
    reading.add(
        ToolCall(call_id, name, canonical_tool(name), call.get("args"), message_id), "assistant", native_id=native_id
    )
    agent = reading.text(call, "agentId")
    if agent:
        detail = {"agent_id": agent}
        reading.add(Lifecycle("subagent", text=agent, detail=detail, call_id=call_id), native_id=f"subagent:{short}")
    status = reading.text(call, "status")
    reading.odd_value("toolCall.status", status, _STATUSES)
    has_ended = status in _ENDED or (not status and call.get("result") is not None)
    if has_ended:
        reading.date(call.get("timestamp"), "toolCalls.timestamp")
        ok = _read_result(reading, call, name, native_id=f"result:{short}")
        edit = edit_of(name, call.get("args"), call.get("resultDisplay"), call_id) if ok else None
        if edit is not None:
            reading.add(edit, "tool", native_id=f"edit:{short}")
    reading.extra(call, _KNOWN["call"], "toolCall", native_id=native_id)


def _read_result(reading: Reading[S], call: dict[str, Any], name: str, *, native_id: str) -> bool:
    """Emit what a call gave back, to the model and beyond that to the user. Return whether it succeeded."""
    pieces = read_content(call.get("result"))
    said = "\n".join(t for t in (*map(response_text, pieces.responses), *pieces.texts) if t)
    shown, beyond = display_of(call.get("resultDisplay"), said)
    shell = unwrap_shell(name, said)
    structured: Json = beyond
    if shell is not None:
        said = shell.output
        structured = {**shell.facts, **({} if beyond is None else {"display": beyond})} or None
    elif not said:
        said, structured = shown or flatten(pieces.others), None if shown else beyond
    exit_code = shell.exit_code if shell is not None else None
    status = text(call.get("status"))
    ok = not exit_code and (status == "success" if status else not any(map(response_failed, pieces.responses)))
    media: list[Part] = [*pieces.media, *(m for r in pieces.responses for m in response_media(r))]
    call_id = text(call.get("id"))
    reading.add(
        ToolResult(call_id, name, ok, exit_code, said, structured, parts=tuple(media)), "tool", native_id=native_id
    )
    return ok


def _content(reading: Reading[S], message: dict[str, Any]) -> Pieces:
    content = message.get("content")
    if content is None:
        content = message.get("parts")
    pieces = read_content(content)
    if not pieces.is_readable:
        reading.wrong("content.inlineData", "bad_base64")
    return pieces


def _read_others(reading: Reading[S], pieces: Pieces) -> None:
    for i, other in enumerate(pieces.others, 1):
        kind = next((k for k in mapping(other) if k not in ("thought", "thoughtSignature")), "part")
        reading.unknown(kind, other, native_id=reading.below(f"part/{i}"))


def _is_command(said: str) -> bool:
    """A slash command or a help question is one line; a path or a comment that begins alike is a prompt."""
    first = said.strip()
    word = first.split(" ", 1)[0]
    return first.startswith("/") and "\n" not in first and "/" not in word[1:] and not word.startswith(("//", "/*"))
