"""Gemini CLI: where it writes and what its recordings can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root

FACTS = AgentFacts(
    slug="gemini",
    name="Gemini CLI",
    aliases=("gemini-cli", "geminicli", "gemini_cli"),
    roots=(Root(variable="GEMINI_CLI_HOME", default="", below=".gemini"),),
    places=(
        Place(role="chat", container="jsonl", patterns=("tmp/*/chats/session-*.jsonl",)),
        Place(role="subagent", container="jsonl", patterns=("tmp/*/chats/*/*.jsonl",)),
        Place(
            role="chat_json",
            container="snapshot",
            patterns=("tmp/*/chats/session-*.json",),
            lane=1,
            split=("messages",),
        ),
        Place(role="saved", container="snapshot", patterns=("tmp/*/checkpoint-*.json",)),
        Place(role="project", container="text", patterns=("tmp/*/.project_root",), lane=1),
        Place(role="projects", container="snapshot", patterns=("projects.json",), lane=1),
        Place(role="prompts", container="snapshot", patterns=("tmp/*/logs.json",), lane=2),
    ),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=True,
        timestamps="exact",
        usage="exact",
        usage_authority="tokens, the last ones written of a message id; the input includes cached tokens",
        thinking="partly",
        edits="exact",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("session_end", "instructions"),
        notes=(
            "Thinking is the provider's summary. The folder is not written, only its hash: it is given where a path in "
            "the session proves it. A resumed session goes on in its own file; forks are not known to it."
        ),
        verified_version="0.40.0",
        verified_on="2026-11-21",
        evidence="format notes: Gemini CLI; recorded sessions of 0.16 to 0.22, sanitised ones of 0.40",
        verified_by="recording",
    ),
    hooks=HookFacts(shares_call_ids=False),
    parser_version=2,
)
