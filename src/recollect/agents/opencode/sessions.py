"""Session rows, the files of old sessions, and to-do lists: what holds for a session as a whole."""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.kit.access import mapping, text
from recollect.agents.opencode.declare import TREE
from recollect.agents.opencode.state import Reading, before_of
from recollect.model.payloads import Lifecycle, Rewind, SessionEnd, SessionStart, TokenUsage

_COLUMNS = frozenset(
    (
        "id", "project_id", "workspace_id", "parent_id", "fork_session_id", "fork_message_id", "slug", "directory",
        "path", "title", "version", "share_url", "summary_additions", "summary_deletions", "summary_files", "cost",
        "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write", "revert",
        "goal", "metadata", "agent", "model", "time_created", "time_updated", "time_compacting", "time_archived",
        "time_suspended", "permission", "summary_diffs",
    )
)  # fmt: skip
_FILE = frozenset(
    (
        "id", "projectID", "workspaceID", "parentID", "slug", "directory", "path", "title", "version", "share",
        "summary", "revert", "agent", "model", "time", "cost", "tokens", "metadata", "permission",
    )
)  # fmt: skip
_TODO = frozenset(("id", "session_id", "content", "status", "priority", "position", "time_created", "time_updated"))
_REVERT = frozenset(("messageID", "partID", "snapshot", "diff", "files", "planContent"))
_PLACEHOLDERS = ("New session - ", "Child session - ")
"""Titles that the agent gives until it has one."""
_SUBAGENT = re.compile(r"\(@([\w-]{1,80}) subagent\)$")
_FACTS = ("project_id", "workspace_id", "slug", "path", "fork_message_id", "metadata", "goal")
_COUNTS = ("summary_additions", "summary_deletions", "summary_files")


def read_session(reading: Reading) -> None:
    """Give a session: its start and lineage, its title, an undo, its totals, and that it was put away."""
    value = reading.value
    row = _columns_of(value) if "time" in value or "projectID" in value else value
    if row is value:
        reading.extra(value, _COLUMNS, "session", native_id="session")
    else:
        reading.extra(value, _FILE, "session", native_id="session")
    reading.date(row.get("time_created"), "time_created")
    began, quality = reading.ts, reading.ts_quality
    parent = reading.text(row, "parent_id")
    agent = reading.text(row, "agent")
    model = row.get("model")
    reading.add(
        SessionStart(
            cwd=reading.text(row, "directory"),
            model=model if isinstance(model, str) else text(mapping(model).get("id")),
            tool_version=reading.text(row, "version"),
            forked_from=reading.text(row, "fork_session_id"),
            parent_session=parent,
            agent_name=_agent_of(agent, reading.text(row, "title")) if parent else "",
        ),
        native_id="start",
    )
    _give_title(reading, reading.text(row, "title"))
    facts = {key: row[key] for key in _FACTS if row.get(key) not in (None, "", {}, [])}
    if facts:
        reading.add(Lifecycle("session_facts", detail=facts), native_id="facts")
    if reading.text(row, "share_url"):
        reading.add(Lifecycle("share", reading.text(row, "share_url")), native_id="share")
    reading.date(row.get("time_updated"), "time_updated")
    _give_totals(reading, row)
    if row.get("revert"):
        _give_revert(reading, row["revert"])
    if row.get("time_compacting"):
        reading.date(row["time_compacting"], "time_compacting")
        reading.add(Lifecycle("compacting"), native_id="compacting")
    if row.get("time_archived"):
        reading.date(row["time_archived"], "time_archived")
        reading.add(SessionEnd("archived"), native_id="archived")
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


def _give_title(reading: Reading, title: str) -> None:
    if title.startswith(_PLACEHOLDERS):
        reading.add(Lifecycle("title", title), native_id="title")
    elif title:
        reading.add(Lifecycle("title", title=title), native_id="title")


def _give_totals(reading: Reading, row: dict[str, Any]) -> None:
    """Give the session's counters. They repeat what the messages say, so they are never added up."""
    counts = {key: n for key in _COUNTS if (n := reading.whole(row, key))}
    if counts:
        reading.add(Lifecycle("changes", detail=counts), native_id="changes")
    thought = reading.count(row, "tokens_reasoning")
    usage = TokenUsage(
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
    """Give an undo, from the row of the session that stands behind its messages.

    It names the first message (or part) that is hidden. The next prompt deletes all from there on, and this mark with
    them; a redo takes the mark away.
    """
    revert = reading.value.get("revert")
    first = text(mapping(revert).get("partID")) or text(mapping(revert).get("messageID"))
    if first:
        reading.add(Rewind(before_of(reading, first)), native_id=f"undo:{first}")


def _give_revert(reading: Reading, revert: Any) -> None:
    """Give what an undo says beside the message that it names. That it is a rewind, the messages' own source tells."""
    if not isinstance(revert, dict):
        reading.wrong("revert")
        reading.kept("revert", revert, native_id="revert")
        return
    message, part = reading.text(revert, "messageID"), reading.text(revert, "partID")
    name = f"revert:{part or message}"
    if reading.state.role == TREE:
        reading.add(Rewind(), native_id=name)  # the messages of a tree come behind its session: not known yet
    detail = {k: revert[k] for k in ("snapshot", "diff", "files", "planContent") if revert.get(k)}
    if detail:
        reading.add(Lifecycle("checkpoint", detail=detail), native_id=f"{name}/checkpoint")
    reading.extra(revert, _REVERT, "session.revert", native_id=name)


def read_todo(reading: Reading) -> None:
    """Give one line of the session's to-do list as it is now."""
    row = reading.value
    position = reading.whole(row, "position")
    name = f"todo:{text(row.get('id')) or position}"
    stamp = row.get("time_updated")
    reading.date(row.get("time_created") if stamp is None else stamp, "time_updated")
    detail = {k: row[k] for k in ("status", "priority", "position") if row.get(k) is not None}
    reading.add(Lifecycle("todo", reading.text(row, "content"), detail), native_id=name)
    reading.extra(row, _TODO, "todo", native_id=name)
