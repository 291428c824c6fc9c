"""DeepSeek Harness: where it writes and what its logs can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

LOG = "log"
LOG_ZSTD = "log_zstd"

FACTS = AgentFacts(
    slug="dsh",
    name="DeepSeek Harness",
    aliases=("deepseek-harness", "deepseek_harness", "deepseek"),
    roots=(Root(variable="DSH_HOME", default=".dsh"),),
    places=(
        Place(role=LOG, container="jsonl", patterns=("sessions/*/*/session.jsonl", "sessions/*/*/session.v*.jsonl")),
        Place(
            role=LOG_ZSTD,
            container="jsonl",
            patterns=("sessions/*/*/session.jsonl.zstd", "sessions/*/*/session.v*.jsonl.zstd"),
            is_compressed=True,
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="usage of assistant/message, once per message id; and of compaction/summary",
        thinking="exact",
        edits="exact",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("rewind", "session_end"),
        notes=(
            "A fork's log begins with a copy of its parent's, under the same ids. Streamed pieces count only where the "
            "whole message never came. A migrated session may have logs of several generations; they say the same."
        ),
        verified_version="0.2.0-rc.2",
        verified_on="2026-11-21",
        evidence="format notes: other agents; one synthetic log of format 0; readers of formats 0 to 4",
    ),
    parser_version=1,
)
