"""Reasonix: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

_FOLDERS = ("sessions/", "sessions/*/", "archive/", "projects/*/sessions/", "projects/*/sessions/*/")
_ARTIFACTS = ("**/*.jobs/**", "**/*.ckpt/**")
_OTHERS = ("events", "conflicts", "guardian")


def _below(name: str) -> tuple[str, ...]:
    return tuple(folder + name for folder in _FOLDERS)


FACTS = AgentFacts(
    slug="reasonix",
    name="Reasonix",
    aliases=("deepseek-reasonix",),
    roots=(
        Root(variable="", default=".reasonix"),
        Root(variable="APPDATA", default="AppData/Roaming", below="reasonix"),
    ),
    places=(
        Place(
            role="events",
            container="jsonl",
            patterns=_below("*.events.jsonl"),
            exclude=_ARTIFACTS,
            tells_rewinds=True,
        ),
        Place(
            role="checkpoint",
            container="jsonl",
            patterns=_below("*.jsonl"),
            exclude=(*(pattern for kind in _OTHERS for pattern in _below(f"*.{kind}.jsonl")), *_ARTIFACTS),
            lane=1,
        ),
        Place(role="meta", container="snapshot", patterns=_below("*.jsonl.meta"), exclude=_ARTIFACTS),
        Place(
            role="subagent_meta",
            container="snapshot",
            patterns=("sessions/subagents/*.meta.json", "projects/*/sessions/subagents/*.meta.json"),
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="partly",
        usage="no",
        usage_authority="none: transcripts have no token counts",
        thinking="exact",
        edits="exact",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("token_usage", "session_end"),
        notes=(
            "Newer versions compact in a file beside the transcript, which is not read: the transcript keeps all. "
            "Messages of older versions have no time of their own."
        ),
        verified_version="schema 1",
        verified_on="2026-11-21",
        evidence="format notes: other agents; the agent's published types and file names",
        verified_by="source",
    ),
    parser_version=2,
)
