"""goose: one row or line in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.goose.content import Visibility, name_of, read_content
from recollect.agents.goose.declare import FACTS
from recollect.agents.goose.sessions import SESSION_FIELDS, add_totals, read_ledger, read_session
from recollect.agents.goose.state import GooseState, Reading
from recollect.agents.kit.access import mapping
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.model.payloads import Lifecycle, SessionStart

_ROW_FIELDS = frozenset(
    "id message_id session_id role content_json created_timestamp timestamp tokens metadata_json".split()
)
_LINE_FIELDS = frozenset("id role created content metadata".split())
_METADATA_FIELDS = frozenset(("userVisible", "agentVisible", "user_visible", "agent_visible"))
_ROLES = ("user", "assistant")


class GooseAdapter(KitAdapter[GooseState]):
    """The adapter of goose."""

    facts = FACTS
    state_type = GooseState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the first line of an older session, which has a folder and no role."""
        del path
        line = head.lstrip().partition(b"\n")[0]
        if not line.startswith(b"{") or b'"working_dir"' not in line:
            return None
        try:
            facts = mapping(msgspec.json.decode(line))
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        is_facts = isinstance(facts.get("working_dir"), str) and {"description", "message_count"} <= facts.keys()
        return "lines" if is_facts and not {"role", "type"} & facts.keys() else None

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        value = reading.record.value
        if not isinstance(value, dict):
            read_odd(reading)
        elif reading.state.role == "messages":
            _read_row(reading)
        elif reading.state.role == "session":
            _read_facts(reading)
        elif "role" in value:
            _read_line(reading)
        else:
            _read_header(reading)


def _read_facts(reading: Reading) -> None:
    if reading.at == "usage_ledger":
        read_ledger(reading)
    else:
        read_session(reading)


def _read_row(reading: Reading) -> None:
    """Give a row of `messages`."""
    row = reading.value
    reading.date(row.get("created_timestamp"), "created_timestamp")
    content = row.get("content_json")
    name = name_of(reading, row.get("message_id"), row.get("role"), row.get("created_timestamp"), content)
    _read_message(reading, content, mapping(row.get("metadata_json")), name)
    reading.extra(row, _ROW_FIELDS, "messages", native_id=name)


def _read_line(reading: Reading) -> None:
    """Give a message of an older session file."""
    line = reading.value
    reading.date(line.get("created"), "created")
    content = line.get("content")
    name = name_of(reading, line.get("id"), line.get("role"), line.get("created"), content)
    _read_message(reading, content, mapping(line.get("metadata")), name)
    reading.extra(line, _LINE_FIELDS, "message", native_id=name)


def _read_message(reading: Reading, content: Any, metadata: dict[str, Any], name: str) -> None:
    role = reading.value.get("role")
    if role not in _ROLES:
        reading.unknown(f"message.{role}" if isinstance(role, str) else "message", native_id=name)
        return
    before = len(reading.events)
    read_content(reading, role, content, Visibility(metadata), name)
    reading.extra(metadata, _METADATA_FIELDS, "metadata", native_id=name)
    if len(reading.events) == before:
        reading.kept("message", native_id=name)


def _read_header(reading: Reading) -> None:
    """Give the first line of an older session file, which is written again whenever the session goes on."""
    facts = reading.value
    if "working_dir" not in facts and "description" not in facts:
        reading.unknown("line")
        return
    reading.date(facts.get("created_at"), "created_at")
    parent = reading.text(facts, "parent_session_id")
    start = SessionStart(cwd=reading.text(facts, "working_dir"), forked_from=parent)
    reading.add(start, native_id="start")
    title = reading.text(facts, "description")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    add_totals(reading, facts, "")
    reading.extra(facts, SESSION_FIELDS, "session", native_id="start")
