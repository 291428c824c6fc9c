"""What the memory covers: sessions by agent and of the caller's repository, how fresh they are, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.memory import Memory
from recollect.serve.mcp.answering.lines import when
from recollect.serve.mcp.answering.pages import Frame, fit
from recollect.serve.mcp.answering.scopes import Caller, repository_of
from recollect.units import plural


def status(memory: Memory, caller: Caller, notes: tuple[str, ...], *, max_bytes: int) -> str:
    """Return the text of the answer, in at most so many bytes. notes: what the look for changes said.

    Raises StoreError.
    """
    stats = memory.stats()
    sessions, events = plural(stats.sessions, "session"), plural(stats.events, "event")
    heading = f"The memory holds {sessions} and {events} of {plural(len(stats.agents), 'agent')}"
    if stats.first_event is not None:
        heading += f", from {when(stats.first_event)} to {when(stats.last_event)}"
    lines = list(_lines(memory, caller))
    agents = sorted(stats.agents, key=lambda agent: -agent.events)
    lines += [f"{a.agent}: {plural(a.sessions, 'session')}, {plural(a.events, 'event')}" for a in agents]
    missing = (*notes, *memory.recall.lagging()) or ("nothing is known to be missing",)
    return fit(lines, Frame(f"{heading}.", missing), max_bytes=max_bytes).text


def _lines(memory: Memory, caller: Caller) -> Iterator[str]:
    confines = repository_of(memory, caller)
    if confines.filters:
        where = memory.recall.confined(confines.filters).where
        here = memory.sessions(where=where, limit=1, sync=False, folders=caller.folders)
        newest = f", the newest of {when(here.sessions[0].ended_at)}" if here.sessions else ""
        yield f"{confines.words}, where you work: {plural(here.total, 'session')}{newest}"
    if memory.live.is_kept():
        yield "kept fresh by a daemon"
    else:
        yield "kept fresh by answers: each looks for changes first, no daemon runs"
    yield from _by_meaning(memory)
    if not memory.config.distill.enabled:
        yield "analysis for decisions is off"
        return
    health = memory.distilling.health()
    older = f" ({health.unfit:,} by older rules)" if health.unfit else ""
    waiting = f"{health.waiting:,} waiting, {health.under_way:,} under way"
    yield f"analysed for decisions: {plural(health.analysed, 'session')}{older}; {waiting}"


def _by_meaning(memory: Memory) -> Iterator[str]:
    vectors = memory.embedding.stats()
    if vectors is None:
        yield "search by meaning is off: only words are matched"
        return
    if vectors.problem:
        yield f"search by meaning does not work: {vectors.problem}"
        return
    yield f"search by meaning covers {vectors.covered:,} of {plural(vectors.total, 'event')} of talk"
    if vectors.sessions_total:
        yield f"the contextual model has read {vectors.sessions_read:,} of {plural(vectors.sessions_total, 'session')}"
