"""Binds decisions to the edits that followed them (rules: docs/distill.md, "Bindings")."""

from __future__ import annotations

from recollect.insights.decisions.bindings.bindings import PathAndTimeBinder

__all__ = ["PathAndTimeBinder"]
