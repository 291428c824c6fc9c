"""Command Code: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="commandcode",
    name="Command Code",
    aliases=("command-code", "cmd-code"),
    roots=(Root(variable="", default=".commandcode/projects"),),
    places=(
        Place(
            role="transcript",
            container="jsonl",
            patterns=("*/*.jsonl",),
            exclude=("*/*.checkpoints.jsonl", "*/*.prompts.jsonl"),
        ),
        Place(role="meta", container="snapshot", patterns=("*/*.meta.json",), lane=1),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="no",
        usage_authority="none: transcripts have no token counts",
        thinking="partly",
        edits="partly",
        lineage="no",
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
            "unknown",
        ),
        notes="No transcript of a live agent was seen. Files of checkpoints and prompts beside a session are not read.",
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; another reader's tests (metadata version 2)",
    ),
    parser_version=1,
)
