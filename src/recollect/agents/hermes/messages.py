"""Parses OpenAI-shaped messages, from the table `messages` or from older session files.

The name of a message is made of its content and its time: a compaction copies rows under new ids, and a repair of the
database renumbers them, and both leave content and time alone.
"""

import re
from typing import Any, Literal, NamedTuple

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.calls import Waiting, arrived, edits_asked, expect, file_edits
from recollect.agents.kit.content import arguments_of, chat_content
from recollect.agents.kit.names import NamingState, content_name, short_name
from recollect.agents.kit.values import Json, decoded_json, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool


class HermesState(NamingState, frozen=True):
    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet."""
    kept: str = ""
    """The newest event before the run of taken-back messages that is being read."""
    rewound: str = ""
    """The first message of the run of taken-back messages that is being read."""
    rewound_turns: int = 0
    has_compacted: bool = False
    usage_rows: int = 0
    prompt_hash: str = ""
    prompt: str = ""
    """The system prompt whose sessions come next."""


Reading = kit.Reading[HermesState]
"""A record in hand."""


# Who wrote a text in the user's role, and what of it is a summary of a compaction.
#
# Evidence: format notes: Hermes Agent, "semantics"; the agent's own markers.

_COMPACTION = re.compile(r"\s*(?:\[CONTEXT COMPACTION\s*[-\u2010-\u2015]\s*REFERENCE ONLY\]|\[CONTEXT SUMMARY\]:)")
"""The first line of a summary: the dash was written in several ways, and older versions had another word."""
_SUMMARY_END = re.compile(r"--- END OF CONTEXT SUMMARY [^\n]*---\s*")
_PRIOR_HEADER = re.compile(r"\s*\[PRIOR CONTEXT [^\n\]]*\]\s*")
_PRIOR_END = re.compile(r"\s*\[END OF PRIOR CONTEXT [^\n\]]*\]\s*")

_SKILL = re.compile(r'\[IMPORTANT: The user has invoked the "([^"\n]{1,200})"')
_SKILL_WORDS = "The user has provided the following instruction alongside the skill invocation: "
_BUNDLE_WORDS = "\nUser instruction: "
_SKILL_ENDS = ("\n\n[Runtime note:", "\n\n[Loaded as part of the ")

_HARNESS = (
    "Review the conversation above and ", "Continue from the compressed conversation context above.",
    "You just executed tool calls but returned an empty response.", "[ASYNC DELEGATION COMPLETE ",
    "[ASYNC DELEGATION BATCH COMPLETE ", "[IMPORTANT: Background process ", "[IMPORTANT: Background task ",
    "[IMPORTANT: The user has invoked the ", "[System note:", "[System: ",
    "[Your active task list was preserved across context compression]",
)  # fmt: skip
"""Openings of texts that the harness puts into the user's role."""

INTERRUPTED = "Operation interrupted: "
"""Opening of the text that stands for a reply that the user stopped."""


class Said(NamedTuple):
    """A text in the user's role, with who wrote it; `scaffold` is what the harness put around it."""

    text: str
    origin: Literal["human", "injected", "command"]
    scaffold: str = ""


class Summary(NamedTuple):
    """A message of a compaction: the summary, and what was said in the same message beside it."""

    text: str
    rest: str


def who_wrote(text: str) -> Said:
    """Tell a person's words from the harness's. An invoked skill becomes `/name instruction`."""
    head = text.lstrip()
    skill = _SKILL.match(head)
    if skill is not None:
        return Said(
            f"{skill[1] if skill[1].startswith('/') else '/' + skill[1]} {_typed(head)}".rstrip(), "command", text
        )
    return Said(text, "injected" if head.startswith(_HARNESS) else "human")


def _typed(text: str) -> str:
    """Return the instruction that was typed behind the name of a skill."""
    for words in (_SKILL_WORDS, _BUNDLE_WORDS):
        _, found, rest = text.partition(words)
        if found:
            ends = [i for i in map(rest.find, _SKILL_ENDS) if i >= 0]
            return rest[: min(ends)].strip() if ends else rest.strip()
    return ""


def summary_in(text: str, *, is_marked: bool) -> Summary | None:
    """Return the summary in a message, or None. is_marked: the row says by itself that it is one."""
    end = _PRIOR_END.search(text)
    if end is not None and _COMPACTION.match(text, end.end()):
        header = _PRIOR_HEADER.match(text)
        return Summary(text[end.end() :], text[header.end() if header is not None else 0 : end.start()].strip())
    if not is_marked and _COMPACTION.match(text) is None:
        return None
    closing = _SUMMARY_END.search(text)
    if closing is None:
        return Summary(text, "")
    return Summary(text[: closing.start()].rstrip(), text[closing.end() :].strip())


# Results of tools: most are a JSON object in a text, with output, exit code and error apart.
#
# Evidence: format notes: Hermes Agent; the agent's terminal and file tools.

_TEXTS = ("output", "content", "result")
"""Fields of a result that hold what the tool printed."""


def read_result(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> None:
    """Emit the result of a call, and the edits of files that it says were made."""
    call_id = reading.text(row, "tool_call_id")
    call = arrived(reading, call_id)
    name = text(row.get("tool_name")) or text(row.get("name")) or (call.name if call is not None else "")
    written, parts, is_readable = chat_content(content)
    if not is_readable:
        reading.wrong("content", "bad_base64")
    envelope = mapping(decoded_json(written)) if written.startswith("{") else {}
    body, structured = _split(envelope, written)
    exit_code = whole(envelope.get("exit_code"))
    ok = _ok(envelope, exit_code, reading.text(row, "finish_reason"))
    disposition = text(row.get("effect_disposition"))
    if disposition:
        structured = {**structured, "effect_disposition": disposition}
    reading.add(kinds.ToolResult(call_id, name, ok, exit_code, body, structured or None, parts=parts), native_id=mid)
    if ok is not False:
        for number, edit in enumerate(_edits(call, envelope), 1):
            reading.add(edit, native_id=f"{mid}/edit/{number}")


def _split(envelope: dict[str, Any], written: str) -> tuple[str, dict[str, Any]]:
    """Return what the tool printed, and the rest of its envelope."""
    key = next((k for k in _TEXTS if isinstance(envelope.get(k), str)), None)
    error = envelope.get("error")
    if key is None:
        return (error, _without(envelope, "error")) if isinstance(error, str) and error else (written, {})
    printed = envelope[key]
    if isinstance(error, str) and error and error not in printed:
        printed = f"{printed}\n{error}" if printed else error
    return printed, _without(envelope, key, "error" if isinstance(error, str | None) else key)


def _without(envelope: dict[str, Any], *left_out: str) -> dict[str, Any]:
    names = ("exit_code", *left_out)
    return {k: v for k, v in envelope.items() if k not in names and v not in (None, "", [], {})}


def _ok(envelope: dict[str, Any], exit_code: int | None, finish_reason: str) -> bool | None:
    if finish_reason == "error" or envelope.get("error") or envelope.get("success") is False:
        return False
    if envelope.get("status") == "error" or envelope.get("is_error") is True:
        return False
    if exit_code is not None:
        return exit_code == 0
    return True if envelope.get("success") is True or "error" in envelope else None


def _edits(call: Waiting | None, envelope: dict[str, Any]) -> list[kinds.FileEdit]:
    """Return the edits of a call that went well: as the result's diff where it has one, else as the call asked."""
    if call is None or canonical_tool(call.name) != "edit":
        return []
    diff = text(envelope.get("diff"))
    paths = [p for k in ("files_modified", "files_created", "files_deleted") for p in items(envelope.get(k))]
    if not diff:
        return file_edits(call)
    if call.edits and call.edits[0].before is not None:
        return file_edits(call)
    path = call.edits[0].path if call.edits else flatten(paths[0]) if paths else ""
    return [kinds.FileEdit(path, diff=diff, call_id=call.call_id)]


KNOWN_FIELDS = known_fields("hermes")["message"]
_KNOWN = known_fields("hermes")
_JSON_PREFIX = "\x00json:"
"""Before content that is no text in the database; a NUL stands in no text."""


def identity_of(row: dict[str, Any]) -> Json:
    """Return what makes a message this one: everything it says, and when."""
    return [row.get(k) for k in ("role", "content", "tool_call_id", "tool_calls", "reasoning", "timestamp")]


def content_of(row: dict[str, Any]) -> Json:
    """Return the content of a message, decoded where the database holds it as JSON."""
    content = row.get("content")
    if isinstance(content, str) and content.startswith(_JSON_PREFIX):
        return decoded_json(content[len(_JSON_PREFIX) :], content)
    return content


def read_message(reading: Reading, row: dict[str, Any], mid: str) -> bool:
    """Emit the events of one message; say whether it is a person's turn."""
    role = row.get("role")
    content = content_of(row)
    is_turn = False
    if role == "user":
        is_turn = _read_user(reading, row, content, mid)
    elif role == "assistant":
        _read_assistant(reading, row, content, mid)
    elif role == "tool":
        read_result(reading, row, content, mid)
    elif role == "system":
        _read_system(reading, row, content, mid)
    else:
        reading.unknown(f"message.{role}" if isinstance(role, str) else "message", row, native_id=mid)
        return False
    reading.extra(row, KNOWN_FIELDS, "message", native_id=mid)
    return is_turn


def _content(reading: Reading, content: Json) -> tuple[str, tuple[kinds.Part, ...]]:
    if content is not None and not isinstance(content, str | list):
        reading.wrong("content")
    said, parts, is_readable = chat_content(content)
    if not is_readable:
        reading.wrong("content", "bad_base64")
    return said, parts


def _read_user(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> bool:
    said, parts = _content(reading, content)
    summary = summary_in(said, is_marked=bool(row.get("_compressed_summary")))
    if summary is not None:
        _add_compaction(reading, summary.text, mid)
        if not summary.rest:
            return False
        said = summary.rest
    elif row.get("display_kind") or row.get("observed"):
        reading.add(kinds.UserMessage(said, "injected", parts), native_id=mid)
        return False
    wrote = who_wrote(said)
    if wrote.scaffold:
        reading.add(kinds.UserMessage(wrote.scaffold, "injected"), native_id=f"{mid}/scaffold")
    reading.add(kinds.UserMessage(wrote.text, wrote.origin, parts), native_id=mid)
    return wrote.origin != "injected"


def _read_system(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> None:
    said, _ = _content(reading, content)
    summary = summary_in(said, is_marked=bool(row.get("_compressed_summary")))
    if summary is None:
        reading.add(kinds.Instructions(said, "system"), native_id=mid)
        return
    _add_compaction(reading, summary.text, mid)
    if summary.rest:
        reading.add(kinds.Instructions(summary.rest, "system"), native_id=mid)


def _add_compaction(reading: Reading, summary: str, mid: str) -> None:
    """Emit the summary that replaces what was said before; the session continues at the message that holds it."""
    trigger = "compacted" if reading.now("has_compacted") else ""
    reading.add(kinds.Compaction(trigger, summary, continues_at=mid), native_id=f"{mid}/compaction")


def _read_assistant(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> None:
    said, parts = _content(reading, content)
    summary = summary_in(said, is_marked=bool(row.get("_compressed_summary")))
    if summary is not None:
        _add_compaction(reading, summary.text, mid)
        said = summary.rest
    before = len(reading.events)
    # Emit the reasoning once: it stands in up to four columns, as text, as blocks and encrypted.
    thoughts: list[str] = []
    for column in ("reasoning", "reasoning_content"):
        thought = reading.text(row, column).strip()
        if thought and thought not in thoughts:
            thoughts.append(thought)
    is_encrypted = False
    for column in ("reasoning_details", "codex_reasoning_items"):
        for item in items(row.get(column)):
            thought = _thought(mapping(item))
            is_encrypted = is_encrypted or any(mapping(item).get(k) for k in ("data", "encrypted_content", "signature"))
            if thought and not any(thought in known for known in thoughts):
                thoughts.append(thought)
    if thoughts or is_encrypted:
        reading.add(kinds.Thinking("\n\n".join(thoughts), is_encrypted=not thoughts), native_id=f"{mid}/thinking")
    said = said or _codex_text(row)
    if said.startswith(INTERRUPTED) and not row.get("tool_calls"):
        reading.add(kinds.Lifecycle("interrupted", text=said), native_id=mid)
        return
    calls = reading.items(row, "tool_calls")
    if said or parts or (not calls and summary is None and len(reading.events) == before):
        message = kinds.AssistantMessage(said, text(row.get("model")), reading.text(row, "finish_reason"), parts=parts)
        reading.add(message, native_id=mid)
    for number, call in enumerate(calls, 1):
        _read_call(reading, call, mid, number)


def _codex_text(row: dict[str, Any]) -> str:
    """Return what the items of the Responses API say, for a row whose own content is empty."""
    texts = [chat_content(mapping(item).get("content"))[0] for item in items(row.get("codex_message_items"))]
    return "\n".join(t for t in texts if t)


def _thought(item: dict[str, Any]) -> str:
    summary = item.get("summary")
    if isinstance(summary, list):
        return "\n".join(text(mapping(s).get("text")) or text(s) for s in summary).strip()
    return (text(item.get("text")) or text(item.get("thinking")) or text(summary)).strip()


def _read_call(reading: Reading, call: Json, mid: str, number: int) -> None:
    """Emit a call: `{id, function: {name, arguments}}`, or flat."""
    if not isinstance(call, dict):
        reading.unknown("tool_call", call, native_id=f"{mid}/call/{number}")
        return
    function = mapping(call.get("function")) or call
    call_id = text(call.get("id")) or text(call.get("call_id"))
    name = reading.text(function, "name")
    arguments = arguments_of(reading, function.get("arguments"), "tool_calls.arguments", empty=None)
    native_id = f"{mid}/call:{short_name(call_id)}" if call_id else f"{mid}/call/{number}"
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments), native_id=native_id)
    expect(reading, call_id, name, edits_asked(name, arguments))
    reading.extra(call, _KNOWN["call"], "tool_call", native_id=native_id)


def name_of(row: dict[str, Any]) -> str:
    """Return the name of a message of the database."""
    return content_name(identity_of(row))
