"""Selects the messages that may hold a decision."""

from recollect.insights.decisions.gate.rules import RuleGate

__all__ = ["RuleGate"]
