"""The rows around the messages: a session's facts and lineage, its usage per model, and its system prompt.

Evidence: format notes: Hermes Agent, "state.db" and "lineage kinds"; the agent's published schema.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.hermes.state import Reading
from recollect.agents.kit.access import mapping, number, text
from recollect.agents.kit.naming import content_sha256
from recollect.model.payloads import Compaction, Instructions, Lifecycle, SessionEnd, SessionStart, TokenUsage

SESSION_FIELDS = frozenset(
    """id source created_source user_id session_key chat_id chat_type thread_id display_name origin_json
    expiry_finalized model model_config system_prompt system_prompt_hash parent_session_id started_at ended_at
    end_reason message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens
    reasoning_tokens cwd git_branch git_repo_root git_metadata_generation billing_provider billing_base_url
    billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source pricing_version title title_source
    last_activity_at last_activity_description last_activity_provenance api_call_count handoff_state
    handoff_platform handoff_error compression_failure_cooldown_until compression_failure_error
    compression_fallback_streak compression_ineffective_count compression_recovery_deadline
    compression_overload_streak profile_name transport_profile rewind_count archived pinned hidden last_read_at
    tool_names""".split()
)
_USAGE_FIELDS = frozenset(
    """session_id model billing_provider billing_base_url billing_mode task api_call_count input_tokens output_tokens
    cache_read_tokens cache_write_tokens reasoning_tokens estimated_cost_usd actual_cost_usd cost_status cost_source
    first_seen last_seen""".split()
)
_KEY_OF_USAGE = ("model", "billing_provider", "billing_base_url", "billing_mode", "task")
_SUBAGENT_SOURCES = ("tool", "subagent")
_MAX_PROMPT_CHARS = 200_000
"""At four bytes a character well below the state's limit."""
_EARLIEST_S = 946_684_800.0
_LATEST_S = 4_102_444_800.0
"""2000 and 2100: a damaged page holds doubles like 5e+246."""


def take_time(reading: Reading, written: object, field: str) -> None:
    """Take a time in seconds; a number outside this century is a defect, and the last time stands."""
    seconds = number(written)
    if seconds is not None and not _EARLIEST_S <= seconds <= _LATEST_S:
        reading.wrong(field, "bad_timestamp")
    else:
        reading.date(written, field)


def read_session(reading: Reading) -> None:
    """Give what the row of `sessions` says: start and lineage, title, system prompt, usage, end."""
    row = reading.value
    parent = reading.text(row, "parent_session_id")
    config = mapping(row.get("model_config"))
    kind = _kind_of_child(config, parent, text(row.get("source")))
    take_time(reading, row.get("started_at"), "started_at")
    reading.add(
        SessionStart(
            cwd=reading.text(row, "cwd"),
            repo_root=reading.text(row, "git_repo_root"),
            git_branch=reading.text(row, "git_branch"),
            model=reading.text(row, "model"),
            originator=reading.text(row, "source"),
            resumed_from=parent if kind == "continuation" else "",
            forked_from=parent if kind == "branch" else "",
            parent_session=parent if kind == "delegate" else "",
        ),
        native_id="start",
    )
    if kind == "reset":
        reading.add(Lifecycle("reset", detail={"previous_session": parent}), native_id="reset")
    title = reading.text(row, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    prompt = reading.text(row, "system_prompt")
    if prompt:
        reading.add(Instructions(prompt, "system_prompt"), native_id="system-prompt")
    rewinds = reading.count(row, "rewind_count")
    if rewinds:
        reading.add(Lifecycle("rewinds", detail={"rewind_count": rewinds}), native_id="rewinds")
    _add_totals(reading, row)
    reading.extra(row, SESSION_FIELDS, "sessions", native_id="start")
    _read_end(reading, row)


def _kind_of_child(config: dict[str, Any], parent: str, source: str) -> str:
    """Tell how a session comes from its parent. A marker that names another session was inherited with the config."""
    if not parent:
        return ""
    for marker, kind in (("_branched_from", "branch"), ("_reset_from", "reset"), ("_delegate_from", "delegate")):
        if config.get(marker) == parent:
            return kind
    return "delegate" if source in _SUBAGENT_SOURCES else "continuation"


def _read_end(reading: Reading, row: dict[str, Any]) -> None:
    reason = reading.text(row, "end_reason")
    if row.get("ended_at") is None and not reason:
        return
    take_time(reading, row.get("ended_at"), "ended_at")
    if reason == "compression":
        reading.add(Compaction(reason), native_id="compaction")
    reading.add(SessionEnd(reason), native_id="end")


def _add_totals(reading: Reading, row: dict[str, Any]) -> None:
    """Give the session's own counters; they count only where no row per model says the same."""
    usage = _usage(reading, row, f"hermes:{reading.state.session}", is_additive=not reading.now("usage_rows"))
    if usage.input_tokens or usage.output_tokens or usage.cache_read_tokens or usage.cache_write_5m_tokens:
        reading.add(usage, native_id="usage")


def read_model_usage(reading: Reading) -> None:
    """Give one row of `session_model_usage`: what a session spent on one model and task so far.

    The row grows; its event keeps its name, so that the newest version is the one that counts.
    """
    row = reading.value
    take_time(reading, row.get("last_seen"), "last_seen")
    key = content_sha256([row.get(k) for k in _KEY_OF_USAGE])
    usage = _usage(reading, row, f"hermes:{reading.state.session}:{key}", is_additive=True)
    reading.set(usage_rows=min(reading.now("usage_rows") + 1, 1 << 31))
    reading.add(usage, native_id=f"usage:{key}")
    reading.extra(row, _USAGE_FIELDS, "session_model_usage", native_id=f"usage:{key}")


def _usage(reading: Reading, row: dict[str, Any], key: str, *, is_additive: bool) -> TokenUsage:
    return TokenUsage(
        model=reading.text(row, "model"),
        input_tokens=reading.count(row, "input_tokens"),
        output_tokens=reading.count(row, "output_tokens"),
        cache_read_tokens=reading.count(row, "cache_read_tokens"),
        cache_write_5m_tokens=reading.count(row, "cache_write_tokens"),
        reasoning_tokens=reading.count(row, "reasoning_tokens"),
        cost_usd=reading.money(row, "actual_cost_usd") or reading.money(row, "estimated_cost_usd") or None,
        dedupe_key=key,
        is_additive=is_additive,
    )


def read_prompt(reading: Reading) -> None:
    """Remember a shared system prompt: the rows of the sessions that were given it come next."""
    row = reading.value
    prompt = reading.text(row, "prompt")
    kept = prompt[:_MAX_PROMPT_CHARS].encode("utf-8", "replace").decode()
    if len(kept) < len(prompt):
        reading.wrong("prompt", "too_large")
    name = reading.text(row, "hash")
    reading.set(prompt=kept, prompt_hash=name[:_MAX_NAME_CHARS].encode("utf-8", "replace").decode())


def read_prompted_session(reading: Reading) -> None:
    """Give a session the shared prompt that its row names."""
    row = reading.value
    session = reading.text(row, "id")
    name = reading.text(row, "system_prompt_hash")
    if session and name and name == reading.now("prompt_hash"):
        prompt = Instructions(reading.now("prompt"), "system_prompt")
        reading.add(prompt, native_id="system-prompt", session=session)


_MAX_NAME_CHARS = 200
