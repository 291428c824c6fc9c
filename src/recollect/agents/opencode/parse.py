"""opencode: one row or small file in, its events out. Pure, and never raises on content.

What each becomes is in `messages`, `parts`, `tools`, `projected` and `sessions`; traps are in README.md beside this.
"""

from __future__ import annotations

from collections.abc import Callable

from recollect.agents.kit.adapter import KitAdapter, read_row
from recollect.agents.opencode.declare import FACTS, TRANSCRIPT
from recollect.agents.opencode.messages import read_message
from recollect.agents.opencode.parts import read_part
from recollect.agents.opencode.projected import read_projected
from recollect.agents.opencode.sessions import read_session, read_todo, read_undo
from recollect.agents.opencode.state import OpencodeState, Reading, note_place

_READERS: dict[str, Callable[[Reading], None]] = {
    "session": read_session,
    "session_v2": read_session,
    "message": read_message,
    "part": read_part,
    "session_message": read_projected,
    "todo": read_todo,
}
_SESSIONS = ("session", "session_v2")


class OpencodeAdapter(KitAdapter[OpencodeState]):
    """The adapter of opencode, Kilo and MiMo Code."""

    facts = FACTS
    state_type = OpencodeState

    def read(self, reading: Reading) -> None:
        """Give the events of one row, by the table it is of."""
        if reading.state.role != TRANSCRIPT:
            read_row(reading, _READERS)
        elif reading.at in _SESSIONS:
            read_undo(reading)
        else:
            note_place(reading)
            read_row(reading, _READERS)
