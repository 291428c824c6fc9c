"""Zencoder: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="zencoder",
    name="Zencoder",
    aliases=("zen-cli", "zencoder-cli"),
    roots=(Root(variable="", default=".zencoder/sessions"),),
    places=(Place(role="transcript", container="jsonl", patterns=("*.jsonl",)),),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="exact",
        usage="no",
        usage_authority="none: transcripts have no token counts",
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
            "lifecycle",
            "instructions",
            "unknown",
        ),
        notes=(
            "No transcript of a live agent was seen. Whose subagent a session is stands only in the parent's result; a "
            "compaction goes on in a new session that names the one before."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; how another reader reads it",
    ),
    parser_version=1,
)
