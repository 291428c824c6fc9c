"""Copilot CLI: one record in, its events out. Pure, and never raises on content.

The stream of session events is read by `kit.copilot`, which VS Code's transcripts share; here are the files around it.
"""

from __future__ import annotations

import re

import msgspec

from recollect.agents.copilot.declare import EVENTS, FACTS, HISTORY
from recollect.agents.copilot.history import HistoryState, read_history
from recollect.agents.copilot.sidecars import TEXTS
from recollect.agents.kit.access import mapping
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.copilot.events import read_event, starts_stream
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Json
from recollect.model.records import SourceInfo

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_CUT_START = re.compile(rb'\s*\{\s*"type"\s*:\s*"session\.start"\s*,\s*"data"\s*:\s*\{')
_CUT_HISTORY = re.compile(rb'\s*\{\s*"sessionId"\s*:\s*"[^"\\]+"\s*,\s*"startTime"\s*:')


class CopilotAdapter(KitAdapter[HistoryState]):
    """Reads the session folders of Copilot CLI and the files of older builds."""

    facts = FACTS
    state_type = HistoryState

    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a source by its content: an event stream, or a document with chat messages.

        VS Code writes the same stream; only its first event names `vscodeVersion`.
        """
        del path
        line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
        first = _decoded(line)
        if starts_stream(first):
            return None if "vscodeVersion" in mapping(mapping(first).get("data")) else EVENTS
        if first is None and _CUT_START.match(line) and b'"copilot-agent"' in line and b'"vscodeVersion"' not in line:
            return EVENTS
        whole = mapping(_decoded(head))
        if isinstance(whole.get("chatMessages"), list) and isinstance(whole.get("sessionId"), str):
            return HISTORY
        return HISTORY if _CUT_HISTORY.match(head) and b'"chatMessages"' in head else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the session's id: its folder, else what the first event names, else the file's name."""
        parts = info.path.split("/")
        if len(parts) > 2 and parts[-2] == "checkpoints" and parts[-3]:
            return parts[-3]
        if len(parts) > 1 and parts[-2] and (info.name == "events.jsonl" or info.role in TEXTS):
            return parts[-2]
        named = _SESSION.search(head) if info.role == HISTORY else _SESSION.search(head.partition(b"\n")[0])
        if named is not None:
            return named[1].decode("utf-8", "replace")
        in_name = _UUID.search(info.stem)
        return in_name[0] if in_name is not None else info.stem or first_line_name(head)

    def read(self, reading: Reading[HistoryState]) -> None:
        """Give the events of one record."""
        role = reading.state.role
        read_text = TEXTS.get(role)
        if role == HISTORY:
            read_history(reading)
        elif read_text is None:
            read_event(reading)
        elif isinstance(reading.record.value, str):
            read_text(reading, reading.record.value)
        else:
            read_odd(reading)


def _decoded(data: bytes) -> Json:
    """Return decoded JSON, None for what is none, or is cut."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
