"""Roo Code: where it writes and what its logs can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.cline.hosts import TASK_CAPABILITIES, editor_roots, task_places
from recollect.model.capabilities import AgentFacts

FACTS = AgentFacts(
    slug="roo",
    name="Roo Code",
    aliases=("roo-code", "roo-cline", "rooveterinaryinc.roo-cline"),
    roots=editor_roots("rooveterinaryinc.roo-cline"),
    places=task_places(),
    capabilities=TASK_CAPABILITIES,
    parser_version=2,
)
