"""Observes a session's events: test runs, failures, retries, endings (docs/development/insight-rules.md)."""

from __future__ import annotations

from recollect.insights.signals.observer import RuleObserver

__all__ = ["RuleObserver"]
