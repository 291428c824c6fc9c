"""My Agent: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="myagent",
    name="My Agent",
    aliases=("my-agent",),
    roots=(Root(variable="MYAGENT_HOME", default=".myagent"),),
    places=(Place(role="transcript", container="jsonl", patterns=("sessions/*.jsonl",)),),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="`usage` of a message, once for each `response`",
        thinking="no",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=(
            "session_start",
            "user_message",
            "assistant_message",
            "tool_call",
            "tool_result",
            "file_edit",
            "token_usage",
            "lifecycle",
            "unknown",
        ),
        notes="An example.",
        verified_version="1.0",
        verified_on="2026-11-21",
        evidence="invented",
    ),
    carries_text=True,
    parser_version=1,
)
