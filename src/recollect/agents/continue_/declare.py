"""Continue: where it writes and what its sessions can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="continue",
    name="Continue",
    aliases=("cn", "continue-cli", "continue-dev"),
    roots=(Root("CONTINUE_GLOBAL_DIR", ".continue"),),
    places=(
        Place(
            role="session",
            container="snapshot",
            patterns=("sessions/*.json",),
            exclude=("sessions/sessions.json",),
            split=("history",),
        ),
        Place(role="index", container="snapshot", patterns=("sessions/sessions.json",), lane=2),
    ),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="partly",
        usage="partly",
        usage_authority="usage of a message where there is one, else the session's own total",
        thinking="partly",
        edits="partly",
        lineage="no",
        session_end="no",
        kinds=kinds_but("rewind", "session_end"),
        notes=(
            "Messages have no times; only reasoning and the index of sessions do. A fork copies the history and keeps "
            "no back reference. Tokens per call stand in dev_data, which is not read."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: Continue; a trimmed capture of the CLI",
        verified_by="capture",
    ),
    parser_version=1,
)
