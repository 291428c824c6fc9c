"""OpenHands: where it writes and what its conversations can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, Member, Place, Root

FACTS = AgentFacts(
    slug="openhands",
    name="OpenHands",
    aliases=("open-hands", "opendevin"),
    roots=(
        Root("OPENHANDS_CONVERSATIONS_DIR", ".openhands/conversations"),
        Root("", ".openhands"),
    ),
    places=(
        Place(
            role="conversation",
            container="directory",
            patterns=(),
            members=(Member(table="event", pattern="{document}/events/event-{number}-{event}.json"),),
        ),
        Place(role="state", container="snapshot", patterns=("*/base_state.json",)),
        Place(role="tasks", container="snapshot", patterns=("*/TASKS.json",), lane=1),
        Place(
            role="old_conversation",
            container="directory",
            patterns=(),
            members=(Member(table="event", pattern="sessions/{document}/events/{number}.json"),),
        ),
        Place(role="old_state", container="snapshot", patterns=("sessions/*/metadata.json",)),
        Place(
            role="llm_log",
            container="snapshot",
            patterns=("logs/completions/*.json",),
            split=("messages",),
            lane=1,
        ),
    ),
    capabilities=Capabilities(
        container="directory",
        rewrites_history=False,
        timestamps="exact",
        usage="exact",
        usage_authority="stats.usage_to_metrics.*.token_usages of base_state.json, one entry per response",
        thinking="partly",
        edits="exact",
        lineage="no",
        session_end="exact",
        kinds=kinds_but("rewind"),
        notes=(
            "Times may be local, without a zone. The state holds the settings of the model and with them its "
            "key, mostly "
            "masked: no event repeats that part. Logs of completions repeat the whole context of each request; "
            "of them only "
            "what the response said and cost is taken."
        ),
        verified_version="1.11.5",
        verified_on="2026-11-21",
        evidence="format notes: OpenHands; a recorded state of 1.11.5, completion logs of 1.0.0; openhands/sdk/event",
        verified_by="recording",
    ),
    parser_version=1,
)
