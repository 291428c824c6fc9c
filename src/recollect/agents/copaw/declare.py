"""QwenPaw (CoPaw): where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

MEMORY = "agent.memory.content"

FACTS = AgentFacts(
    slug="copaw",
    name="QwenPaw",
    aliases=("qwenpaw", "co-paw"),
    roots=(
        Root(variable="COPAW_WORKING_DIR", default=".copaw"),
        Root(variable="QWENPAW_WORKING_DIR", default=".qwenpaw"),
    ),
    places=(
        Place(
            role="session",
            container="snapshot",
            patterns=(
                "workspaces/*/sessions/*.json",
                "workspaces/*/sessions/*/*.json",
                "sessions/*.json",
            ),
            split=(MEMORY,),
        ),
    ),
    capabilities=Capabilities(
        container="snapshot",
        rewrites_history=True,
        timestamps="partly",
        usage="no",
        usage_authority="none: sessions have no token counts",
        thinking="partly",
        edits="partly",
        lineage="no",
        session_end="no",
        kinds=(
            "session_start",
            "user_message",
            "assistant_message",
            "thinking",
            "tool_call",
            "tool_result",
            "file_edit",
            "compaction",
            "lifecycle",
            "instructions",
            "unknown",
        ),
        notes=(
            "Times are local ones without a zone, so they are inferred. Sessions of messengers hold what other people "
            "wrote; file names hold their names there."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: other agents; samples of another reader's tests, and the agent's published source",
    ),
    parser_version=1,
)
