"""The model's history, `chat_history.jsonl`: a cache that is written anew after a rewind or a compaction; no times.

What the update stream says too has the same names here, so that it is given once: messages and thoughts by their
prompt and number, calls and results by their id. Between a compaction and the next prompt numbers don't fit, and what
is said there is left to the stream. What is only here: the system prompt, what the harness told the model, reasoning
that was not streamed, the exact arguments. Evidence: format notes: Grok Build, section 4, traps 1 and 9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.grok.calls import close_call, give_call, give_edits
from recollect.agents.grok.prompts import HUMAN_REASONS, REASONS, split_prompt
from recollect.agents.grok.speech import begin_prompt, name_message
from recollect.agents.grok.state import Reading
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.openai import chat_content, data_url_part
from recollect.agents.kit.naming import content_sha256, count_name, short, spaceless
from recollect.agents.kit.reading import MAX_NAME_CHARS
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Json,
    Part,
    Thinking,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten

_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool_result"}
"""The oldest lines have a role instead of a type."""
_FIELDS: dict[str, frozenset[str]] = {
    "system": frozenset(("type", "role", "content")),
    "user": frozenset(
        ("type", "role", "content", "synthetic_reason", "prompt_index", "cwd_generation", "prior_turn_interrupt")
    ),
    "assistant": frozenset(
        ("type", "role", "content", "tool_calls", "model_id", "model_fingerprint", "reasoning_effort", "reasoning",
         "reasoning_content", "raw_output")
    ),
    "tool_result": frozenset(("type", "role", "tool_call_id", "content", "images", "name")),
    "reasoning": frozenset(("type", "id", "summary", "content", "encrypted_content", "status", "text")),
    "backend_tool_call": frozenset(("type", "kind")),
}  # fmt: skip
_CALL_FIELDS = frozenset(("id", "type", "name", "arguments", "function", "index"))
_BACKEND_FIELDS = frozenset(("tool_type", "id", "status", "action", "code", "input", "arguments", "outputs", "results"))


def read_item(reading: Reading) -> None:
    """Give the events of one line of the model's history."""
    value = reading.value
    kind = value.get("type")
    if not isinstance(kind, str):
        role = value.get("role")
        kind = _ROLES.get(role, "") if isinstance(role, str) else ""
    read = _READERS.get(kind)
    if read is None:
        reading.unknown(kind or "item", native_id=f"item:{content_sha256(value)}")
        return
    base = f"item:{content_sha256(value)}"
    read(reading, value)
    if not reading.events and (reading.now("mark") or kind in ("system", "user")):
        reading.kept(kind, native_id=base)
    reading.extra(value, _FIELDS[kind], kind, native_id=base)


def give_instructions(reading: Reading, said: str, source: str) -> None:
    """Give a system prompt or a loaded file, the same one only once in a session."""
    if said:
        name = f"instructions:{content_sha256(reading.state.session, spaceless(said))}"
        reading.add(Instructions(said, source), native_id=name)


def _content(reading: Reading, content: Json) -> tuple[str, tuple[Part, ...]]:
    """Return the text and the images of a content."""
    said, parts, is_readable = chat_content(content)
    if not is_readable:
        reading.wrong("content.url", "bad_base64")
    return said, parts


def _read_system(reading: Reading, value: dict[str, Any]) -> None:
    give_instructions(reading, _content(reading, value.get("content"))[0], "system_prompt")


def _read_user(reading: Reading, value: dict[str, Any]) -> None:
    said, parts = _content(reading, value.get("content"))
    reason = reading.text(value, "synthetic_reason")
    reading.odd_value("user.synthetic_reason", reason, REASONS)
    if reason and reason not in HUMAN_REASONS:
        if reason == "compaction_meta":
            begin_prompt(reading, "")
        if reason == "project_instructions":
            give_instructions(reading, said, reason)
        else:
            _give_aside(reading, said, parts)
        return
    human, asides = split_prompt(said)
    for aside in asides:
        _give_aside(reading, aside)
    if human.strip() or parts:
        if reason:
            name = f"ask:{reading.now('mark')}+{content_sha256(human)}"
        else:
            index = whole(value.get("prompt_index"))
            index = reading.now("top") + 1 if index is None else index
            reading.set(top=index)
            begin_prompt(reading, str(index))
            name = name_message(reading, "user")
        reading.add(UserMessage(human, HUMAN_REASONS.get(reason, "human"), parts), "user", native_id=name)


def _give_aside(reading: Reading, said: str, parts: tuple[Part, ...] = ()) -> None:
    if said or parts:
        counted, seen = count_name(reading.now("seen"), content_sha256(reading.state.session, "aside", spaceless(said)))
        reading.set(seen=seen)
        name = f"aside:{counted}"
        reading.add(UserMessage(said, "injected", parts), "user", native_id=name)


def _read_assistant(reading: Reading, value: dict[str, Any]) -> None:
    model = reading.text(value, "model_id")
    if model and len(model) <= MAX_NAME_CHARS:
        reading.set(model=short(model))
    thought = value.get("reasoning_content") or mapping(value.get("reasoning")).get("text")
    if isinstance(thought, str) and thought:
        _give_thought(reading, thought)
    said, parts = _content(reading, value.get("content"))
    if not said and not value.get("tool_calls") and value.get("raw_output"):
        said = flatten(value["raw_output"])
    if (said or parts) and reading.now("mark"):
        name = name_message(reading, "agent")
        reading.add(AssistantMessage(said, model, parts=parts), "assistant", native_id=name)
    for call in reading.items(value, "tool_calls"):
        if isinstance(call, dict):
            _read_call(reading, call)
        else:
            reading.wrong("tool_calls")


def _read_call(reading: Reading, call: dict[str, Any]) -> None:
    function = mapping(call.get("function"))
    name = text(call.get("name")) or text(function.get("name"))
    written = call.get("arguments", function.get("arguments"))
    arguments: Json = written
    if isinstance(written, str) and written:
        try:
            arguments = msgspec.json.decode(written)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            reading.wrong("arguments", "bad_arguments")
    call_id = text(call.get("id"))
    give_call(reading, call_id, name, arguments)
    reading.extra(call, _CALL_FIELDS, "tool_calls", native_id=f"call:{call_id}")


def _read_result(reading: Reading, value: dict[str, Any]) -> None:
    """Give a result; the history doesn't say whether it was a success."""
    call_id = reading.text(value, "tool_call_id")
    said, parts = _content(reading, value.get("content"))
    for image in reading.items(value, "images"):
        url = image if isinstance(image, str) else text(mapping(image).get("url"))
        parts = (*parts, data_url_part("image", url)[0])
    known = close_call(reading, call_id)
    name = known.call.name if known is not None else text(value.get("name"))
    native_id = f"result:{call_id}" if call_id else f"result:{content_sha256(value)}"
    reading.add(ToolResult(call_id, name, text=said, parts=parts), "tool", native_id=native_id)
    give_edits(reading, call_id, known, [])


def _read_reasoning(reading: Reading, value: dict[str, Any]) -> None:
    pieces = [*items(value.get("summary")), *items(value.get("content")), value.get("text")]
    texts = [piece if isinstance(piece, str) else text(mapping(piece).get("text")) for piece in pieces]
    said = "\n".join(t for t in texts if t)
    if said:
        _give_thought(reading, said)
    elif value.get("encrypted_content"):
        name = text(value.get("id")) or content_sha256(value)
        reading.add(Thinking(is_encrypted=True), "assistant", native_id=f"thought:{name}")


def _give_thought(reading: Reading, said: str) -> None:
    if reading.now("mark"):
        reading.add(Thinking(said), "assistant", native_id=name_message(reading, "thought"))


def _read_backend_call(reading: Reading, value: dict[str, Any]) -> None:
    """Give a call of a tool that ran at the model's provider; its sources are all that it gives back."""
    kind = reading.mapping(value, "kind")
    tool = reading.text(kind, "tool_type")
    call_id = reading.text(kind, "id") or content_sha256(value)
    arguments = kind.get("action")
    if arguments is None:
        arguments = {k: v for k, v in kind.items() if k not in ("tool_type", "id", "status")} or None
    give_call(reading, call_id, tool, arguments)
    status = reading.text(kind, "status")
    if status in ("completed", "failed"):
        close_call(reading, call_id)
        result = ToolResult(call_id, tool, status == "completed", text=flatten(mapping(kind).get("results")))
        reading.add(result, "tool", native_id=f"result:{call_id}")
    reading.extra(kind, _BACKEND_FIELDS, "backend_tool_call.kind", native_id=f"call:{call_id}")


_READERS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "system": _read_system,
    "user": _read_user,
    "assistant": _read_assistant,
    "tool_result": _read_result,
    "reasoning": _read_reasoning,
    "backend_tool_call": _read_backend_call,
}
