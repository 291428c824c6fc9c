"""Whose a source is, and the name of its session, which is the same in all three stores.

Evidence: format notes: Cursor, "Identity / dedupe".
"""

from __future__ import annotations

import msgspec

from recollect.agents.cursor.declare import CLI_META, CLI_STORE, HISTORY, SUBAGENT, TRANSCRIPT, TRANSCRIPT_TEXT
from recollect.agents.kit.adapter import first_line_name
from recollect.model.records import SourceInfo

_STORES = (CLI_STORE, CLI_META)
_ENVELOPE = frozenset(("role", "message", "timestamp", "model", "metadata"))
_CUT = (b'{"role":"user","message":{"content":', b'{"role":"assistant","message":{"content":')
_TEXT = b"<user_query>"


def recognise(path: str, head: bytes) -> str | None:
    """Return the role of a transcript told by its first lines, or None.

    A line is an envelope of role and message, and the message has nothing but its content: other agents that write such
    messages say a type, a session or an id beside them.
    """
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    first, ended, _ = start.partition(b"\n")
    if first.rstrip() == b"user:":
        return TRANSCRIPT_TEXT if start[len(first) :].lstrip().startswith((_TEXT, b"<timestamp>")) else None
    if not _is_message(first, is_cut=not ended):
        return None
    return SUBAGENT if "subagents" in path.replace("\\", "/").split("/")[:-1] else TRANSCRIPT


def _is_message(line: bytes, *, is_cut: bool) -> bool:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return is_cut and line.replace(b" ", b"")[: len(_CUT[1])].startswith(_CUT)
    if not isinstance(record, dict) or record.get("role") not in ("user", "assistant"):
        return False
    message = record.get("message")
    return record.keys() <= _ENVELOPE and isinstance(message, dict) and message.keys() == {"content"}


def session_of(info: SourceInfo, head: bytes) -> str:
    """Return the composer's id, the folder of the command line's store, or the transcript's name: all one id."""
    folders = info.path.split("/")
    if info.document:
        return info.document
    if info.role in _STORES and len(folders) > 1:
        return folders[-2]
    if info.role == HISTORY:
        return "prompt-history"
    return info.stem or first_line_name(head)


def parent_of(info: SourceInfo) -> str:
    """Return the session whose subagent wrote a transcript: the folder around `subagents`."""
    folders = info.path.split("/")
    if info.role != SUBAGENT or len(folders) < 3 or folders[-2] != "subagents":
        return ""
    return "" if folders[-3] == info.session else folders[-3]


def key_of(info: SourceInfo) -> str:
    """Return what names a source: of one database two places read different tables."""
    if info.role in _STORES:
        return f"{info.path}#{info.role}"
    return info.place
