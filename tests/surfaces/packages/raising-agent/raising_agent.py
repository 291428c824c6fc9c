"""An adapter that raises wherever it can, against its contract."""

from typing import Any

import msgspec

from recollect.agents.kit.adapter import BaseState, KitAdapter
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root
from recollect.model.records import Parsed, Record, SourceInfo

FACTS = AgentFacts(
    slug="raising",
    name="Raising",
    aliases=(),
    roots=(Root(variable="RAISING_HOME", default=".raising"),),
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


class RaisingAdapter(KitAdapter[BaseState]):
    """Raises on everything but `begin`."""

    facts = FACTS
    state_type = BaseState

    def recognise(self, path: str, head: bytes) -> str | None:
        """Raise."""
        raise KeyError(path)

    def source_key(self, info: SourceInfo) -> str:
        """Raise."""
        raise KeyError(info)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Raise."""
        raise KeyError(info)

    def parse(self, record: Record, state: Any) -> Parsed[Any]:
        """Raise."""
        raise KeyError(msgspec.json.encode(record.value))
