"""CodeWhale: where it writes and what its sessions can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

SESSION = "session"
CHECKPOINT = "checkpoint"
APPROVALS = "approvals"
ARTIFACT = "artifact"
SPLIT = ("messages", "journal.entries", "artifacts")

FACTS = AgentFacts(
    slug="codewhale",
    name="CodeWhale",
    aliases=("code-whale", "deepseek-tui", "deepseektui"),
    roots=(
        Root(variable="CODEWHALE_HOME", default=".codewhale"),
        Root(variable="DEEPSEEK_HOME", default=".deepseek"),
    ),
    places=(
        Place(
            role=SESSION,
            container="snapshot",
            patterns=("sessions/*.json",),
            exclude=("sessions/session_boot_owners.json", "sessions/latest.json", "sessions/offline_queue.json"),
            split=SPLIT,
        ),
        Place(
            role=CHECKPOINT,
            container="snapshot",
            patterns=("sessions/checkpoints/*.json",),
            exclude=("sessions/checkpoints/latest.json", "sessions/checkpoints/offline_queue.json"),
            lane=1,
            split=SPLIT,
        ),
        Place(role=APPROVALS, container="jsonl", patterns=("sessions/*/approval_receipts.jsonl",), lane=1),
        Place(role=ARTIFACT, container="text", patterns=("sessions/*/artifacts/art_*.txt",), lane=1),
    ),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="no",
        usage="partly",
        usage_authority="metadata.total_tokens and metadata.cost: one cumulative figure per session and its forks",
        thinking="exact",
        edits="partly",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "The newest 50 sessions are kept by the agent, older ones deleted (newer builds archive them): sync often. "
            "Messages have no ids and no times: names come from the content, times are inferred. Tokens are one number "
            "without input and output. Subagents leave no session of their own."
        ),
        verified_version="0.9.10",
        verified_on="2026-11-21",
        evidence="format notes: CodeWhale; reference: recall and MCP, section 5; one session of the agent's own tests",
        verified_by="capture",
    ),
    hooks=HookFacts(shares_call_ids=True),
    keeps_sessions=50,
    parser_version=3,
)
