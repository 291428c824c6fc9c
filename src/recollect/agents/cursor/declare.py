"""Cursor: its three overlapping stores and what they can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root, Table

IDE = "ide"
CLI_STORE = "cli_store"
CLI_META = "cli_meta"
TRANSCRIPT = "transcript"
SUBAGENT = "subagent"
TRANSCRIPT_TEXT = "transcript_text"
HISTORY = "history"

_TRANSCRIPTS = "projects/*/agent-transcripts"
_CLI_DATABASE = "chats/*/*/store.db"

FACTS = AgentFacts(
    slug="cursor",
    name="Cursor",
    aliases=("cursor-agent", "cursor-ide", "cursor-cli"),
    roots=(
        Root(variable="", default=".cursor"),
        Root(variable="", default="Library/Application Support/Cursor/User"),
        Root(variable="XDG_CONFIG_HOME", default=".config", below="Cursor/User"),
        Root(variable="APPDATA", default="AppData/Roaming", below="Cursor/User"),
    ),
    places=(
        Place(
            role=IDE,
            container="sqlite",
            patterns=("globalStorage/state.vscdb",),
            tables=(
                Table(
                    name="cursorDiskKV",
                    key="key",
                    order=("value:$.createdAt", "key"),
                    json=("value",),
                    keys=("bubbleId:*",),
                    document_in_key=True,
                ),
                Table(
                    name="cursorDiskKV",
                    key="key",
                    order=(":last", "key"),
                    json=("value",),
                    keys=("composerData:*",),
                    document_in_key=True,
                ),
            ),
        ),
        Place(
            role=CLI_STORE,
            container="sqlite",
            patterns=(_CLI_DATABASE,),
            tables=(Table(name="blobs", order=("rowid",), json=("data",)),),
            lane=1,
        ),
        Place(
            role=CLI_META,
            container="sqlite",
            patterns=(_CLI_DATABASE,),
            tables=(Table(name="meta", order=("key",), keys=("0",)),),
            lane=1,
        ),
        Place(
            role=TRANSCRIPT,
            container="jsonl",
            patterns=(f"{_TRANSCRIPTS}/*.jsonl", f"{_TRANSCRIPTS}/*/*.jsonl"),
            lane=2,
        ),
        Place(role=SUBAGENT, container="jsonl", patterns=(f"{_TRANSCRIPTS}/*/subagents/*.jsonl",), lane=2),
        Place(role=TRANSCRIPT_TEXT, container="text", patterns=(f"{_TRANSCRIPTS}/*.txt",), lane=2),
        Place(role=HISTORY, container="snapshot", patterns=("prompt_history.json",), lane=2),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="partly",
        usage="partly",
        usage_authority="tokenCount of a bubble where it is above zero; totals of the composer are not added",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "The editor's store has times and results; the command line's has results but no times; the transcripts "
            "have neither. Token counts are mostly zero. An edit may name its file only. Rewinds are inferred from "
            "messages that the composer lists no more."
        ),
        verified_version="composer _v 16, bubble _v 3",
        verified_on="2026-11-21",
        evidence="format notes: Cursor; made-up rows and transcripts of other readers' tests, one empty store.db",
    ),
    hooks=HookFacts(shares_call_ids=False),
    parser_version=2,
)
