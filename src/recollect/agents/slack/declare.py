"""Slack: what a workspace export holds and what it can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Member, Place

CHANNEL = "channel"
DAY = "day"

FACTS = AgentFacts(
    slug="slack",
    name="Slack export",
    aliases=("slack-export",),
    roots=(),
    places=(
        Place(
            role=CHANNEL,
            container="directory",
            patterns=(),
            members=(Member(table=DAY, pattern="{document}/{day}.json"),),
            tells_rewinds=True,
        ),
    ),
    capabilities=Capabilities(
        container="directory",
        rewrites_history=True,
        timestamps="exact",
        usage="no",
        usage_authority="none; people are not billed by the token",
        thinking="no",
        edits="no",
        lineage="no",
        session_end="no",
        kinds=("session_start", "user_message", "lifecycle", "unknown"),
        notes=(
            "No agent: a channel is a session, and every message of a person is a human one, with the id of who "
            "wrote it. Names of people are left out."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="Slack's help pages on reading an export; format notes: export imports",
    ),
    is_import_only=True,
    parser_version=1,
)
"""Slack as data."""
