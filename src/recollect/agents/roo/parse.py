"""Roo: the parser of the Cline family, with this agent's facts."""

from __future__ import annotations

from recollect.agents.kit.cline.adapter import ClineFamily
from recollect.agents.roo.declare import FACTS


class RooAdapter(ClineFamily):
    """The adapter of Roo Code."""

    facts = FACTS
    counts_cached_input = True
    marks = (b"apiProtocol", b"contextCondense", b"checkpoint_saved", b"<slug>")
    foreign_marks = (b"inferenceProvider", b"kilocode")
