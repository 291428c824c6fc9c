"""Kiro: one record in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re

from recollect.agents.kiro.declare import FACTS
from recollect.agents.kiro.ide import read_chat, read_execution, read_index, read_item, read_session
from recollect.agents.kiro.lines import read_line, read_sidecar
from recollect.agents.kiro.rows import read_row
from recollect.agents.kiro.state import KiroReading, KiroState
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.model.records import SourceInfo

_LINE = re.compile(
    rb'\s*\{\s*(?:"version":\s*"?[^",]{0,20}"?,\s*)?"kind":\s*"(?:Prompt|AssistantMessage|ToolResults|Compaction)"'
)
_CHAT = re.compile(rb'"chat" ?: ?\[\s*\{\s*"role" ?: ?"(?:human|bot)"')
_CONVERSATION = re.compile(rb'conversation_id\\*" ?: ?\\*"([0-9A-Za-z-]{1,100})')
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEAD_SESSION = re.compile(rb'"sessionId" ?: ?"([^"\\]{1,200})"')


class KiroAdapter(KitAdapter[KiroState]):
    """The adapter of Kiro, CLI and IDE."""

    facts = FACTS
    state_type = KiroState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`."""
        del path
        if _LINE.match(head):
            return "cli"
        if _CHAT.search(head) and b'"executionId"' in head:
            return "chat"
        is_ide = head.lstrip().startswith(b"{") and b'"workspaceDirectory"' in head and b'"executionId"' in head
        return "ide" if is_ide and b'"history"' in head else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`."""
        folder = info.path.split("/")[-2] if "/" in info.path else ""
        if info.role == "conversation" and not _UUID.fullmatch(info.document):
            # The old table names a conversation by its folder only; the id stands in the value.
            found = _CONVERSATION.search(head)
            return found[1].decode("ascii", "replace") if found else info.document or first_line_name(head)
        if info.role == "chat":
            stem = info.name.removesuffix(".chat")
            return f"{folder}:{stem}" if folder else stem
        if info.role == "ide_index":
            return f"sessions:{folder}" if folder else "sessions"
        if info.role == "ide" and not folder:
            named = _HEAD_SESSION.search(head)
            return named[1].decode("utf-8", "replace") if named else info.stem or first_line_name(head)
        return info.document or info.stem or first_line_name(head)

    def begin(self, info: SourceInfo) -> KiroState:
        """See `Adapter.begin`."""
        segments = info.path.split("/")
        return KiroState(
            session=info.session,
            role=info.role,
            name=info.name,
            document=info.document,
            folder=segments[-2][:4096] if len(segments) > 1 else "",
        )

    def read(self, reading: KiroReading) -> None:
        """Give the events of one record."""
        role = reading.state.role
        if role == "cli":
            read_line(reading)
        elif role == "sidecar":
            read_sidecar(reading)
        elif role == "conversation":
            read_row(reading)
        elif role == "ide":
            (read_item if reading.at == "history" else read_session)(reading)
        elif role == "ide_index":
            read_index(reading)
        elif role == "chat":
            (read_chat if reading.at == "chat" else read_execution)(reading)
        else:
            read_odd(reading)
