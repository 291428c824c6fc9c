"""Zed: where its agent panel writes and what its threads can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root, Table

THREADS = "threads"

FACTS = AgentFacts(
    slug="zed",
    name="Zed",
    aliases=("zed-agent", "zed-ai"),
    roots=(
        Root(variable="XDG_DATA_HOME", default=".local/share", below="zed"),
        Root(variable="", default="Library/Application Support", below="Zed"),
        Root(variable="LOCALAPPDATA", default="AppData/Local", below="Zed"),
        Root(variable="", default=".var/app/dev.zed.Zed/data", below="zed"),
    ),
    places=(
        Place(
            role=THREADS,
            container="sqlite",
            patterns=("threads/threads.db",),
            tables=(
                Table(
                    name="threads",
                    document="id",
                    order=("id",),
                    zstd_json=("data",),
                    stamp="updated_at",
                ),
            ),
        ),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="no",
        usage="exact",
        usage_authority="cumulative_token_usage of the thread: one event, whose newest version counts",
        thinking="exact",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("rewind", "session_end"),
        notes=(
            "A thread is one row that is rewritten; messages have no times; theirs are spread between its first and "
            "its last. What was edited away is noticed by the pipeline. Agents of other makers keep their own history."
        ),
        verified_version="0.3.0",
        verified_on="2026-11-21",
        evidence="format notes: Zed agent panel; synthetic rows of thread versions 0.2.0 and 0.3.0",
    ),
    parser_version=1,
)
