"""Hermes Agent: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root, Table
from recollect.model.payloads import KINDS

_DATABASES = ("state.db", "profiles/*/state.db")
"""A profile is a home of its own below the first one."""

_PEOPLE = ("user_id", "session_key", "chat_id", "chat_type", "thread_id", "display_name", "origin_json")
"""Names and chats of the people who write over a messenger."""

_HOUSEKEEPING = (
    "archived",
    "billing_base_url",
    "compression_failure_cooldown_until",
    "compression_failure_error",
    "compression_fallback_streak",
    "compression_ineffective_count",
    "compression_overload_streak",
    "compression_recovery_deadline",
    "expiry_finalized",
    "git_metadata_generation",
    "handoff_error",
    "handoff_platform",
    "handoff_state",
    "hidden",
    "last_activity_at",
    "last_activity_description",
    "last_activity_provenance",
    "last_read_at",
    "message_count",
    "pinned",
    "pricing_version",
    "profile_name",
    "tool_call_count",
    "tool_names",
    "transport_profile",
)
"""What changes all the time and says nothing about the conversation."""

_FACTS_OF_SESSIONS = (
    "actual_cost_usd",
    "api_call_count",
    "billing_mode",
    "billing_provider",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_source",
    "cost_status",
    "created_source",
    "cwd",
    "end_reason",
    "ended_at",
    "estimated_cost_usd",
    "git_branch",
    "git_repo_root",
    "input_tokens",
    "model",
    "model_config",
    "output_tokens",
    "parent_session_id",
    "reasoning_tokens",
    "rewind_count",
    "source",
    "started_at",
    "system_prompt",
    "title",
    "title_source",
)
"""What the place `session` reads; the place `prompts` needs none of it."""

FACTS = AgentFacts(
    slug="hermes",
    name="Hermes Agent",
    aliases=("hermes-agent", "hermes_agent", "nous-hermes"),
    roots=(
        Root(variable="HERMES_HOME", default=".hermes"),
        Root(variable="LOCALAPPDATA", default="AppData/Local", below="hermes"),
    ),
    places=(
        Place(
            role="messages",
            container="sqlite",
            patterns=_DATABASES,
            tables=(
                Table(
                    name="messages",
                    document="session_id",
                    order=("id",),
                    exclude=("platform_message_id", "display_identity", "display_order"),
                    json=(
                        "tool_calls",
                        "reasoning_details",
                        "codex_reasoning_items",
                        "codex_message_items",
                        "display_metadata",
                    ),
                ),
            ),
        ),
        Place(
            role="session",
            container="sqlite",
            patterns=_DATABASES,
            tables=(
                Table(name="session_model_usage", document="session_id", order=("session_id",)),
                Table(
                    name="sessions",
                    document="id",
                    order=("id", "id"),
                    exclude=(*_PEOPLE, *_HOUSEKEEPING),
                    json=("model_config",),
                ),
            ),
        ),
        Place(
            role="prompts",
            container="sqlite",
            patterns=_DATABASES,
            tables=(
                Table(name="system_prompts", order=("hash",)),
                Table(
                    name="sessions",
                    order=("system_prompt_hash", "id"),
                    exclude=(*_PEOPLE, *_HOUSEKEEPING, *_FACTS_OF_SESSIONS),
                ),
            ),
        ),
        Place(
            role="file",
            container="snapshot",
            patterns=("sessions/session_*.json", "sessions/saved/*.json"),
            exclude=("sessions/sessions.json",),
            lane=1,
            split=("messages",),
        ),
        Place(role="lines", container="jsonl", patterns=("sessions/*.jsonl",), lane=1),
        Place(role="trajectories", container="jsonl", patterns=("trajectories/*.jsonl",), lane=1),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="partly",
        usage="exact",
        usage_authority="session_model_usage per model and task; the counters of the sessions row where it has no row",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="exact",
        kinds=KINDS,
        notes=(
            "Usage is cumulative per session and model. Session files have one time for the whole session. A branch "
            "made by an old version reads as a continuation. A rewind shows when the session goes on after it."
        ),
        verified_version="state.db schema 30",
        verified_on="2026-11-21",
        evidence="format notes: Hermes Agent; the published schema; fixtures of agent-sessions, moraine, deja-vu",
        verified_by="source",
    ),
    hooks=HookFacts(shares_call_ids=False),
    parser_version=2,
)
"""Hermes Agent as data."""
