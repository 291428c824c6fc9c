"""Finds decisions in conversations: gate, segment, decide, bind, relate."""

from recollect.insights.decisions.decisions import ClauseDecider

__all__ = ["ClauseDecider"]
