"""Parses the Copilot events around the conversation: start, context, compaction, rewind, end.

Copilot CLI and the Copilot extension of VS Code write the same stream: one envelope, an open set of types.
"""

from typing import Any, TypeVar

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import MAX_NAME_CHARS, BaseState, Reading
from recollect.agents.kit.names import is_storable
from recollect.agents.kit.values import items, mapping, number, text
from recollect.model import payloads as kinds

# What is carried from event to event of a Copilot session, and its limits.

MAX_CALLS = 64
MAX_TURNS = 512
MAX_MODELS = 32
MAX_AGENTS = 64
MAX_REASONINGS = 8
MAX_PATHS = 8
MAX_PENDING_BYTES = 6 * 1024
"""Of a call's prompt and edits; longer ones are in the call's own event only."""


class Call(msgspec.Struct, frozen=True, gc=False):
    """A tool call whose result has not come yet, or came recently.

    prompt: of a call that starts a subagent, what it was told. edits: what the call changes if it succeeds.
    """

    call_id: str
    name: str
    message_id: str = ""
    is_mcp: bool = False
    prompt: str = ""
    edits: tuple[kinds.FileEdit, ...] = ()


class Turn(msgspec.Struct, frozen=True, gc=False):
    """A message of the user: its event's id, how many events came before it, and the last of them."""

    event: str
    ordinal: int
    before: str = ""


class Spent(msgspec.Struct, frozen=True, gc=False):
    """The cumulative counters of one model as the last shutdown of this segment stated them."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


class CopilotState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """The state of a stream of session events."""

    cwd: str = ""
    branch: str = ""
    model: str = ""
    trigger: str = ""
    """Why the compaction under way was started."""
    count: int = 0
    calls: tuple[Call, ...] = ()
    turns: tuple[Turn, ...] = ()
    spent: tuple[Spent, ...] = ()
    agents: tuple[tuple[str, str], ...] = ()
    """Subagents at work: (agent id, id of the call that started it)."""
    reasonings: tuple[str, ...] = ()
    """Hashes of the newest reasoning, which is also written with its message."""


def storable(value: str, limit: int = MAX_NAME_CHARS) -> str:
    """Return text for the state: of at most `limit` bytes, and encodable."""
    if len(value) <= limit and value.isascii():
        return value
    return value.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def size_of(call: Call) -> int:
    """Return how many bytes the texts of a remembered call take; a huge number if they can't be encoded."""
    texts = [call.prompt]
    for edit in call.edits:
        texts += (edit.path, edit.before or "", edit.after or "", edit.diff, edit.new_path, edit.call_id, " " * 32)
    try:
        return sum(len(t.encode()) for t in texts)
    except UnicodeEncodeError:
        return MAX_PENDING_BYTES + 1


def call_named(calls: tuple[Call, ...], call_id: str) -> Call | None:
    """Return the newest remembered call of an id."""
    return next((c for c in reversed(calls) if c.call_id == call_id), None) if call_id else None


def with_call(calls: tuple[Call, ...], call: Call) -> tuple[Call, ...]:
    """Return the calls with one more, or with a newer form of one.

    Too long an id is not remembered; of too long a prompt or edits only the paths are.
    """
    if not call.call_id or not is_storable(call.call_id):
        return calls
    if size_of(call) > MAX_PENDING_BYTES:
        paths = dict.fromkeys(e.path for e in call.edits if is_storable(e.path))
        edits = tuple(kinds.FileEdit(p, call_id=call.call_id) for p in list(paths)[:MAX_PATHS])
        call = msgspec.structs.replace(call, prompt="", edits=edits)
    return (*(c for c in calls if c.call_id != call.call_id), call)[-MAX_CALLS:]


# Tokens in a stream of Copilot session events: only a shutdown states them in full, and cumulatively.

S = TypeVar("S", bound=CopilotState)

_UUID_CHARS = 32
"""An event id at least this long names the event over all files."""
_KNOWN = known_fields("copilot")


def read_metrics(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit what each model took since the shutdown before.

    The counters run through one process. A counter that fell says that another one wrote them: all of it is new.
    """
    spent = {s.model: s for s in reading.now("spent")}
    for model, found in reading.mapping(data, "modelMetrics").items():
        metrics = mapping(found)
        if not mapping(metrics.get("usage")):
            continue
        now = _spent(reading, storable(model), mapping(metrics["usage"]))
        usage = _since(now, spent.get(now.model), model, _key(reading, model))
        spent[now.model] = now
        if usage is not None:
            name = f"{reading.native_id}/usage/{model}" if reading.native_id else None
            reading.add(usage, "assistant", native_id=name, session=session)
        requests = mapping(metrics.get("requests"))
        if number(requests.get("cost")) is None and requests.get("cost") is not None:
            reading.wrong("modelMetrics.requests.cost")
        reading.extra(metrics, _KNOWN["metric"], "modelMetrics")
        reading.extra(mapping(metrics["usage"]), _KNOWN["usage"], "modelMetrics.usage")
    reading.set(spent=tuple(spent.values())[-MAX_MODELS:])


def _spent(reading: Reading[S], model: str, usage: dict[str, Any]) -> Spent:
    return Spent(
        model,
        reading.count(usage, "inputTokens"),
        reading.count(usage, "outputTokens"),
        reading.count(usage, "cacheReadTokens"),
        reading.count(usage, "cacheWriteTokens"),
        reading.count(usage, "reasoningTokens"),
    )


def _since(now: Spent, before: Spent | None, model: str, key: str) -> kinds.TokenUsage | None:
    """Return the difference of two counters; `inputTokens` holds both classes of cached tokens."""
    if before is None or any(
        a < b
        for a, b in (
            (now.input_tokens, before.input_tokens),
            (now.output_tokens, before.output_tokens),
            (now.cache_read, before.cache_read),
            (now.cache_write, before.cache_write),
        )
    ):
        before = Spent(now.model)
    read, written = now.cache_read - before.cache_read, now.cache_write - before.cache_write
    fresh = max(0, now.input_tokens - before.input_tokens - read - written)
    output = now.output_tokens - before.output_tokens
    if not (fresh or output or read or written):
        return None
    return kinds.TokenUsage(
        model, fresh, output, read, written, reasoning_tokens=max(0, now.reasoning - before.reasoning), dedupe_key=key
    )


def _key(reading: Reading[S], model: str) -> str:
    name = reading.native_id or f"shutdown-{reading.index}"
    return f"{name}:{model}" if len(name) >= _UUID_CHARS else f"{reading.state.session}/{name}:{model}"


_SHUTDOWN_FIELDS = frozenset(("shutdownType", "modelMetrics", "errorReason"))
_COMPACTION_FIELDS = frozenset(("success", "error", "summaryContent", "preCompactionTokens", "postCompactionTokens"))


def read_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit the session's start, or what its resumption states again. A resumed session starts new counters."""
    context = reading.mapping(data, "context")
    is_resumed = "resumeTime" in data or "eventCount" in data
    model = reading.text(data, "selectedModel")
    cwd, branch = reading.text(context, "cwd"), reading.text(context, "branch")
    reading.add(
        kinds.SessionStart(
            cwd=cwd,
            repo_root=text(context.get("gitRoot")),
            git_branch=branch,
            git_commit=text(context.get("headCommit")),
            git_remote=_remote(context),
            model=model,
            tool_version=reading.text(data, "copilotVersion"),
            originator=text(data.get("producer")),
        ),
        session=session,
    )
    if is_resumed:
        rest = {k: data[k] for k in ("eventCount", "resumeTime") if data.get(k) is not None}
        reading.add(
            kinds.Lifecycle("resumed", detail=rest or None), native_id=reading.below("resumed"), session=session
        )
    changes: dict[str, Any] = {"is_started": True, "spent": ()}
    for name, value in (("cwd", cwd), ("branch", branch), ("model", model)):
        if value:
            changes[name] = storable(value)
    reading.set(**changes)
    reading.extra(data, _KNOWN["copilot_session_start"], "session.start")
    reading.extra(context, _KNOWN["context"], "session.start.context")


def _remote(context: dict[str, Any]) -> str:
    repository, host = text(context.get("repository")), text(context.get("repositoryHost"))
    return f"{host}/{repository}" if repository and host else repository


def read_model_change(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    model = reading.text(data, "newModel")
    rest = {k: v for k, v in data.items() if k != "newModel" and v not in (None, "")}
    reading.add(kinds.Lifecycle("model", model=model, detail=rest or None), session=session)
    if session is None and model:
        reading.set(model=storable(model))


def read_context(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a change of folder or branch."""
    found = mapping(data.get("context")) or data
    reading.see(cwd=reading.text(found, "cwd"), branch=reading.text(found, "branch"), session=session)
    if not reading.events:
        reading.add(kinds.Lifecycle("context", detail=data or None), session=session)


def read_title(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    reading.add(kinds.Lifecycle("title", title=reading.text(data, "title")), session=session)


def read_notice(name: str, reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a notice, a warning or an error of the harness."""
    if name == "error" and "statusCode" in data:
        name = "api_error"
    rest = {k: v for k, v in data.items() if k != "message" and v not in (None, "")}
    reading.add(kinds.Lifecycle(name, text=reading.text(data, "message"), detail=rest or None), session=session)


def read_abort(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit the interruption of a turn."""
    reading.add(kinds.Lifecycle("interrupted", text=reading.text(data, "reason")), session=session)


def read_truncation(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a context that was cut to fit, with everything that is said of it."""
    before = reading.whole(data, "preTruncationTokensInMessages")
    after = reading.whole(data, "postTruncationTokensInMessages")
    reading.add(kinds.Compaction("truncation", tokens_before=before, tokens_after=after), session=session)
    reading.add(kinds.Lifecycle("truncation", detail=data or None), native_id=reading.below("detail"), session=session)


def read_compaction_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit the beginning of a compaction, and remember why it began."""
    reading.set(trigger=storable(reading.text(data, "trigger")))
    reading.add(kinds.Lifecycle("compaction_started", detail=data or None), session=session)


def read_compaction(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a compaction that was made; one that failed is written the same way."""
    rest = {k: v for k, v in data.items() if k not in _COMPACTION_FIELDS and v not in (None, "")}
    if data.get("success") is False:
        failed = kinds.Lifecycle("compaction_failed", text=reading.text(data, "error"), detail=rest or None)
        reading.add(failed, session=session)
        return
    reading.add(
        kinds.Compaction(
            reading.text(data, "trigger") or reading.now("trigger"),
            reading.text(data, "summaryContent"),
            reading.whole(data, "preCompactionTokens"),
            reading.whole(data, "postCompactionTokens"),
        ),
        session=session,
    )
    reading.set(trigger="")
    reading.note("checkpoint", detail=rest, native_id=reading.below("checkpoint"), session=session)


def read_cleared(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a context that the user emptied."""
    reading.add(kinds.Compaction("cleared"), session=session)
    reading.note("context_cleared", detail=data, native_id=reading.below("detail"), session=session)


def read_rewind(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a recorded rewind; newer builds never record one.

    In one revision of the schema the named event itself is removed, in an older one only what follows it; the number of
    removed events shows which. A third form lists the removed events. If an event between two turns is named, or a
    removed turn comes before a kept one, the undone part is unknown.
    """
    target = reading.text(data, "upToEventId")
    turns = reading.now("turns")
    listed = {v for v in items(data.get("eventIds")) if isinstance(v, str)}
    if listed:
        kept = tuple(t for t in turns if t.event not in listed)
    else:
        kept = turns
        named = next((t for t in turns if target and t.event == target), None)
        if named is not None:
            follows = reading.now("count") - named.ordinal - 1
            is_kept = reading.whole(data, "eventsRemoved") == follows
            kept = tuple(t for t in turns if t.ordinal < named.ordinal or (is_kept and t is named))
    dropped = len(turns) - len(kept)
    is_end = bool(dropped) and kept == turns[: len(kept)] and session is None
    reading.add(kinds.Rewind(turns[len(kept)].before, dropped) if is_end else kinds.Rewind(), session=session)
    reading.add(kinds.Lifecycle("rewound", detail=data or None), native_id=reading.below("detail"), session=session)
    reading.set(turns=kept)


def read_shutdown(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit the session's end, and the tokens that were spent since the last one of this segment."""
    read_metrics(reading, data, session)
    rest = {k: v for k, v in data.items() if k not in _SHUTDOWN_FIELDS and v not in (None, "", [], {})}
    reading.note("totals", detail=rest, native_id=reading.below("totals"), session=session)
    reason = reading.text(data, "shutdownType")
    error = reading.text(data, "errorReason")
    reading.add(kinds.SessionEnd(f"{reason}: {error}" if error else reason), session=session)


def read_subagent_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a subagent's start: a session of its own, opened by the task that its call gave it."""
    call_id = reading.text(data, "toolCallId")
    name = reading.text(data, "agentName") or reading.text(data, "agentDisplayName")
    agent = text(reading.value.get("agentId"))
    child = child_session(reading, agent, call_id)
    reading.add(
        kinds.Lifecycle("subagent", text=name, detail=data or None, call_id=call_id), native_id=reading.native_id
    )
    if not child:
        return
    if agent and call_id:
        known = reading.now("agents")
        reading.set(agents=(*known, (storable(agent), storable(call_id)))[-MAX_AGENTS:])
    reading.start(
        cwd=reading.now("cwd"),
        git_branch=reading.now("branch"),
        model=text(data.get("model")) or reading.now("model"),
        parent_session=session or reading.state.session,
        agent_name=name,
        session=child,
    )
    call = call_named(reading.now("calls"), call_id)
    if call is not None and call.prompt:
        reading.add(kinds.UserMessage(call.prompt), native_id="task", session=child)


def read_subagent(name: str, reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Emit a later event of a subagent's life, in the session that started it."""
    call_id = text(data.get("toolCallId"))
    detail = {"state": name, **data}
    reading.add(
        kinds.Lifecycle("subagent", text=f"{text(data.get('agentName'))} {name}", detail=detail, call_id=call_id)
    )


def child_session(reading: Reading[S], agent: str, call_id: str) -> str:
    """Return the native id of the session of a subagent, "" where the record is not of one."""
    if agent and not call_id:
        call_id = next((c for a, c in reversed(reading.now("agents")) if a == agent), "")
    key = storable(call_id or agent)
    return f"{reading.state.session}/{key}" if key else ""
