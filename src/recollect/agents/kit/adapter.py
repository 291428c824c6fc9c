"""What most adapters do alike; a new one names its facts, its state and how it reads one record."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.capabilities import AgentFacts
from recollect.model.payloads import Unknown
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.model.text import flatten

S = TypeVar("S", bound=BaseState)
_DIGITS = 16


class KitAdapter(Generic[S]):
    """An adapter whose parser works on a `Reading`. Subclasses set `facts` and `state_type` and define `read`."""

    facts: ClassVar[AgentFacts]
    state_type: type[S]

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Without a fingerprint of its own, an agent's files are known by their place only."""
        del path, head
        return None

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: the path below the root, and the document in it."""
        return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the document, else the file's stem, else a hash of its first line."""
        return info.document or info.stem or first_line_name(head)

    def begin(self, info: SourceInfo) -> S:
        """See `Adapter.begin`."""
        return self.state_type(session=info.session, role=info.role, name=info.name, document=info.document)

    def parse(self, record: Record, state: S) -> Parsed[S]:
        """See `Adapter.parse`."""
        reading = Reading(record, state)
        self.read(reading)
        return reading.finish()

    def read(self, reading: Reading[S]) -> None:
        """Give the events of one record."""
        read_odd(reading)


def read_odd(reading: Reading[Any]) -> None:
    """Give a record that is not what its source should hold: the type of its value and all its text."""
    value = reading.record.value
    reading.wrong("record")
    reading.add(Unknown(type(value).__name__, value if isinstance(value, str) else flatten(value)))


def read_row(reading: Reading[S], readers: Mapping[str, Callable[[Reading[S]], None]]) -> None:
    """Give the events of one row by the table it is of; one of another table is unknown."""
    if not isinstance(reading.record.value, dict):
        read_odd(reading)
        return
    read = readers.get(reading.at)
    if read is None:
        reading.unknown(reading.at or "row")
    else:
        read(reading)


def first_line_name(head: bytes) -> str:
    """Return a name for a session whose agent gives none, made of its first line: `file-<16 hex>`."""
    line = head.lstrip().partition(b"\n")[0]
    return f"file-{hashlib.sha256(line).hexdigest()[:_DIGITS]}"
