"""The extractor that always runs: learnings read out of a session by rules. Pure, no clock, no model.

Rules and their figures: docs/learning-rules.md.
"""

from recollect.insights.learnings.extraction.extractor import extract
from recollect.insights.learnings.extraction.observed import EXTRACTOR, Extracted, Observed, Reading, SimpleCommand

__all__ = ["EXTRACTOR", "Extracted", "Observed", "Reading", "SimpleCommand", "extract"]
