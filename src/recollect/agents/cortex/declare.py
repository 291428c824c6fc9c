"""Cortex Code: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="cortex",
    name="Cortex Code",
    aliases=("cortex-code", "snowflake-cortex"),
    roots=(Root(variable="", default=".snowflake/cortex/conversations"),),
    places=(
        Place(
            role="conversation",
            container="snapshot",
            patterns=("*.json",),
            exclude=("*.back.*.json",),
            split=("history",),
        ),
        Place(role="history", container="jsonl", patterns=("*.history.jsonl",)),
    ),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="partly",
        usage="no",
        usage_authority="none: transcripts have no token counts",
        thinking="no",
        edits="partly",
        lineage="no",
        session_end="no",
        kinds=(
            "session_start",
            "user_message",
            "assistant_message",
            "tool_call",
            "tool_result",
            "file_edit",
            "lifecycle",
            "unknown",
        ),
        notes=(
            "No transcript of a live agent was seen. Only prompts have a time. Backups beside a conversation are not "
            "read."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; another reader's tests",
    ),
    parser_version=1,
)
