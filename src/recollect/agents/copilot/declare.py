"""Copilot CLI: where it writes and what its session files can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root
from recollect.model.payloads import KINDS

EVENTS = "events"
HISTORY = "history"
WORKSPACE = "workspace"
PLAN = "plan"
CHECKPOINT = "checkpoint"

FACTS = AgentFacts(
    slug="copilot",
    name="GitHub Copilot CLI",
    aliases=("copilot-cli", "github-copilot-cli"),
    roots=(Root(variable="COPILOT_HOME", default=".copilot"),),
    places=(
        Place(
            role=EVENTS,
            container="jsonl",
            patterns=("session-state/*/events.jsonl", "session-state/*.jsonl", "history-session-state/*.jsonl"),
        ),
        Place(
            role=HISTORY,
            container="snapshot",
            patterns=("history-session-state/*.json",),
            split=("chatMessages", "timeline"),
        ),
        Place(role=WORKSPACE, container="text", patterns=("session-state/*/workspace.yaml",), lane=1),
        Place(role=PLAN, container="text", patterns=("session-state/*/plan.md",), lane=1),
        Place(role=CHECKPOINT, container="text", patterns=("session-state/*/checkpoints/*.md",), lane=1),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="exact",
        usage="partly",
        usage_authority="session.shutdown: modelMetrics per model, the difference to the shutdown before it",
        thinking="partly",
        edits="exact",
        lineage="partly",
        session_end="partly",
        kinds=KINDS,
        notes=(
            "A session that crashed states no input tokens. A rewind probably shortens the file; a written one is read "
            "too. Subagents are inline and become sessions of their own. Premium requests and nano-AIU are no dollars."
        ),
        verified_version="1.0.77",
        verified_on="2026-11-21",
        evidence="format notes: GitHub Copilot CLI; sanitised streams of 0.0.420, 1.0.11, 1.0.45, 1.0.71 and 1.0.77",
        verified_by="capture",
    ),
    hooks=HookFacts(shares_call_ids=False),
    parser_version=2,
)
