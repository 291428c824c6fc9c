"""Crush: where it writes and what its transcripts can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root, Table

TRANSCRIPT = "transcript"
SESSION = "session"
FILES = "files"

_DATABASE = (".crush/crush.db",)

FACTS = AgentFacts(
    slug="crush",
    name="Crush",
    aliases=("charm-crush", "charmbracelet-crush"),
    roots=(Root(variable="", default=""),),
    places=(
        Place(
            role=TRANSCRIPT,
            container="sqlite",
            patterns=_DATABASE,
            tables=(
                # Times are whole seconds: within one, rows stand as they were put in.
                Table(name="messages", document="session_id", order=("created_at", "rowid"), json=("parts",)),
            ),
        ),
        Place(
            role=SESSION,
            container="sqlite",
            patterns=_DATABASE,
            tables=(Table(name="sessions", document="id", order=("id",), json=("todos",)),),
        ),
        Place(
            role=FILES,
            container="sqlite",
            patterns=_DATABASE,
            tables=(Table(name="files", document="session_id", order=("created_at", "rowid")),),
        ),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="exact",
        usage="partly",
        usage_authority="none to add up: the session's row has the tokens of its last call and the whole cost",
        thinking="exact",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("rewind", "session_end"),
        notes=(
            "Times are whole seconds. A database belongs to one project and does not say which. The cost of a session "
            "includes that of its subagents."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: Crush (other agents); Crush's published schema",
        verified_by="source",
    ),
    is_per_repository=True,
    parser_version=1,
)
