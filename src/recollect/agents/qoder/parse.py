"""Qoder CLI: Claude Code's records, and a sidecar with title and lineage. Pure, and never raises on content."""

from __future__ import annotations

from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.claude_like import RelativeState, read_record
from recollect.agents.kit.values import word_set
from recollect.agents.qoder.declare import FACTS
from recollect.model.payloads import Lifecycle, SessionStart
from recollect.model.records import SourceInfo

_KEPT = frozenset(("agent-setting", "summary", "file-history-snapshot", "queue-operation"))
_META_SUFFIX = "-session"
_META_FIELDS = word_set("id title parent_session_id fork_from working_dir created_at updated_at message_count")


class QoderState(RelativeState, frozen=True):
    """See `RelativeState`."""


class QoderAdapter(KitAdapter[QoderState]):
    """The adapter of Qoder CLI. Its records look like Claude Code's, so its files are known by their place only."""

    facts = FACTS
    state_type = QoderState

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`. A subagent is named after the session in whose folder it lies, and its file."""
        if info.role == "meta":
            return info.stem.removesuffix(_META_SUFFIX) or first_line_name(head)
        parent = _parent_of(info)
        name = info.stem or first_line_name(head)
        return f"{parent}/{name}" if parent else name

    def begin(self, info: SourceInfo) -> QoderState:
        """See `Adapter.begin`."""
        return QoderState(
            session=info.session,
            role=info.role,
            name=info.name,
            document=info.document,
            parent=_parent_of(info)[:MAX_NAME_CHARS],
        )

    def read(self, reading: Reading[QoderState]) -> None:
        """Give the events of one record."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif reading.state.role == "meta":
            _read_meta(reading)
        else:
            read_record(reading, _KEPT)


def _parent_of(info: SourceInfo) -> str:
    steps = info.path.split("/")
    return steps[-3] if info.role == "subagent" and len(steps) > 2 and steps[-2] == "subagents" else ""


def _read_meta(reading: Reading[QoderState]) -> None:
    """Give what stands beside a transcript: its title, its folder, and the sessions it comes from."""
    value = reading.value
    reading.date(value.get("created_at"), "created_at")
    reading.add(
        SessionStart(
            cwd=reading.text(value, "working_dir"),
            forked_from=reading.text(value, "fork_from"),
            parent_session=reading.text(value, "parent_session_id"),
        ),
        native_id="meta",
    )
    title = reading.text(value, "title")
    if title:
        reading.add(Lifecycle("title", text=title, title=title), native_id="meta/title")
    reading.extra(value, _META_FIELDS, "meta", native_id="meta")
