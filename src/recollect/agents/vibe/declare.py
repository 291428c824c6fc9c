"""Mistral Vibe: where it writes and what its files can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

MESSAGES = "messages"
META = "meta"

_SESSIONS = ("logs/session/*", "logs/session/*/agents/*")
"""A subagent's folder lies in that of the session that started it."""

FACTS = AgentFacts(
    slug="vibe",
    name="Mistral Vibe",
    aliases=("mistral-vibe", "mistral_vibe", "mistralvibe"),
    roots=(Root(variable="VIBE_HOME", default=".vibe"),),
    places=(
        Place(role=MESSAGES, container="jsonl", patterns=tuple(f"{folder}/messages.jsonl" for folder in _SESSIONS)),
        Place(role=META, container="snapshot", patterns=tuple(f"{folder}/meta.json" for folder in _SESSIONS), lane=1),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="no",
        usage="partly",
        usage_authority="meta.json: stats, a running total, once for sessions that continue each other",
        thinking="exact",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=(
            "session_start",
            "user_message",
            "assistant_message",
            "thinking",
            "tool_call",
            "tool_result",
            "file_edit",
            "token_usage",
            "lifecycle",
            "instructions",
            "unknown",
        ),
        notes=(
            "Messages have no time: theirs is that of the session's folder. A compaction or a rewind is a new session "
            "that names the old one and says no more. Sessions of the unified backend are not read."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; the sources of Mistral Vibe; sessions of its readers",
        verified_by="capture",
    ),
    parser_version=1,
)
