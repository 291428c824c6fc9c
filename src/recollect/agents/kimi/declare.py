"""Kimi: where its three generations write and what their files can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

_DESKTOP = "kimi-desktop/daimon-share/daimon/runtime/kimi-code/home"
_CHORES = ("sessions/*/ctitle-*/**", "sessions/*/sklsum-*/**", "sessions/*/dvlt-*/**")
"""Sessions that Kimi Work starts for itself: titles, summaries of skills, vaults."""

FACTS = AgentFacts(
    slug="kimi",
    name="Kimi",
    aliases=("kimi-cli", "kimi-code", "kimi-work"),
    roots=(
        Root("KIMI_SHARE_DIR", ".kimi"),
        Root("KIMI_CODE_HOME", ".kimi-code"),
        Root("", f"Library/Application Support/{_DESKTOP}"),
        Root("XDG_CONFIG_HOME", ".config", _DESKTOP),
        Root("APPDATA", "AppData/Roaming", _DESKTOP),
    ),
    places=(
        Place(
            role="wire",
            container="jsonl",
            patterns=("sessions/*/*/wire.jsonl", "sessions/*/*/agents/main/wire.jsonl"),
            exclude=_CHORES,
        ),
        Place(
            role="subagent",
            container="jsonl",
            patterns=("sessions/*/*/subagents/*/wire.jsonl", "sessions/*/*/agents/*/wire.jsonl"),
            exclude=("sessions/*/*/agents/main/**", *_CHORES),
        ),
        Place(role="old_context", container="jsonl", patterns=("sessions/*/*.jsonl",)),
        Place(
            role="context",
            container="jsonl",
            patterns=(
                "sessions/*/*/context.jsonl",
                "sessions/*/*/context_*.jsonl",
                "sessions/*/*/subagents/*/context.jsonl",
            ),
            lane=1,
        ),
        Place(role="state", container="snapshot", patterns=("sessions/*/*/state.json",), exclude=_CHORES, lane=1),
        Place(role="folders", container="snapshot", patterns=("kimi.json",), lane=2),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="partly",
        usage="exact",
        usage_authority=(
            "token_usage of StatusUpdate (kimi-cli) or usage of step.end; usage.record only where no step.end "
            "said the same"
        ),
        thinking="exact",
        edits="exact",
        lineage="exact",
        session_end="no",
        kinds=kinds_but("rewind", "session_end"),
        notes=(
            "The wire is the record of a session; the context beside it says the same again and is cut on "
            "compaction and "
            "revert. Contexts have no times. The folder of a session is known only where `kimi.json`, "
            "`state.json` or a "
            "configuration record names it."
        ),
        verified_version="wire protocol 1.4 and 1.10",
        verified_on="2026-11-21",
        evidence="format notes: Kimi CLI; recorded contexts of 2025-10, fixtures of Kimi Code; kimi_cli/wire/types.py",
        verified_by="recording",
    ),
    hooks=HookFacts(shares_call_ids=True),
    parser_version=1,
)
