"""Kilo Code (legacy): where it writes and what its logs can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.cline.hosts import TASK_CAPABILITIES, editor_roots, task_places
from recollect.model.capabilities import AgentFacts

FACTS = AgentFacts(
    slug="kilo",
    name="Kilo Code (legacy)",
    aliases=("kilo-legacy", "kilo-code", "kilocode.kilo-code"),
    roots=editor_roots("kilocode.kilo-code"),
    places=task_places(),
    capabilities=TASK_CAPABILITIES,
    parser_version=2,
)
