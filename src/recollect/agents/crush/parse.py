"""Crush: one row in, its events out. Pure, and never raises on content.

What each becomes is in `messages`, `results` and `sessions`; traps are in README.md beside this file.
"""

from __future__ import annotations

from collections.abc import Callable

from recollect.agents.crush.declare import FACTS
from recollect.agents.crush.messages import read_message
from recollect.agents.crush.sessions import read_file, read_session
from recollect.agents.crush.state import CrushState, Reading
from recollect.agents.kit.adapter import KitAdapter, read_row

_READERS: dict[str, Callable[[Reading], None]] = {
    "messages": read_message,
    "sessions": read_session,
    "files": read_file,
}


class CrushAdapter(KitAdapter[CrushState]):
    """The adapter of Crush."""

    facts = FACTS
    state_type = CrushState

    def read(self, reading: Reading) -> None:
        """Give the events of one row, by the table it is of."""
        read_row(reading, _READERS)
