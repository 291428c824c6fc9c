"""Kiro: where it writes and what its sessions can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root, Table

_IDE = "Kiro/User/globalStorage/kiro.kiroagent"
_CLI_DATA = ("kiro-cli", "amazon-q")

FACTS = AgentFacts(
    slug="kiro",
    name="Kiro",
    aliases=("kiro-cli", "kiro-ide", "amazon-q", "q"),
    roots=(
        Root("KIRO_HOME", ".kiro"),
        *(Root("XDG_DATA_HOME", ".local/share", name) for name in _CLI_DATA),
        *(Root("", "Library/Application Support", name) for name in _CLI_DATA),
        Root("XDG_CONFIG_HOME", ".config", _IDE),
        Root("", "Library/Application Support", _IDE),
        Root("APPDATA", "AppData/Roaming", _IDE),
    ),
    places=(
        Place(role="cli", container="jsonl", patterns=("sessions/cli/*.jsonl",)),
        Place(role="sidecar", container="snapshot", patterns=("sessions/cli/*.json",), lane=1),
        Place(
            role="conversation",
            container="sqlite",
            patterns=("data.sqlite3",),
            lane=1,
            tables=(
                Table(
                    name="conversations_v2",
                    document="conversation_id",
                    order=("updated_at", "key"),
                    json=("value",),
                    stamp="updated_at",
                ),
                Table(name="conversations", document="key", order=("key",), json=("value",)),
            ),
        ),
        Place(
            role="ide",
            container="snapshot",
            patterns=("workspace-sessions/*/*.json",),
            exclude=("workspace-sessions/*/sessions.json",),
            split=("history",),
        ),
        Place(role="ide_index", container="snapshot", patterns=("workspace-sessions/*/sessions.json",), lane=2),
        Place(role="chat", container="snapshot", patterns=("*/*.chat",), split=("chat",)),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="partly",
        usage="partly",
        usage_authority="user_turn_metadatas of the sidecar, often 0; credits are no money and are kept as they are",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("rewind", "session_end"),
        notes=(
            "The CLI's lines carry a time only with a prompt; the IDE's messages have none. An old .chat file is one "
            "execution and repeats the history before it under the same ids. What the IDE did in an execution "
            "stands in logs that are not read."
        ),
        verified_version="unverified",
        verified_on="2026-11-21",
        evidence="format notes: Kiro; types of the CLI's open predecessor; synthetic files of other readers",
        verified_by="source",
    ),
    parser_version=1,
)
