"""The adapter of Grok Build: one record in, its events out. Pure, and never raises on content.

What each kind becomes is in `updates` (the stream, with `speech`, `calls` and `turns`), `history` (the model's own
copy) and `sidecars`; traps are in README.md beside this file.
"""

from __future__ import annotations

from recollect.agents.grok import identify as identity
from recollect.agents.grok.declare import FACTS, SYSTEM_PROMPT, UPDATES
from recollect.agents.grok.history import give_instructions
from recollect.agents.grok.sidecars import READERS
from recollect.agents.grok.state import GrokState, Reading
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.model.payloads import SessionStart
from recollect.model.records import SourceInfo


class GrokAdapter(KitAdapter[GrokState]):
    """The adapter of Grok Build."""

    facts = FACTS
    state_type = GrokState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`."""
        return identity.recognise(path, head)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the session's folder, else what the first lines say."""
        return identity.session_of(info, head)

    def begin(self, info: SourceInfo) -> GrokState:
        """See `Adapter.begin`."""
        return GrokState(
            session=info.session,
            role=info.role,
            name=info.name,
            document=identity.parent_of(info) if info.role == UPDATES else "",
            cwd=identity.folder_of(info),
        )

    def read(self, reading: Reading) -> None:
        """Give the events of one record."""
        state = reading.state
        said = reading.record.value
        if state.role == SYSTEM_PROMPT and isinstance(said, str):
            give_instructions(reading, said, "system_prompt")
            return
        read = READERS.get(state.role)
        if read is None or not isinstance(said, dict):
            read_odd(reading)
            return
        read(reading)
        if state.role == UPDATES and not state.is_started:
            reading.set(is_started=True)
            start = SessionStart(cwd=state.cwd, model=reading.now("model"), parent_session=state.document)
            reading.add(start, native_id="start")
            reading.events.insert(0, reading.events.pop())
