"""Links decisions across sessions: superseded, reversed, in conflict (rules: docs/distill.md, "Links")."""

from __future__ import annotations

from recollect.insights.decisions.relations.relations import SubjectRelator, state_at

__all__ = ["SubjectRelator", "state_at"]
