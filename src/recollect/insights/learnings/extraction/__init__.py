"""Extracts learnings from one session by rules; pure, no clock, no model.

Rules and their figures: docs/development/learning-rules.md.
"""

from recollect.insights.learnings.extraction.extractor import extract
from recollect.insights.learnings.extraction.observed import EXTRACTOR, Extracted, Observed

__all__ = ["EXTRACTOR", "Extracted", "Observed", "extract"]
