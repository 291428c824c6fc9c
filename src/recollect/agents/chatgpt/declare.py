"""ChatGPT: what its data export holds and what it can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place

FACTS = AgentFacts(
    slug="chatgpt",
    name="ChatGPT",
    aliases=("openai-chatgpt", "chat-gpt"),
    roots=(),
    places=(
        Place(
            role="conversations",
            container="export",
            patterns=("conversations*.json",),
            document_keys=("conversation_id", "id"),
            tells_rewinds=True,
        ),
    ),
    capabilities=Capabilities(
        container="export",
        rewrites_history=True,
        timestamps="exact",
        usage="no",
        usage_authority="none; the export has no token counts",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("token_usage", "compaction", "session_end"),
        notes=(
            "Reasoning is a summary. Edits are those of canvas documents, whose changes are patterns. Images, audio "
            "and uploaded files are named, their bytes are not in conversations.json."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: export imports; published descriptions of exports from 2023 to 2026",
    ),
    is_import_only=True,
    parser_version=2,
)
"""ChatGPT as data."""
