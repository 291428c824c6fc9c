"""TRAE CLI 2 (TraeX): where it writes and what its rollouts can give. Facts only; the format is Codex's."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="traex",
    name="TRAE CLI",
    aliases=("trae-cli", "trae_cli", "traecli"),
    roots=(Root(variable="", default=".trae/cli"),),
    places=(
        Place(
            role="transcript",
            container="jsonl",
            patterns=("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
        ),
        Place(
            role="transcript_zst",
            container="jsonl",
            patterns=("sessions/*/*/*/rollout-*.jsonl.zst", "archived_sessions/rollout-*.jsonl.zst"),
            is_compressed=True,
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="event_msg/token_count: info.last_token_usage, where info.total_token_usage moved",
        thinking="partly",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes="Codex's format, read by its parser; rollouts are known by their place only. Not the TRAE IDE.",
        verified_version="0.200.19",
        verified_on="2026-11-21",
        evidence="format notes: other agents; one anonymised rollout of TRAE CLI 0.200",
    ),
    carries_text=False,
    parser_version=1,
)
