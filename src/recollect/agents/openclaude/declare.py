"""OpenClaude: where it writes and what its transcripts can give. Facts only; the format is Claude Code's."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="openclaude",
    name="OpenClaude",
    aliases=("open-claude", "open_claude"),
    roots=(Root(variable="OPENCLAUDE_CONFIG_DIR", default=".openclaude"),),
    places=(
        Place(
            role="transcript",
            container="jsonl",
            patterns=("projects/*/*.jsonl",),
            exclude=("projects/*/agent-*.jsonl", "**/*.orphaned-*.jsonl", "**/memory/**"),
        ),
        Place(
            role="subagent",
            container="jsonl",
            patterns=("projects/*/agent-*.jsonl", "projects/*/*/subagents/**/agent-*.jsonl"),
            exclude=("**/*.orphaned-*.jsonl", "**/memory/**"),
        ),
        Place(
            role="subagent_meta",
            container="snapshot",
            patterns=("projects/*/agent-*.meta.json", "projects/*/*/subagents/**/agent-*.meta.json"),
            lane=1,
        ),
        Place(role="spill", container="text", patterns=("projects/*/*/tool-results/*.txt",), lane=1),
        Place(role="backup", container="text", patterns=("file-history/*/*@v*",), lane=1),
        Place(role="tasks", container="snapshot", patterns=("tasks/*/*.json",), lane=1),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="partly",
        usage="exact",
        usage_authority="message.usage, counted once per (message.id, requestId) over all files, the most output wins",
        thinking="partly",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "Claude Code's format, read by its parser; files are known by their place only. Old versions wrote into "
            "`~/.claude`, where nothing tells them from Claude Code's."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; OpenClaude's readers; recorded transcripts of Claude Code",
    ),
    carries_text=False,
    parser_version=2,
)
