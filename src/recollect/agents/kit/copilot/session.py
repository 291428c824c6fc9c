"""Everything around the conversation in a stream of Copilot session events: start, context, compaction, rewind, end."""

from __future__ import annotations

from typing import Any, TypeVar

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.copilot.state import MAX_AGENTS, CopilotState, call_named, storable
from recollect.agents.kit.copilot.usage import read_metrics
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Compaction, Lifecycle, Rewind, SessionEnd, SessionStart, UserMessage

S = TypeVar("S", bound=CopilotState)

_START_FIELDS = frozenset((
    "sessionId", "version", "producer", "copilotVersion", "vscodeVersion", "startTime", "selectedModel", "context",
    "alreadyInUse", "remoteSteerable", "contextTier", "reasoningEffort", "resumeTime", "eventCount",
))  # fmt: skip
_CONTEXT_FIELDS = frozenset((
    "cwd", "gitRoot", "repository", "repositoryHost", "branch", "hostType", "headCommit", "baseCommit",
))  # fmt: skip
_SHUTDOWN_FIELDS = frozenset(("shutdownType", "modelMetrics", "errorReason"))
_COMPACTION_FIELDS = frozenset(("success", "error", "summaryContent", "preCompactionTokens", "postCompactionTokens"))


def read_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give the session's start, or what its resumption says of it anew. A resumed session starts new counters."""
    context = reading.mapping(data, "context")
    is_resumed = "resumeTime" in data or "eventCount" in data
    model = reading.text(data, "selectedModel")
    cwd, branch = reading.text(context, "cwd"), reading.text(context, "branch")
    reading.add(
        SessionStart(
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
        resumed = Lifecycle("resumed", detail=rest or None)
        reading.add(resumed, native_id=_below(reading, "resumed"), session=session)
    changes: dict[str, Any] = {"is_started": True, "spent": ()}
    for name, value in (("cwd", cwd), ("branch", branch), ("model", model)):
        if value:
            changes[name] = storable(value)
    reading.set(**changes)
    reading.extra(data, _START_FIELDS, "session.start")
    reading.extra(context, _CONTEXT_FIELDS, "session.start.context")


def _remote(context: dict[str, Any]) -> str:
    repository, host = text(context.get("repository")), text(context.get("repositoryHost"))
    return f"{host}/{repository}" if repository and host else repository


def read_model_change(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a change of the model."""
    model = reading.text(data, "newModel")
    rest = {k: v for k, v in data.items() if k != "newModel" and v not in (None, "")}
    reading.add(Lifecycle("model", model=model, detail=rest or None), session=session)
    if session is None and model:
        reading.set(model=storable(model))


def read_context(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a change of folder or branch."""
    found = mapping(data.get("context")) or data
    cwd, branch = reading.text(found, "cwd"), reading.text(found, "branch")
    if cwd and cwd != reading.now("cwd"):
        reading.set(cwd=storable(cwd))
        reading.add(Lifecycle("cwd", cwd=cwd), native_id=_below(reading, "cwd"), session=session)
    if branch and branch != reading.now("branch"):
        reading.set(branch=storable(branch))
        reading.add(Lifecycle("branch", branch=branch), native_id=_below(reading, "branch"), session=session)
    if not reading.events:
        reading.add(Lifecycle("context", detail=data or None), session=session)


def read_title(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give the session's title."""
    reading.add(Lifecycle("title", title=reading.text(data, "title")), session=session)


def read_notice(name: str, reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a notice, a warning or an error of the harness."""
    if name == "error" and "statusCode" in data:
        name = "api_error"
    rest = {k: v for k, v in data.items() if k != "message" and v not in (None, "")}
    reading.add(Lifecycle(name, text=reading.text(data, "message"), detail=rest or None), session=session)


def read_abort(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give the interruption of a turn."""
    reading.add(Lifecycle("interrupted", text=reading.text(data, "reason")), session=session)


def read_truncation(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a context that was cut to fit, with everything that is said of it."""
    before = reading.whole(data, "preTruncationTokensInMessages")
    after = reading.whole(data, "postTruncationTokensInMessages")
    reading.add(Compaction("truncation", tokens_before=before, tokens_after=after), session=session)
    reading.add(Lifecycle("truncation", detail=data or None), native_id=_below(reading, "detail"), session=session)


def read_compaction_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give the beginning of a compaction, and remember why it began."""
    reading.set(trigger=storable(reading.text(data, "trigger")))
    reading.add(Lifecycle("compaction_started", detail=data or None), session=session)


def read_compaction(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a compaction that was made; one that failed is written the same way."""
    rest = {k: v for k, v in data.items() if k not in _COMPACTION_FIELDS and v not in (None, "")}
    if data.get("success") is False:
        failed = Lifecycle("compaction_failed", text=reading.text(data, "error"), detail=rest or None)
        reading.add(failed, session=session)
        return
    reading.add(
        Compaction(
            reading.text(data, "trigger") or reading.now("trigger"),
            reading.text(data, "summaryContent"),
            reading.whole(data, "preCompactionTokens"),
            reading.whole(data, "postCompactionTokens"),
        ),
        session=session,
    )
    reading.set(trigger="")
    if rest:
        checkpoint = Lifecycle("checkpoint", detail=rest)
        reading.add(checkpoint, native_id=_below(reading, "checkpoint"), session=session)


def read_cleared(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a context that the user emptied."""
    reading.add(Compaction("cleared"), session=session)
    if data:
        reading.add(Lifecycle("context_cleared", detail=data), native_id=_below(reading, "detail"), session=session)


def read_rewind(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a rewind that was written down, which newer builds never do.

    By one revision of the schema the named event is itself removed, by an older one only what follows it; the number
    of removed events tells which. A third form lists the removed events. Where an event between two turns is named, or
    a removed turn stands before one that is kept, what was left behind is not told.
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
    reading.add(Rewind(turns[len(kept)].before, dropped) if is_end else Rewind(), session=session)
    reading.add(Lifecycle("rewound", detail=data or None), native_id=_below(reading, "detail"), session=session)
    reading.set(turns=kept)


def read_shutdown(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give the session's end, and the tokens that were spent since the last one of this segment."""
    read_metrics(reading, data, session)
    rest = {k: v for k, v in data.items() if k not in _SHUTDOWN_FIELDS and v not in (None, "", [], {})}
    if rest:
        totals = Lifecycle("totals", detail=rest)
        reading.add(totals, native_id=_below(reading, "totals"), session=session)
    reason = reading.text(data, "shutdownType")
    error = reading.text(data, "errorReason")
    reading.add(SessionEnd(f"{reason}: {error}" if error else reason), session=session)


def read_subagent_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a subagent's start: a session of its own, opened by the task that its call gave it."""
    call_id = reading.text(data, "toolCallId")
    name = reading.text(data, "agentName") or reading.text(data, "agentDisplayName")
    agent = text(reading.value.get("agentId"))
    child = child_session(reading, agent, call_id)
    reading.add(Lifecycle("subagent", text=name, detail=data or None, call_id=call_id), native_id=reading.native_id)
    if not child:
        return
    if agent and call_id:
        known = reading.now("agents")
        reading.set(agents=(*known, (storable(agent), storable(call_id)))[-MAX_AGENTS:])
    started = SessionStart(
        cwd=reading.now("cwd"),
        git_branch=reading.now("branch"),
        model=text(data.get("model")) or reading.now("model"),
        parent_session=session or reading.state.session,
        agent_name=name,
    )
    reading.add(started, native_id="start", session=child)
    call = call_named(reading.now("calls"), call_id)
    if call is not None and call.prompt:
        reading.add(UserMessage(call.prompt), "user", native_id="task", session=child)


def read_subagent(name: str, reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a later event of a subagent's life, in the session that started it."""
    del session
    call_id = text(data.get("toolCallId"))
    detail = {"state": name, **data}
    reading.add(Lifecycle("subagent", text=f"{text(data.get('agentName'))} {name}", detail=detail, call_id=call_id))


def child_session(reading: Reading[S], agent: str, call_id: str) -> str:
    """Return the native id of the session of a subagent, "" where the record is not of one."""
    if agent and not call_id:
        call_id = next((c for a, c in reversed(reading.now("agents")) if a == agent), "")
    key = storable(call_id or agent)
    return f"{reading.state.session}/{key}" if key else ""


def _below(reading: Reading[S], name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None
