"""Groups the edits of a session into episodes (rules: docs/development/insight-rules.md, "Episodes")."""

from __future__ import annotations

from recollect.insights.episodes.groups import EditGrouper

__all__ = ["EditGrouper"]
