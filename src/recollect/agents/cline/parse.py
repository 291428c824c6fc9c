"""Cline: the parser of the Cline family, with this agent's facts."""

from __future__ import annotations

from recollect.agents.cline.declare import FACTS
from recollect.agents.kit.cline.adapter import ClineFamily


class ClineAdapter(ClineFamily):
    """The adapter of Cline."""

    facts = FACTS
    foreign_marks = (b"apiProtocol", b"contextCondense", b"checkpoint_saved", b"inferenceProvider", b"<slug>")
