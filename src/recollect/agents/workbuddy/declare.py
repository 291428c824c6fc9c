"""WorkBuddy: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="workbuddy",
    name="WorkBuddy",
    aliases=("tencent-workbuddy",),
    roots=(Root(variable="", default=".workbuddy/projects"),),
    places=(
        Place(role="transcript", container="jsonl", patterns=("*/*.jsonl",)),
        Place(role="subagent", container="jsonl", patterns=("*/*/subagents/*.jsonl",)),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="partly",
        usage_authority="providerData.usage (else rawUsage) of each item; items of one response are told by its id",
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
            "lifecycle",
            "instructions",
            "unknown",
        ),
        notes="No transcript of a live agent was seen. Whether items of one response repeat its usage is not known.",
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; another reader's tests, and the published types of the SDK's items",
    ),
    parser_version=1,
)
