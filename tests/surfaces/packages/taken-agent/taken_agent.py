"""An adapter whose slug is one of Recollect's own."""

from recollect.agents.kit.adapter import BaseState, KitAdapter
from recollect.model.capabilities import AgentFacts, Capabilities, Place

FACTS = AgentFacts(
    slug="claude",
    name="Not Claude",
    aliases=(),
    roots=(),
    places=(Place(role="transcript", container="jsonl", patterns=("*.jsonl",)),),
    capabilities=Capabilities(
        container="jsonl",
        rewrites_history=False,
        timestamps="no",
        usage="no",
        usage_authority="none",
        thinking="no",
        edits="no",
        lineage="no",
        session_end="no",
        kinds=("unknown",),
        notes="",
        verified_version="1",
        verified_on="",
        evidence="invented",
    ),
    parser_version=1,
)


class TakenAdapter(KitAdapter[BaseState]):
    """Would read everything as unknown."""

    facts = FACTS
    state_type = BaseState
