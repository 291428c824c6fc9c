"""The adapter of the Cline family; each member adds its facts and how to recognise its logs."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.facts import entries, known_fields
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.cline.api import read_message
from recollect.agents.kit.cline.ui import read_row
from recollect.agents.kit.cline.values import ClineReading, ClineState, pieces, request_usage, sdk_usage
from recollect.agents.kit.names import content_name, name_of
from recollect.agents.kit.values import HEAD_SESSION, group_in, mapping, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo

# The files beside the logs: a task's entry in the history, its metadata, and the SDK's manifest and database row.

_KNOWN = known_fields("cline")
_ITEM_DETAILS = ("rootTaskId", "childIds", "delegatedToId", "awaitingChildId", "completedByChildId", "status",
                 "completionResultSummary", "apiConfigName", "toolProtocol", "isFavorited", "size")  # fmt: skip
_SESSION_DETAILS = ("source", "provider", "status", "exit_code", "interactive", "team_name", "agent_id",
                    "parent_agent_id", "conversation_id")  # fmt: skip
_OWN_METADATA = word_set("""
    title fork git usage aggregateUsage totalCost messagesPath pid prompt hubCapabilityOwnerClientId source provider
    model interactive enableTools enableSpawn enableTeams
""")


def read_item(reading: ClineReading) -> None:
    """Emit a task's entry in the history: its folder, its place among other tasks, and its totals."""
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
    reading.start(
        **reading.told(
            item,
            cwd="cwdOnTaskInitialization workspace",
            model="modelId",
            parent_session="parentTaskId",
            agent_name="mode",
        ),
        native_id="item/start",
        session=session,
    )
    reading.entitle(reading.text(item, "title"), "item/title", session)
    said = reading.text(item, "task").strip()
    if said and reading.state.role == "index":
        reading.add(kinds.UserMessage(said), native_id=f"user:{content_name(said)}", session=session)
    detail = {key: item[key] for key in _ITEM_DETAILS if item.get(key) not in (None, "", [], False)}
    reading.note("task", detail=detail, native_id="item/task", session=session)
    usage = request_usage(reading, item, f"{task}:total", is_total=True)
    if usage is not None:
        reading.add(usage, native_id="item/usage", session=session)
    if item.get("status") == "completed":
        reading.add(kinds.SessionEnd("completed"), native_id="item/end", session=session)
    before = len(reading.events)
    reading.extra(item, _KNOWN["item"], "history_item", native_id="item")
    if session is not None:
        reading.events[before:] = [msgspec.structs.replace(e, session=session) for e in reading.events[before:]]


def read_metadata(reading: ClineReading) -> None:
    """Emit the models and programs that a task ran with, and the files that it tracks."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    for entry in map(mapping, reading.items(value, "model_usage")):
        reading.date(entry.get("ts"), "model_usage.ts")
        model = text(entry.get("model_id"))
        detail = {k: v for k, v in entry.items() if k not in ("ts", "model_id")}
        name = f"metadata/model:{whole(entry.get('ts'))}"
        reading.add(kinds.Lifecycle("model", detail=detail or None, model=model), native_id=name)
    for entry in map(mapping, reading.items(value, "environment_history")):
        reading.date(entry.get("ts"), "environment_history.ts")
        name = f"metadata/environment:{whole(entry.get('ts'))}"
        host = " ".join(filter(None, (text(entry.get("host_name")), text(entry.get("host_version")))))
        version = text(entry.get("cline_version"))
        reading.start(tool_version=version, originator=host, native_id=name)
    for entry in map(mapping, reading.items(value, "files_in_context")):
        reading.date(entry.get("cline_read_date"), "cline_read_date")
        path = text(entry.get("path"))
        detail = {k: v for k, v in entry.items() if k != "path"}
        name = name_of(reading, "metadata/file", path, entry.get("record_source"), entry.get("cline_read_date"))
        reading.add(kinds.Lifecycle("file_in_context", text=path, detail=detail or None), native_id=name)
    known = frozenset(("model_usage", "environment_history", "files_in_context"))
    reading.extra(value, known, "task_metadata", native_id="metadata")


def read_context(reading: ClineReading) -> None:
    """Emit an edit of the context (nested arrays of positions and texts): known, and only kept."""
    reading.kept("context_history", native_id=name_of(reading, "context", reading.record.value))


def read_envelope(reading: ClineReading) -> None:
    """Parse what surrounds the SDK's messages: their session, and the system prompt."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    state = reading.state
    origin = reading.mapping(value, "origin")
    if "system_prompt" in value and state.role == "sdk":
        said = reading.text(value, "system_prompt")
        reading.add(kinds.Instructions(said, "system_prompt"), native_id="system_prompt")
    if state.role == "sdk" and ("sessionId" in value or "agent" in value or "version" in value):
        agent = text(origin.get("subagent")) or text(value.get("agent"))
        parent = text(origin.get("parentThreadId")) or state.parent
        reading.start(
            **reading.told(origin, originator="source", tool_version="version"),
            parent_session=parent if parent != state.session else "",
            agent_name=agent if agent != "lead" else "",
        )
    reading.extra(value, _KNOWN["envelope"], "messages", native_id="envelope")


def read_session(reading: ClineReading) -> None:
    """Emit the facts of an SDK session, from its manifest or its row of the database."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    metadata = mapping(value.get("metadata")) or mapping(value.get("metadata_json"))
    git = mapping(metadata.get("git"))
    parent = reading.text(value, "parent_session_id")
    reading.date(value.get("started_at") or value.get("created_at"), "started_at")
    reading.start(
        **reading.told(value, cwd="cwd", repo_root="workspace_root", model="model", originator="source"),
        **reading.told(git, git_branch="branch", git_remote="url"),
        forked_from=text(mapping(metadata.get("fork")).get("forkedFromSessionId")),
        parent_session=parent,
        agent_name=reading.text(value, "agent_id") if parent else "",
        native_id="session/start",
    )
    reading.entitle(text(metadata.get("title")), "session/title")
    for piece in pieces(reading.text(value, "prompt")):
        prompt = kinds.UserMessage(piece.text, "human" if piece.is_human else "injected")
        reading.add(prompt, native_id=f"session/prompt:{content_name(piece.text)}")
    detail = {key: value[key] for key in _SESSION_DETAILS if value.get(key) not in (None, "")}
    rest = {k: v for k, v in metadata.items() if k not in _OWN_METADATA}
    if rest:
        detail["metadata"] = rest
    reading.note("session", detail=detail, native_id="session/state")
    spent = mapping(metadata.get("aggregateUsage")) or mapping(metadata.get("usage"))
    if spent:
        usage = sdk_usage(reading, spent, text(value.get("model")), "session", is_additive=False)
        reading.add(usage, native_id="session/usage")
    if value.get("ended_at"):
        reading.date(value["ended_at"], "ended_at")
        reading.add(kinds.SessionEnd(reading.text(value, "status")), native_id="session/end")
    reading.extra(value, _KNOWN["session"], "session", native_id="session")


_TASK_ROLES = frozenset(("ui", "api", "item", "metadata", "context"))
_SDK_SUFFIX = re.compile(r"\.(?:messages|compaction)$")
_UI = re.compile(rb'\s*\[\s*\{[^{}]{0,2000}?"(?:say|ask)" ?: ?"(?:task|text|api_req_started|followup)"', re.S)
_API = re.compile(rb'\s*\[\s*\{\s*"role" ?: ?"user"', re.S)
_API_TAGS = (b"<task>", b"<user_message>", b"<environment_details>")
_SDK_KEYS = (b'"agent"', b'"sessionId"', b'"updated_at"', b'"messages"')
INDEX_SESSION = "taskHistory"


class ClineMember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent of the family has of its own."""

    counts_cached_input: bool = False
    """Whether `tokensIn` of this agent's newer versions includes the cached tokens."""
    marks: tuple[str, ...] = ()
    """What only this agent of the family writes into its UI log; empty for the one that takes what has no marks."""
    foreign_marks: tuple[str, ...] = ()
    """What its relatives write."""


class ClineFamily(KitAdapter[ClineState]):
    """Reads the tasks of an extension of the family, and the SDK's sessions where it has them."""

    def __init__(self, slug: str) -> None:
        entry = entries()[slug]
        self.facts = entry.facts
        self._own = msgspec.convert(entry.family, ClineMember)

    def recognise(self, path: str, head: bytes) -> str | None:
        own = self._own
        if any(m.encode() in head for m in own.foreign_marks) or not any(
            m.encode() in head for m in own.marks or ("",)
        ):
            return None
        if _UI.match(head):
            return "ui"
        if _API.match(head) and any(tag in head for tag in _API_TAGS):
            return "api"
        is_sdk = head.lstrip().startswith(b"{") and all(key in head for key in _SDK_KEYS)
        return "sdk" if is_sdk and any(p.role == "sdk" for p in self.facts.places) else None

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: a task keeps its id in every editor and folder that it is moved to."""
        segments = info.path.split("/")
        if info.role in _TASK_ROLES and len(segments) > 1:
            return "/".join(segments[-2:])
        return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the task's folder, or the SDK's session."""
        folder = info.folder
        if info.role == "index":
            return INDEX_SESSION
        if info.role in _TASK_ROLES:
            return folder or first_line_name(head)
        if info.document:
            return info.document
        stem = _SDK_SUFFIX.sub("", info.stem)
        if not folder or stem == folder:
            return (group_in(HEAD_SESSION, head) if not folder else "") or stem or first_line_name(head)
        if info.role == "manifest":
            return stem
        own = group_in(HEAD_SESSION, head)
        return own if own and own != folder else f"{folder}__{stem}"

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        folder = info.folder
        is_sdk = info.role in ("sdk", "sdk_context")
        return {
            "counts_cached_input": self._own.counts_cached_input,
            "parent": folder if is_sdk and folder != info.session else "",
        }

    def read(self, reading: ClineReading) -> None:
        """Emit the events of one record, by the role of its source."""
        role = reading.state.role
        reader = _READERS.get(role)
        if reader is not None and (isinstance(reading.record.value, dict) or role == "context"):
            reader(reading)
        else:
            read_odd(reading)


def _read_log(reading: ClineReading) -> None:
    """Parse a record of either log: very old versions kept the conversation in a file of another name."""
    value = reading.value
    if "role" in value and "say" not in value and "ask" not in value:
        read_message(reading)
    elif reading.state.role == "api" and value.get("type") in ("ask", "say"):
        read_row(reading)
    elif reading.state.role == "api":
        # Read a message, or all messages of a document that holds them (Roo's version 2).
        messages = reading.value.get("messages")
        if not isinstance(messages, list) or "version" not in reading.value:
            read_message(reading)
            return
        document = reading.value
        for message in messages:
            reading.value = message if isinstance(message, dict) else {}
            if reading.value:
                read_message(reading)
            else:
                reading.wrong("messages")
        reading.value = document
        reading.extra(document, frozenset(("version", "messages")), "api_document", native_id="document")
    else:
        read_row(reading)


def _read_sdk(reading: ClineReading) -> None:
    if reading.at == "messages":
        read_message(reading)
        if reading.state.role == "sdk_context":
            reading.events = [draft for draft in reading.events if _is_of_context(draft.payload)]
    else:
        read_envelope(reading)


def _is_of_context(payload: kinds.Payload) -> bool:
    """Say whether a message of the compacted context says more than the one that it is a copy of."""
    return isinstance(payload, kinds.Compaction | kinds.Unknown) or (
        isinstance(payload, kinds.UserMessage) and payload.origin == "injected"
    )


_READERS: dict[str, Callable[[ClineReading], None]] = {
    "ui": _read_log,
    "api": _read_log,
    "item": read_item,
    "index": read_item,
    "metadata": read_metadata,
    "context": read_context,
    "sdk": _read_sdk,
    "sdk_context": _read_sdk,
    "manifest": read_session,
    "sessions_db": read_session,
}
