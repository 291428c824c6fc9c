"""Which sentences decide something, by weights learned from labelled turns."""

from recollect.insights.decisions.scorer.ranked import SentenceScorer

__all__ = ["SentenceScorer"]
