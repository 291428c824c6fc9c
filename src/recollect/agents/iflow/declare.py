"""iFlow CLI: where it writes and what its transcripts can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="iflow",
    name="iFlow CLI",
    aliases=("iflow-cli", "iflowcli"),
    roots=(Root(variable="", default=".iflow"),),
    places=(Place(role="transcript", container="jsonl", patterns=("projects/**/session-*.jsonl",)),),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="partly",
        usage_authority="message.usage, once per message.id; usually all zero",
        thinking="partly",
        edits="exact",
        lineage="no",
        session_end="no",
        kinds=kinds_but("rewind", "session_end", "instructions"),
        notes="A response is written as several lines within milliseconds, each with the calls running just then.",
        verified_version="1.0.0",
        verified_on="2026-11-21",
        evidence="format notes: other agents; one anonymised transcript of iFlow CLI",
    ),
    parser_version=1,
)
