"""`memory.retro`: gathers what a retrospective is made of, a few sessions at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from recollect.config import Config
from recollect.insights.retro.builder import Retrospective, SessionFacts, Span, Used
from recollect.insights.retro.decided import DecisionFacts
from recollect.insights.retro.report import PreviousPeriod, Retro
from recollect.model.events import Event
from recollect.model.insights.signals import SIGNAL_KINDS, Signal
from recollect.model.sessions import Session
from recollect.recall.decisions import DecisionQuestion
from recollect.store.insights import NodeFilter
from recollect.store.rows import EventFilter

if TYPE_CHECKING:
    from recollect.memory.insights.decisions import DecisionsFacet
    from recollect.model.usage import UsageReport
    from recollect.store.insights import InsightReader
    from recollect.store.reader import Reader
    from recollect.store.rows import UsageBy

_PAGE = 200
"""Sessions held at once."""


class OpenMemory(Protocol):
    """What a retrospective needs of an open memory."""

    config: Config

    def reader(self) -> Reader: ...
    def distilled(self) -> InsightReader: ...
    @property
    def decisions_facet(self) -> DecisionsFacet: ...


def make_retro(memory: OpenMemory, span: Span, *, notes: Sequence[str] = ()) -> Retro:
    """Return a span in retrospect, from what is stored and analysed. Takes nothing in."""
    where, decisions = EventFilter(repos=span.repos), _decisions(memory, span)
    told, waiting = _taken(memory, where, span)
    if waiting:
        notes = (*notes, f"not analysed yet: {waiting:,} (under way, or waiting for `recollect sync`)")
    return told.tell(
        _used(memory, where, span),
        decisions,
        _between(memory),
        previous=_previous(memory, where, span, decisions),
        notes=notes,
    )


def _taken(memory: OpenMemory, where: EventFilter, span: Span) -> tuple[Retrospective, int]:
    """Return the sessions of a span, counted, and how many of them are not analysed yet."""
    told, waiting = Retrospective(span, infra=memory.config.infra.tools), 0
    for page in _sessions(memory, where, span):
        for facts in _facts(memory.distilled(), page):
            waiting += facts.session.analyzed_at is None
            told.take(facts)
    return told, waiting


def _previous(
    memory: OpenMemory, where: EventFilter, span: Span, decisions: Sequence[DecisionFacts]
) -> PreviousPeriod | None:
    """Return the period of the same length before a span, None where nothing happened in it."""
    before = span._replace(since=max(0, 2 * span.since - span.until), until=span.since)
    if before.since >= before.until:
        return None
    told, _waiting = _taken(memory, where, before)
    used = memory.reader().usage(by="total", where=where, after=before.since, before=before.until, zone=before.zone)
    previous = told.tell_in_short(used.total, decisions)
    return None if previous.is_empty else previous


def _sessions(memory: OpenMemory, where: EventFilter, span: Span) -> Iterator[tuple[Session, ...]]:
    offset = 0
    while True:
        page, _total = memory.reader().sessions(where, after=span.since, before=span.until, limit=_PAGE, offset=offset)
        if page:
            yield page
        if len(page) < _PAGE:
            return
        offset += len(page)


def _facts(reader: InsightReader, page: Sequence[Session]) -> Iterator[SessionFacts]:
    uids = tuple(session.session_uid for session in page)
    digests = {digest.session_uid: digest for digest in reader.digests(uids)}
    signals: dict[str, list[Signal]] = {}
    for kept in reader.signals(SIGNAL_KINDS, NodeFilter(sessions=uids)):
        signals.setdefault(kept.session_uid, []).extend(kept.signals)
    for session in page:
        uid = session.session_uid
        in_order = sorted(signals.pop(uid, ()), key=lambda s: s.evidence[0].seq if s.evidence else 0)
        yield SessionFacts(session, digests.get(uid), in_order)


def _used(memory: OpenMemory, where: EventFilter, span: Span) -> Used:
    def by(what: UsageBy) -> UsageReport:
        return memory.reader().usage(by=what, where=where, after=span.since, before=span.until, zone=span.zone)

    return Used(by("model"), by("day"), by("agent"), by("domain"), by("repo"), by("session"))


def _decisions(memory: OpenMemory, span: Span) -> list[DecisionFacts]:
    """Return every decision of the repositories but undone ones, revoked ones too, as forks that repeat one count
    once."""
    found: list[DecisionFacts] = []
    for states in ((), ("revoked",)):
        answer = memory.decisions_facet.find(DecisionQuestion(repos=span.repos, states=states))
        found += [DecisionFacts(view.decision, view.state, view.repo, view.links) for view in answer.decisions]
    return found


def _between(memory: OpenMemory) -> _Between:
    return _Between(memory.reader())


class _Between:
    """Reads the events between two, see `insights.retro.fixes.EventsBetween`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __call__(self, session_uid: str, first_seq: int, last_seq: int) -> Iterator[Event]:
        for event in self._reader.events(session_uid, first_seq=first_seq, limit=last_seq - first_seq + 1):
            if event.seq > last_seq:
                return
            yield event
