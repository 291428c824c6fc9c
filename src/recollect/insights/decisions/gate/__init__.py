"""The gate: which messages may hold a decision."""

from recollect.insights.decisions.gate.rules import RuleGate

__all__ = ["RuleGate"]
