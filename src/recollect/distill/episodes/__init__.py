"""Episodes: coherent groups of edits. Rules: docs/distill.md, "Episodes"."""

from __future__ import annotations

from recollect.distill.episodes.grouping import EditGrouper

__all__ = ["EditGrouper"]
