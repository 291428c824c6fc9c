"""Reasonix: parses an event, line or sidecar into events. Pure; never raises on content."""

from collections import Counter
from typing import Any, ClassVar

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, remember
from recollect.agents.kit.calls import TurnState, decoded_arguments, edits_of, give_call, give_result, path_of
from recollect.agents.kit.content import data_url_part
from recollect.agents.kit.names import content_name, mark_of, numbered, short_name
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool

MAX_TURNS = 512


class ReasonixState(TurnState, frozen=True, gc=False, omit_defaults=True):
    turns: tuple[str, ...] = ()
    """Names of the newest human turns: which of them a replaced transcript has no more was taken back."""
    befores: tuple[str, ...] = ()
    """The events that stood before these turns when they were given."""


Reading = kit.Reading[ReasonixState]
"""A record in hand."""


# One message of Reasonix, in a line of a checkpoint or in an event.
#
# Evidence: the agent's published type `provider.Message`.

_LOCAL = "__reasonix_local_only__"
_NEVER_CAME = "[no result: the previous turn was interrupted"
_ROLES = frozenset(("system", "user", "assistant", "tool"))
_KNOWN = known_fields("reasonix")


def base_name(message: dict[str, Any]) -> str:
    """Return the name of a message made of what the model sees of it; what the agent notes beside changes later."""
    calls = [[c.get("id"), c.get("name"), c.get("arguments")] for c in map(mapping, items(message.get("tool_calls")))]
    said = (message.get("role"), message.get("content"), message.get("reasoning_content"), message.get("tool_call_id"))
    return f"m:{content_name(*said, calls)}"


def read_message(reading: Reading, message: dict[str, Any], *, is_known: bool = False) -> None:
    """Emit a message. is_known: it was given before, only the memory is brought up to date."""
    name = numbered(reading, base_name(message))
    role = text(message.get("role"))
    if _is_human(message):
        reading.set(turns=remember(reading.now("turns"), name, MAX_TURNS))
        reading.set(befores=(*reading.now("befores"), reading.newest())[-MAX_TURNS:])
    if is_known:
        return
    reading.date(message.get("createdAt"), "createdAt")
    if role not in _ROLES:
        reading.unknown(text(message.get("type")) or role or "message", message, native_id=name)
        return
    if message.get("local_only") is True or message.get("tool_call_id") == _LOCAL:
        # Emit what only the user saw: mostly an answer that was stopped.
        words = "\n\n".join(t for t in (text(message.get("reasoning_content")), _said(message)) if t)
        kind = "interrupted" if message.get("interrupted_turn") else "local_note"
        if words or kind == "interrupted":
            detail = message.get("interrupted_turn")
            reading.add(kinds.Lifecycle(kind, text=words, detail=detail or None), native_id=name)
    elif role == "system":
        reading.add(kinds.Instructions(_said(message), "system"), native_id=name)
    elif role == "user":
        images = [data_url_part("image", text(image)) for image in reading.items(message, "images")]
        parts = tuple(reading.readable(image, "images") for image in images)
        origin: kinds.Origin = "human" if _is_human(message) else "injected"
        reading.add(kinds.UserMessage(_said(message), origin, parts), native_id=name)
        if message.get("original"):
            reading.add(
                kinds.Lifecycle("edited_prompt", text=text(message.get("original"))), native_id=f"{name}/original"
            )
        summary = text(mapping(message.get("vision_summary")).get("summary"))
        reading.note("vision_summary", summary, native_id=f"{name}/vision")
    elif role == "assistant":
        _read_assistant(reading, message, name)
    else:
        _read_tool(reading, message, name)
    # Give decisions of the user, and what the agent found on the web or in its memory.
    receipts = [mapping(message.get("decision_receipt")), *map(mapping, items(message.get("decision_receipts")))]
    for number, receipt in enumerate((r for r in receipts if r), 1):
        words = text(receipt.get("outcome"))
        reading.add(kinds.Lifecycle("permission", text=words, detail=receipt), native_id=f"{name}/decision/{number}")
    for field, kind in (("memoryCitations", "memory"), ("server_search", "web_search"), ("mcp_app", "mcp_app")):
        reading.note(kind, detail=message.get(field), native_id=f"{name}/{kind}")
    reading.extra(message, _KNOWN["record"], "message", native_id=name)


def _is_human(message: dict[str, Any]) -> bool:
    origin = message.get("origin")
    return message.get("role") == "user" and message.get("local_only") is not True and origin in (None, "", "user")


def _said(message: dict[str, Any]) -> str:
    """Return a message's whole text: what the model gets may be cut short."""
    return text(message.get("raw_content")) or text(message.get("content")) or text(message.get("provider_content"))


def _read_assistant(reading: Reading, message: dict[str, Any], name: str) -> None:
    thought = reading.text(message, "reasoning_content")
    blocks = [mapping(b) for b in items(message.get("thinking_blocks"))]
    thought = thought or "\n".join(t for t in (text(b.get("thinking")) for b in blocks) if t)
    if thought or message.get("reasoning_signature"):
        reading.add(kinds.Thinking(thought, is_encrypted=not thought), native_id=f"{name}/thinking")
    said = _said(message)
    reading.say(kinds.AssistantMessage(said), native_id=name)
    for number, item in enumerate(reading.items(message, "tool_calls"), 1):
        call = mapping(item)
        where = f"{name}/{number}"
        tool = text(call.get("resolved_name")) or reading.text(call, "name")
        arguments = decoded_arguments(call.get("arguments"))
        made = kinds.ToolCall(reading.text(call, "id"), reading.text(call, "name"), canonical_tool(tool), arguments)
        give_call(reading, made, where, _edits(call, made))
        reading.extra(call, _KNOWN["call"], "tool_call", native_id=where)


def _edits(call: dict[str, Any], made: kinds.ToolCall) -> tuple[kinds.FileEdit, ...]:
    """Return the edits of a call: what its arguments ask for, else the preview that the agent showed."""
    if made.canonical != "edit":
        return ()
    asked = edits_of(made.arguments)
    if any(edit.before is not None or edit.after is not None or edit.diff for edit in asked):
        return asked
    diff, path = text(call.get("diff")), path_of(made.arguments)
    return (kinds.FileEdit(path, diff=diff),) if diff and path else asked


def _read_tool(reading: Reading, message: dict[str, Any], name: str) -> None:
    said = _said(message)
    execution = reading.mapping(message, "tool_execution")
    exit_code = whole(execution.get("exitCode"))
    never_came = said.startswith(_NEVER_CAME)
    ok = False if never_came else None if exit_code is None else exit_code == 0
    call_id = reading.text(message, "tool_call_id")
    beside = {k: execution[k] for k in ("state", "failurePhase", "verification") if execution.get(k)}
    result = kinds.ToolResult(
        call_id,
        reading.text(message, "name"),
        ok,
        exit_code,
        said or text(execution.get("outputTail")),
        beside or None,
        whole(execution.get("durationMs")),
    )
    give_result(reading, result, name)
    if never_came:
        reading.add(kinds.Lifecycle("interrupted", text=said, call_id=call_id), native_id=f"{name}/interrupted")
    reading.extra(execution, _KNOWN["execution"], "tool_execution", native_id=name)


_SUFFIXES = (".jsonl.meta", ".events.jsonl", ".meta.json")
_SHORTENED = ("compact", "fold", "summar")
_EVENTS = frozenset(("append", "replace"))
_STATUSES = frozenset(("running", "completed", "failed", "cancelled", "interrupted"))


def _read_event(reading: Reading) -> None:
    """Emit an event's messages: new ones, or the whole transcript again after it was changed."""
    event = reading.value
    kind = text(event.get("type"))
    name = short_name(f"event:{reading.whole(event, 'revision')}:{text(event.get('content_digest'))[:16]}")
    if kind not in _EVENTS:
        reading.date(event.get("created_at"), "created_at")
        reading.unknown(kind or "record")
        return
    messages = reading.items(event, "messages")
    if kind == "append":
        reading.date(event.get("created_at"), "created_at")
        _read_messages(reading, messages, Counter())
    else:
        _replace(reading, messages, text(event.get("reason")), name)
    reading.extra(event, _KNOWN["event"], "event", native_id=name)


def _read_messages(reading: Reading, messages: list[Any], known: Counter[bytes]) -> None:
    for item in messages:
        message = mapping(item)
        if not message:
            reading.unknown("message", item)
            continue
        mark = mark_of(base_name(message))
        is_known = known[mark] > 0
        if is_known:
            known[mark] -= 1
        read_message(reading, message, is_known=is_known)


def _replace(reading: Reading, messages: list[Any], reason: str, name: str) -> None:
    """Take the transcript again. What it has no more was taken back, unless the agent made it shorter by itself."""
    before: tuple[str, ...] = reading.now("turns")
    stood = dict(zip(before, reading.now("befores"), strict=False))
    known: Counter[bytes] = Counter(reading.now("marks"))
    reading.set(marks=(), turns=(), befores=())
    first = len(reading.events)
    _read_messages(reading, messages, known)
    after: tuple[str, ...] = reading.now("turns")
    reading.set(befores=tuple(stood.get(t, b) for t, b in zip(after, reading.now("befores"), strict=True)))
    if any(word in reason for word in _SHORTENED):
        reading.add(kinds.Compaction(trigger=reason), native_id=f"{name}/compaction")
        return
    dropped = [turn for turn in before if turn not in after]
    if dropped:
        is_end = list(before[-len(dropped) :]) == dropped
        reading.add(
            kinds.Rewind(stood.get(dropped[0], ""), len(dropped)) if is_end else kinds.Rewind(),
            native_id=f"{name}/rewind",
        )
        reading.events.insert(first, reading.events.pop())  # what is new in the transcript came after it


def _read_meta(reading: Reading) -> None:
    """Emit what stands beside a session: where it runs, its title and what it was branched from."""
    meta = reading.value
    reading.date(meta.get("created_at"), "created_at")
    reading.start(
        **reading.told(meta, cwd="workspace_root", model="model", originator="scope", forked_from="parent_id")
    )
    reading.entitle(reading.text(meta, "name") or reading.text(meta, "topic_title"))
    names = ("fork_turn", "fork_message_index", "persona_name", "topic_id")
    facts = {k: meta[k] for k in names if meta.get(k)}
    reading.note("session_facts", detail=facts, native_id="facts")
    reading.extra(meta, _KNOWN["meta"], "meta", native_id="start")


def _read_subagent(reading: Reading) -> None:
    """Give whose subagent a session is and how it ended."""
    meta = reading.value
    reading.date(meta.get("createdAt"), "createdAt")
    reading.start(
        **reading.told(
            meta,
            cwd="workspaceRoot",
            model="model",
            parent_session="parentSession",
            forked_from="forkedFrom",
            agent_name="name",
            originator="kind",
        )
    )
    status = reading.text(meta, "status")
    reading.odd_value("subagent.status", status, _STATUSES)
    detail = {k: meta[k] for k in ("terminalReason", "effort", "toolScope") if meta.get(k)}
    call_id = text(meta.get("parentToolCallId"))
    reading.add(kinds.Lifecycle("subagent", text=status, detail=detail or None, call_id=call_id), native_id="status")
    reading.extra(meta, _KNOWN["subagent"], "subagent", native_id="start")


class ReasonixAdapter(KitAdapter[ReasonixState], slug="reasonix"):
    readers: ClassVar = {
        "events": _read_event,
        "meta": _read_meta,
        "subagent_meta": _read_subagent,
        "": lambda reading: read_message(reading, reading.value),
    }

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: all files of a session begin with its name."""
        suffix = next((s for s in _SUFFIXES if info.name.endswith(s)), "")
        return info.name.removesuffix(suffix).removesuffix(".jsonl") or first_line_name(head)
