"""The gate: which messages may hold a decision."""

from recollect.distill.gate.rules import RuleGate

__all__ = ["RuleGate"]
