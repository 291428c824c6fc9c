"""Claude Code: where it writes and what its transcripts can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

_DESKTOP_HOME = "local-agent-mode-sessions/**"
_DESKTOP = f"{_DESKTOP_HOME}/local_*/.claude/projects"
"""Desktop and Cowork keep a whole `.claude` folder per session, below the second root."""

FACTS = AgentFacts(
    slug="claude",
    name="Claude Code",
    aliases=("claude-code", "claudecode", "claude_code", "cc"),
    roots=(
        Root(variable="CLAUDE_CONFIG_DIR", default=".claude"),
        Root(variable="", default="Library/Application Support/Claude"),
    ),
    places=(
        Place(
            role="transcript",
            container="jsonl",
            patterns=("projects/*/*.jsonl", f"{_DESKTOP}/*/*.jsonl"),
            exclude=(
                "projects/*/agent-*.jsonl",
                f"{_DESKTOP}/*/agent-*.jsonl",
                "**/*.orphaned-*.jsonl",
                "**/memory/**",
                "**/audit.jsonl",
            ),
        ),
        Place(
            role="subagent",
            container="jsonl",
            patterns=(
                "projects/*/agent-*.jsonl",
                "projects/*/*/subagents/**/agent-*.jsonl",
                f"{_DESKTOP}/*/agent-*.jsonl",
                f"{_DESKTOP}/*/*/subagents/**/agent-*.jsonl",
            ),
            exclude=("**/*.orphaned-*.jsonl", "**/memory/**"),
        ),
        Place(
            role="subagent_meta",
            container="snapshot",
            patterns=(
                "projects/*/agent-*.meta.json",
                "projects/*/*/subagents/**/agent-*.meta.json",
                f"{_DESKTOP}/*/*/subagents/**/agent-*.meta.json",
            ),
            lane=1,
        ),
        Place(
            role="spill",
            container="text",
            patterns=("projects/*/*/tool-results/*.txt", f"{_DESKTOP}/*/*/tool-results/*.txt"),
            lane=1,
        ),
        Place(
            role="title",
            container="snapshot",
            patterns=("projects/*/*/custom-title.json", f"{_DESKTOP}/*/*/custom-title.json"),
            lane=1,
        ),
        Place(role="desktop_meta", container="snapshot", patterns=(f"{_DESKTOP_HOME}/local_*.json",), lane=1),
        Place(role="backup", container="text", patterns=("file-history/*/*@v*",), lane=1),
        Place(role="todos", container="snapshot", patterns=("todos/*.json",), lane=1),
        Place(role="tasks", container="snapshot", patterns=("tasks/*/*.json",), lane=1),
        Place(role="history", container="jsonl", patterns=("history.jsonl",), lane=2),
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
            "Bookkeeping records have no time of their own; theirs is inferred from the record before. Thinking may be "
            "signed only. A fork copies its history and keeps no back reference. Rewinds are inferred from parents."
        ),
        verified_version="2.1.278",
        verified_on="2026-11-20",
        evidence="format notes: Claude Code; recorded transcripts of 1.0 to 2.1",
        verified_by="recording",
    ),
    carries_text=False,
    hooks=HookFacts(shares_call_ids=True, subagent="{session}/agent-{agent}"),
    parser_version=3,
)
