"""Shelley: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root, Table

_DATABASE = ("shelley.db",)

FACTS = AgentFacts(
    slug="shelley",
    name="Shelley",
    aliases=("exe.dev", "exe-shelley"),
    roots=(Root(variable="", default=".config/shelley"),),
    places=(
        Place(
            role="messages",
            container="sqlite",
            patterns=_DATABASE,
            tables=(
                Table(
                    name="messages",
                    document="conversation_id",
                    order=("sequence_id",),
                    exclude=("user_email", "llm_api_url"),
                    json=("llm_data", "user_data", "usage_data", "display_data", "other_usage_data"),
                ),
            ),
        ),
        Place(
            role="session",
            container="sqlite",
            patterns=_DATABASE,
            tables=(
                Table(
                    name="conversations",
                    document="conversation_id",
                    order=("conversation_id",),
                    exclude=(
                        "conversation_options",
                        "draft",
                        "queued_messages",
                        "agent_working",
                        "updated_at",
                        "user_email",
                    ),
                    json=("tags",),
                ),
            ),
        ),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="messages.usage_data, once per message; a forked copy counts as the message it was copied from",
        thinking="exact",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=(
            "session_start",
            "user_message",
            "assistant_message",
            "thinking",
            "tool_call",
            "tool_result",
            "file_edit",
            "token_usage",
            "compaction",
            "lifecycle",
            "instructions",
            "unknown",
        ),
        notes=(
            "A fork names the messages it copied, not the conversation they are from. Times are whole seconds. Options "
            "of a conversation (addresses of hooks) and drafts are not read."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; the agent's published types and queries",
        verified_by="source",
    ),
    parser_version=1,
)
