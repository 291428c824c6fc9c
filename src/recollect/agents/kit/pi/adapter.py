"""The adapter that pi and its relatives share: whose a file is, and how its entries are read."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.pi.entries import read_entry, session_of_path
from recollect.agents.kit.pi.state import PiReading, PiState
from recollect.model.records import Parsed, Record, SourceInfo

_ENTRIES = frozenset(
    (
        "message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom", "custom_message",
        "label", "session_info", "child_usage_attributed", "service_tier_change", "session_state", "git_state",
        "agent_status",
    )
)  # fmt: skip
_HEAD_ID = re.compile(rb'\A\s*\{[^{}]{0,400}"id" ?: ?"([^"\\]{1,200})"')
_MAX_LINES = 4
SUBAGENT = "subagent"


class PiFamilyAdapter(KitAdapter[PiState]):
    """Reads the session files of pi; subclasses set `facts` and say which loose files are theirs."""

    state_type = PiState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the header of a session, and nothing after it that pi doesn't write."""
        lines = [_decoded(line) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES] if line.strip()]
        if not lines or not _is_header(lines[0]) or not self.is_own(path, head):
            return None
        others = [line for line in lines[1:] if line is not None]
        if any(not isinstance(line, dict) or text(line.get("type")) not in _ENTRIES for line in others):
            return None
        return "session"

    def is_own(self, path: str, head: bytes) -> bool:
        """Say whether a session of the family is this agent's: their files look alike."""
        del path, head
        return True

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the header's id, else what the file is called after."""
        header = mapping(_decoded(head.lstrip().partition(b"\n")[0]))
        found = _HEAD_ID.match(head) if not header else None
        named = text(header.get("id")) or (found[1].decode("utf-8", "replace") if found else "")
        named = named or session_of_path(info.name) or first_line_name(head)
        parent = parent_of(info)
        return f"{parent}/{info.stem}" if parent == named else named

    def begin(self, info: SourceInfo) -> PiState:
        """See `Adapter.begin`."""
        return PiState(session=info.session, role=info.role, name=info.name, parent_session=parent_of(info))

    def parse(self, record: Record, state: PiState) -> Parsed[PiState]:
        """See `Adapter.parse`."""
        reading = PiReading(record, state)
        read_entry(reading)
        return reading.finish()


def parent_of(info: SourceInfo) -> str:
    """Return the session whose subagent wrote a file, told by the folder it lies in; "" for a session of its own.

    Oh My Pi: `sessions/<project>/<timestamp>_<id>/<agent>.jsonl`. Prime: `session-artifacts/<id>/**/sub-*/*.jsonl`.
    """
    if info.role != SUBAGENT:
        return ""
    folders = info.path.split("/")[:-1]
    if "session-artifacts" in folders:
        rest = [f for f in folders[folders.index("session-artifacts") + 1 :] if not f.startswith("sub-")]
        return session_of_path(rest[-1]) if rest else ""
    return session_of_path(folders[-1]) if folders else ""


def _is_header(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") == "session"
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and ("cwd" in value or value.get("version") in (1, 2, 3))
        and "sessionId" not in value
    )


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
