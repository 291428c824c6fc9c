"""What the daemon answers to hooks, to reads that wait for it, and to who asks how it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

import msgspec

from recollect import wire
from recollect.hook.answers import form_of, shortened, takes_context
from recollect.memory import ContextBlock, ContextEvent, ContextFacet, Memory
from recollect.model.ids import session_uid
from recollect.serve.daemon.sockets import Answer

if TYPE_CHECKING:
    from recollect.memory import Keeper, LiveStatus

_EVENTS = ("start", "compact", "prompt")


class Answers:
    """The answers of one daemon. Safe from many threads."""

    def __init__(self, memory: Memory, keeper: Keeper, status: Callable[[], LiveStatus]) -> None:
        self._memory = memory
        self._keeper = keeper
        self._status = status

    def by_kind(self) -> Mapping[str, Answer]:
        """Return what answers each kind of question."""
        return {
            wire.KIND_CONTEXT: self._context,
            wire.KIND_FLUSH: self._flush,
            wire.KIND_ENDED: self._ended,
            wire.KIND_SETTLE: self._settle,
            wire.KIND_STATUS: self._tell_status,
        }

    def _context(self, question: Mapping[str, str]) -> str:
        agent, event = question.get("agent", ""), question.get("event", "")
        if event not in _EVENTS or not takes_context(agent, event):
            return ""
        if event == "prompt" and not self._memory.config.context.per_prompt:
            return ""
        began = time.perf_counter_ns()
        native = question.get("session", "")
        session = session_uid(agent, native) if native else ""
        facet = ContextFacet.of(self._memory)
        block = facet.block(
            cwd=question.get("cwd", ""),
            event=cast(ContextEvent, event),
            session=session,
            prompt=question.get("prompt", ""),
            budget=self._memory.config.context.budget_tokens,
            agent=agent,
        )
        shown = _within(block, form_of(agent).max_chars)
        self._keeper.answered_hook()
        took_us = (time.perf_counter_ns() - began) // 1000
        facet.record(shown, agent=agent, event=event, session=session, took_us=took_us)
        return shown.text

    def _flush(self, question: Mapping[str, str]) -> str:
        self._keeper.notice_agent(question.get("agent", ""))
        self._keeper.answered_hook()
        return ""

    def _ended(self, question: Mapping[str, str]) -> str:
        self._keeper.notice_agent(question.get("agent", ""), has_ended=True)
        self._keeper.answered_hook()
        return ""

    def _settle(self, _question: Mapping[str, str]) -> str:
        return "\n".join(self._keeper.settle())

    def _tell_status(self, _question: Mapping[str, str]) -> str:
        return msgspec.json.encode(self._status()).decode()


def _within(block: ContextBlock, max_chars: int) -> ContextBlock:
    """Return a block as the agent will see it: what its answer's limit of characters cuts off is not logged."""
    if len(block.text) <= max_chars:
        return block
    text = shortened(block.text, max_chars)
    kept = tuple(citation for citation in block.citations if f"[{citation}]" in text)
    return msgspec.structs.replace(block, text=text, citations=kept)
