"""The decider: decisions out of conversations."""

from recollect.insights.decisions.decisions import ClauseDecider

__all__ = ["ClauseDecider"]
