"""Posit Assistant: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="posit",
    name="Posit Assistant",
    aliases=("posit-assistant",),
    roots=(Root(variable="", default=".posit/assistant/workspaces"),),
    places=(
        Place(
            role="messages",
            container="jsonl",
            patterns=("*/*/lm-messages.jsonl", "*/*/subagents/*/lm-messages.jsonl"),
        ),
        Place(
            role="tree",
            container="snapshot",
            patterns=("*/*/conversation.json", "*/*/subagents/*/conversation.json"),
            split=("messages",),
            tells_rewinds=True,
        ),
        Place(
            role="usage",
            container="jsonl",
            patterns=("*/*/usage-events.jsonl", "*/*/subagents/*/usage-events.jsonl"),
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="partly",
        usage="exact",
        usage_authority="the usage of each assistant message; lines of usage-events.jsonl are requests beside them",
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
        notes=(
            "The project's folder stands in a file of the workspace, which belongs to no conversation, so sessions "
            "have no folder. A branch that was left is told by its messages, not at its place."
        ),
        verified_version="schema 3",
        verified_on="2026-11-21",
        evidence="format notes: other agents; samples of another reader's tests, and how it reads them",
    ),
    parser_version=1,
)
