"""What Recollect knows of Codex before it reads a byte: data only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

TRANSCRIPT = "transcript"
TRANSCRIPT_ZST = "transcript_zst"
TRANSCRIPT_JSON = "transcript_json"
HISTORY = "history"
SESSION_INDEX = "session_index"

FACTS = AgentFacts(
    slug="codex",
    name="OpenAI Codex",
    aliases=("codex-cli", "openai-codex"),
    roots=(Root(variable="CODEX_HOME", default=".codex"),),
    places=(
        Place(
            role=TRANSCRIPT,
            container="jsonl",
            patterns=("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
        ),
        Place(
            role=TRANSCRIPT_ZST,
            container="jsonl",
            patterns=("sessions/*/*/*/rollout-*.jsonl.zst", "archived_sessions/rollout-*.jsonl.zst"),
            is_compressed=True,
        ),
        Place(
            role=TRANSCRIPT_JSON,
            container="snapshot",
            patterns=(
                "sessions/rollout-*.json",
                "sessions/*/*/*/rollout-*.json",
                "archived_sessions/rollout-*.json",
            ),
        ),
        Place(role=HISTORY, container="jsonl", patterns=("history.jsonl",), lane=2),
        Place(role=SESSION_INDEX, container="jsonl", patterns=("session_index.jsonl",), lane=2),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="event_msg/token_count: info.last_token_usage, where info.total_token_usage moved",
        thinking="partly",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "Every turn is written twice (model item and interface event): one event is given. Reasoning is a summary "
            "at most, the rest is encrypted. A fork's file begins with a copy of its parent. Rollouts before 0.2x have "
            "no time per record. A tool call's patch counts as its edits; see the result for whether it applied."
        ),
        verified_version="0.146.0",
        verified_on="2026-11-20",
        evidence="format notes: Codex",
        verified_by="recording",
    ),
    carries_text=False,
    hooks=HookFacts(shares_call_ids=True),
    parser_version=3,
)
