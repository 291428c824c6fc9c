"""Amp: where it writes and what its threads can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="amp",
    name="Amp",
    aliases=("ampcode", "sourcegraph-amp"),
    roots=(Root("XDG_DATA_HOME", ".local/share", "amp"),),
    places=(Place(role="thread", container="snapshot", patterns=("threads/T-*.json",), split=("messages",)),),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="partly",
        usage="exact",
        usage_authority="usage of each message; the tokens of subagents and the oracle are not recorded",
        thinking="exact",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("rewind", "session_end", "instructions"),
        notes=(
            "Threads live on a server; local files may be partial or absent, `amp threads export` gives the whole. Old "
            "threads have neither models nor times. Subagents work inside a call and leave only its result."
        ),
        verified_version="0.0.1772237000",
        verified_on="2026-11-21",
        evidence="format notes: Amp; trimmed captures of two threads",
        verified_by="capture",
    ),
    parser_version=1,
)
