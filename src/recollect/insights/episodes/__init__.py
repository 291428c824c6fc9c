"""Episodes: coherent groups of edits. Rules: docs/distill.md, "Episodes"."""

from __future__ import annotations

from recollect.insights.episodes.groups import EditGrouper

__all__ = ["EditGrouper"]
