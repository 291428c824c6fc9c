"""Poolside's agent: where it writes and what its trajectories can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

TRAJECTORY = "trajectory"

FACTS = AgentFacts(
    slug="poolside",
    name="Poolside",
    aliases=("pool", "poolside-agent", "laguna"),
    roots=(
        Root(variable="XDG_STATE_HOME", default=".local/state", below="poolside"),
        Root(variable="LOCALAPPDATA", default="AppData/Local", below="poolside"),
        Root(variable="", default="Library/Application Support/poolside"),
    ),
    places=(Place(role=TRAJECTORY, container="jsonl", patterns=("trajectories/trajectory-*_*.ndjson",)),),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="tool_call.inference.end, once per record",
        thinking="exact",
        edits="partly",
        lineage="no",
        session_end="exact",
        kinds=kinds_but("compaction", "rewind"),
        notes=(
            "Every inference repeats the whole request: of it only the model and a changed system prompt are given, "
            "the rest is in the archive. Subagents leave no reference."
        ),
        verified_version="1.0.16",
        verified_on="2026-11-21",
        evidence="format notes: other agents; readers of trajectories of pool-acp 1.0.16 and pool 0.2",
    ),
    parser_version=1,
)
