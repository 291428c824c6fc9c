"""Amp: one message of a thread in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re

from recollect.agents.amp.declare import FACTS
from recollect.agents.amp.messages import read_message
from recollect.agents.amp.state import AmpReading, AmpState
from recollect.agents.amp.thread import read_thread
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.model.records import SourceInfo

_THREAD_ID = re.compile(rb'"id" ?: ?"(T-[0-9A-Za-z-]{1,100})"')
_START = re.compile(rb'\s*\{\s*"(?:v|id|created)" ?:')


class AmpAdapter(KitAdapter[AmpState]):
    """The adapter of Amp."""

    facts = FACTS
    state_type = AmpState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a document that begins with a thread's version, id and time."""
        del path
        if not _START.match(head) or not _THREAD_ID.search(head[:2_000]):
            return None
        return "thread" if b'"created"' in head and b'"messages"' in head else None

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: a thread keeps its id."""
        return f"threads/{info.name}"

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the id in the file's name, else the one inside."""
        if info.stem.startswith("T-"):
            return info.stem
        found = _THREAD_ID.search(head)
        return found[1].decode("ascii", "replace") if found else info.stem or first_line_name(head)

    def read(self, reading: AmpReading) -> None:
        """Give the events of one record."""
        if reading.at == "messages":
            read_message(reading)
        else:
            read_thread(reading)
