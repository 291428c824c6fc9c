"""DeepSeek Harness: one record in, its events out. Pure, and never raises on content.

A record is a header, an event `{type, seq, time, data}`, or a row of packed pieces of a stream. What each becomes is in
`records`, `messages` and `stream`; traps are in README.md beside this file.
"""

from __future__ import annotations

from urllib.parse import unquote

import msgspec

from recollect.agents.dsh.declare import FACTS, LOG, LOG_ZSTD
from recollect.agents.dsh.records import read_record
from recollect.agents.dsh.state import DshState, Reading
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.model.records import SourceInfo

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class DshAdapter(KitAdapter[DshState]):
    """The adapter of DeepSeek Harness."""

    facts = FACTS
    state_type = DshState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a header with a format version and a time of creation in milliseconds."""
        name = path.rsplit("/", 1)[-1]
        if head.startswith(_ZSTD_MAGIC):
            return LOG_ZSTD if name.startswith("session.") and name.endswith(".jsonl.zstd") else None
        value = mapping(_header(head))
        is_header = value.get("type") == "session" and isinstance(value.get("createdAt"), int)
        return LOG if is_header and isinstance(value.get("version"), int) and text(value.get("id")) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: what the header says, else the folder's name, which is the id encoded."""
        told = text(mapping(_header(head)).get("id"))
        folders = info.path.split("/")[:-1]
        return told or (unquote(folders[-1]) if folders else "") or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """Give the events of one record."""
        if isinstance(reading.record.value, dict):
            read_record(reading)
        else:
            read_odd(reading)


def _header(head: bytes) -> object:
    try:
        return msgspec.json.decode(head.partition(b"\n")[0])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
