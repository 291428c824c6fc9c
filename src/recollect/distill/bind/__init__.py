"""Bindings: which decision or conversation led to which edits. Rules: docs/distill.md, "Bindings"."""

from __future__ import annotations

from recollect.distill.bind.binding import PathAndTimeBinder

__all__ = ["PathAndTimeBinder"]
