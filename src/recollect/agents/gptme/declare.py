"""gptme: where it writes and what its logs can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

MAIN = "log"
BRANCH = "branch"

FACTS = AgentFacts(
    slug="gptme",
    name="gptme",
    aliases=("gpt-me",),
    roots=(
        Root(variable="GPTME_LOGS_HOME", default=".local/share/gptme/logs"),
        Root(variable="XDG_DATA_HOME", default=".local/share", below="gptme/logs"),
        Root(variable="", default="Library/Application Support/gptme/logs"),
    ),
    places=(
        Place(role=MAIN, container="jsonl", patterns=("*/conversation.jsonl",)),
        Place(role=BRANCH, container="jsonl", patterns=("*/branches/*.jsonl",)),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="partly",
        usage="exact",
        usage_authority="metadata.usage of an assistant's message",
        thinking="partly",
        edits="partly",
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
            "Tool calls are code blocks in the text; whether one ran is told by what follows. Times without a zone are "
            "taken as they stand. An undo or edit rewrites the log; compacted views are not read, the log stays whole."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; the sources of gptme; one log of its readers",
        verified_by="capture",
    ),
    parser_version=1,
)
