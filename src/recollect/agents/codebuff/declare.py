"""Codebuff and Freebuff: where they write and what their chats can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

CHAT = "chat"
RUN = "run"
META = "meta"

FACTS = AgentFacts(
    slug="codebuff",
    name="Codebuff",
    aliases=("freebuff", "manicode"),
    roots=(Root(variable="CODEBUFF_DATA_DIR", default=".config/manicode"),),
    places=(
        Place(role=CHAT, container="snapshot", patterns=("projects/*/chats/*/chat-messages.json",)),
        Place(role=RUN, container="snapshot", patterns=("projects/*/chats/*/run-state.json",), lane=1),
        Place(role=META, container="snapshot", patterns=("projects/*/chats/*/chat-meta.json",), lane=1),
    ),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="partly",
        usage="partly",
        usage_authority="credits of a message (one is 0.01 USD), without tokens; the run's total is not added",
        thinking="exact",
        edits="partly",
        lineage="exact",
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
            "unknown",
        ),
        notes=(
            "Messages have a time of day only: theirs is counted from the chat's beginning, marked as inferred. Which "
            "model answered is not written. A subagent stands in a block of its parent's message; here it is a session."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; the sources of Codebuff (chat types)",
        verified_by="source",
    ),
    parser_version=1,
)
