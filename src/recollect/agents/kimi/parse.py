"""Kimi: parses a record into events. `wire` reads kimi-cli's stream."""

import re
from collections.abc import Callable
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.kimi.wire import (
    MAX_PENDING,
    KimiReading,
    KimiSession,
    KimiState,
    Spent,
    add_call,
    add_result,
    add_system_prompt,
    content_of,
    media_of,
    named,
    named_text,
    origin_of,
    read_wire,
    split_note,
    start,
    thoughts_of,
)
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.content import arguments_of, without_opaque
from recollect.agents.kit.names import content_sha256, is_storable
from recollect.agents.kit.values import decoded_json, mapping, text, word_set
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

# The wire of Kimi Code and Kimi Work: records with a top-level `type`, and the agent's loop inside one of them.
#
# Evidence: format notes: Kimi CLI, "wire.jsonl v2"; fixtures of protocol 1.4.

_KNOWN = known_fields("kimi")
_ORIGINS = frozenset(("user", "system_trigger", "injection"))
_SCOPES = frozenset(("turn", "session"))
_ASIDES = {
    "turn.cancel": "interrupted",
    "turn.ended": "turn_ended",
    "plan_mode.enter": "mode",
    "plan_mode.exit": "mode",
    "permission.set_mode": "permission",
    "tools.set_active_tools": "tools",
    "llm.tools_snapshot": "tools",
    "llm.request": "llm_request",
    "full_compaction.complete": "compaction_ended",
    "full_compaction.cancel": "compaction_ended",
    "plugin.session_start": "plugin",
    "runtime.set_binding": "runtime",
    "token_counting.measured": "context_size",
    "token_counting.turn_recorded": "context_size",
}
"""Records that say only that something happened, and the lifecycle events they become."""


def read_code(reading: KimiReading) -> None:
    value = reading.value
    reading.date(value.get("timestamp") or value.get("time") or value.get("created_at"), "time")
    start(reading)
    kind = text(value.get("type"))
    reader = _READERS.get(kind)
    if reader is not None:
        reader(reading)
    elif kind in _ASIDES:
        rest = {k: v for k, v in value.items() if k not in _KNOWN["envelope"] and v not in (None, "", [], {})}
        said = kind if _ASIDES[kind] in ("mode", "compaction_ended") else ""
        reading.add(kinds.Lifecycle(_ASIDES[kind], text=said, detail=without_opaque(rest) or None))
    else:
        reading.unknown(kind, without_opaque({k: v for k, v in value.items() if k not in _KNOWN["envelope"]}))


def _config(reading: KimiReading) -> None:
    """Emit what a configuration record sets: instructions, model, folder, and the profile of a subagent."""
    value, state = reading.value, reading.state
    add_system_prompt(reading, value.get("systemPrompt"))
    model = reading.text(value, "modelAlias")
    if model and model != state.model:
        reading.add(kinds.Lifecycle("model", model=model))
        if is_storable(model):
            reading.set(model=model)
    cwd = text(value.get("cwd")) or text(mapping(value.get("environmentDisclosure")).get("cwd"))
    reading.note("cwd", cwd=cwd)
    effort = flatten(value.get("thinkingEffort"))
    if effort:
        reading.add(kinds.Lifecycle("mode", text=f"thinking {effort}"))
    profile = text(value.get("profileName"))
    if profile and state.parent_session:
        reading.start(
            parent_session=state.parent_session, agent_name=profile, native_id=f"start:{content_sha256(profile)}"
        )
    names = ("subagentNames", "subagents", "agentsMdPaths", "activeToolNames", "disallowedTools")
    reading.note("configuration", detail={k: value[k] for k in names if value.get(k)})
    reading.extra(value, _KNOWN["config"], "config.update")


def _prompt(reading: KimiReading) -> None:
    """Emit a prompt. Its copy in the context comes later and is left out then; without input, the copy is all."""
    value = reading.value
    said, parts = content_of(reading, value.get("input"))
    if said or parts:
        is_steer = value.get("type") == "turn.steer"
        origin = "queued" if is_steer else _origin(reading, value.get("origin"), said)
        reading.add(kinds.UserMessage(said, origin, parts), native_id=named_text(reading, "user", said))
        reading.set(pending=(*reading.state.pending, content_sha256(said))[-MAX_PENDING:])
    reading.extra(value, _KNOWN["turn"], text(value.get("type")))


def _origin(reading: KimiReading, written: Any, said: str) -> kinds.Origin:
    kind = text(mapping(written).get("kind"))
    reading.odd_value("origin.kind", kind, _ORIGINS)
    if kind == "system_trigger" and reading.state.parent_session:
        return "human"  # the task that a subagent was given opens its session
    if kind not in ("", "user"):
        return "injected"
    return origin_of(said)


def _message(reading: KimiReading) -> None:
    """Emit a message that was put into the context, unless it is the copy of a prompt."""
    message = reading.mapping(reading.value, "message")
    role = text(message.get("role"))
    said, parts = content_of(reading, message.get("content"))
    said_sha256 = content_sha256(said)
    pending = reading.state.pending
    if role == "user" and said_sha256 in pending:
        at = pending.index(said_sha256)
        reading.set(pending=pending[:at] + pending[at + 1 :])
        return
    if role == "user":
        origin = _origin(reading, message.get("origin"), said)
        reading.add(kinds.UserMessage(said, origin, parts), native_id=named_text(reading, "user", said))
    elif role == "assistant":
        reading.add(kinds.AssistantMessage(said, parts=parts), native_id=named_text(reading, "said", said))
    elif role in ("system", "developer"):
        reading.add(kinds.Instructions(said, role), native_id=f"system:{said_sha256}")
    else:
        reading.unknown(f"context.append_message/{role}", without_opaque(message))


def _loop(reading: KimiReading) -> None:
    event = reading.mapping(reading.value, "event")
    kind = text(event.get("type"))
    uuid = text(event.get("uuid"))
    if kind == "content.part":
        _part(reading, event, uuid)
    elif kind == "tool.call":
        call_id = reading.text(event, "toolCallId") or uuid
        add_call(reading, call_id, reading.text(event, "name"), event.get("args"))
        reading.extra(event, _KNOWN["loop_call"], kind)
    elif kind == "tool.result":
        result = reading.mapping(event, "result")
        call_id = reading.text(event, "toolCallId") or text(event.get("parentUuid"))
        # Only failures are marked: a result without the mark is a success.
        add_result(reading, call_id, result, ok=result.get("isError") is not True)
        reading.extra(event, _KNOWN["loop"] | {"toolCallId", "result"}, kind)
    elif kind == "step.end":
        _step_end(reading, event, uuid)
    elif kind in ("step.begin", "llm.request"):
        rest = {k: v for k, v in event.items() if k not in ("type", "uuid")}
        name = "step_started" if kind == "step.begin" else "llm_request"
        reading.add(
            kinds.Lifecycle(name, detail=without_opaque(rest) or None), native_id=f"{kind}:{uuid}" if uuid else None
        )
    else:
        reading.unknown(f"loop/{kind}", without_opaque(event))


def _part(reading: KimiReading, event: dict[str, Any], uuid: str) -> None:
    part = reading.mapping(event, "part")
    kind = text(part.get("type"))
    name = named(reading, "part", uuid) if uuid else None
    if kind == "text":
        said = kinds.AssistantMessage(
            reading.text(part, "text"), reading.state.model, message_id=text(event.get("stepUuid"))
        )
        reading.add(said, native_id=name)
        reading.extra(part, frozenset(("type", "text")), "part.text")
    elif kind == "think":
        thought = text(part.get("think")) or text(part.get("text"))
        is_sealed = not thought and bool(part.get("encrypted"))
        reading.add(kinds.Thinking(thought, text(event.get("stepUuid")), is_sealed), native_id=name)
        reading.extra(part, frozenset(("type", "think", "text", "encrypted", "signature")), "part.think")
    elif kind.endswith("_url"):
        reading.add(kinds.AssistantMessage(parts=(media_of(reading, part, kind),)), native_id=name)
    else:
        reading.unknown(f"part/{kind}", without_opaque(part), native_id=name)
    reading.extra(event, _KNOWN["loop"] | {"part"}, "content.part")


def _step_end(reading: KimiReading, event: dict[str, Any], uuid: str) -> None:
    rest = {k: v for k, v in event.items() if k not in _KNOWN["loop"] and k not in ("usage", "model")}
    name = f"step.end:{uuid}" if uuid else None
    reading.add(kinds.Lifecycle("step_ended", detail=without_opaque(rest) or None), native_id=name)
    usage = reading.mapping(event, "usage")
    key = text(event.get("messageId")) or uuid or f"{reading.state.session}:{reading.value.get('time')}"
    model = text(event.get("model")) or reading.state.model
    _spend(reading, usage, Spent(f"usage:{key}", key, model))


def _usage_record(reading: KimiReading) -> None:
    """Emit a usage that no step stated: compactions have only this. The copy of a step's usage may add the model."""
    value, last = reading.value, reading.state.spent
    usage = reading.mapping(value, "usage")
    model = reading.text(value, "model")
    scope = text(value.get("usageScope"))
    reading.odd_value("usage.record.usageScope", scope, _SCOPES)
    if last.counts and _counts(reading, usage) == last.counts:
        reading.set(spent=Spent())
        if model and model != last.model:
            _spend(reading, usage, Spent(last.name, last.key, model), is_additive=True)
            reading.set(spent=Spent())
    else:
        counts = "-".join(map(str, _counts(reading, usage)))
        key = f"{reading.state.session}:{flatten(value.get('time'))}:{counts}"
        _spend(reading, usage, Spent(f"usage:{key}", key, model or reading.state.model), is_additive=scope != "session")
        reading.set(spent=Spent())
    reading.extra(value, _KNOWN["usage_record"], "usage.record")


def _counts(reading: KimiReading, usage: dict[str, Any]) -> tuple[int, ...]:
    names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
    return tuple(reading.count(usage, name) for name in names)


def _spend(reading: KimiReading, usage: dict[str, Any], spent: Spent, *, is_additive: bool = True) -> None:
    counts = _counts(reading, usage)
    if not any(counts):
        return
    other, output, read, written = counts
    payload = kinds.TokenUsage(spent.model, other, output, read, written, dedupe_key=spent.key, is_additive=is_additive)
    reading.add(payload, "assistant", native_id=spent.name)
    if is_storable(spent.key) and is_storable(spent.model):
        reading.set(spent=Spent(spent.name, spent.key, spent.model, counts))
    reading.extra(usage, _KNOWN["usage"], "usage")


def _permission(reading: KimiReading) -> None:
    value = reading.value
    result = mapping(value.get("result"))
    said = "\n".join(filter(None, (text(value.get("action")), text(result.get("decision")))))
    rest = {k: v for k, v in value.items() if k not in _KNOWN["envelope"] and k not in ("action", "toolCallId")}
    call_id = text(value.get("toolCallId"))
    reading.add(kinds.Lifecycle("permission", text=said, detail=without_opaque(rest) or None, call_id=call_id))
    feedback = text(result.get("feedback"))
    if feedback:
        reading.add(kinds.UserMessage(feedback, "queued"), native_id=named_text(reading, "user", feedback))


def _compaction_started(reading: KimiReading) -> None:
    source = text(reading.value.get("source"))
    if is_storable(source):
        reading.set(trigger=source)
    reading.add(kinds.Lifecycle("compaction_started", text=source))
    reading.extra(reading.value, _KNOWN["envelope"] | {"source"}, "full_compaction.begin")


def _compacted(reading: KimiReading) -> None:
    value = reading.value
    summary = reading.text(value, "summary")
    before, after = reading.whole(value, "tokensBefore"), reading.whole(value, "tokensAfter")
    reading.add(kinds.Compaction(reading.state.trigger, summary, before, after))
    reading.set(trigger="")
    context = text(value.get("contextSummary"))
    if context and context != summary:
        reading.add(kinds.UserMessage(context, "injected"), native_id=named_text(reading, "user", context))
    reading.extra(value, _KNOWN["compaction"], "context.apply_compaction")


_READERS: dict[str, Callable[[KimiReading], None]] = {
    "metadata": lambda reading: reading.extra(reading.value, _KNOWN["envelope"] | {"protocol_version"}, "metadata"),
    "config.update": _config,
    "profile.bind": _config,
    "turn.prompt": _prompt,
    "turn.steer": _prompt,
    "context.append_message": _message,
    "context.append_loop_event": _loop,
    "usage.record": _usage_record,
    "permission.record_approval_result": _permission,
    "full_compaction.begin": _compaction_started,
    "context.apply_compaction": _compacted,
}


# The context of kimi-cli: what the model sees, in the roles of a chat API. A view where there is a wire.
#
# What wire and context say alike has the same name in both (`state.named`), so that the copy is no second event.
# Evidence: format notes: Kimi CLI, "context.jsonl"; recorded contexts of 2025-10; kimi_cli/soul/context.py.


def read_context(reading: KimiReading) -> None:
    value, state = reading.value, reading.state
    role = text(value.get("role"))
    if state.role == "old_context" and not state.is_started:
        reading.set(is_started=True)
        reading.start(parent_session=state.parent_session, agent_name=state.agent)
    if role == "_checkpoint":
        number = reading.whole(value, "id")
        reading.add(kinds.Lifecycle("checkpoint", detail={"id": number}), native_id=f"checkpoint:{number}")
        reading.extra(value, frozenset(("role", "id")), role)
    elif role == "_usage":
        # The size of the context, not what a response cost.
        count = reading.whole(value, "token_count")
        reading.add(kinds.Lifecycle("context_size", detail={"tokens": count}))
        reading.extra(value, frozenset(("role", "token_count")), role)
    elif role == "_system_prompt":
        add_system_prompt(reading, value.get("content"))
    elif role in ("user", "assistant", "tool", "system", "developer"):
        _read_context_message(reading, role)
        reading.extra(value, _KNOWN["message"], f"context.{role}")
    else:
        reading.unknown(role or "context", without_opaque(value))


def _read_context_message(reading: KimiReading, role: str) -> None:
    value = reading.value
    content = value.get("content")
    if role == "tool":
        note, rest = split_note(content)
        told = {"output": rest, "message": note}
        add_result(reading, reading.text(value, "tool_call_id"), told, ok=not note.startswith("ERROR"))
        return
    said, parts = content_of(reading, content)
    if role == "user":
        reading.add(kinds.UserMessage(said, origin_of(said), parts), native_id=named_text(reading, "user", said))
    elif role == "assistant":
        _assistant(reading, content)
        for call in reading.items(value, "tool_calls"):
            _call(reading, call)
    else:
        reading.add(kinds.Instructions(said, role), native_id=named_text(reading, "system", said))


def _assistant(reading: KimiReading, content: Any) -> None:
    for thought in thoughts_of(content):
        body = text(thought.get("think"))
        is_sealed = not body and bool(thought.get("encrypted"))
        reading.add(kinds.Thinking(body, "", is_sealed), native_id=named_text(reading, "thought", body))
    for part in content if isinstance(content, list) else [content]:
        said, media = content_of(reading, [part] if isinstance(part, dict) else part)
        if said or media:
            reading.add(kinds.AssistantMessage(said, parts=media), native_id=named_text(reading, "said", said))


def _call(reading: KimiReading, call: Any) -> None:
    if not isinstance(call, dict):
        reading.unknown("tool_calls", call)
        return
    function = reading.mapping(call, "function")
    arguments = arguments_of(reading, function.get("arguments"))
    add_call(reading, reading.text(call, "id"), reading.text(function, "name"), arguments)
    reading.extra(call, _KNOWN["context_call"], "tool_call")


# The files beside a session: its state, and the list of folders that Kimi was started in.
#
# Evidence: format notes: Kimi CLI; kimi_cli/metadata.py, kimi_cli/session_state.py; fixtures of Kimi Code.

_SETTINGS = ("approval", "additional_dirs", "dynamic_subagents", "todos")


def read_state(reading: KimiReading) -> None:
    """Emit what `state.json` knows of a session and its wire doesn't: title and folder."""
    value = reading.value
    reading.date(value.get("createdAt"), "createdAt")
    reading.entitle(text(value.get("custom_title")) or reading.text(value, "title"), "state/title")
    cwd = reading.text(value, "workDir")
    reading.note("cwd", cwd=cwd, native_id="state/cwd")
    settings = {k: value[k] for k in _SETTINGS if value.get(k)}
    if settings:
        reading.kept("state", settings, native_id="state/settings")
    reading.extra(value, _KNOWN["state"], "state", native_id="state")


def _add_folder(reading: KimiReading, session: str, path: str) -> None:
    if session and path:
        reading.add(kinds.Lifecycle("cwd", cwd=path), native_id="folder", session=session)


_FILES = frozenset(("wire.jsonl", "context.jsonl", "state.json", "kimi.json"))
_ROTATED = re.compile(r"(.+?)(?:_([A-Za-z][\w-]*))?_(\d{1,6})\Z")
"""`context_1`: an older context of the session. `context_sub_1`, `<id>_read_1`: the context of a subagent."""
_UUID = re.compile(r"([0-9a-fA-F-]{36})(?:_(.+))?\Z")
_ROLES = frozenset(("_checkpoint", "_usage", "_system_prompt"))
_RECORDS = word_set("""
    metadata config.update tools.set_active_tools turn.prompt context.append_message context.append_loop_event
    usage.record
""")
_MAX_LINES = 8


class KimiAdapter(KitAdapter[KimiState], slug="kimi"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the first records of a wire or of a context."""
        found = [decoded_json(line) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES] if line.strip()]
        records = [record for record in found if isinstance(record, dict)]
        if not records:
            return None
        first = records[0]
        if text(first.get("role")) in _ROLES:
            return "old_context"
        is_wire = first.get("type") == "metadata" and isinstance(first.get("protocol_version"), str)
        if is_wire or _is_envelope(first):
            others = records[1:]
            if all(_is_envelope(r) or text(r.get("type")) in _RECORDS or "." in text(r.get("type")) for r in others):
                return "subagent" if _origin_of(path).parent else "wire"
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the session's folder; a subagent is `<session>/<agent>`."""
        return _origin_of(info.path).session or info.stem or first_line_name(head)

    def begin(self, info: SourceInfo) -> KimiState:
        origin = _origin_of(info.path)
        return KimiState(
            session=info.session, role=info.role, name=info.name, parent_session=origin.parent, agent=origin.agent
        )

    def read(self, reading: KimiReading) -> None:
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        role = reading.state.role
        if role == "state":
            read_state(reading)
        elif role == "folders":
            # Emit the folder of each session that `kimi.json` names: sessions lie under a hash of it only.
            value = reading.value
            for entry in reading.items(value, "work_dirs"):
                found = mapping(entry)
                _add_folder(reading, text(found.get("last_session_id")), text(found.get("path")))
                reading.extra(found, _KNOWN["work_dir"], "work_dir", native_id=f"work_dir:{text(found.get('path'))}")
            for session, path in reading.mapping(value, "session_to_workdir").items():
                _add_folder(reading, session, text(path))
            reading.extra(value, _KNOWN["folders"], "kimi.json", native_id="folders")
        elif role in ("context", "old_context"):
            read_context(reading)
        elif "message" in reading.value and "type" not in reading.value:
            read_wire(reading)
        elif reading.value.get("type") == "metadata" and "created_at" not in reading.value:
            start(reading)
        else:
            read_code(reading)


def _origin_of(path: str) -> KimiSession:
    """Return whose a file is, told by its path below `sessions`, or below any folder."""
    folders = path.split("/")
    name = folders.pop()
    is_file = name in _FILES or (name.startswith("context") and name.endswith(".jsonl"))
    if is_file and len(folders) >= 2 and folders[-2] in ("subagents", "agents"):
        agent, session = folders[-1], folders[-3] if len(folders) >= 3 else ""
        if folders[-2] == "agents" and agent == "main":
            return KimiSession(session)
        return KimiSession(f"{session}/{agent}", session, agent) if session else KimiSession(agent)
    stem = name.removesuffix(".jsonl").removesuffix(".json")
    if is_file:
        session = folders[-1] if folders else ""
        rotated = _ROTATED.match(stem) if stem.startswith("context") else None
        if rotated is None or not rotated[2]:
            return KimiSession(session)
        agent = f"{rotated[2]}_{rotated[3]}"
        return KimiSession(f"{session}/{agent}", session, agent)
    named = _UUID.match(stem)
    if named is None or not named[2] or named[2].isdigit():
        return KimiSession(named[1] if named else stem)
    return KimiSession(f"{named[1]}/{named[2]}", named[1], named[2])


def _is_envelope(record: dict[str, Any]) -> bool:
    message = mapping(record.get("message"))
    return isinstance(record.get("timestamp"), int | float) and "payload" in message and "type" in message
