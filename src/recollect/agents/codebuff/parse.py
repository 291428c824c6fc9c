"""Codebuff: parses a message or document into events; README.md has its traps. Pure; never raises on content."""

import re
from typing import Any, ClassVar, NamedTuple

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.calls import edits_of, give_edits
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import NamingState, content_name, name_of, short
from recollect.agents.kit.values import Json, instant, items, mapping, number, text, whole
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool


class ChatState(NamingState, frozen=True, gc=False, omit_defaults=True):
    began: int | None = None
    """When the chat's folder was made, in UTC microseconds."""
    first_minute: int = -1
    last_minute: int = -1
    days: int = 0
    """Minutes of the day of the first and the newest message, and how often midnight passed between them."""


Reading = kit.Reading[ChatState]


# The blocks of a message: texts, thoughts, tools with their output, and subagents with blocks of their own.

_BLOCK_FIELDS = known_by_type("codebuff", "block")
_KEPT = frozenset(("agent-list", "html", "gate-state"))
_INTERRUPTED = "[response interrupted]"
_EXIT = re.compile(r"exit_?code\"?: ?(-?\d{1,9})\b", re.IGNORECASE)
_ERROR = re.compile(r"^(?:errorMessage|error): ", re.MULTILINE)
_NAMES = {"old": "old_str", "new": "new_str"}
_HEAD_CHARS = 2000
_MAX_DEPTH = 16
_ASKED = "ask_user"


class Place(NamedTuple):
    """Where blocks stand: the name that theirs begin with, the session they belong to, and how deep they lie."""

    name: str
    session: str | None = None
    depth: int = 0


def read_blocks(reading: Reading, blocks: list[Any], place: Place, *, media: list[kinds.Part] | None = None) -> None:
    """Emit the events of blocks in order. media: takes the images instead, where a message of its own has them."""
    counts: dict[str, int] = {}
    for block in blocks:
        kind = text(mapping(block).get("type"))
        count = counts[kind] = counts.get(kind, 0) + 1
        name = f"{place.name}/{kind or 'block'}" + (f"/{count}" if count > 1 else "")
        if kind == "image":
            part, _ = base64_part(
                "image", text(block.get("mediaType")), block.get("image"), path=text(block.get("filename"))
            )
            if media is None:
                _add(reading, place, kinds.AssistantMessage(parts=(part,)), name)
            else:
                media.append(part)
        elif kind == "text":
            _read_text(reading, block, place, name)
        elif kind == "tool":
            _read_tool(reading, block, place, name)
        elif kind == "agent":
            _read_agent(reading, block, place, name)
        elif kind == "ask-user":
            _read_question(reading, block, place, name)
        elif kind in ("plan", "mode-divider"):
            said = text(block.get("content")) or text(block.get("mode"))
            _add(reading, place, kinds.Lifecycle("plan" if kind == "plan" else "mode", text=said), name)
        elif kind in _KEPT:
            reading.kept(kind, without_opaque(block), native_id=name)
        else:
            reading.unknown(kind or "block", without_opaque(block), native_id=name)
        known = _BLOCK_FIELDS.get(kind)
        if known is not None:
            reading.extra(block, known | {"type"}, kind, native_id=name)


def _add(reading: Reading, place: Place, payload: kinds.Payload, name: str) -> None:
    reading.add(payload, native_id=name, session=place.session)


def _read_text(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    said = reading.text(block, "content")
    if block.get("textType") == "reasoning":
        _add(reading, place, kinds.Thinking(said), name)
        return
    is_stopped = said.rstrip().endswith(_INTERRUPTED)
    said = said.rstrip().removesuffix(_INTERRUPTED).rstrip() if is_stopped else said
    if said:
        _add(reading, place, kinds.AssistantMessage(said), name)
    if is_stopped:
        _add(reading, place, kinds.Lifecycle("interrupted", text=_INTERRUPTED), f"{name}/interrupted")


def _read_tool(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    """Emit a call, and its result once there is output. Nothing but the output says how it went."""
    call_id, tool = reading.text(block, "toolCallId"), reading.text(block, "toolName")
    short_id = short(call_id) or name
    arguments = block.get("input")
    _add(reading, place, kinds.ToolCall(call_id, tool, canonical_tool(tool), arguments), f"call:{short_id}")
    output, raw = block.get("output"), block.get("outputRaw")
    if output is None and raw is None:
        return
    said = output if isinstance(output, str) else flatten(output if output is not None else raw)
    code, has_failed = _outcome(said, raw)
    result = kinds.ToolResult(call_id, tool, not code and not has_failed, code, said)
    _add(reading, place, result, f"result:{short_id}")
    if result.ok and canonical_tool(tool) == "edit" and place.session is None:
        give_edits(reading, edits_of(_as_named(arguments)), short_id)


def _as_named(arguments: Json) -> Json:
    """Return arguments of an edit under the names that others use: `str_replace` says `old` and `new`."""
    given = mapping(arguments)
    pieces = [mapping(piece) for piece in items(given.get("replacements"))]
    named = [{_NAMES.get(k, k): v for k, v in piece.items()} for piece in pieces]
    return {**given, "replacements": named} if named else given


def _outcome(said: str, raw: Json) -> tuple[int | None, bool]:
    """Return the exit code that an output states, and whether it tells an error."""
    facts = [mapping(mapping(part).get("value", part)) for part in items(raw)] or [mapping(raw)]
    code = next((c for fact in facts if (c := whole(fact.get("exitCode"))) is not None), None)
    is_told = any(fact.get("errorMessage") or fact.get("error") for fact in facts)
    head = said[:_HEAD_CHARS]
    if code is None:
        found = _EXIT.search(head) or _EXIT.search(said[-_HEAD_CHARS:])
        code = int(found[1]) if found is not None else None
    return code, is_told or _ERROR.search(head) is not None


def _read_agent(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    """Emit a subagent: a task here, and a session of its own with everything it did."""
    agent_id, kind = reading.text(block, "agentId"), reading.text(block, "agentType")
    short_id = short(agent_id) or content_name(name)
    prompt, said = reading.text(block, "initialPrompt"), reading.text(block, "content")
    arguments = {k: v for k, v in (("prompt", prompt), ("params", block.get("params"))) if v}
    tool = reading.text(block, "agentName") or kind
    _add(reading, place, kinds.ToolCall(agent_id, tool, "task", arguments or None), f"call:{short_id}")
    inner = items(block.get("blocks"))
    child = Place(short_id, f"{reading.state.session}/{short_id}", place.depth + 1)
    if place.depth < _MAX_DEPTH:
        parent = place.session or reading.state.session
        _add(reading, child, kinds.SessionStart(parent_session=parent, agent_name=kind), "start")
        if prompt:
            _add(reading, child, kinds.UserMessage(prompt), f"{short_id}/prompt")
        read_blocks(reading, inner, child)
        if said and not any(mapping(b).get("type") == "text" for b in inner):
            _add(reading, child, kinds.AssistantMessage(said), f"{short_id}/said")
    else:
        reading.kept("agent", without_opaque(block), native_id=name)
    status = text(block.get("status"))
    if status in ("running", ""):
        return
    last = said or next(
        (text(mapping(b).get("content")) for b in reversed(inner) if mapping(b).get("type") == "text"), ""
    )
    _add(reading, place, kinds.ToolResult(agent_id, tool, status == "complete", text=last), f"result:{short_id}")
    if status == "cancelled":
        _add(reading, place, kinds.Lifecycle("interrupted", call_id=agent_id), f"{name}/cancelled")


def _read_question(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    call_id = reading.text(block, "toolCallId")
    short_id = short(call_id) or name
    questions = block.get("questions")
    _add(
        reading,
        place,
        kinds.ToolCall(call_id, _ASKED, canonical_tool(_ASKED), {"questions": questions}),
        f"call:{short_id}",
    )
    answers, is_skipped = block.get("answers"), block.get("skipped") is True
    if answers or is_skipped:
        said = flatten(answers) if answers else "skipped"
        _add(reading, place, kinds.ToolResult(call_id, _ASKED, True, text=said), f"result:{short_id}")


# Messages of a chat: the document is written again as they grow, so what each gives is named below its id.
#
# Evidence: `ChatMessage` and `ContentBlock` in Codebuff's `cli/src/types/chat.ts`.

_KNOWN = known_fields("codebuff")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?\s*([AP]M)?", re.IGNORECASE)
_COMMAND = re.compile(r"/[a-z][\w:-]*(?: [^\n]*)?")
_NOON = 12
_DAY_MINUTES = 24 * 60
_MINUTE_US = 60_000_000
_USD_PER_CREDIT = 0.01


def read_message(reading: Reading) -> None:
    value = reading.value
    variant = reading.text(value, "variant")
    _date(reading)
    reading.native_id = short(reading.text(value, "id")) or name_of(reading, variant, value)
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.start()
    if variant == "user":
        parts = [
            kinds.Part("file" if key == "fileAttachments" else "image", path=text(mapping(one).get("path")))
            for key in ("attachments", "fileAttachments")
            for one in items(value.get(key))
        ]
        pasted = [text(mapping(one).get("content")) for one in items(value.get("textAttachments"))]
        read_blocks(reading, items(value.get("blocks")), Place(reading.native_id or ""), media=parts)
        said = reading.text(value, "content")
        origin: kinds.Origin = "command" if _COMMAND.fullmatch(said) else "human"
        reading.add(kinds.UserMessage(said, origin, tuple(parts)))
        if any(pasted):
            reading.add(kinds.UserMessage("\n".join(pasted), "injected"), native_id=f"{reading.native_id}/pasted")
    elif variant in ("ai", "agent"):
        _read_answer(reading)
    elif variant == "error":
        reading.add(kinds.Lifecycle("api_error", text=reading.text(value, "content")))
    else:
        reading.unknown(variant or text(value.get("type")) or "message")
        return
    reading.note("api_error", reading.text(value, "userError"), native_id=f"{reading.native_id}/error")
    reading.extra(value, _KNOWN["message"], "message")


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


def _read_answer(reading: Reading) -> None:
    """Emit an answer: its blocks in order; the content only if there are none."""
    value = reading.value
    blocks = items(value.get("blocks"))
    said = reading.text(value, "content")
    name = reading.native_id or ""
    if said and not any(mapping(block).get("type") == "text" for block in blocks):
        reading.add(kinds.AssistantMessage(said))
    read_blocks(reading, blocks, Place(name))
    credits_used = number(value.get("credits"))
    if credits_used:
        key = f"codebuff:{reading.state.session}:{name}"
        usage = kinds.TokenUsage(cost_usd=credits_used * _USD_PER_CREDIT, dedupe_key=key)
        reading.add(usage, "assistant", native_id=f"{name}/usage")
    errors = items(value.get("validationErrors"))
    if errors:
        said = "\n".join(text(mapping(error).get("message")) for error in errors)
        reading.add(kinds.Lifecycle("validation_error", text=said), native_id=f"{name}/validation")
    if whole(value.get("isComplete")) is None and value.get("isCompletion") is True and value.get("completionTime"):
        detail = {"completionTime": value["completionTime"]}
        reading.add(kinds.Lifecycle("turn_ended", detail=detail), native_id=f"{name}/ended")


# The state of the last run, and what a list of chats shows, beside the messages.


def read_run(reading: Reading) -> None:
    """Emit the folder, the agent and the credits of the run. The rest is context, and the messages again."""
    session = reading.mapping(reading.value, "sessionState")
    agent, files = reading.mapping(session, "mainAgentState"), reading.mapping(session, "fileContext")
    kind = text(agent.get("agentType"))
    cwd = text(files.get("cwd")) or text(files.get("projectRoot"))
    reading.start(cwd=cwd, originator="freebuff" if "free" in kind.lower() else "", native_id="run/start")
    reading.note("mode", kind, native_id="mode")
    spent = number(agent.get("creditsUsed"))
    if spent:
        # The messages have credits of their own, so the total of all is not added to them.
        key = f"codebuff:{reading.state.session}"
        reading.add(
            kinds.TokenUsage(cost_usd=spent * _USD_PER_CREDIT, dedupe_key=key, is_additive=False), native_id="usage"
        )
    reading.extra(reading.value, _KNOWN["run"], "run-state", native_id="run")


def read_meta(reading: Reading) -> None:
    """Emit the title of a chat: its first prompt."""
    reading.entitle(reading.text(reading.value, "firstPrompt"))
    reading.extra(reading.value, _KNOWN["meta"], "chat-meta", native_id="meta")


META = "meta"
RUN = "run"

_FOLDER = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d(?:\.\d{1,6})?)Z?")
_CHATS = "chats"


class CodebuffAdapter(KitAdapter[ChatState], slug="codebuff"):
    readers: ClassVar = {RUN: read_run, META: read_meta, "": read_message}

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the project's folder and the chat's, which is a time; two projects may share one."""
        folders = info.folders
        if len(folders) > 2 and folders[-2] == _CHATS:
            return f"{folders[-3]}/{folders[-1]}"
        return info.folder or first_line_name(head)

    def begin(self, info: SourceInfo) -> ChatState:
        told = _FOLDER.fullmatch(info.folder)
        began = instant(f"{told[1]}T{told[2]}:{told[3]}:{told[4]}Z") if told else None
        return ChatState(session=short(info.session, 400), role=info.role, ts=began, began=began)
