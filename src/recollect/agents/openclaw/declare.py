"""OpenClaw: where it writes and what its sessions can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

FACTS = AgentFacts(
    slug="openclaw",
    name="OpenClaw",
    aliases=("clawdbot", "qclaw"),
    roots=(
        Root("OPENCLAW_STATE_DIR", ".openclaw"),
        Root("", ".clawdbot"),
        Root("", ".qclaw"),
    ),
    places=(
        Place(
            role="session",
            container="jsonl",
            patterns=("agents/*/sessions/*.jsonl", "sessions/*.jsonl"),
            exclude=("**/*.checkpoint.*.jsonl",),
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="message.usage of each assistant message",
        thinking="partly",
        edits="partly",
        lineage="no",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "Sessions of messenger channels hold what other people wrote. Checkpoints (`*.checkpoint.*.jsonl`) "
            "repeat a "
            "session and are not read; nor is `sessions.json`, which names channels and people."
        ),
        verified_version="format version 3",
        verified_on="2026-11-21",
        evidence="format notes: pi and others; fixtures of format version 3",
        verified_by="capture",
    ),
    parser_version=2,
)
