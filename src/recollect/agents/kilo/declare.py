"""Kilo Code (legacy): where it writes and what its logs can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.cline.hosts import editor_roots, task_places
from recollect.model.capabilities import AgentFacts, Capabilities

FACTS = AgentFacts(
    slug="kilo",
    name="Kilo Code (legacy)",
    aliases=("kilo-legacy", "kilo-code", "kilocode.kilo-code"),
    roots=editor_roots("kilocode.kilo-code"),
    places=task_places(),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="partly",
        usage="exact",
        usage_authority="api_req_started of the UI log; totals of the history are not added",
        thinking="partly",
        edits="partly",
        lineage="exact",
        session_end="partly",
        kinds=(
            "session_start",
            "user_message",
            "assistant_message",
            "thinking",
            "tool_call",
            "tool_result",
            "file_edit",
            "token_usage",
            "compaction",
            "rewind",
            "lifecycle",
            "session_end",
            "unknown",
        ),
        notes=(
            "A task's API log holds the conversation with exact calls and results; tokens and approvals come from the "
            "UI log, which is read after it. Subtasks name their parent in history_item.json. The end is the task's "
            "own state, which a resumed task takes back."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: Cline / Roo / Kilo; producer types; synthetic task logs",
    ),
    parser_version=2,
)
