"""The file of a session's facts: written anew after every turn.

Its `config` may hold what authorises MCP servers; only the model's name is taken from it.
"""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.kit.content import chat_content
from recollect.agents.kit.values import mapping, text
from recollect.agents.vibe.state import Reading
from recollect.model.payloads import Instructions, Lifecycle, SessionStart, TokenUsage

_FIELDS = frozenset((
    "session_id", "parent_session_id", "start_time", "end_time", "git_commit", "git_branch", "username", "environment",
    "loops", "title", "title_source", "experiments", "stats", "total_messages", "tools_available", "config",
    "agent_profile", "system_prompt", "model", "working_dir",
))  # fmt: skip
_STATS_FIELDS = frozenset((
    "steps", "session_prompt_tokens", "session_completion_tokens", "session_cached_tokens", "tool_calls_agreed",
    "tool_calls_rejected", "tool_calls_failed", "tool_calls_succeeded", "context_tokens", "last_turn_prompt_tokens",
    "last_turn_completion_tokens", "last_turn_cached_tokens", "last_turn_duration", "tokens_per_second",
    "input_price_per_million", "output_price_per_million", "session_total_llm_tokens", "last_turn_total_tokens",
    "session_cost",
))  # fmt: skip
_CHAIN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-(?P<chain>[0-9a-f]{12})")
_SHORT = 8


def is_meta(value: Any) -> bool:
    """Say whether a document is the facts of a session of Vibe."""
    facts = mapping(value)
    is_own = "session_prompt_tokens" in mapping(facts.get("stats")) or "title_source" in facts
    return is_own and isinstance(facts.get("session_id"), str) and isinstance(facts.get("environment"), dict)


def read_meta(reading: Reading) -> None:
    """Give the session's start, title, system prompt and tokens."""
    value, state = reading.value, reading.state
    reading.date(value.get("start_time"), "start_time")
    model = text(value.get("model")) or text(mapping(value.get("config")).get("active_model"))
    before = text(value.get("parent_session_id"))[:_SHORT]
    reading.add(
        SessionStart(
            cwd=text(mapping(value.get("environment")).get("working_directory")) or text(value.get("working_dir")),
            git_branch=text(value.get("git_branch")),
            git_commit=text(value.get("git_commit")),
            model=model,
            forked_from="" if state.parent or before == state.session else before,
            parent_session=state.parent,
            agent_name=state.agent,
        ),
        native_id="start",
    )
    reading.entitle(reading.text(value, "title"))
    profile = text(mapping(value.get("agent_profile")).get("name"))
    if profile:
        reading.add(Lifecycle("mode", text=profile), native_id="profile")
    prompt = chat_content(mapping(value.get("system_prompt")).get("content"))[0]
    if prompt:
        reading.add(Instructions(prompt, "system"), native_id="system")
    if value.get("loops"):
        reading.add(Lifecycle("loops", detail=value["loops"]), native_id="loops")
    reading.date(value.get("end_time"), "end_time")
    _read_stats(reading, reading.mapping(value, "stats"), model)
    reading.extra(value, _FIELDS, "meta", native_id="meta")


def _read_stats(reading: Reading, stats: dict[str, Any], model: str) -> None:
    """Give the running total. Cached tokens are part of the prompt's.

    A compaction or rewind goes on in a new session whose total includes the old one's. Such sessions share the end of
    their ids, so one key names them all, and one of them counts.
    """
    put, got = reading.count(stats, "session_prompt_tokens"), reading.count(stats, "session_completion_tokens")
    cached = min(reading.count(stats, "session_cached_tokens"), put)
    if put or got:
        session_id = text(reading.value.get("session_id"))
        told = _CHAIN.fullmatch(session_id)
        chain = told["chain"] if told is not None and not reading.state.parent else reading.state.session
        payload = TokenUsage(model, put - cached, got, cached, dedupe_key=f"vibe:{chain}")
        reading.add(payload, native_id="usage")
    counts = {k: v for k, v in stats.items() if k.startswith(("steps", "tool_calls_", "context_tokens")) and v}
    if counts:
        reading.add(Lifecycle("stats", detail=counts), native_id="stats")
    reading.extra(stats, _STATS_FIELDS, "meta.stats", native_id="stats")
