"""Which sentences decide something or are worth keeping, by weights learned from labelled turns."""

from recollect.insights.scorer.features import Turn
from recollect.insights.scorer.scorer import SentenceScorer

__all__ = ["SentenceScorer", "Turn"]
