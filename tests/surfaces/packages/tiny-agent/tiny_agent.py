# tiny_agent.py
"""Tiny: lines of `{"who": "me" or "it", "says": text, "at": time}` below `$TINY_HOME/logs`."""

from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading, read_odd
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root
from recollect.model.payloads import AssistantMessage, UserMessage

FACTS = AgentFacts(
    slug="tiny",
    name="Tiny",
    aliases=("tiny-agent",),
    roots=(Root(variable="TINY_HOME", default=".tiny"),),
    places=(Place(role="transcript", container="jsonl", patterns=("logs/*.jsonl",)),),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="exact",
        usage="no",
        usage_authority="none",
        thinking="no",
        edits="no",
        lineage="no",
        session_end="no",
        kinds=("user_message", "assistant_message", "unknown"),
        notes="Invented.",
        verified_version="1.0",
        verified_on="2026-11-21",
        evidence="invented",
    ),
    parser_version=1,
)
KNOWN = frozenset(("who", "says", "at"))


class TinyAdapter(KitAdapter[BaseState]):
    """Every record is a message."""

    facts = FACTS
    state_type = BaseState

    def recognise(self, path: str, head: bytes) -> str | None:
        """Recognise a transcript in any folder by its content."""
        return "transcript" if b'"who"' in head and b'"says"' in head else None

    def read(self, reading: Reading[BaseState]) -> None:
        """Turn one record into events."""
        value = reading.value
        if not value:
            read_odd(reading)
            return
        reading.date(value.get("at"), "at")
        match value.get("who"):
            case "me":
                reading.add(UserMessage(reading.text(value, "says")))
            case "it":
                reading.add(AssistantMessage(reading.text(value, "says")))
            case who:
                reading.unknown(str(who))
                return
        reading.extra(value, KNOWN, "record")
