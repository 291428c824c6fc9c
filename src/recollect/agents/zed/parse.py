"""Zed: one row in, the events of its whole thread out. Pure, and never raises on content.

A thread is rewritten with every change, so that every event has an id that stays when the thread grows: users' messages
have ids of their own, everything else is named after the message it follows.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.instants import instant
from recollect.agents.kit.reading import BaseState, Reading
from recollect.agents.zed.declare import FACTS
from recollect.agents.zed.messages import Thread, read_message, read_request_usage
from recollect.model.payloads import Compaction, Lifecycle, SessionStart, TokenUsage

_ROW = frozenset((
    "id", "summary", "updated_at", "data_type", "data", "parent_id", "folder_paths", "folder_paths_order", "created_at",
    "rowid",
))  # fmt: skip
_THREAD = frozenset((
    "version", "title", "summary", "updated_at", "detailed_summary", "detailed_summary_state", "model", "profile",
    "completion_mode", "request_token_usage", "cumulative_token_usage", "initial_project_snapshot", "messages",
    "exceeded_window_error", "tool_use_limit_reached", "imported", "subagent_context", "speed", "thinking_enabled",
    "thinking_effort", "draft_prompt", "ui_scroll_position", "sandboxed_terminal_temp_dir",
))  # fmt: skip
_SETTINGS = ("profile", "completion_mode", "speed", "thinking_enabled", "thinking_effort", "imported",
             "tool_use_limit_reached", "exceeded_window_error")  # fmt: skip
_USAGE = frozenset((
    "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
))  # fmt: skip
_TYPES = frozenset(("json", "zstd"))


class ZedAdapter(KitAdapter[BaseState]):
    """Reads the threads of Zed's own agent."""

    facts = FACTS
    state_type = BaseState

    def read(self, reading: Reading[BaseState]) -> None:
        """Give the events of one row: the whole thread as it stands."""
        row = reading.value
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        reading.odd_value("threads.data_type", row.get("data_type"), _TYPES)
        reading.extra(row, _ROW, "threads", native_id="row")
        data = row.get("data")
        if not isinstance(data, dict):
            reading.wrong("data")
            reading.date(row.get("updated_at"), "updated_at")
            _read_title(reading, row, {})
            reading.kept("thread", data if isinstance(data, str) else None, native_id="thread")
            return
        _read_thread(reading, row, data)


def _read_thread(reading: Reading[BaseState], row: dict[str, Any], data: dict[str, Any]) -> None:
    messages = reading.items(data, "messages")
    last = instant(row.get("updated_at")) or instant(data.get("updated_at"))
    first = instant(row.get("created_at")) or last
    _read_start(reading, row, data, first)
    thread = Thread(mapping(data.get("request_token_usage")))
    by_place = items(data.get("request_token_usage"))
    summary, at = _summary(data)
    for n, found in enumerate(messages):
        reading.infer(_between(first, last, n, len(messages)))
        read_message(reading, thread, found)
        if n < len(by_place):  # before 0.3.0: of the message that stands there
            read_request_usage(reading, f"{thread.anchor}/{thread.ordinal}", mapping(by_place[n]))
        if summary and at and at == thread.newest:
            reading.add(Compaction("summary", summary), native_id="summary")
            summary = ""
    reading.infer(last)
    if summary:
        reading.add(Compaction("summary", summary), native_id="summary")
    _at_row_time(reading, row, data)
    _read_usage(reading, data)
    _read_title(reading, row, data)
    _read_settings(reading, data)
    reading.extra(data, _THREAD, "thread", native_id="thread")


def _between(first: int | None, last: int | None, n: int, count: int) -> int | None:
    """Return the time of a message, spread evenly: there is none for each."""
    if first is None or last is None or last < first:
        return last if last is not None else first
    return first + (last - first) * (n + 1) // (count + 1)


def _at_row_time(reading: Reading[BaseState], row: dict[str, Any], data: dict[str, Any]) -> None:
    reading.date(row.get("updated_at") or data.get("updated_at"), "updated_at")


def _read_start(reading: Reading[BaseState], row: dict[str, Any], data: dict[str, Any], first: int | None) -> None:
    """Give the thread's start: its folder, the repository as it stood, and whose subagent it is."""
    if row.get("created_at"):
        reading.date(row.get("created_at"), "created_at")
    else:
        reading.infer(first)
    snapshot = reading.mapping(data, "initial_project_snapshot")
    tree = mapping(next(iter(items(snapshot.get("worktree_snapshots"))), None))
    git = mapping(tree.get("git_state"))
    parent = text(row.get("parent_id")) or text(mapping(data.get("subagent_context")).get("parent_thread_id"))
    reading.add(
        SessionStart(
            cwd=next(iter(_folders(row)), "") or text(tree.get("worktree_path")),
            git_branch=text(git.get("current_branch")),
            git_commit=text(git.get("head_sha")),
            git_remote=text(git.get("remote_url")),
            originator="zed",
            parent_session=parent if parent != reading.state.session else "",
        ),
        native_id="start",
    )
    if snapshot:
        reading.add(Lifecycle("project", detail=snapshot), native_id="project")


def _folders(row: dict[str, Any]) -> list[str]:
    """Return the folders of a thread in the user's order: lines of text, and the rank of each."""
    written = row.get("folder_paths")
    if isinstance(written, list):
        return [p for p in written if isinstance(p, str) and p]
    paths = [p for p in text(written).splitlines() if p]
    ranks = text(row.get("folder_paths_order")).split(",")
    if len(ranks) != len(paths) or not all(r.strip().isdecimal() and len(r) < 9 for r in ranks):
        return paths
    return [path for _, path in sorted(zip(map(int, ranks), paths, strict=True))]


def _summary(data: dict[str, Any]) -> tuple[str, str]:
    """Return a thread's summary, and the id of the message it was made after where an old thread says so."""
    found = data.get("detailed_summary") or data.get("detailed_summary_state")
    if isinstance(found, str):
        return ("" if found in ("NotGenerated", "Generating") else found), ""
    made = mapping(mapping(found).get("Generated"))
    at = made.get("message_id")
    return text(made.get("text")), f"m{at}" if isinstance(at, int) else text(at)


def _read_usage(reading: Reading[BaseState], data: dict[str, Any]) -> None:
    """Give what the whole thread took. The counters only grow, also when messages are edited away."""
    usage = reading.mapping(data, "cumulative_token_usage")
    counted = TokenUsage(
        _model(data),
        reading.count(usage, "input_tokens"),
        reading.count(usage, "output_tokens"),
        reading.count(usage, "cache_read_input_tokens"),
        reading.count(usage, "cache_creation_input_tokens"),
        dedupe_key=f"thread:{reading.state.session}",
    )
    if counted.input_tokens or counted.output_tokens or counted.cache_read_tokens or counted.cache_write_5m_tokens:
        reading.add(counted, "assistant", native_id="usage")
    reading.extra(usage, _USAGE, "cumulative_token_usage", native_id="usage")


def _model(data: dict[str, Any]) -> str:
    found = data.get("model")
    return found if isinstance(found, str) else text(mapping(found).get("model"))


def _read_title(reading: Reading[BaseState], row: dict[str, Any], data: dict[str, Any]) -> None:
    title = text(data.get("title")) or text(data.get("summary")) or text(row.get("summary"))
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")


def _read_settings(reading: Reading[BaseState], data: dict[str, Any]) -> None:
    """Give the thread's model and the settings that it has now; drafts and places on the screen are left out."""
    model = _model(data)
    if model:
        provider = text(mapping(data.get("model")).get("provider"))
        detail = {"provider": provider} if provider else None
        reading.add(Lifecycle("model", model=model, detail=detail), native_id="model")
    told = {name: data[name] for name in _SETTINGS if data.get(name) not in (None, False, "", [], {})}
    depth = mapping(data.get("subagent_context")).get("depth")
    if depth is not None:
        told["subagent_depth"] = depth
    if told:
        reading.add(Lifecycle("settings", detail=told), native_id="settings")
