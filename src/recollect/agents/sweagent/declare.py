"""SWE-agent: where it writes and what its trajectories can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="sweagent",
    name="SWE-agent",
    aliases=("swe-agent", "swe_agent"),
    roots=(Root("SWE_AGENT_TRAJECTORY_DIR", "SWE-agent/trajectories"),),
    places=(
        Place(
            role="trajectory",
            container="snapshot",
            patterns=("**/*.traj",),
            split=("trajectory", "history"),
        ),
    ),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="no",
        usage="partly",
        usage_authority="info.model_stats, the totals of the whole run; its input includes cached tokens",
        thinking="partly",
        edits="partly",
        lineage="no",
        session_end="exact",
        kinds=kinds_but("compaction", "rewind"),
        notes=(
            "No times at all, and no exit codes: of a tool's result only refused edits are known to have failed. "
            "Trajectory "
            "and history hold the same steps; each is given once, from the history, with what only the "
            "trajectory knows."
        ),
        verified_version="1.0",
        verified_on="2026-11-21",
        evidence="13 recorded trajectories of 0.7 to 1.0; sweagent/types.py. There is no page of format notes",
        verified_by="recording",
    ),
    parser_version=1,
)
