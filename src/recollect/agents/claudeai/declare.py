"""Claude.ai: what its data export holds and what it can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place

FACTS = AgentFacts(
    slug="claudeai",
    name="Claude.ai",
    aliases=("claude-ai", "claude.ai", "claude-web"),
    roots=(),
    places=(
        Place(
            role="conversations",
            container="export",
            patterns=("conversations*.json",),
            document_keys=("uuid", "id"),
            tells_rewinds=True,
        ),
    ),
    capabilities=Capabilities(
        container="export",
        rewrites_history=True,
        timestamps="exact",
        usage="no",
        usage_authority="none; the export has no token counts",
        thinking="exact",
        edits="partly",
        lineage="no",
        session_end="no",
        kinds=kinds_but("token_usage", "compaction", "session_end", "instructions"),
        notes=(
            "The model is not written down. Of uploaded files only those with extracted text are there; older exports "
            "have neither ids of calls nor the parents of messages, so their branches stand one behind the other."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: export imports; published descriptions of exports from 2024 to 2026",
    ),
    is_import_only=True,
    parser_version=2,
)
"""Claude.ai as data."""
