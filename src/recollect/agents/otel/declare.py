"""OpenTelemetry GenAI: where telemetry of agents lies and what it can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root

_VISUAL_STUDIO = "VSGitHubCopilotLogs/traces"

FACTS = AgentFacts(
    slug="otel",
    name="OpenTelemetry GenAI",
    aliases=("otlp", "opentelemetry", "otel-genai", "visualstudio-copilot"),
    roots=(
        Root(variable="LOCALAPPDATA", default="AppData/Local", below=f"Temp/{_VISUAL_STUDIO}"),
        Root(variable="", default=f"Library/Caches/{_VISUAL_STUDIO}"),
        Root(variable="XDG_CACHE_HOME", default=".cache", below=_VISUAL_STUDIO),
    ),
    spools=("otlp",),
    places=(
        Place(role="lines", container="jsonl", patterns=("*.jsonl", "*.ndjson")),
        Place(role="messages", container="otlp", patterns=("*.pb", "*.binpb")),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="gen_ai.usage.* of inference spans, told by their operation; spans above state sums",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="partly",
        kinds=kinds_but("compaction", "rewind"),
        notes=(
            "Prompts, answers, arguments and results are only there where their sender was told to send content. Edits "
            "are told from the arguments of editing tools. The conventions have no compaction and no rewind."
        ),
        verified_version="semantic conventions 1.38",
        verified_on="2026-11-21",
        evidence="format notes: OTel GenAI; recorded traces of Visual Studio 18.6, made-up flat records",
        verified_by="recording",
    ),
    parser_version=1,
)
