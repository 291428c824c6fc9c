"""Learns after a sync, beside a daemon's other work, or on demand, and reports what was learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from recollect.clock import now_us
from recollect.errors import ConfigError, EndpointError, StoreError, StoreLocked, UnknownName
from recollect.ingest.learnings.extract import LearnReport
from recollect.ingest.learnings.status import HeldBack, LearnStatus, NewLearning, SeenEvidence, Why
from recollect.ingest.run_limits import MICROSECONDS, after_sync, deadline
from recollect.model.learnings.learnings import GIVEN_STATES, Learning, LearningState
from recollect.recall.context.person_files import USER, person_files
from recollect.store.learnings import LearningFilter

if TYPE_CHECKING:
    from recollect.erasure.forget import Opened
    from recollect.ingest.learnings.extract import Extracting, Extractor, LearnProgress
    from recollect.ingest.learnings.judgements import Judgements, UserFileReport
    from recollect.ingest.learnings.status import AskPreview
    from recollect.ingest.open_home import OpenHome
    from recollect.ingest.report import SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.insights.learnings.pause import Pause
    from recollect.model.learnings.learnings import LearningEvidence
    from recollect.store.learnings import LearningReader, Quarantined, Verdict

_T = TypeVar("_T")
MOST_ACTIONS = 200
"""Actions of a repository that a session may show to be done, the newest."""
MOST_PENDING = 200
"""Actions that are listed where nobody says how many."""


class Answered(NamedTuple):
    """What a run of asking came to. failure: what keeps a model from being asked. next_at: when there is work again,
    UTC microseconds, None: not before sessions change."""

    report: LearnReport
    failure: EndpointError | ConfigError | None = None
    next_at: int | None = None


class LearnFacet:
    """What one memory learned of sessions, and the work that this takes."""

    def __init__(self, home: OpenHome, now_us: Callable[[], int] = now_us) -> None:
        self._home = home
        self._now_us = now_us

    # Running

    def run(
        self, *, max_seconds: float | None = None, should_stop: Callable[[], bool] | None = None,
        progress: LearnProgress | None = None, is_patient: bool = False, extractor: Extractor | None = None,
        at_once: bool = False,
    ) -> LearnReport:  # fmt: skip
        """Learn from the sessions that are due by the rules that always run. Asks no model, see `ask`.

        max_seconds: after this time the next run goes on. is_patient: beside agents at work, a session is read at most
        every 30 s while a turn continues. extractor: in place of the rules that ship. at_once: a person waits; sessions
        that go on are read too, and a model is asked about them up to the last turn that is over. While another process
        is ingesting, returns at once with state "busy". Raises StoreError, ArchiveError.
        """
        if not self._home.is_there():
            return LearnReport(notes=["nothing is stored yet"])
        try:
            with self._home.writing() as opened:
                report = learn(
                    self._home, opened, now_us=self._now_us, should_stop=deadline(max_seconds, should_stop),
                    progress=progress, is_patient=is_patient, extractor=extractor, is_at_once=at_once,
                )  # fmt: skip
        except StoreLocked as error:
            return LearnReport("busy", notes=[str(error)])
        self.keep_user_file(report.notes)
        return report

    def keep_user_file(self, notes: list[str]) -> None:
        """After a run: update `user.md`; add a note if it cannot be written."""
        if not self._home.config.learning.enabled or not self.user_file().exists():
            return
        try:
            self.write_user_file()
        except StoreError as error:
            notes.append(str(error))

    @property
    def asks_model(self) -> bool:
        """Return whether a model is configured."""
        learning = self._home.config.learning
        return learning.enabled and bool(learning.provider)

    def ask(
        self, *, max_seconds: float | None = None, should_stop: Callable[[], bool] | None = None, at_once: bool = False
    ) -> Answered:
        """Ask the configured model about the turns that wait, until none is due, it must pause, or the time is over.

        Takes no ingest lock; any number of processes may ask at once. What fails is in the answer, not raised: it is
        kept, and asked again when that makes sense. at_once: a person waits; a pause after a failure ends. Raises
        StoreError, ArchiveError.
        """
        if not self.asks_model or not self._home.is_there():
            return Answered(LearnReport("off", notes=[]))
        return _ask_models(self._home, deadline(max_seconds, should_stop), now_us=self._now_us, is_at_once=at_once)

    def want_older(self, *, after: int | None = None, before: int | None = None) -> int:
        """Queue questions about sessions from before the model was configured; return how many are new.

        Newest first, after all newer work, as far as the budget allows, over several days. after, before: UTC
        microseconds of their beginning, [after, before). Raises StoreError.
        """
        if not self.asks_model or not self._home.is_there():
            return 0
        from recollect.ingest.learnings.ask import asking_since
        from recollect.store.learnings import open_learning_store

        now = self._now_us()
        with open_learning_store(self._home.home) as store:
            since = asking_since(store, self._home.config.learning, now)
            if since is None:
                return 0
            with store.transaction():
                return store.queue.add_older_sessions(since=since, after=after, before=before, now_us=now)

    def preview(self, session: str) -> AskPreview:
        """Return what a model would be sent of a session, and what that would cost at most; nothing is sent.

        Also where no model is configured. session: uid or a unique prefix. Raises UnknownName, ConfigError.
        """
        from recollect.ingest.learnings.status import preview_of

        return preview_of(self._home, session, now_us=self._now_us)

    # Asking what was learned

    def learnings(self, where: LearningFilter | None = None) -> list[Learning]:
        """Return learnings with their evidence, newest first. Ingests nothing. Raises UnknownName for a repository."""
        where = where or LearningFilter()
        if where.repos and self._home.is_there():
            meant = map(self._home.known_names().repositories, where.repos)
            where = msgspec.structs.replace(where, repos=tuple(chain.from_iterable(meant)))
        return self._asked(lambda reader: reader.learnings(where), [])

    def learning(self, name: str) -> Learning:
        """Return a learning by its id, unique prefix, or its entry's uid. Raises UnknownName."""
        found = self._asked(lambda reader: reader.learning(name), None) if name.strip() else None
        if found is None:
            nobody: list[str] = []
            near = self._asked(lambda reader: reader.named(name), nobody) if name.strip() else nobody
            raise UnknownName("learning", name, nearest=tuple(near), hint="`recollect learnings` lists them")
        return found

    def actions(
        self, *, repos: Sequence[str] = (), states: Sequence[LearningState] = GIVEN_STATES, limit: int = MOST_PENDING,
        after: int | None = None, before: int | None = None,
    ) -> list[Learning]:  # fmt: skip
        """Return actions: urgent, then high, then others, each newest first. after, before: see `LearningFilter`.

        A request for pending ones omits expired ones, even if nothing ran since. Raises UnknownName for a repository.
        """
        where = LearningFilter(kinds=("action",), repos=tuple(repos), states=tuple(states), after=after, before=before)
        now, order = self._now_us(), {"urgent": 0, "high": 1, "": 2}
        found = [
            one
            for one in self.learnings(where)
            if one.state not in GIVEN_STATES or one.expires_at is None or one.expires_at > now or one.state != "active"
        ]
        return sorted(found, key=lambda one: order[one.priority])[:limit]

    def why(self, name: str) -> Why:
        """Return what a learning rests on, each piece of evidence with its event, and what people said of it.

        Raises UnknownName.
        """
        learning = self.learning(name)
        said: list[Verdict] = []
        gone: list[LearningEvidence] = []
        verdicts = self._asked(lambda reader: reader.verdicts(learning.id), said)
        revoked = self._asked(lambda reader: reader.revoked(learning.id), gone)
        newer = learning.superseded_by
        return Why(
            learning=learning,
            evidence=(*map(self._seen, learning.evidence), *(self._seen(e, is_revoked=True) for e in revoked)),
            verdicts=tuple(verdicts),
            superseded_by=self._asked(lambda reader: reader.learning(newer), None) if newer else None,
        )

    def pause(self) -> Pause | None:
        """Return why no model is asked now, None without a reason. Reads one row."""
        from recollect.ingest.learnings.status import pause_of

        return self._asked(lambda reader: pause_of(reader, self._home, self._now_us()), None)

    def status(self) -> LearnStatus:
        """Return the state of learning, from the database alone. Raises StoreError and its subclasses."""
        from recollect.ingest.learnings.status import status_of

        empty = LearnStatus(enabled=self._home.config.learning.enabled, provider=self._home.config.learning.provider)
        return self._asked(lambda reader: status_of(reader, self._home, self._now_us()), empty)

    def held_back(self, *, limit: int = 20) -> tuple[HeldBack, ...]:
        """Return unusable parts of a model's answers, newest first. Raises StoreError and its subclasses."""
        nothing: list[Quarantined] = []
        found = self._asked(lambda reader: reader.quarantined(limit=limit), nothing)
        return tuple(HeldBack(session_uid=q.session_uid, at=q.at, reason=q.reason, text=q.text) for q in found)

    # A person's word. It is kept where StoreError says that `user.md` could not follow it.

    def confirm(self, name: str, *, reason: str = "") -> Learning:
        """Confirm a learning: it is certain from now on. Raises UnknownName."""
        return self._followed(self._judging().confirm(self.learning(name), reason=reason))

    def correct(self, name: str, text: str, *, reason: str = "") -> Learning:
        """Supersede a learning with the right text, and return that one. Raises UnknownName, UsageError."""
        return self._followed(self._judging().correct(self.learning(name), text, reason=reason))

    def retire(self, name: str, *, reason: str = "") -> Learning:
        """Stop giving a learning to anyone; its history stays. Raises UnknownName."""
        return self._followed(self._judging().retire(self.learning(name), reason=reason))

    def done(self, name: str, *, reason: str = "") -> Learning:
        """Mark an action as done. Raises UnknownName, UsageError for anything else."""
        return self._judging().done(self.learning(name), reason=reason)

    def add(self, new: NewLearning) -> Learning:
        """Keep what a person writes down: an action that waits, or anything else as confirmed. Raises UsageError."""
        return self._followed(self._judging().add(new))

    def settle_batch(self, batch: str) -> int:
        """After a batch was undone: retire what it added; return how many learnings changed. Raises StoreError."""
        return self._judging().settle_batch(batch)

    def write_user_file(self) -> UserFileReport:
        """Write the user's preferences to the marked region of `user.md`, if somebody created that file.

        First retires what was deleted from it by hand. Raises StoreError if the file cannot be written.
        """
        path = self.user_file()
        if not self._home.is_there() or not path.exists():
            from recollect.ingest.learnings.judgements import UserFileReport

            return UserFileReport("absent", str(path))
        return self._judging().write_user_file(path)

    def user_file(self) -> Path:
        """Return where `user.md` is looked for."""
        settings = self._home.config.context
        (path,) = (
            Path(file.path)
            for file in person_files(self._home.home, self._home.env, user=settings.user_file)
            if file.name == USER
        )
        return path

    # Inside

    def _followed(self, learning: Learning) -> Learning:
        """Update `user.md` after a verdict."""
        if learning.kind == "preference":
            self.write_user_file()
        return learning

    def _judging(self) -> Judgements:
        from recollect.ingest.learnings.judgements import Judgements

        return Judgements(self._home, self._now_us)

    def _seen(self, evidence: LearningEvidence, *, is_revoked: bool = False) -> SeenEvidence:
        citation = f"{evidence.session_uid}#{evidence.seq}"
        found = None
        if evidence.session_uid and self._home.reader().session(evidence.session_uid) is not None:
            events = self._home.reader().events(evidence.session_uid, first_seq=evidence.seq, limit=1)
            found = next((e for e in events if (e.event_id, e.part) == (evidence.event_id, evidence.part)), None)
        return SeenEvidence(evidence=evidence, citation=citation, event=found, is_revoked=is_revoked)

    def _asked(self, question: Callable[[LearningReader], _T], nothing: _T) -> _T:
        """Query the stored learnings; `nothing` if nothing was ever stored, so that a question creates no memory."""
        if not self._home.is_there():
            return nothing
        from recollect.store.learnings import LearningReader

        with closing(LearningReader(self._home.home)) as reader:
            return question(reader)


class LearningRun:
    """One run over a home, for whoever holds the ingest lock. Nothing is opened before there is something to learn."""

    def __init__(self, home: OpenHome, opened: Opened, *, now_us: Callable[[], int]) -> None:
        self._home = home
        self._opened = opened
        self._now_us = now_us
        self._close: Callable[[], None] = lambda: None
        self._extracting: Extracting | None = None
        self.report = LearnReport(notes=[])

    def close(self) -> None:
        """Close the reading connections and complete the report."""
        if self._extracting is not None:
            self._extracting.tell_kept()
        self._close()

    def begin(
        self, *, is_patient: bool = False, is_at_once: bool = False, extractor: Extractor | None = None
    ) -> Extracting | None:
        """Return the reader of due sessions; None if there is nothing to do, or learning is off.

        Always the same one. See `LearnFacet.run`. Raises StoreError, ArchiveError.
        """
        if self._extracting is not None:
            return self._extracting
        from recollect.ingest.learnings.ask import asking_since, switched_off
        from recollect.ingest.learnings.extract import has_work

        config, store, started_at = self._home.config, self._opened.writer.learned, self._now_us()
        if not config.learning.enabled:
            # What changed is known when it is switched on again, and the change log need not keep it until then.
            if store.queue.has_changes():
                with store.transaction():
                    store.queue.note_changes(now_us=started_at, least_wait_us=0)
            switched_off(store)
            self.report.state = "off"
            return None
        since_us = asking_since(store, config.learning, started_at)
        if is_at_once:
            with store.transaction():
                store.queue.unpark("rules", now_us=started_at)
        if extractor is None and not has_work(store, now_us=started_at, is_patient=is_patient):
            self.report.next_at = store.queue.next_due_at(("rules", "relate"), now_us=started_at)
            return None
        self._extracting = self._open(
            extractor or _shipped_extractor(is_ranked=config.distill.ranked),
            started_at,
            since_us,
            is_at_once=is_at_once,
        )
        self.report = self._extracting.report
        return self._extracting

    def _open(self, extractor: Extractor, started_at: int, since_us: int | None, *, is_at_once: bool) -> Extracting:
        from recollect.ingest.learnings.ask import JobMaker
        from recollect.ingest.learnings.extract import Extracting
        from recollect.ingest.learnings.keep import Keeping, rules_now
        from recollect.privacy.redact import redactor_of
        from recollect.store.connection import ReadPool
        from recollect.store.insight_feed import SessionFeed
        from recollect.store.learnings import LearningReader
        from recollect.store.notes import new_batch

        home, opened, now_us = self._home, self._opened, self._now_us
        store = opened.writer.learned
        reading = ExitStack()
        self._close = reading.close
        redactor = redactor_of(opened.keys.marker_key, home.config.privacy)
        pool = ReadPool(home.home)
        feed = reading.enter_context(closing(SessionFeed(pool, opened.archive, redactor)))
        reader = reading.enter_context(closing(LearningReader(pool)))
        keeping = Keeping(
            store, partial(rules_now, home.config, now_us),
            new_batch("learnings", started_at=started_at, about="learned from sessions"),
        )  # fmt: skip
        states: tuple[LearningState, ...] = ("active", "confirmed", "done", "expired")

        def pending(repo: str) -> Sequence[Learning]:
            where = LearningFilter(kinds=("action",), repos=(repo,), states=states, limit=MOST_ACTIONS)
            return reader.learnings(where)

        extracting = Extracting(feed, store, pending, extractor, keeping, now_us=now_us)
        if since_us is not None:
            idle_us = home.config.distill.idle_seconds * MICROSECONDS
            extracting.make_model_jobs = JobMaker(since_us=since_us, idle_us=idle_us, is_at_once=is_at_once)
        return extracting


def learn(
    home: OpenHome, opened: Opened, *, now_us: Callable[[], int], should_stop: Callable[[], bool] = lambda: False,
    progress: LearnProgress | None = None, is_patient: bool = False, extractor: Extractor | None = None,
    is_at_once: bool = False,
) -> LearnReport:  # fmt: skip
    """Let the rules read what is due, with the ingest lock held; see `LearnFacet.run`.

    Raises StoreError, ArchiveError.
    """
    with closing(LearningRun(home, opened, now_us=now_us)) as run:
        extracting = run.begin(is_patient=is_patient, is_at_once=is_at_once, extractor=extractor)
        if extracting is None:
            return run.report
        with opened.writer.for_what_can_be_made_again():
            return extracting.run(is_patient=is_patient, should_stop=should_stop, progress=progress)


def learn_after(run: LearningRun, opened: Opened, request: SyncRequest, report: SyncReport) -> None:
    """Learn from what a sync left due, and was not learned from while it was analysed."""
    with after_sync("learn", "learned from", request, report) as (should_stop, show):
        extracting = run.begin()
        if extracting is None:
            return
        with opened.writer.for_what_can_be_made_again():
            if extracting.run(should_stop=should_stop, progress=show).state == "interrupted":
                report.state = "interrupted"


def _shipped_extractor(*, is_ranked: bool) -> Extractor:
    """Return the rules that ship, with learned weights where wanted; loading them takes a moment."""
    from recollect.ingest.learnings.rule_extractor import RuleExtractor

    return RuleExtractor(is_ranked=is_ranked)


def _ask_models(
    home: OpenHome, should_stop: Callable[[], bool], *, now_us: Callable[[], int], is_at_once: bool = False
) -> Answered:
    """Ask the configured model about the turns that wait, without the ingest lock. Raises StoreError, ArchiveError."""
    from recollect.endpoints.chat import ChatClient
    from recollect.ingest.learnings.ask import Asking, begin_asking, end_waits, fingerprint_of, pause_for
    from recollect.ingest.learnings.keep import Keeping, rules_now
    from recollect.insights.learnings.budget import Budget
    from recollect.store.home import LazyArchive, LazyRedactor
    from recollect.store.insight_feed import SessionFeed
    from recollect.store.jobs import QUESTIONS, SpendingLedger
    from recollect.store.learnings import open_learning_store
    from recollect.store.notes import new_batch

    config = home.config.learning
    with open_learning_store(home.home) as store:
        due_at = store.queue.next_due_at(QUESTIONS, now_us=now_us())
        fingerprint = fingerprint_of(config, home.env)
        begin_asking(store, fingerprint, now_us())
        if is_at_once:
            end_waits(store, now_us())
        if due_at is None and store.queue.next_due_at(QUESTIONS, now_us=now_us()) is None:
            return Answered(LearnReport(notes=[]))
        try:
            client = ChatClient.of(config, home.env, now_us=now_us)
        except ConfigError as error:
            pause = pause_for(store, error, fingerprint=fingerprint, now_us=now_us())
            return Answered(LearnReport(notes=[pause.message]), error)
        archive = LazyArchive(home.folders)
        feed = SessionFeed(home.home, archive, LazyRedactor(home.folders.keys, home.config.privacy))
        try:
            budget = Budget(config, SpendingLedger(home.home), client.pricing, now_us=now_us)
            batch = new_batch("learnings", started_at=now_us(), about=f"learned by asking {client.model}")
            keeping = Keeping(store, partial(rules_now, home.config, now_us), batch)
            asking = Asking(
                feed, store, budget, client, keeping, timeout_s=config.timeout_s, fingerprint=fingerprint,
                now_us=now_us, should_stop=should_stop,
            )  # fmt: skip
            report = asking.run()
            return Answered(report, asking.failure, store.queue.next_due_at(QUESTIONS, now_us=now_us()))
        finally:
            feed.close()
            archive.close()
            client.close()
