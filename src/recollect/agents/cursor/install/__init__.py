"""Cursor: what `recollect setup` writes."""

from recollect.agents.cursor.install.settings import INSTALL

__all__ = ["INSTALL"]
