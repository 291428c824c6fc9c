"""Scores sentences with learned weights, as decisions, learnings and actions."""

from recollect.insights.scorer.features import Turn
from recollect.insights.scorer.scorer import SentenceScorer

__all__ = ["SentenceScorer", "Turn"]
