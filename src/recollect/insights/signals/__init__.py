"""Signals: deterministic observations over the events of one session. Definitions: docs/distill.md."""

from __future__ import annotations

from recollect.insights.signals.observer import RuleObserver

__all__ = ["RuleObserver"]
