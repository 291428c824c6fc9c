"""The adapter of CodeWhale: the pieces of a session's document in, their events out. Pure; never raises on content.

A document comes in pieces: members, each message, each entry of the journal, each artifact (see `Place.split`). A
document that could not be split is read as one. Traps are in README.md beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.codewhale import declare
from recollect.agents.codewhale.document import read_artifact, read_members, read_receipt
from recollect.agents.codewhale.journal import read_entry, read_journal
from recollect.agents.codewhale.messages import read_message
from recollect.agents.codewhale.state import MAX_ENTRIES, Reading, WhaleState
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.naming import content_sha256
from recollect.model.payloads import ToolResult
from recollect.model.records import SourceInfo

_ID = re.compile(rb'"metadata"\s*:\s*\{\s*"id"\s*:\s*"([A-Za-z0-9_-]{1,200})"')
_MARKS = (b'"message_count"', b'"total_tokens"', b'"workspace"', b'"updated_at"')
_DOCUMENTS = (declare.SESSION, declare.CHECKPOINT)


class WhaleAdapter(KitAdapter[WhaleState]):
    """The adapter of CodeWhale."""

    facts = declare.FACTS
    state_type = WhaleState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the metadata of a session's document, which stand at its beginning."""
        del path
        is_session = head.lstrip()[:1] == b"{" and b'"schema_version"' in head and _ID.search(head) is not None
        return declare.SESSION if is_session and all(mark in head for mark in _MARKS) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the id in the metadata, else the file's or the folder's name."""
        if info.role not in _DOCUMENTS:
            parts = info.path.split("/")
            return next((parts[i + 1] for i in range(len(parts) - 2) if parts[i] == "sessions"), "") or info.path
        found = _ID.search(head)
        if found is not None:
            return found[1].decode("ascii")
        return _written_id(head) or info.stem or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """Give the events of one piece."""
        role, value = reading.state.role, reading.record.value
        if role == declare.ARTIFACT and isinstance(value, str):
            _read_artifact_text(reading, value)
            return
        if not isinstance(value, dict):
            read_odd(reading)
        elif role == declare.APPROVALS:
            read_receipt(reading, value)
        elif role in _DOCUMENTS:
            _read_piece(reading, value)
        else:
            read_odd(reading)


def _read_piece(reading: Reading, value: dict[str, Any]) -> None:
    read = _PIECES.get(reading.at)
    if read is not None:
        read(reading, value)
        return
    if reading.at:
        reading.unknown(reading.at, native_id=f"piece:{content_sha256(value)}")
        return
    read_members(reading, value)
    for at, items in (
        ("messages", value.get("messages")),
        ("journal.entries", mapping(value.get("journal")).get("entries")),
        ("journal", [value["journal"]] if isinstance(value.get("journal"), dict) else None),
        ("artifacts", value.get("artifacts")),
    ):
        _read_all(reading, at, items)


def _read_all(reading: Reading, at: str, items: object) -> None:
    """Read the elements of an array of a document that was not split."""
    if items is None:
        return
    if not isinstance(items, list):
        reading.wrong(at)
        return
    for item in items:
        if isinstance(item, dict):
            _PIECES[at](reading, item)
        else:
            reading.wrong(at)
            reading.unknown(at, item if item is not None else "", native_id=f"piece:{content_sha256(at, item)}")


def _read_message_at(reading: Reading, message: dict[str, Any]) -> None:
    """Give a message, at a time between the session's start and its last save by its place among the others."""
    index: int = reading.now("index")
    created, updated = reading.now("created"), reading.now("updated")
    if created is not None and updated is not None:
        is_copy = index < reading.now("shared") and not reading.now("is_compacted")
        steps = max(reading.now("count") - 1, index, 1)
        reading.infer(created if is_copy else created + max(0, updated - created) * index // steps)
    if not index:
        reading.set(history=reading.newest())
    reading.set(index=index + 1, is_again=False, first="", has_new=False)
    read_message(reading, message)
    reading.set(ends=(*reading.now("ends"), (reading.now("first"), reading.newest()))[-MAX_ENTRIES:])


def _read_artifact_text(reading: Reading, said: str) -> None:
    """Give the whole output of a tool that the session shows only the beginning of."""
    name = reading.state.name
    call_id = name.removesuffix(".txt").removeprefix("art_")
    native_id = f"artifact_text:{content_sha256(reading.state.session, name)}"
    result = ToolResult(call_id, text=said, structured={"spilled_to": name})
    reading.add(result, "tool", native_id=native_id)


def _written_id(head: bytes) -> str:
    try:
        value = msgspec.json.decode(head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return text(mapping(mapping(value).get("metadata")).get("id"))


_PIECES: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "messages": _read_message_at,
    "journal.entries": read_entry,
    "journal": read_journal,
    "artifacts": read_artifact,
}
"""Which function reads the pieces that stand where."""
