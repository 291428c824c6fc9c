"""Cline: where it writes and what its logs can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.cline.hosts import editor_roots, sdk_places, task_places
from recollect.model.capabilities import AgentFacts, Capabilities, Root
from recollect.model.payloads import KINDS

FACTS = AgentFacts(
    slug="cline",
    name="Cline",
    aliases=("claude-dev", "saoudrizwan.claude-dev"),
    roots=(
        *editor_roots("saoudrizwan.claude-dev"),
        Root("CLINE_SESSION_DATA_DIR", ".cline/data/sessions"),
        Root("CLINE_DATA_DIR", ".cline/data"),
    ),
    places=(*task_places(), *sdk_places()),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="partly",
        usage="exact",
        usage_authority="api_req_started of the UI log, metrics of an SDK message; totals beside them are not added",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="partly",
        kinds=KINDS,
        notes=(
            "A task's API log holds the conversation with exact calls and results, its times inferred in older "
            "versions. Tokens, approvals and returns to a checkpoint come from the UI log, which is read after it. "
            "Only the SDK's sessions say that they ended."
        ),
        verified_version="SDK session format 1",
        verified_on="2026-11-21",
        evidence="format notes: Cline / Roo / Kilo; producer types; recorded sessions of the SDK; synthetic task logs",
        verified_by="recording",
    ),
    parser_version=2,
)
