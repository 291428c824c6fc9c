"""pi, Oh My Pi and Prime Agent: where they write and what their sessions can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

FACTS = AgentFacts(
    slug="pi",
    name="pi",
    aliases=("pi-mono", "pi-coding-agent", "omp", "oh-my-pi", "prime", "prime-agent"),
    roots=(
        Root("PI_CODING_AGENT_DIR", ".pi/agent"),
        Root("", ".omp/agent"),
        Root("", ".prime/agent"),
    ),
    places=(
        Place(
            role="session",
            container="jsonl",
            patterns=("sessions/*.jsonl", "sessions/*/*.jsonl"),
        ),
        Place(
            role="subagent",
            container="jsonl",
            patterns=("sessions/*/*/**/*.jsonl", "session-artifacts/**/sub-*/*.jsonl"),
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="exact",
        usage="exact",
        usage_authority="message.usage of each assistant message (Prime: the last child_usage_attributed of a message)",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "Append-only, except that files of the first version are rewritten with ids when pi opens them. The "
            "diff of an "
            "edit is there for edits, not for writes. A subagent's file is linked to its session by its folder."
        ),
        verified_version="0.7.29 and format version 3",
        verified_on="2026-11-21",
        evidence="format notes: pi; one recorded session of 1,019 records of format version 1, fixtures of version 3",
        verified_by="recording",
    ),
    hooks=HookFacts(shares_call_ids=True),
    parser_version=2,
)
