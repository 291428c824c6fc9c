"""The extractor that always runs: learnings read out of a session by rules. Pure, no clock, no model.

Rules and their figures: docs/learning-rules.md.
"""

from recollect.learn.extracting.observed import EXTRACTOR, Extracted, Observed, Reading, SimpleCommand
from recollect.learn.extracting.running import extract

__all__ = ["EXTRACTOR", "Extracted", "Observed", "Reading", "SimpleCommand", "extract"]
