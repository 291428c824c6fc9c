"""Claude Code: what `recollect setup` writes, and the same as a plug-in."""

from recollect.agents.claude.install.settings import INSTALL

__all__ = ["INSTALL"]
