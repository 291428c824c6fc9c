"""What sessions mean: decisions, and one that is added by hand; a span in retrospect; being up to date before."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import get_args

import msgspec

from recollect.errors import ArchiveError, StoreError, UsageError
from recollect.ingest.open_home import OpenHome
from recollect.insights.retro.builder import DecisionFacts, Retrospective, SessionFacts, Span, Used
from recollect.insights.retro.report import ErrorLine, PreviousPeriod, Retro
from recollect.insights.retro.tally import Listing
from recollect.memory.facets import HomeFacet
from recollect.memory.recall import RecallFacet
from recollect.model.events import Event, SourceLocation
from recollect.model.insights.nodes import Decision, DecisionState, Evidence, Option, node_id
from recollect.model.insights.signals import SIGNAL_KINDS, Signal
from recollect.model.learnings.learnings import GIVEN_STATES
from recollect.model.sessions import Session, gone_among
from recollect.model.time import required_time
from recollect.model.usage import UsageReport
from recollect.ready_blocks import withdraw
from recollect.recall.decisions import DecisionQuestion, DecisionsAnswer, DecisionView, ask_decisions, cited
from recollect.recall.related_events import EarlierStatement
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.learnings import LearningFilter
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter, UsageBy

_STANDING: tuple[DecisionState, ...] = ("holds", "contradicted")
MAX_CHARS = 4_000
"""Of each text of an added decision; more is a document, not a decision."""
ADDED = "added"
"""The source of a decision that no transcript holds; its record is its own statement."""


class NewDecision(msgspec.Struct, frozen=True):
    """A decision that a person records. chosen, rejected: options; because: the reason.

    session: a uid, prefix or citation `uid#seq`, "" for none; repo: "" uses the session's.
    """

    statement: str
    chosen: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    because: str = ""
    session: str = ""
    repo: str = ""
    paths: tuple[str, ...] = ()


class DecisionsFacet(HomeFacet):
    """The decisions of one memory."""

    def find(self, question: DecisionQuestion, *, limit: int | None = None, with_later: bool = True) -> DecisionsAnswer:
        """Return decisions, newest first. Ingests nothing. with_later: with what was said later about those that hold.

        Raises UnknownName for a session or repository.
        """
        if not self._home.is_there():
            return DecisionsAnswer((), 0)
        named = question.repos
        question = msgspec.structs.replace(
            question, repos=self._home.known_names().filter(EventFilter(repos=named)).repos
        )
        if question.session:
            uid = self._home.session(question.session).session_uid
            question = msgspec.structs.replace(question, session=uid)
        answer = ask_decisions(self._home.distilled(), question, limit=limit)
        uids = tuple({view.decision.session_uid for view in answer.decisions} - {""})
        reader = self._home.reader()
        keys = reader.session_keys(reader.session_numbers(EventFilter(sessions=uids))) if uids else {}
        gone = gone_among([key.evicted_at for key in keys.values()])
        stale = RecallFacet(self._home).unanalysed(named)
        notes = tuple(note for note in (gone, self._without_weights(), *stale) if note)
        is_now = with_later and question.at is None and question.known_at is None
        told = self._with_later(answer.decisions) if is_now else answer.decisions
        return msgspec.structs.replace(answer, decisions=told, notes=notes)

    def _with_later(self, views: Sequence[DecisionView]) -> tuple[DecisionView, ...]:
        from recollect.recall.said_later import later_of

        asked = [
            (view.repo, EarlierStatement(d.statement, (*d.chosen, *d.rejected, *d.paths), d.ts, view.citation))
            for view in views
            if view.state in _STANDING and (d := view.decision)
        ]
        later = iter(later_of(self._home.home, self._home.text_index(), asked))
        return tuple(
            msgspec.structs.replace(view, later=next(later)) if view.state in _STANDING else view for view in views
        )

    def of_session(self, uid: str) -> tuple[DecisionView, ...]:
        """Return the decisions of a session, newest first, as `find` does, without what they led to. uid: exact."""
        if not self._home.is_there():
            return ()
        return ask_decisions(self._home.distilled(), DecisionQuestion(session=uid), with_episodes=False).decisions

    def statements(self, ids: Collection[str]) -> dict[str, str]:
        """Return what decisions say by id, whatever became of them; ids that nothing has are left out."""
        return self._home.distilled().statements_of(ids) if ids and self._home.is_there() else {}

    def _without_weights(self) -> str:
        """Return why only rules find decisions though learned weights should; "" where they can."""
        if not self._home.config.distill.ranked:
            return ""
        from recollect.insights.scorer import SentenceScorer

        missing = SentenceScorer().missing
        return f"{missing}; decisions are found by rules alone. Install Recollect again" if missing else ""

    def instant(self, text: str, *, name: str) -> int:
        """Return the instant that "at" this time means; see `model.time`. Raises UsageError, which refers to it as
        `name`.
        """
        return required_time(text, self._now_us(), self._home.zone, name=name).last_us

    def add(self, new: NewDecision) -> DecisionView:
        """Store a decision that was made elsewhere, redacted.

        Writes to the database without the ingest lock. The next analysis relates it to others;
        `memory.distilling.run(sessions=())` does so at once. Raises UsageError for an empty or oversized text,
        UnknownName for a session or event, StoreLocked, StoreError.
        """
        from recollect.store.insight_writer import add_decision

        _check(new)
        session, evidence = self._place(new.session)
        repo = new.repo or (session.repo if session is not None else "")
        now = self._now_us()
        decision = self._decision(new, session, evidence, now)
        self._withdraw()
        add_decision(self._home.home, decision, repo=repo, added_at=now)
        self._withdraw()  # what was made ready meanwhile
        return DecisionView(decision, "holds", cited(decision), repo, now)

    def _withdraw(self) -> None:
        try:
            withdraw(os.fspath(self._home.home))
        except OSError as error:
            raise StoreError(f"the memory's folder cannot be written: {error}") from error

    def _decision(
        self, new: NewDecision, session: Session | None, evidence: tuple[Evidence, ...], now: int
    ) -> Decision:
        def clean(text: str) -> str:
            return self._home.redacted(text.strip())

        statement = clean(new.statement)
        digest = hashlib.sha256(statement.encode("utf-8", "replace")).hexdigest()
        location = SourceLocation(ADDED, 0, 0, len(statement.encode("utf-8", "replace")), 0, digest)
        options = [Option(clean(text), True) for text in new.chosen] + [Option(clean(t), False) for t in new.rejected]
        return Decision(
            id=node_id("decision", ADDED, now, secrets.token_hex(8)),
            session_uid=session.session_uid if session is not None else "",
            location=location,
            ts=now,
            status="observed",
            features={ADDED: 1.0},
            evidence=evidence,
            statement=statement,
            polarity="reject" if new.rejected and not new.chosen else "adopt",
            options=tuple(options),
            rationale=clean(new.because),
            paths=new.paths,
            origin="added",
        )

    def _place(self, name: str) -> tuple[Session | None, tuple[Evidence, ...]]:
        """Return the session that is meant, and its event where a citation names one."""
        if not name:
            return None, ()
        uid, mark, seq = name.partition("#")
        session = self._home.session(uid)
        if not mark:
            return session, ()
        if not seq.isdecimal():
            raise UsageError(f"{seq!r} is not the number of an event", hint="write SESSION#12, as hits are cited")
        found = self._home.reader().events(session.session_uid, first_seq=int(seq), limit=1)
        event = next((event for event in found if event.seq == int(seq)), None)
        if event is None:
            raise UsageError(f"{session.session_uid} has no event {seq}", hint="`recollect show` lists them")
        return session, (Evidence(session.session_uid, event.event_id, event.part, "added", event.location, event.seq),)


def _check(new: NewDecision) -> None:
    if not new.statement.strip():
        raise UsageError("a decision needs text", hint='recollect decisions add "We keep SQLite"')
    texts: Sequence[str] = (new.statement, new.because, *new.chosen, *new.rejected, *new.paths)
    if max(map(len, texts)) > MAX_CHARS:
        raise UsageError(f"a decision's text has at most {MAX_CHARS:,} characters")


_PAGE = 200
"""Sessions held at once."""


def make_retro(home: OpenHome, span: Span, *, notes: Sequence[str] = ()) -> Retro:
    """Return the retrospective of a period, from what is stored and analysed. Ingests nothing."""
    where, decisions = EventFilter(repos=span.repos), _decisions(home, span)
    told, waiting = _taken(home, where, span)
    if waiting:
        notes = (*notes, f"not analysed yet: {waiting:,} (under way, or waiting for `recollect sync`)")
    retro = told.tell(
        _used(home, where, span),
        decisions,
        _Between(home.reader()),
        previous=_previous(home, where, span, decisions),
        notes=notes,
    )
    return msgspec.structs.replace(retro, corrections=_corrections(home, span))


def errors_of(home: OpenHome, session: Session) -> tuple[ErrorLine, ...]:
    """Return the errors of one session with what fixed them, as a retrospective tells them."""
    told = Retrospective(Span(0, 1 << 62), infra=())
    for facts in _facts(home.distilled(), (session,)):
        told.take(facts)
    return told.error_lines(Listing(), _Between(home.reader()))


def _corrections(home: OpenHome, span: Span) -> int:
    """Return how many corrections that a person made in a session of a span were learned and hold.

    What they wrote down with a command has no such evidence, and does not count.
    """
    from recollect.ingest.learnings.run import LearnFacet

    asked = LearningFilter(kinds=("correction",), states=GIVEN_STATES, after=span.since, before=span.until)
    found = LearnFacet(home).learnings(msgspec.structs.replace(asked, repos=span.repos))
    return sum(any(one.author == "user" for one in learning.evidence) for learning in found)


def _taken(home: OpenHome, where: EventFilter, span: Span) -> tuple[Retrospective, int]:
    """Return the sessions of a span, counted, and how many of them are not analysed yet."""
    told, waiting = Retrospective(span, infra=home.config.infra.tools), 0
    for page in _sessions(home, where, span):
        for facts in _facts(home.distilled(), page):
            waiting += facts.session.analyzed_at is None
            told.take(facts)
    return told, waiting


def _previous(
    home: OpenHome, where: EventFilter, span: Span, decisions: Sequence[DecisionFacts]
) -> PreviousPeriod | None:
    """Return the period of the same length before a span, None where nothing happened in it."""
    before = span._replace(since=max(0, 2 * span.since - span.until), until=span.since)
    if before.since >= before.until:
        return None
    told, _waiting = _taken(home, where, before)
    used = home.reader().usage(by="total", where=where, after=before.since, before=before.until, zone=before.zone)
    previous = told.tell_in_short(used.total, decisions)
    return None if previous.is_empty else previous


def _sessions(home: OpenHome, where: EventFilter, span: Span) -> Iterator[tuple[Session, ...]]:
    offset = 0
    while True:
        page, _total = home.reader().sessions(where, after=span.since, before=span.until, limit=_PAGE, offset=offset)
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


def _used(home: OpenHome, where: EventFilter, span: Span) -> Used:
    def by(what: UsageBy) -> UsageReport:
        return home.reader().usage(by=what, where=where, after=span.since, before=span.until, zone=span.zone)

    return Used(by("model"), by("day"), by("agent"), by("domain"), by("repo"), by("session"))


def _decisions(home: OpenHome, span: Span) -> list[DecisionFacts]:
    """Return every decision of the repositories but undone ones, revoked ones too, as forks that repeat one count
    once."""
    answer = ask_decisions(home.distilled(), DecisionQuestion(repos=span.repos, states=_TOLD))
    return [DecisionFacts(view.decision, view.state, view.repo, view.links) for view in answer.decisions]


_TOLD = tuple(state for state in get_args(DecisionState) if state != "undone")


class _Between:
    """Reads the events between two, see `insights.retro.fixes.EventsBetween`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __call__(self, session_uid: str, first_seq: int, last_seq: int) -> Iterator[Event]:
        for event in self._reader.events(session_uid, first_seq=first_seq, limit=last_seq - first_seq + 1):
            if event.seq > last_seq:
                return
            yield event


MAX_SECONDS = 20.0
"""How long a question may wait for analyses; the rest is said in a note."""
MAX_UNDER_WAY = 20
"""Sessions under way that are analysed for one question, the newest."""


Telling = Callable[[str], None]
"""Told what is being done now, in words for a person who waits."""


def freshen(
    home: OpenHome, refresh: Callable[[], tuple[str, ...]], *, with_under_way: bool = False,
    repos: tuple[str, ...] = (), tell: Telling = lambda _: None,
) -> tuple[str, ...]:  # fmt: skip
    """Ingest and analyse what is due; return notes about problems.

    with_under_way: also analyse the newest unfinished sessions (of repos) up to their present end. Raises ConfigError
    for an invalid rule, StoreError.
    """
    tell("ingesting what changed")
    notes = refresh()
    if not home.config.distill.enabled:
        return (*notes, "analysis is off (`[distill] enabled`): this is what was found before")
    try:
        return _analysed(home, notes, with_under_way=with_under_way, repos=repos, tell=tell)
    except ArchiveError as error:  # what was analysed before needs no archive, and no key
        return (*notes, f"not analysed: {error}")


def _analysed(
    home: OpenHome, notes: tuple[str, ...], *, with_under_way: bool, repos: tuple[str, ...], tell: Telling
) -> tuple[str, ...]:
    from recollect.ingest.distill import DistillingFacet
    from recollect.ingest.learnings.run import LearnFacet

    def show(done: int, total: int) -> None:
        tell(f"analysing sessions, {done:,} of {total:,}")

    report = DistillingFacet(home).run(max_seconds=MAX_SECONDS, progress=show)
    analysed = report.sessions
    notes = (*notes, *report.notes)
    if report.state == "done" and with_under_way:
        page, _total = home.reader().sessions(EventFilter(repos=repos), limit=MAX_UNDER_WAY)
        stale = [s.session_uid for s in page if s.analyzed_at is None or (s.ingested_at or 0) > s.analyzed_at]
        if stale:
            report = DistillingFacet(home).run(sessions=stale, max_seconds=MAX_SECONDS, progress=show)
            analysed += report.sessions
            notes = (*notes, *report.notes)
    if analysed:  # what is analysed no longer counts as waiting, so it must be learned from too
        tell("learning from sessions")
        LearnFacet(home).run(max_seconds=MAX_SECONDS)
    if report.state == "interrupted":
        return (*notes, "not every session is analysed yet: `recollect sync` continues")
    return notes
