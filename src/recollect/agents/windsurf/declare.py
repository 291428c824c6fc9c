"""Windsurf: what of it can be read. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root, Table

TRANSCRIPT = "transcript"
HOOKS = "hooks"
WORKSPACE = "workspace"
CHAT_KEYS = ("workbench.panel.aichat.view.aichat.chatdata", "aiChat.chatdata", "cascade.sessionData")

FACTS = AgentFacts(
    slug="windsurf",
    name="Windsurf",
    aliases=("cascade", "codeium", "windsurf-next"),
    roots=(
        Root(variable="", default=".windsurf"),
        Root(variable="", default="Library/Application Support/Windsurf/User"),
        Root(variable="", default="Library/Application Support/Windsurf - Next/User"),
        Root(variable="", default=".config/Windsurf/User"),
        Root(variable="", default=".config/Windsurf - Next/User"),
        Root(variable="APPDATA", default="AppData/Roaming", below="Windsurf/User"),
        Root(variable="APPDATA", default="AppData/Roaming", below="Windsurf - Next/User"),
    ),
    places=(
        Place(role=HOOKS, container="jsonl", patterns=("hooks/*.jsonl",)),
        Place(role=TRANSCRIPT, container="jsonl", patterns=("transcripts/*.jsonl",), lane=1),
        Place(
            role=WORKSPACE,
            container="sqlite",
            patterns=("workspaceStorage/*/state.vscdb",),
            tables=(Table(name="ItemTable", order=("key",), json=("value",), keys=CHAT_KEYS),),
        ),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="partly",
        usage="no",
        usage_authority="none: nothing that can be read counts tokens",
        thinking="no",
        edits="exact",
        lineage="no",
        session_end="partly",
        kinds=kinds_but("thinking", "token_usage", "compaction", "rewind", "instructions"),
        notes=(
            "Cascade's own history (cascade/*.pb) is opaque and not read. Transcripts and payloads exist only where "
            "hooks are set up. Transcripts and the older chat have no times."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: Windsurf; one recorded transcript",
        verified_by="recording",
    ),
    hooks=HookFacts(shares_call_ids=False),
    parser_version=1,
)
