"""Qwen Code: where it writes and what its transcripts can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

FACTS = AgentFacts(
    slug="qwen",
    name="Qwen Code",
    aliases=("qwen-code", "qwencode", "qwen_code"),
    roots=(Root(variable="", default=".qwen"),),
    places=(
        Place(role="transcript", container="jsonl", patterns=("projects/*/chats/*.jsonl",)),
        Place(role="subagent", container="jsonl", patterns=("projects/*/subagents/*/agent-*.jsonl",)),
        Place(
            role="subagent_meta",
            container="snapshot",
            patterns=("projects/*/subagents/*/agent-*.meta.json",),
            lane=1,
        ),
        Place(
            role="chat_json",
            container="snapshot",
            patterns=("tmp/*/chats/session-*.json",),
            lane=1,
            split=("messages",),
        ),
        Place(role="prompts", container="snapshot", patterns=("tmp/*/logs.json",), lane=2),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="usageMetadata, once per uuid over all files; the input includes cached tokens",
        thinking="exact",
        edits="partly",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "Large diffs are shortened by the agent itself; the call's arguments then hold the edit. Metadata are "
            "written again every 32 KB, with other ids. The first generation wrote Gemini CLI's snapshots."
        ),
        verified_version="0.21.13",
        verified_on="2026-11-21",
        evidence="format notes: Qwen Code; synthetic and sanitised transcripts of 0.19 to 0.21",
        verified_by="capture",
    ),
    hooks=HookFacts(shares_call_ids=True, has_other_prompts=True),
    parser_version=1,
)
