"""Bindings: which decision or conversation led to which edits. Rules: docs/distill.md, "Bindings"."""

from __future__ import annotations

from recollect.insights.decisions.bindings.bindings import PathAndTimeBinder

__all__ = ["PathAndTimeBinder"]
