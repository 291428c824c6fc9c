"""Kilo: the parser of the Cline family, with this agent's facts."""

from __future__ import annotations

from recollect.agents.kilo.declare import FACTS
from recollect.agents.kit.cline.adapter import ClineFamily


class KiloAdapter(ClineFamily):
    """The adapter of Kilo Code (legacy)."""

    facts = FACTS
    counts_cached_input = True
    marks = (b"inferenceProvider", b"kilocode")
