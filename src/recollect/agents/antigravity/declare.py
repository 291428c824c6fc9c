"""Antigravity CLI and IDE: where the agent's brain is written and what it can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

TRANSCRIPT = "transcript"
PLAN = "plan"
HISTORY = "history"

FACTS = AgentFacts(
    slug="antigravity",
    name="Antigravity",
    aliases=("agy", "antigravity-cli", "antigravity_cli", "google-antigravity"),
    roots=(
        Root(variable="", default=".gemini/antigravity-cli"),
        Root(variable="", default=".gemini/antigravity"),
        Root(variable="", default=".gemini/antigravity-ide"),
    ),
    places=(
        Place(role=TRANSCRIPT, container="jsonl", patterns=("brain/*/.system_generated/logs/transcript.jsonl",)),
        Place(role=PLAN, container="text", patterns=("brain/*/*.md",), lane=1),
        Place(role=HISTORY, container="jsonl", patterns=("history.jsonl",), lane=2),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="no",
        usage_authority="none: tokens stand in the closed database only",
        thinking="exact",
        edits="partly",
        lineage="no",
        session_end="no",
        kinds=kinds_but("token_usage", "rewind", "session_end", "instructions"),
        notes=(
            "Only plain text is read; conversations are encrypted (`.pb`) or closed (`.db`). Calls have no ids: "
            "results are joined by their type and order. Long contents may be cut by the agent."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; sanitised transcripts of the CLI",
        verified_by="capture",
    ),
    parser_version=1,
)
