"""Maps spans by operation: model calls, tool runs and agent turns."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.agents.kit.names import content_sha256
from recollect.agents.kit.values import items, text
from recollect.agents.otel import messages
from recollect.agents.otel import wire as dialects
from recollect.agents.otel.events import (
    NAMES,
    Telling,
    is_cancelled,
    tell_call,
    tell_input,
    tell_output,
    tell_result,
    tell_usage,
)
from recollect.agents.otel.wire import (
    AGGREGATES,
    INFERENCE,
    INPUT,
    LEAVES,
    OPERATION,
    OPERATIONS,
    OUTPUT,
    Note,
    shown,
    unknown_fields_of,
)
from recollect.model.payloads import FileEdit, Instructions, Json, Lifecycle, SessionEnd, SessionStart, Unknown
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

DETAILS = "gen_ai.client.inference.operation.details"
CHOICE = "gen_ai.choice"
MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    CHOICE: "assistant",
}
"""Events of older conventions, one for each message, and the role they stand for."""
_CONTENT_EVENTS = {"gen_ai.content.prompt": INPUT, "gen_ai.content.completion": OUTPUT}
_INSTRUCTIONS = "gen_ai.system_instructions"
_DEFINITIONS = "gen_ai.tool.definitions"
_ARGUMENTS = "gen_ai.tool.call.arguments"
_RESULT = "gen_ai.tool.call.result"
_PROMPT = "gen_ai.cli.user_prompt"
_TOLD = frozenset(
    (OPERATION, dialects.CONVERSATION, INPUT, OUTPUT, _INSTRUCTIONS, _DEFINITIONS, _ARGUMENTS, _RESULT, _PROMPT, *NAMES)
)
"""Attributes that have events of their own."""
_FACTS: dict[str, tuple[str, ...]] = {
    "cwd": ("cwd", "process.working_directory", "working_directory"),
    "repo_root": ("repo_root",),
    "git_branch": ("git.branch", "vcs.ref.head.name"),
    "git_commit": ("git.commit", "vcs.ref.head.revision"),
    "git_remote": ("vcs.repository.url.full",),
}
_PATHS = ("file.path", "code.file.path", "file_path")
_FAILED = frozenset(("error", "failed", "failure"))


def begin(telling: Telling) -> None:
    """Emit the session's start where it is met for the first time, and see whose agent speaks."""
    memory, item = telling.memory, telling.item
    if telling.session is None:
        return
    agent = telling.text("gen_ai.agent.name") or telling.text("gen_ai.agent.id")
    known = memory.known(telling.scope)
    if known is None:
        if telling.text(OPERATION) != "session.start":
            telling.add(_start(telling), "start", item.start)
        memory.meet(messages.Known(telling.scope, agent[:200] if item.is_span else ""))
        return
    if agent and item.parent and known.agent and known.agent != agent[:200]:
        telling.is_prompted_by_agent = True
    elif agent and known.agent != agent[:200] and (not item.parent or not known.agent):
        known = messages.Known(known.session, agent[:200], known.model)
    memory.meet(known)


def tell_leaf(telling: Telling) -> None:
    """Emit a call of a model: what went in, what came out, its tokens, and the call itself."""
    item, operation = telling.item, telling.text(OPERATION)
    _take_notes(telling)
    begin(telling)
    if operation in INFERENCE:
        _tell_instructions(telling)
        counts = _tell_prompts(telling, is_leaf=True)
        if telling.says.get(OUTPUT) not in (None, ""):
            found = messages.messages_of(telling.says[OUTPUT], "assistant")
            tell_output(telling, found, counts, is_leaf=True, attribute=OUTPUT)
    model = telling.text("gen_ai.response.model") or telling.text("gen_ai.request.model")
    tell_usage(telling, model, is_additive=operation in LEAVES)
    error = _error_of(telling)
    if item.is_span:
        name = "model_call" if not error else "interrupted" if is_cancelled(error) else "api_error"
        _tell_span(telling, name, error, model=model)


def tell_tool(telling: Telling) -> None:
    """Emit a tool's run: its call, where the model's answer did not give it, its result and its edits."""
    item, says = telling.item, telling.says
    _take_notes(telling)
    begin(telling)
    arguments, is_whole = messages.decoded(says.get(_ARGUMENTS))
    call_id, tool = telling.text("gen_ai.tool.call.id") or telling.key, telling.text("gen_ai.tool.name")
    tool = tool or item.name.removeprefix("execute_tool ").strip()
    tell_call(telling, messages.MessageCall(call_id, tool, arguments, is_whole), item.start)
    error = _error_of(telling)
    if telling.text("gen_ai.tool.result.status") in _FAILED:
        error = error or "error"
    content = says.get(_RESULT)
    if content in (None, "") and error:
        content = error
    path = next((text(says.get(name)) for name in _PATHS if text(says.get(name))), "")
    if arguments in (None, "", {}) and path and canonical_tool(tool) == "edit":
        arguments = {"path": path}
    duration = _duration_ms(telling)
    tell_result(
        telling,
        messages.MessageAnswer(call_id, content, name=tool),
        at=item.end,
        ok=not error,
        duration_ms=duration,
        arguments=arguments,
    )
    tell_usage(telling, "", is_additive=False)
    _tell_span(telling, "interrupted" if is_cancelled(error) else "tool_run", error, call_id=call_id)


def tell_agent_start(telling: Telling) -> None:
    """Emit what an agent was asked, at the start of its span."""
    _take_notes(telling)
    begin(telling)
    _tell_instructions(telling)
    _tell_prompts(telling, is_leaf=False)


def tell_agent_end(telling: Telling) -> None:
    """Emit what an agent answered, at the end of its span. Its tokens are those of the calls inside."""
    item = telling.item
    if telling.says.get(OUTPUT) not in (None, ""):
        found = messages.messages_of(telling.says[OUTPUT], "assistant")
        tell_output(telling, found, Counter(), is_leaf=False, attribute=OUTPUT)
    model = telling.text("gen_ai.response.model") or telling.text("gen_ai.request.model")
    tell_usage(telling, model, is_additive=False)
    error = _error_of(telling)
    created = telling.text(OPERATION) == "create_agent"
    name = "agent_created" if created else "subagent" if item.parent else "turn_ended"
    _tell_span(telling, "interrupted" if error and is_cancelled(error) else name, error)
    if not item.parent and telling.session == item.trace and not created:
        telling.add(SessionEnd("the root span ended"), f"{telling.key}/end", item.end)


def tell_other(telling: Telling) -> None:
    """Emit an operation without messages of its own, one that is not known, or a span that is none of GenAI's."""
    operation, says, item = telling.text(OPERATION), telling.says, telling.item
    _take_notes(telling)
    if operation == "session.start":
        begin(telling)
        telling.add(_start(telling), "start", item.start)
    elif operation == "session.end":
        begin(telling)
        telling.add(SessionEnd(telling.text("reason")), f"{telling.key}/end", item.end)
    elif operation == "file_operation":
        begin(telling)
        path = next((text(says.get(name)) for name in _PATHS if text(says.get(name))), "")
        telling.add(FileEdit(path), f"edit:{telling.key}", item.end, role="assistant")
        _tell_span(telling, "file_operation", "")
    elif operation in OPERATIONS:
        begin(telling)
        _tell_span(telling, "span", _error_of(telling))
    elif operation:
        begin(telling)
        telling.drifted("type", operation)
        telling.add(Unknown(operation, flatten(shown(says))), telling.key, item.end)
        _tell_fields(telling)
    elif telling.session is not None:
        if dialects.has_genai(item.attributes):
            begin(telling)
        _tell_span(telling, "span", _error_of(telling))
    else:
        said = flatten([item.name, shown(says)])
        telling.add(Unknown("span", said), telling.key, item.end)
        _tell_fields(telling)


def tell_message_event(telling: Telling, note: Note) -> None:
    """Emit one message that is a log record of its own."""
    begin(telling)
    found = messages.Messages([messages.message_of(note.says, MESSAGE_EVENTS[note.name])])
    if note.name == CHOICE:
        tell_output(telling, found, Counter(), is_leaf=True, attribute=note.name)
    else:
        tell_input(telling, found, is_leaf=True, attribute=note.name)


def error_text(values: Iterable[str]) -> str:
    """Return the texts of an error in one line, each once."""
    return ": ".join(dict.fromkeys(value for value in values if value))


def _tell_prompts(telling: Telling, *, is_leaf: bool) -> Counter[str]:
    prompt = telling.text(_PROMPT)
    if prompt:
        tell_input(telling, messages.messages_of(prompt, "user"), is_leaf=is_leaf, attribute=_PROMPT)
    if telling.says.get(INPUT) in (None, ""):
        return Counter()
    return tell_input(telling, messages.messages_of(telling.says[INPUT], "user"), is_leaf=is_leaf, attribute=INPUT)


def _tell_instructions(telling: Telling) -> None:
    """Give system instructions and tool definitions, each text once a session."""
    for name, source in ((_INSTRUCTIONS, "system"), (_DEFINITIONS, "tool definitions")):
        written = telling.says.get(name)
        if written in (None, "", []):
            continue
        value, _ = messages.decoded(written)
        said = value if isinstance(value, str) else ""
        if not said and name == _INSTRUCTIONS:
            said = messages.message_of({"role": "system", "parts": value}, "system").text
        said = said or messages.result_text(value)
        called = f"instructions-{content_sha256(said)}"
        if telling.memory.see(telling.scope, called):
            telling.add(Instructions(said, source), called, telling.item.start)


def _take_notes(telling: Telling) -> None:
    """Read the events inside a span: messages, content, an exception."""
    inputs: list[Json] = []
    outputs: list[Json] = []
    others: list[dict[str, Json]] = []
    for note in telling.item.notes:
        if note.name == DETAILS:
            for name, value in note.says.items():
                telling.says.setdefault(name, value)
        elif note.name in MESSAGE_EVENTS:
            body, _ = messages.decoded(note.says.get("gen_ai.event.content"))
            said = body if isinstance(body, dict) else note.says
            message = {"role": MESSAGE_EVENTS[note.name], **{k: v for k, v in said.items() if k not in _OF_EVENTS}}
            (outputs if note.name == CHOICE else inputs).append(message)
        elif note.name in _CONTENT_EVENTS:
            names = ("gen_ai.prompt", "gen_ai.completion")
            content = next((note.says[name] for name in names if name in note.says), None)
            telling.says.setdefault(_CONTENT_EVENTS[note.name], content)
        elif note.name == "exception":
            kinds = (text(note.says.get(f"exception.{name}")) for name in ("type", "message"))
            telling.exception = telling.exception or error_text(kinds)
            others.append({"name": note.name, **shown(note.says)})
        else:
            others.append({"name": note.name, **shown(note.says)})
    if inputs:
        telling.says.setdefault(INPUT, inputs)
    if outputs:
        telling.says.setdefault(OUTPUT, outputs)
    if others:
        telling.says["events"] = others


_OF_EVENTS = frozenset(("gen_ai.system", "gen_ai.provider.name", "event.name", "index"))
"""What message events say beside the message."""


def _tell_span(telling: Telling, name: str, error: str, *, model: str = "", call_id: str = "") -> None:
    """Emit the span itself: its name, how long it took, and every attribute that has no event of its own."""
    item = telling.item
    detail: dict[str, Any] = {"operation": telling.text(OPERATION)} if telling.text(OPERATION) else {}
    duration = _duration_ms(telling)
    if duration is not None:
        detail["duration_ms"] = duration
    if error:
        detail["error"] = error
    if item.scope:
        detail["scope"] = item.scope
    detail |= shown({k: v for k, v in telling.says.items() if k not in _TOLD})
    links = items(item.raw.get("links"))
    if links:
        detail["links"] = links
    said = error_text((item.name, error))
    telling.add(Lifecycle(name, said, detail or None, model=model, call_id=call_id), telling.key, item.end)
    _tell_fields(telling)


def _tell_fields(telling: Telling) -> None:
    """Emit the fields of an item that no version of the protocol has."""
    found = {k: v for k, v in unknown_fields_of(telling.item).items() if v not in (None, "", [], {})}
    for name in found:
        telling.drifted("field", f"{'span' if telling.item.is_span else 'log'}.{name}")
    if found:
        telling.add(Unknown("fields", flatten(found)), f"{telling.key}/fields", telling.item.end)


def _start(telling: Telling) -> SessionStart:
    resource, says = telling.item.resource, telling.says
    facts = {
        field: next((t for name in names if (t := text(says.get(name)) or text(resource.get(name)))), "")
        for field, names in _FACTS.items()
    }
    facts["git_remote"] = "" if "@" in facts["git_remote"].partition("//")[2] else facts["git_remote"]
    start = SessionStart(
        originator=text(resource.get("service.name")),
        tool_version=text(resource.get("service.version")) or telling.text("app.version"),
        parent_session=telling.text("gen_ai.conversation.parent_id"),
        **facts,
    )
    if telling.text(OPERATION) == "session.start":
        start = msgspec.structs.replace(start, model=telling.text("gen_ai.request.model"))
    return start


def _error_of(telling: Telling) -> str:
    said = "" if telling.item.failure == "error" else telling.item.failure
    return error_text((telling.text("error.type"), said)) or telling.exception or telling.item.failure


def _duration_ms(telling: Telling) -> int | None:
    item = telling.item
    if not item.is_span or item.is_flat or item.start is None or item.end is None or item.end < item.start:
        return None
    return (item.end - item.start) // 1000


TELLERS = dict.fromkeys(LEAVES, tell_leaf) | {"execute_tool": tell_tool}
"""By operation; those of `AGGREGATES` have a beginning and an end, all others are `tell_other`."""
__all__ = ["AGGREGATES", "TELLERS"]
