"""The files beside the logs: a task's entry in the history, its metadata, and the SDK's manifest and database row."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.cline.state import ClineReading
from recollect.agents.kit.cline.tags import pieces
from recollect.agents.kit.cline.usage import request_usage, sdk_usage
from recollect.agents.kit.naming import content_name, name_of
from recollect.model.payloads import Instructions, Lifecycle, SessionEnd, SessionStart, UserMessage

_ITEM = frozenset(
    (
        "id ulid ts task tokensIn tokensOut cacheWrites cacheReads totalCost size cwdOnTaskInitialization workspace "
        "mode apiConfigName modelId isFavorited number title rootTaskId parentTaskId childIds delegatedToId "
        "awaitingChildId completedByChildId completionResultSummary status toolProtocol shadowGitConfigWorkTree "
        "checkpointManagerErrorMessage conversationHistoryDeletedRange fileNotfound"
    ).split()
)
_ITEM_DETAILS = ("rootTaskId", "childIds", "delegatedToId", "awaitingChildId", "completedByChildId", "status",
                 "completionResultSummary", "apiConfigName", "toolProtocol", "isFavorited", "size")  # fmt: skip
_SESSION = frozenset(
    (
        "version session_id source pid started_at ended_at created_at updated_at exit_code status interactive provider "
        "model cwd workspace_root team_name enable_tools enable_spawn enable_teams parent_session_id parent_agent_id "
        "status_lock agent_id conversation_id is_subagent prompt metadata metadata_json transcript_path hook_path "
        "messages_path"
    ).split()
)
_SESSION_DETAILS = ("source", "provider", "status", "exit_code", "interactive", "team_name", "agent_id",
                    "parent_agent_id", "conversation_id")  # fmt: skip
_OWN_METADATA = frozenset(
    ("title", "fork", "git", "usage", "aggregateUsage", "totalCost", "messagesPath", "pid", "prompt",
     "hubCapabilityOwnerClientId", "source", "provider", "model", "interactive", "enableTools", "enableSpawn",
     "enableTeams")
)  # fmt: skip
_ENVELOPE = frozenset(
    ("version", "updated_at", "agent", "sessionId", "system_prompt", "origin", "taskType", "messages", "metadata")
)


def read_item(reading: ClineReading) -> None:
    """Give a task's entry in the history: its folder, its place among other tasks, and its totals."""
    item = reading.value
    task = text(item.get("id"))
    if not item or not task:
        if item:
            reading.unknown("history_item", native_id=name_of(reading, "item", item))
        else:
            read_odd(reading)
        return
    session = task if reading.state.role == "index" and task != reading.state.session else None
    reading.date(item.get("ts"), "ts")
    reading.native_id = "item"
    start = SessionStart(
        cwd=reading.text(item, "cwdOnTaskInitialization") or reading.text(item, "workspace"),
        model=reading.text(item, "modelId"),
        parent_session=reading.text(item, "parentTaskId"),
        agent_name=reading.text(item, "mode"),
    )
    reading.add(start, native_id="item/start", session=session)
    title = reading.text(item, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="item/title", session=session)
    said = reading.text(item, "task").strip()
    if said and reading.state.role == "index":
        reading.add(UserMessage(said), "user", native_id=f"user:{content_name(said)}", session=session)
    detail = {key: item[key] for key in _ITEM_DETAILS if item.get(key) not in (None, "", [], False)}
    if detail:
        reading.add(Lifecycle("task", detail=detail), native_id="item/task", session=session)
    usage = request_usage(reading, item, f"{task}:total", is_total=True)
    if usage is not None:
        reading.add(usage, native_id="item/usage", session=session)
    if item.get("status") == "completed":
        reading.add(SessionEnd("completed"), native_id="item/end", session=session)
    before = len(reading.events)
    reading.extra(item, _ITEM, "history_item", native_id="item")
    if session is not None:
        reading.events[before:] = [msgspec.structs.replace(e, session=session) for e in reading.events[before:]]


def read_metadata(reading: ClineReading) -> None:
    """Give the models and programs that a task ran with, and the files that it tracks."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    for entry in map(mapping, reading.items(value, "model_usage")):
        reading.date(entry.get("ts"), "model_usage.ts")
        model = text(entry.get("model_id"))
        detail = {k: v for k, v in entry.items() if k not in ("ts", "model_id")}
        name = f"metadata/model:{whole(entry.get('ts'))}"
        reading.add(Lifecycle("model", detail=detail or None, model=model), native_id=name)
    for entry in map(mapping, reading.items(value, "environment_history")):
        reading.date(entry.get("ts"), "environment_history.ts")
        name = f"metadata/environment:{whole(entry.get('ts'))}"
        host = " ".join(filter(None, (text(entry.get("host_name")), text(entry.get("host_version")))))
        version = text(entry.get("cline_version"))
        reading.add(SessionStart(tool_version=version, originator=host), native_id=name)
    for entry in map(mapping, reading.items(value, "files_in_context")):
        reading.date(entry.get("cline_read_date"), "cline_read_date")
        path = text(entry.get("path"))
        detail = {k: v for k, v in entry.items() if k != "path"}
        name = name_of(reading, "metadata/file", path, entry.get("record_source"), entry.get("cline_read_date"))
        reading.add(Lifecycle("file_in_context", text=path, detail=detail or None), native_id=name)
    known = frozenset(("model_usage", "environment_history", "files_in_context"))
    reading.extra(value, known, "task_metadata", native_id="metadata")


def read_context(reading: ClineReading) -> None:
    """Give an edit of the context (nested arrays of positions and texts): known, and only kept."""
    reading.kept("context_history", native_id=name_of(reading, "context", reading.record.value))


def read_envelope(reading: ClineReading) -> None:
    """Give what stands around the SDK's messages: who they belong to, and the system prompt."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    state = reading.state
    origin = reading.mapping(value, "origin")
    if "system_prompt" in value and state.role == "sdk":
        said = reading.text(value, "system_prompt")
        reading.add(Instructions(said, "system_prompt"), native_id="system_prompt")
    if state.role == "sdk" and ("sessionId" in value or "agent" in value or "version" in value):
        agent = text(origin.get("subagent")) or text(value.get("agent"))
        parent = text(origin.get("parentThreadId")) or state.parent
        start = SessionStart(
            originator=text(origin.get("source")),
            tool_version=text(origin.get("version")),
            parent_session=parent if parent != state.session else "",
            agent_name=agent if agent != "lead" else "",
        )
        reading.add(start, native_id="start")
    reading.extra(value, _ENVELOPE, "messages", native_id="envelope")


def read_session(reading: ClineReading) -> None:
    """Give the facts of an SDK session, from its manifest or its row of the database."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    metadata = mapping(value.get("metadata")) or mapping(value.get("metadata_json"))
    git = mapping(metadata.get("git"))
    parent = reading.text(value, "parent_session_id")
    reading.date(value.get("started_at") or value.get("created_at"), "started_at")
    start = SessionStart(
        cwd=reading.text(value, "cwd"),
        repo_root=reading.text(value, "workspace_root"),
        git_branch=text(git.get("branch")),
        git_remote=text(git.get("url")),
        model=reading.text(value, "model"),
        originator=reading.text(value, "source"),
        forked_from=text(mapping(metadata.get("fork")).get("forkedFromSessionId")),
        parent_session=parent,
        agent_name=reading.text(value, "agent_id") if parent else "",
    )
    reading.add(start, native_id="session/start")
    _give_title(reading, value, metadata)
    _give_state(reading, value, metadata)
    if value.get("ended_at"):
        reading.date(value["ended_at"], "ended_at")
        reading.add(SessionEnd(reading.text(value, "status")), native_id="session/end")
    reading.extra(value, _SESSION, "session", native_id="session")


def _give_title(reading: ClineReading, value: dict[str, Any], metadata: dict[str, Any]) -> None:
    title = text(metadata.get("title"))
    if title:
        reading.add(Lifecycle("title", title=title), native_id="session/title")
    for piece in pieces(reading.text(value, "prompt")):
        prompt = UserMessage(piece.text, "human" if piece.is_human else "injected")
        reading.add(prompt, "user", native_id=f"session/prompt:{content_name(piece.text)}")


def _give_state(reading: ClineReading, value: dict[str, Any], metadata: dict[str, Any]) -> None:
    detail = {key: value[key] for key in _SESSION_DETAILS if value.get(key) not in (None, "")}
    rest = {k: v for k, v in metadata.items() if k not in _OWN_METADATA}
    if rest:
        detail["metadata"] = rest
    if detail:
        reading.add(Lifecycle("session", detail=detail), native_id="session/state")
    spent = mapping(metadata.get("aggregateUsage")) or mapping(metadata.get("usage"))
    if spent:
        usage = sdk_usage(reading, spent, text(value.get("model")), "session", is_additive=False)
        reading.add(usage, native_id="session/usage")
