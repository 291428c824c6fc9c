"""The decider: decisions out of conversations."""

from recollect.distill.decide.decisions import ClauseDecider

__all__ = ["ClauseDecider"]
