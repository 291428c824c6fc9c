"""Qoder CLI: where it writes and what its transcripts can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="qoder",
    name="Qoder CLI",
    aliases=("qoder-cli", "qodercli"),
    roots=(
        Root(variable="", default=".qoder"),
        Root(variable="", default=".qoderwork"),
        Root(variable="APPDATA", default="AppData/Roaming", below="Qoder/SharedClientCache/cli"),
    ),
    places=(
        Place(
            role="transcript",
            container="jsonl",
            patterns=("projects/*/*.jsonl", "projects/*.jsonl"),
            exclude=("projects/*/agent-*.jsonl", "projects/agent-*.jsonl"),
        ),
        Place(role="subagent", container="jsonl", patterns=("projects/*/*/subagents/agent-*.jsonl",)),
        Place(
            role="meta",
            container="snapshot",
            patterns=("projects/*/*-session.json", "projects/*-session.json"),
            lane=1,
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="message.usage, once per message.id; the input excludes cached tokens",
        thinking="partly",
        edits="exact",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("rewind", "session_end", "instructions"),
        notes="No transcript of a live agent was seen. Title, folder and lineage are in a file beside the transcript.",
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; another reader's tests (records of 1.0.8)",
    ),
    parser_version=1,
)
