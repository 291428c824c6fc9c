"""Factory Droid: where it writes and what its files can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

TRANSCRIPT = "transcript"
SETTINGS = "settings"
STREAM = "stream"

FACTS = AgentFacts(
    slug="droid",
    name="Factory Droid",
    aliases=("factory", "factory-droid", "factory_droid"),
    roots=(Root(variable="", default=".factory"),),
    places=(
        Place(role=TRANSCRIPT, container="jsonl", patterns=("sessions/*/*.jsonl",)),
        Place(role=SETTINGS, container="snapshot", patterns=("sessions/*/*.settings.json",), lane=1),
        Place(role=STREAM, container="jsonl", patterns=()),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="partly",
        usage="partly",
        usage_authority="settings.json: tokenUsage, the session's running total without its subagents'",
        thinking="partly",
        edits="exact",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("rewind", "session_end", "instructions"),
        notes=(
            "Tokens are known per session only, under the model chosen last. Ends of turns have no time of their own. "
            "The first line is written anew when the title changes. Saved output of `droid exec` can be imported."
        ),
        verified_version="0.81.0",
        verified_on="2026-11-21",
        evidence="format notes: other agents; captured sessions of droid 0.5x and 0.81; readers of 0.229",
        verified_by="capture",
    ),
    parser_version=1,
)
