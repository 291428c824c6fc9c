"""Forge: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root, Table

FACTS = AgentFacts(
    slug="forge",
    name="Forge",
    aliases=("forgecode", "forge-code", "antinomy-forge"),
    roots=(Root(variable="FORGE_CONFIG", default=".forge"), Root(variable="", default="forge")),
    places=(
        Place(
            role="conversation",
            container="sqlite",
            patterns=(".forge.db",),
            tables=(
                Table(
                    name="conversations",
                    document="conversation_id",
                    order=("conversation_id",),
                    json=("context", "metrics", "todos"),
                ),
            ),
        ),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="partly",
        usage="partly",
        usage_authority="usage of each message where the provider counted; Forge's own estimates count nothing",
        thinking="partly",
        edits="partly",
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
            "A conversation is one row that is written again with every message; a compaction drops what it sums up. "
            "Messages have no times of their own. No folder is written."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: Forge; the agent's published record types",
        verified_by="source",
    ),
    parser_version=1,
)
"""Forge as data."""
