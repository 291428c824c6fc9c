"""Aider: where it writes and what its chat history can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place

FACTS = AgentFacts(
    slug="aider",
    name="Aider",
    aliases=("aider-chat",),
    roots=(),
    places=(
        Place(role="chat_history", container="text", patterns=(".aider.chat.history.md",)),
        Place(role="input_history", container="text", patterns=(".aider.input.history",), lane=2),
    ),
    capabilities=Capabilities(
        container="text",
        rewrites_history=False,
        timestamps="partly",
        usage="partly",
        usage_authority="the `Tokens:` line of each response, rounded by Aider; its input is all that was sent",
        thinking="partly",
        edits="partly",
        lineage="no",
        session_end="partly",
        kinds=kinds_but("tool_call", "compaction", "instructions"),
        notes=(
            "One Markdown file per repository holds every chat. Only a chat's beginning has a time, in local "
            "time without "
            "a zone. An applied edit names its file; the text of the edit is in the answer. Token counts are rounded."
        ),
        verified_version="0.86",
        verified_on="2026-11-21",
        evidence="format notes: Aider; 1,129 recorded chats of 2024 to 2025",
        verified_by="recording",
    ),
    is_per_repository=True,
    parser_version=2,
)
