"""opencode: parses a row or small file into events. Pure; never raises on content.

Messages and parts are read by `messages` and `tools`; traps are in README.md beside this.
"""

import re
from collections.abc import Callable
from typing import Any

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import KitAdapter, read_row
from recollect.agents.kit.names import short
from recollect.agents.kit.values import items, mapping, text, word_set
from recollect.agents.opencode.messages import read_error, read_message, read_part
from recollect.agents.opencode.tools import (
    Call,
    OpencodeState,
    Reading,
    before_of,
    file_part,
    give_call,
    give_pending,
    has_mark,
    mark_of,
    note,
    note_place,
    said_marks,
    usage_of,
)
from recollect.model import payloads as kinds
from recollect.model.text import flatten

TRANSCRIPT = "transcript"
TREE = "tree"

# Rows of `session_message`: one per message, whole, as the 2.x generation writes them (a few since 1.14).
#
# Beside a full set of message and part rows they repeat the conversation: a migrated session has both, and so have
# some sessions of late 1.x. What repeats a row gives no event; `tools` says how it is told. What only this table has
# (changes of model and agent, turns that ended) is given in any case. Evidence: format notes: opencode, section 2;
# opencode's published schema of session messages.

_FIELDS = known_fields("opencode")
_BASE = frozenset(("id", "sessionID", "type", "metadata", "time"))
_NATIVE = frozenset(("native", "providerState", "state"))
_KNOWN = {kind: _BASE | fields for kind, fields in known_by_type("opencode", "projected").items()}
_TEXT = frozenset(("type", "id", "text", "ignored", "synthetic", "metadata")) | _NATIVE
_REASONING = frozenset(("type", "id", "reasoningID", "text", "time", "providerMetadata")) | _NATIVE
_CONVERSATION = frozenset(("user", "synthetic", "assistant", "shell", "compaction"))
_OUTCOMES = frozenset(("succeeded", "failed", "interrupted"))


def read_projected(reading: Reading) -> None:
    """Emit a row of `session_message`, unless the rows of messages and parts said the same."""
    give_pending(reading)
    reading.set(message="", edited=(), is_repeat=False, is_side=False)
    row = reading.value
    data = row.get("data")
    name = text(row.get("id")) or text(mapping(data).get("id"))
    reading.native_id = name or None
    if not isinstance(data, dict):
        reading.date(row.get("time_created"), "time_created")
        reading.wrong("data")
        reading.kept("session_message")
        return
    kind = text(row.get("type")) or text(data.get("type"))
    reading.extra(row, _FIELDS["row"], "session_message_row")
    written = reading.mapping(data, "time").get("created")
    reading.date(row.get("time_created") if written is None else written, "time.created")
    read = _READERS.get(kind)
    if read is None:
        reading.unknown(f"session_message/{kind}", data)
        return
    created = reading.ts if reading.ts_quality == "exact" else None
    if kind in _CONVERSATION:
        if _is_repeat(reading, kind, data, name, created):
            return
        note(reading, "projected", mark_of("id", name), mark_of("at", kind, created))
    reading.set(message=short(name), created=created)
    read(reading, data, name)
    reading.extra(data, _KNOWN[kind], f"session_message.{kind}")


def _is_repeat(reading: Reading, kind: str, data: dict[str, Any], name: str, created: int | None) -> bool:
    """Say whether the other tables hold this message: by its id, its time, a call, or a text of about this time."""
    rows: bytes = reading.now("rows")
    if not rows:
        return False
    marks = [mark_of("id", name)]
    if created is not None:
        marks.append(mark_of("at", kind, created))
    for block in items(data.get("content")):
        if isinstance(block, dict) and block.get("type") == "tool":
            marks += [mark_of("call", text(block.get(key))) for key in ("callID", "id") if text(block.get(key))]
        elif isinstance(block, dict) and block.get("type") == "text" and text(block.get("text")):
            marks += said_marks(kind, text(block["text"]), reading.ts)
    said = text(data.get("text")) or text(data.get("summary"))
    if said:
        speaker = {"synthetic": "user", "compaction": "assistant"}.get(kind, kind)
        marks += said_marks(speaker, said, reading.ts)
    return any(has_mark(rows, mark) for mark in marks)


def _read_user(reading: Reading, data: dict[str, Any], name: str) -> None:
    files = tuple(file_part(reading, f) for f in reading.items(data, "files") if isinstance(f, dict))
    reading.add(kinds.UserMessage(reading.text(data, "text"), parts=files))
    named = {k: data[k] for k in ("agents", "skills", "references") if data.get(k)}
    if named:
        reading.kept("mentions", named, native_id=f"{name}/mentions")


def _read_skill(reading: Reading, data: dict[str, Any], name: str) -> None:
    skill = reading.text(data, "name") or reading.text(data, "skill")
    reading.add(kinds.Instructions(reading.text(data, "text"), source=f"skill {skill}"))


def _read_shell(reading: Reading, data: dict[str, Any], name: str) -> None:
    """A command that the person ran, and what it printed."""
    call_id = text(data.get("shellID")) or text(data.get("callID")) or name
    reading.add(kinds.UserMessage(f"!{reading.text(data, 'command')}", "command"))
    status = reading.text(data, "status")
    if status == "running" or (not status and reading.mapping(data, "time").get("completed") is None):
        return
    completed = mapping(data.get("time")).get("completed")
    if completed is not None:
        reading.date(completed, "time.completed")
    exit_code = reading.whole(data, "exit")
    has_failed = status in ("failed", "cancelled", "timed_out", "timeout", "killed") or exit_code not in (None, 0)
    output = data.get("output")
    said = text(mapping(output).get("output")) or text(mapping(output).get("text"))
    reading.add(
        kinds.ToolResult(
            call_id,
            "shell",
            not has_failed if status or exit_code is not None else None,
            exit_code,
            output if isinstance(output, str) else said or flatten(output),
        ),
        native_id=f"result:{call_id}",
    )
    if data.get("error"):
        read_error(reading, data["error"], name)


def _read_assistant(reading: Reading, data: dict[str, Any], name: str) -> None:
    model = _model_name(data.get("model"))
    if model and short(model) != reading.now("last_model"):
        reading.set(last_model=short(model))
    counts: dict[str, int] = {}
    for block in reading.items(data, "content"):
        kind = block.get("type") if isinstance(block, dict) else None
        counts[text(kind)] = counts.get(text(kind), 0) + 1
        _read_block(reading, block, f"{name}/{kind}/{counts[text(kind)]}", (model, text(data.get("finish"))))
    _read_snapshot(reading, data.get("snapshot"), name)
    completed = mapping(data.get("time")).get("completed")
    if completed is not None:
        reading.date(completed, "time.completed")
    for error in (data.get("error"), mapping(data.get("retry")).get("error")):
        if error:
            read_error(reading, error, name)
    usage = usage_of(reading, data, model, reading.now("created"), name)
    if usage is not None:
        reading.add(usage, "assistant", native_id=f"{name}/usage")


def _read_block(reading: Reading, block: Any, name: str, spoken: tuple[str, str]) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    model, finish = spoken
    message = reading.now("message")
    if kind == "text":
        if reading.text(block, "text"):
            reading.add(kinds.AssistantMessage(block["text"], model, finish, message), native_id=name)
        reading.extra(block, _TEXT, "content.text", native_id=name)
    elif kind == "reasoning":
        thought = reading.text(block, "text")
        if thought or any(block.get(key) for key in _NATIVE):
            reading.add(kinds.Thinking(thought, message, not thought), native_id=name)
        reading.extra(block, _REASONING, "content.reasoning", native_id=name)
    elif kind == "tool":
        _read_tool(reading, block, name)
    else:
        reading.unknown(f"content/{kind}", block, native_id=name)


def _read_tool(reading: Reading, block: dict[str, Any], name: str) -> None:
    state, times = reading.mapping(block, "state"), reading.mapping(block, "time")
    error = state.get("error")
    said, files = _content_of(reading, state)
    facts = {**mapping(state.get("structured")), **mapping(state.get("metadata"))}
    beyond = {k: state[k] for k in ("outputPaths", "result") if state.get(k) and flatten(state[k]) not in said}
    call = Call(
        call_id=text(block.get("callID")) or text(block.get("id")) or name,
        name=reading.text(block, "name"),
        status=reading.text(state, "status"),
        arguments=state.get("input"),
        output=said or text(state.get("output")),
        error=text(mapping(error).get("message")) or (flatten(error) if error else ""),
        facts={**facts, **beyond},
        files=files,
        start=times.get("ran", times.get("created")),
        end=times.get("completed"),
        pruned=times.get("pruned"),
    )
    note(reading, "projected", mark_of("call", call.call_id))
    give_call(reading, call)
    reading.extra(block, _FIELDS["tool"], "content.tool", native_id=name)
    reading.extra(state, _FIELDS["state"], "content.tool.state", native_id=name)


def _content_of(reading: Reading, state: dict[str, Any]) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return what a tool gave back: its texts, and its files."""
    said: list[str] = []
    files: list[kinds.Part] = []
    for item in (*reading.items(state, "content"), *reading.items(state, "attachments")):
        if not isinstance(item, dict):
            said.append(flatten(item))
        elif item.get("type") == "text":
            said.append(text(item.get("text")))
        elif "uri" in item or "url" in item:
            files.append(file_part(reading, item))
        else:
            said.append(flatten(item))
    return "\n".join(filter(None, said)), tuple(files)


def _read_snapshot(reading: Reading, snapshot: Any, name: str) -> None:
    """The copies of the work tree around a response, and the files that changed between them."""
    if not isinstance(snapshot, dict) or not snapshot:
        return
    edited = reading.now("edited")
    for path in items(snapshot.get("files")):
        if isinstance(path, str) and not any(k == path or k.endswith("/" + path) for k in edited):
            reading.add(kinds.FileEdit(path), native_id=f"{name}/{path}")
    reading.add(kinds.Lifecycle("checkpoint", detail=snapshot), native_id=f"{name}/snapshot")


def _read_compaction(reading: Reading, data: dict[str, Any], name: str) -> None:
    """One row holds both the request and the summary. `recent` repeats the conversation's end for the model."""
    status = reading.text(data, "status")
    trigger = reading.text(data, "reason")
    if not trigger and isinstance(data.get("auto"), bool):
        trigger = "auto" if data["auto"] else "manual"
    if status == "failed":
        reading.add(kinds.Lifecycle("compaction_failed", flatten(data.get("error")), {"reason": trigger}))
    else:
        reading.add(kinds.Compaction(trigger, reading.text(data, "summary")))
    model = _model_name(data.get("model"))
    usage = usage_of(reading, data, model, reading.now("created"), name)
    if usage is not None:
        reading.add(usage, "assistant", native_id=f"{name}/usage")


def _read_model(reading: Reading, data: dict[str, Any], name: str) -> None:
    model = data.get("model")
    variant = text(mapping(model).get("variant"))
    reading.add(kinds.Lifecycle("model", detail={"variant": variant} if variant else None, model=_model_name(model)))


def _read_location(reading: Reading, data: dict[str, Any], name: str) -> None:
    location = data.get("location")
    place = location if isinstance(location, str) else text(mapping(location).get("directory"))
    reading.add(kinds.Lifecycle("cwd", detail={k: data[k] for k in ("projectID", "subpath") if data.get(k)}, cwd=place))


def _read_idle(reading: Reading, data: dict[str, Any], name: str) -> None:
    outcome = reading.text(data, "outcome")
    reading.odd_value("session_message.idle.outcome", outcome, _OUTCOMES)
    reading.add(kinds.Lifecycle("turn_aborted" if outcome == "interrupted" else "turn_ended", outcome))


def _model_name(model: Any) -> str:
    return model if isinstance(model, str) else text(mapping(model).get("id")) or text(mapping(model).get("modelID"))


_READERS: dict[str, Callable[[Reading, dict[str, Any], str], None]] = {
    "user": _read_user,
    "synthetic": lambda reading, data, _: reading.add(kinds.UserMessage(reading.text(data, "text"), "injected")),
    "system": lambda reading, data, _: reading.add(
        kinds.Instructions(reading.text(data, "text"), source=reading.text(data, "description") or "context")
    ),
    "skill": _read_skill,
    "shell": _read_shell,
    "assistant": _read_assistant,
    "compaction": _read_compaction,
    "agent-switched": lambda reading, data, _: reading.add(kinds.Lifecycle("mode", reading.text(data, "agent"))),
    "model-switched": _read_model,
    "location-switched": _read_location,
    "idle": _read_idle,
}


# Session rows, the files of old sessions, and to-do lists: what holds for a session as a whole.

_COLUMNS = word_set("""
    id project_id workspace_id parent_id fork_session_id fork_message_id slug directory path title version share_url
    summary_additions summary_deletions summary_files cost tokens_input tokens_output tokens_reasoning tokens_cache_read
    tokens_cache_write revert goal metadata agent model time_created time_updated time_compacting time_archived
    time_suspended permission summary_diffs
""")
_PLACEHOLDERS = ("New session - ", "Child session - ")
"""Titles that the agent gives until it has one."""
_SUBAGENT = re.compile(r"\(@([\w-]{1,80}) subagent\)$")
_FACTS = ("project_id", "workspace_id", "slug", "path", "fork_message_id", "metadata", "goal")
_COUNTS = ("summary_additions", "summary_deletions", "summary_files")


def read_session(reading: Reading) -> None:
    """Emit a session: its start and lineage, its title, an undo, its totals, and that it was put away."""
    value = reading.value
    row = _columns_of(value) if "time" in value or "projectID" in value else value
    if row is value:
        reading.extra(value, _COLUMNS, "session", native_id="session")
    else:
        reading.extra(value, _FIELDS["file"], "session", native_id="session")
    reading.date(row.get("time_created"), "time_created")
    began, quality = reading.ts, reading.ts_quality
    parent = reading.text(row, "parent_id")
    agent = reading.text(row, "agent")
    model = row.get("model")
    reading.start(
        **reading.told(row, cwd="directory", tool_version="version", forked_from="fork_session_id"),
        model=model if isinstance(model, str) else text(mapping(model).get("id")),
        parent_session=parent,
        agent_name=_agent_of(agent, reading.text(row, "title")) if parent else "",
    )
    title = reading.text(row, "title")
    if title.startswith(_PLACEHOLDERS):
        reading.add(kinds.Lifecycle("title", title), native_id="title")
    elif title:
        reading.add(kinds.Lifecycle("title", title=title), native_id="title")
    facts = {key: row[key] for key in _FACTS if row.get(key) not in (None, "", {}, [])}
    reading.note("session_facts", detail=facts, native_id="facts")
    reading.note("share", reading.text(row, "share_url"), native_id="share")
    reading.date(row.get("time_updated"), "time_updated")
    _give_totals(reading, row)
    if row.get("revert"):
        _give_revert(reading, row["revert"])
    if row.get("time_compacting"):
        reading.date(row["time_compacting"], "time_compacting")
        reading.add(kinds.Lifecycle("compacting"), native_id="compacting")
    if row.get("time_archived"):
        reading.date(row["time_archived"], "time_archived")
        reading.add(kinds.SessionEnd("archived"), native_id="archived")
    if reading.state.role == TREE:
        # The messages of a tree come after its session: what has no time of its own is not newer than they are.
        reading.ts, reading.ts_quality, reading.last_ts = began, quality, began


def _agent_of(agent: str, title: str) -> str:
    """Return a subagent's type, which older sessions have in their title only: "Look it up (@general subagent)"."""
    found = _SUBAGENT.search(title)
    return agent or (found[1] if found else "")


def _columns_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return the file of an old session by the names of the table's columns."""
    times, summary = mapping(value.get("time")), mapping(value.get("summary"))
    tokens = mapping(value.get("tokens"))
    cache = mapping(tokens.get("cache"))
    return {
        **{k: value.get(k) for k in ("slug", "directory", "path", "title", "version", "agent", "model", "revert")},
        **{f"summary_{k}": summary.get(k) for k in ("additions", "deletions", "files")},
        **{f"time_{k}": times.get(k) for k in ("created", "updated", "archived", "compacting")},
        **{f"tokens_{k}": tokens.get(k) for k in ("input", "output", "reasoning")},
        **{f"tokens_cache_{k}": cache.get(k) for k in ("read", "write")},
        "cost": value.get("cost"),
        "project_id": value.get("projectID"),
        "workspace_id": value.get("workspaceID"),
        "parent_id": value.get("parentID"),
        "share_url": mapping(value.get("share")).get("url"),
        "metadata": value.get("metadata"),
    }


def _give_totals(reading: Reading, row: dict[str, Any]) -> None:
    """Emit the session's counters. They repeat what the messages say, so they are never added up."""
    reading.note("changes", detail={key: n for key in _COUNTS if (n := reading.whole(row, key))}, native_id="changes")
    thought = reading.count(row, "tokens_reasoning")
    usage = kinds.TokenUsage(
        input_tokens=reading.count(row, "tokens_input"),
        output_tokens=reading.count(row, "tokens_output") + thought,
        cache_read_tokens=reading.count(row, "tokens_cache_read"),
        cache_write_5m_tokens=reading.count(row, "tokens_cache_write"),
        reasoning_tokens=thought,
        cost_usd=reading.money(row, "cost"),
        dedupe_key=f"opencode:session:{reading.state.session}",
        is_additive=False,
    )
    if usage.input_tokens or usage.output_tokens or usage.cache_read_tokens or usage.cost_usd:
        reading.add(usage, native_id="totals")


def read_undo(reading: Reading) -> None:
    """Emit an undo, from the row of the session that stands behind its messages.

    It names the first message (or part) that is hidden. The next prompt deletes all from there on, and this mark with
    them; a redo takes the mark away.
    """
    revert = reading.value.get("revert")
    first = text(mapping(revert).get("partID")) or text(mapping(revert).get("messageID"))
    if first:
        reading.add(kinds.Rewind(before_of(reading, first)), native_id=f"undo:{first}")


def _give_revert(reading: Reading, revert: Any) -> None:
    """Emit what an undo says beside the message that it names. That it is a rewind, the messages' own source tells."""
    if not isinstance(revert, dict):
        reading.wrong("revert")
        reading.kept("revert", revert, native_id="revert")
        return
    message, part = reading.text(revert, "messageID"), reading.text(revert, "partID")
    name = f"revert:{part or message}"
    if reading.state.role == TREE:
        reading.add(kinds.Rewind(), native_id=name)  # the messages of a tree come behind its session: not known yet
    detail = {k: revert[k] for k in ("snapshot", "diff", "files", "planContent") if revert.get(k)}
    reading.note("checkpoint", detail=detail, native_id=f"{name}/checkpoint")
    reading.extra(revert, _FIELDS["revert"], "session.revert", native_id=name)


def read_todo(reading: Reading) -> None:
    """Emit one line of the session's to-do list as it is now."""
    row = reading.value
    position = reading.whole(row, "position")
    name = f"todo:{text(row.get('id')) or position}"
    stamp = row.get("time_updated")
    reading.date(row.get("time_created") if stamp is None else stamp, "time_updated")
    detail = {k: row[k] for k in ("status", "priority", "position") if row.get(k) is not None}
    reading.add(kinds.Lifecycle("todo", reading.text(row, "content"), detail), native_id=name)
    reading.extra(row, _FIELDS["todo"], "todo", native_id=name)


_TABLES: dict[str, Callable[[Reading], None]] = {
    "session": read_session,
    "session_v2": read_session,
    "message": read_message,
    "part": read_part,
    "session_message": read_projected,
    "todo": read_todo,
}
_SESSIONS = ("session", "session_v2")


class OpencodeAdapter(KitAdapter[OpencodeState], slug="opencode"):
    def read(self, reading: Reading) -> None:
        if reading.state.role != TRANSCRIPT:
            read_row(reading, _TABLES)
        elif reading.at in _SESSIONS:
            read_undo(reading)
        else:
            note_place(reading)
            read_row(reading, _TABLES)
