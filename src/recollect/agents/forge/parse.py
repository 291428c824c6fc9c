"""Forge: one row, which is a whole conversation, in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from recollect.agents.facts import facts_of
from recollect.agents.forge.messages import Conversation
from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading, read_odd
from recollect.agents.kit.values import mapping
from recollect.model.payloads import Lifecycle, SessionStart

_ROW_FIELDS = frozenset(
    "conversation_id title workspace_id context created_at updated_at metrics todos cmd_type".split()
)
_CONTEXT_FIELDS = frozenset(
    """conversation_id messages tools tool_choice max_tokens temperature top_p top_k reasoning stream
    response_format initiator""".split()
)
_METRICS_FIELDS = frozenset("started_at files_changed files_accessed todos".split())


class ForgeAdapter(KitAdapter[BaseState]):
    """The adapter of Forge."""

    facts = facts_of("forge")
    state_type = BaseState

    def read(self, reading: Reading[BaseState]) -> None:
        """See `KitAdapter.read`: the session's facts, then its messages in order."""
        row = reading.value
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        metrics = mapping(row.get("metrics"))
        reading.date(row.get("created_at") or metrics.get("started_at"), "created_at")
        context = reading.mapping(row, "context")
        messages = reading.items(context, "messages")
        conversation = Conversation(reading)
        reading.add(SessionStart(), native_id="start")
        reading.entitle(reading.text(row, "title"))
        reading.infer(reading.ts)
        for entry in messages:
            conversation.read(entry)
        facts = {k: metrics[k] for k in ("files_changed", "files_accessed") if metrics.get(k)}
        if facts:
            reading.add(Lifecycle("files", detail=facts), native_id="files")
        todos = row.get("todos") or metrics.get("todos")
        if todos:
            reading.add(Lifecycle("todo", detail=todos), native_id="todos")
        reading.extra(row, _ROW_FIELDS, "conversations", native_id="start")
        reading.extra(context, _CONTEXT_FIELDS, "context", native_id="context")
        reading.extra(metrics, _METRICS_FIELDS, "metrics", native_id="files")
