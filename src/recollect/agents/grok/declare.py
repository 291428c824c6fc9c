"""Grok Build: where it writes and what its sessions can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

UPDATES = "updates"
CHAT = "chat"
EVENTS = "events"
SUMMARY = "summary"
SYSTEM_PROMPT = "system_prompt"
PROMPT_CONTEXT = "prompt_context"
REWIND_POINTS = "rewind_points"
CHECKPOINT = "checkpoint"
SUBAGENT_META = "subagent_meta"
FEEDBACK = "feedback"
SETTINGS = "settings"
PROMPT_HISTORY = "prompt_history"

_SESSION = "sessions/*/*"
"""Folder of the working directory, folder of the session."""

FACTS = AgentFacts(
    slug="grok",
    name="Grok Build",
    aliases=("grok-build", "grok-cli", "xai-grok"),
    roots=(Root(variable="GROK_HOME", default=".grok"),),
    places=(
        Place(
            role=UPDATES,
            container="jsonl",
            patterns=(f"{_SESSION}/updates.jsonl", f"{_SESSION}/subagents/*/updates.jsonl"),
        ),
        Place(
            role=CHAT,
            container="jsonl",
            patterns=(f"{_SESSION}/chat_history.jsonl", f"{_SESSION}/subagents/*/chat_history.jsonl"),
            lane=1,
        ),
        Place(role=EVENTS, container="jsonl", patterns=(f"{_SESSION}/events.jsonl",), lane=1),
        Place(role=SUMMARY, container="snapshot", patterns=(f"{_SESSION}/summary.json",), lane=1),
        Place(role=SYSTEM_PROMPT, container="text", patterns=(f"{_SESSION}/system_prompt.txt",), lane=1),
        Place(role=PROMPT_CONTEXT, container="snapshot", patterns=(f"{_SESSION}/prompt_context.json",), lane=1),
        Place(role=REWIND_POINTS, container="jsonl", patterns=(f"{_SESSION}/rewind_points.jsonl",), lane=1),
        Place(role=CHECKPOINT, container="snapshot", patterns=(f"{_SESSION}/compaction_checkpoints/*.json",), lane=1),
        Place(role=SUBAGENT_META, container="snapshot", patterns=(f"{_SESSION}/subagents/*/meta.json",), lane=1),
        Place(role=FEEDBACK, container="jsonl", patterns=(f"{_SESSION}/feedback.jsonl",), lane=1),
        Place(
            role=SETTINGS,
            container="snapshot",
            patterns=(
                f"{_SESSION}/plan.json",
                f"{_SESSION}/plan_mode.json",
                f"{_SESSION}/goal/state.json",
                f"{_SESSION}/announcement_state.json",
                f"{_SESSION}/signals.json",
            ),
            lane=1,
        ),
        Place(role=PROMPT_HISTORY, container="jsonl", patterns=("sessions/*/prompt_history.jsonl",), lane=2),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="turn_completed.usage, the last per (prompt_id, model); inputTokens include the cache",
        thinking="partly",
        edits="exact",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "updates.jsonl is the authority; chat_history.jsonl is a cache that is rewritten, has no times, and gives "
            "what the stream lacks. Usage is per turn, not per response. A rewind does not shorten the stream."
        ),
        verified_version="1.0.41",
        verified_on="2026-11-21",
        evidence="format notes: Grok Build; synthetic samples of chat_history, summary and updates",
    ),
    hooks=HookFacts(shares_call_ids=True),
    parser_version=1,
)
