"""Extracts learnings from one session by rules; pure, no clock, no model.

Rules and their figures: docs/development/learning-rules.md.
"""

from recollect.insights.learnings.extraction.candidates import Extracted
from recollect.insights.learnings.extraction.extractor import extract
from recollect.model.learnings.learnings import EXTRACTOR

__all__ = ["EXTRACTOR", "Extracted", "extract"]
