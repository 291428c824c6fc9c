"""The adapter of the family; each agent of it names its facts, and how its logs are told from its relatives'."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.cline.api import read_message
from recollect.agents.kit.cline.sidecars import read_context, read_envelope, read_item, read_metadata, read_session
from recollect.agents.kit.cline.state import ClineReading, ClineState
from recollect.agents.kit.cline.ui import read_row
from recollect.model.payloads import Compaction, Payload, Unknown, UserMessage
from recollect.model.records import SourceInfo

_TASK_ROLES = frozenset(("ui", "api", "item", "metadata", "context"))
_SDK_SUFFIX = re.compile(r"\.(?:messages|compaction)$")
_HEAD_SESSION = re.compile(rb'"sessionId" ?: ?"([^"\\]{1,200})"')
_UI = re.compile(rb'\s*\[\s*\{[^{}]{0,2000}?"(?:say|ask)" ?: ?"(?:task|text|api_req_started|followup)"', re.S)
_API = re.compile(rb'\s*\[\s*\{\s*"role" ?: ?"user"', re.S)
_API_TAGS = (b"<task>", b"<user_message>", b"<environment_details>")
_SDK_KEYS = (b'"agent"', b'"sessionId"', b'"updated_at"', b'"messages"')
INDEX_SESSION = "taskHistory"


class ClineFamily(KitAdapter[ClineState]):
    """Reads the tasks of an extension of the family, and the SDK's sessions where it has them."""

    state_type = ClineState
    counts_cached_input: ClassVar[bool] = False
    """Whether `tokensIn` of this agent's newer versions includes the cached tokens."""
    marks: ClassVar[tuple[bytes, ...]] = ()
    """What only this agent of the family writes into its UI log; empty for the one that takes what has no marks."""
    foreign_marks: ClassVar[tuple[bytes, ...]] = ()
    """What its relatives write."""

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`."""
        del path
        if any(mark in head for mark in self.foreign_marks) or (
            self.marks and not any(mark in head for mark in self.marks)
        ):
            return None
        if _UI.match(head):
            return "ui"
        if _API.match(head) and any(tag in head for tag in _API_TAGS):
            return "api"
        is_sdk = head.lstrip().startswith(b"{") and all(key in head for key in _SDK_KEYS)
        return "sdk" if is_sdk and any(p.role == "sdk" for p in self.facts.places) else None

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: a task keeps its id in every editor and folder that it is moved to."""
        segments = info.path.split("/")
        if info.role in _TASK_ROLES and len(segments) > 1:
            return "/".join(segments[-2:])
        return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the task's folder, or the SDK's session."""
        folder = info.path.split("/")[-2] if "/" in info.path else ""
        if info.role == "index":
            return INDEX_SESSION
        if info.role in _TASK_ROLES:
            return folder or first_line_name(head)
        if info.document:
            return info.document
        return _sdk_session(info, head, folder)

    def begin(self, info: SourceInfo) -> ClineState:
        """See `Adapter.begin`."""
        segments = info.path.split("/")
        folder = segments[-2] if len(segments) > 1 else ""
        is_sdk = info.role in ("sdk", "sdk_context")
        return ClineState(
            session=info.session,
            role=info.role,
            name=info.name,
            document=info.document,
            counts_cached_input=self.counts_cached_input,
            parent=folder if is_sdk and folder != info.session else "",
        )

    def read(self, reading: ClineReading) -> None:
        """Give the events of one record, by the role of its source."""
        role = reading.state.role
        reader = _READERS.get(role)
        if reader is not None and (isinstance(reading.record.value, dict) or role == "context"):
            reader(reading)
        else:
            read_odd(reading)


def _sdk_session(info: SourceInfo, head: bytes, folder: str) -> str:
    stem = _SDK_SUFFIX.sub("", info.stem)
    if not folder or stem == folder:
        found = _HEAD_SESSION.search(head) if not folder else None
        return found[1].decode("utf-8", "replace") if found else stem or first_line_name(head)
    if info.role == "manifest":
        return stem
    named = _HEAD_SESSION.search(head)
    own = named[1].decode("utf-8", "replace") if named else ""
    return own if own and own != folder else f"{folder}__{stem}"


def _read_log(reading: ClineReading) -> None:
    """Read a record of either log: very old versions kept what was said in a file of another name."""
    value = reading.value
    if "role" in value and "say" not in value and "ask" not in value:
        read_message(reading)
    elif reading.state.role == "api" and value.get("type") in ("ask", "say"):
        read_row(reading)
    elif reading.state.role == "api":
        _read_api(reading)
    else:
        read_row(reading)


def _read_api(reading: ClineReading) -> None:
    """Read a message, or all messages of a document that holds them (Roo's version 2)."""
    messages = reading.value.get("messages")
    if not isinstance(messages, list) or "version" not in reading.value:
        read_message(reading)
        return
    document = reading.value
    for message in messages:
        reading.value = message if isinstance(message, dict) else {}
        if reading.value:
            read_message(reading)
        else:
            reading.wrong("messages")
    reading.value = document
    reading.extra(document, frozenset(("version", "messages")), "api_document", native_id="document")


def _read_sdk(reading: ClineReading) -> None:
    if reading.at == "messages":
        read_message(reading)
        if reading.state.role == "sdk_context":
            reading.events = [draft for draft in reading.events if _is_of_context(draft.payload)]
    else:
        read_envelope(reading)


def _is_of_context(payload: Payload) -> bool:
    """Say whether a message of the compacted context says more than the one that it is a copy of."""
    return isinstance(payload, Compaction | Unknown) or (
        isinstance(payload, UserMessage) and payload.origin == "injected"
    )


_READERS: dict[str, Callable[[ClineReading], None]] = {
    "ui": _read_log,
    "api": _read_log,
    "item": read_item,
    "index": read_item,
    "metadata": read_metadata,
    "context": read_context,
    "sdk": _read_sdk,
    "sdk_context": _read_sdk,
    "manifest": read_session,
    "sessions_db": read_session,
}
