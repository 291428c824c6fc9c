"""Extracts learnings from due sessions, one transaction each, then settles them per repository.

Killed anywhere, the next run continues: what a session gives is kept with the end of its job, or neither is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec

from recollect.errors import ArchiveError, StoreCorrupt, StoreError, where_raised
from recollect.ingest.run_limits import nothing_collected
from recollect.insights.learnings.identity import id_everywhere, is_models
from recollect.insights.learnings.pause import wait_us
from recollect.model.learnings.learnings import EXTRACTOR, Learning
from recollect.ready_blocks import PROGRAM
from recollect.store.jobs import Job, JobKind
from recollect.store.learnings import BY_CLOSING, BY_RULES, Sighting

# A sync that has nothing to learn, which is most of them, loads none of what learning needs.
if TYPE_CHECKING:
    from recollect.ingest.learnings.keep import Keeping
    from recollect.model.learnings.learnings import LearningState
    from recollect.store.insight_feed import AnalysisInput, SessionFeed
    from recollect.store.learnings import LearningStore

LEASE_US = 60_000_000
"""Of `rules` and `relate` jobs, which nobody but the one ingester takes: it counts for nothing but a clock set back."""
ONE_BY_ONE_US = 30_000_000
"""Beside agents at work a session is read at most this often while a turn continues."""
EXTRACTOR_NOTE = "extractor"
"""Keeps the version that the sessions were read by."""
PROGRAM_NOTE = "program"
"""Keeps the version of the program and of the rules that ship with it, of whoever learned last."""
_SHIPPED = f"{PROGRAM} {EXTRACTOR}".encode()
RAN_NOTE = "ran_at"
"""Keeps when sessions were read last, UTC microseconds."""
ANSWERED_NOTE = "answered_at"
"""Keeps when a model answered last, UTC microseconds; nothing where none ever did."""
_KINDS: tuple[JobKind, ...] = ("rules", "relate")
"""Jobs that no model is asked for."""
LearnState = Literal["done", "interrupted", "busy", "off"]
LearnProgress = Callable[[int, int], None]
"""Called with (sessions done, sessions that were due)."""


class LearnReport(msgspec.Struct):
    """The result of a run.

    state: done; interrupted (time or a signal; the next run continues); busy (another process is ingesting); off.
    sessions: read by the rules. turns: batches of turns that a model was asked about. new, changed: learnings. next_at:
    when there is work again, UTC microseconds, None: not before sessions change. batch: what `recollect undo` takes
    back, "" if nothing is new. notes: what could not be learned from, and why.
    """

    state: LearnState = "done"
    sessions: int = 0
    turns: int = 0
    new: int = 0
    changed: int = 0
    next_at: int | None = None
    batch: str = ""
    seconds: float = 0.0
    notes: list[str] = []


class Read(msgspec.Struct, frozen=True):
    """What is noted of a session that was read: when, how many events it had, the last turn that a model is asked
    about."""

    ran_at: int = 0
    events: int = 0
    last_turn: int = -1


class ModelJobs(NamedTuple):
    """Questions for a model about a session. again_at: when the session may be idle, so that its last turns can be
    asked about, None if nothing is left.
    """

    jobs: Sequence[Job]
    last_turn: int
    again_at: int | None = None


class Extracting:
    """One run of the rules over a home. The caller holds the ingest lock."""

    def __init__(
        self, feed: SessionFeed, store: LearningStore, pending: Callable[[str], Sequence[Learning]],
        extractor: Extractor, keeping: Keeping, *, now_us: Callable[[], int],
    ) -> None:  # fmt: skip
        """pending: gives the pending actions of a repository."""
        self._feed = feed
        self._store = store
        self._queue = store.queue
        self._pending = pending
        self._extractor = extractor
        self._keeping = keeping
        self._now_us = now_us
        self._extractions: dict[str, Extraction] = {}
        """What sessions give whose turn has not come yet."""
        self._holder = os.urandom(8).hex()
        self.make_model_jobs: Callable[..., ModelJobs] | None = None
        """Set where a model is configured: what it is to be asked about a session that was read."""
        self.report = LearnReport(notes=[])

    def run(
        self, *, is_patient: bool = False, should_stop: Callable[[], bool] = lambda: False,
        progress: LearnProgress | None = None,
    ) -> LearnReport:  # fmt: skip
        """Read the due sessions.

        is_patient: beside working agents, read a session at most every 30 s during a turn, at once when it is over.
        Raises StoreError; what was stored by then stays.
        """
        started = time.perf_counter()
        try:
            if not self._run(ONE_BY_ONE_US if is_patient else 0, should_stop, progress):
                self.report.state = "interrupted"
        finally:
            self.tell_kept()
            self.report.next_at = self._queue.next_due_at(("rules", "relate"), now_us=self._now_us())
            self.report.seconds += time.perf_counter() - started
        return self.report

    def tell_kept(self) -> None:
        """Add what was stored so far to the report."""
        self.report.new, self.report.changed = self._keeping.added, self._keeping.changed
        self.report.batch = self._keeping.batch

    def waiting(self, least_wait_us: int = 0) -> list[str]:
        """Return the sessions that are due, in the order in which they are learned from. Raises StoreError."""
        note_sessions(self._store, self._extractor.version, self._now_us(), least_wait_us)
        due_at = self._queue.next_due_at(_KINDS, now_us=self._now_us())
        if due_at is None or due_at > self._now_us():
            return []
        with self._store.transaction():
            for kind in _KINDS:
                self._queue.release(kind, now_us=self._now_us())
        return self._queue.due_sessions("rules", now_us=self._now_us())

    def take(self, uid: str, extraction: Extraction | None) -> None:
        """Accept what another process read of a session, and learn from the session whose turn it is.

        The queue decides whose turn it is, in whatever order sessions are read. Raises StoreError.
        """
        if extraction is not None:
            self._extractions[uid] = extraction
        job = self._claim("rules")
        if job is not None:
            self._learn_from(job)

    def _run(self, least_wait_us: int, should_stop: Callable[[], bool], progress: LearnProgress | None) -> bool:
        total = len(self.waiting(least_wait_us))
        if progress is not None and total:
            progress(0, total)
        done = 0
        while (job := self._claim("rules")) is not None:
            self._learn_from(job)
            done += 1
            if progress is not None:
                progress(done, max(total, done))
            if should_stop():
                return False
        while (job := self._claim("relate")) is not None:
            with self._store.transaction():
                # Done first: comparing may have the same job wait again for the day on which an action expires.
                self._queue.finish(job, holder=self._holder)
                self._keeping.relate(job.key.partition(":")[2])
            if should_stop():
                return False
        return True

    def _claim(self, kind: JobKind) -> Job | None:
        with self._store.transaction():
            return self._queue.claim(kind, holder=self._holder, now_us=self._now_us(), lease_us=LEASE_US)

    def _learn_from(self, job: Job) -> None:
        self.report.sessions += 1
        given = self._extractions.pop(job.session_uid, None)
        try:
            with nothing_collected():
                source = self._feed.read(job.session_uid)
                extraction = given if given or source is None else extraction_of(source, self._extractor)
                found = self._found(source, extraction) if source is not None and extraction is not None else []
        except (StoreCorrupt, ArchiveError) as error:
            self._failed(job, f"{job.session_uid} could not be learned from: {error}")
            return
        except StoreError:
            raise
        except Exception as bug:  # noqa: BLE001 - one session must not keep all others from being read; it is told
            self._failed(job, f"{job.session_uid} could not be learned from: a bug of Recollect, {where_raised(bug)}")
            return
        with self._store.transaction():
            if source is None or extraction is None:
                self._queue.finish(job, holder=self._holder)
                return
            before = self._store.sightings(job.session_uid)
            from recollect.ingest.learnings.keep import changes_of

            put, remove = changes_of([s for s in before if s.origin in (BY_RULES, BY_CLOSING)], found)
            lost = [s for s in before if is_models(s) and not _is_still_there(s, source)]
            put += _as_they_stand(before, source)
            gone = [s for s in (*remove, *lost) if not _is_of_evicted(s, source)]
            models, moved = self._taken_over(found, [s for s in before if s not in gone], put, source)
            left = {(s.learning.id, s.session_uid, s.origin) for s in moved}
            put = [s for s in put if (s.learning.id, s.session_uid, s.origin) not in left]
            self._keeping.keep([*put, *models], [*gone, *moved])
            self._look_again(put, source)
            read, again_at = self._add_model_jobs(job, source, extraction.event_count)
            self._store.set_note(RAN_NOTE, str(read.ran_at).encode())
            self._queue.finish(job, holder=self._holder, data=msgspec.json.encode(read))
            if again_at is not None:
                self._queue.want(msgspec.structs.replace(job, due_at=again_at))

    def _taken_over(
        self, found: Sequence[Sighting], before: Sequence[Sighting], put: Sequence[Sighting], source: AnalysisInput
    ) -> tuple[list[Sighting], list[Sighting]]:
        """Return what models said that rules found too, by the rules' names, and as it was."""
        if not self._store.note(ANSWERED_NOTE):
            return [], []
        renewed = {(s.learning.id, s.origin): s for s in put}
        said = [renewed.get((s.learning.id, s.origin), s) for s in before if is_models(s)]
        by_rules = [s.learning for s in found if s.origin == BY_RULES]
        return self._keeping.taken_over(by_rules, said, source.session.repo)

    def _look_again(self, put: Iterable[Sighting], source: AnalysisInput) -> None:
        """Have sessions read again that may show a new action to be done, and were read before it was known."""
        for learning in (s.learning for s in put if s.origin == BY_RULES and _is_pending(s)):
            asked_at = max((e.ts for e in learning.evidence if e.ts is not None), default=learning.recorded_at)
            self._queue.want_sessions(
                source.session.repo, after=asked_at, but=source.session.session_uid, now_us=self._now_us()
            )

    def _add_model_jobs(self, job: Job, source: AnalysisInput, event_count: int) -> tuple[Read, int | None]:
        """Queue questions to a model about the finished turns; return the session's new note."""
        now = self._now_us()
        last = msgspec.json.decode(job.data, type=Read).last_turn
        if self.make_model_jobs is None:
            return Read(now, event_count, last), None
        found = self.make_model_jobs(source, after_turn=last, now_us=now)
        self._queue.add(found.jobs)
        return Read(now, event_count, found.last_turn), found.again_at

    def _found(self, source: AnalysisInput, extraction: Extraction) -> list[Sighting]:
        """Return what a session says now, as stored."""
        uid = source.session.session_uid
        said = [Sighting(uid, BY_RULES, learning) for learning in self._as_judged(extraction.learnings)]
        asked = {s.learning.id: s.learning for s in said if _is_pending(s)}
        repo = source.session.repo
        pending = {one.id: one for one in self._pending(repo)} | asked if repo or asked else {}
        if not pending or not extraction.event_count:
            return said
        closed = recorded(self._extractor.closed(source, pending.values()), source)
        return [*said, *(Sighting(uid, BY_CLOSING, one) for one in closed)]

    def _as_judged(self, learnings: Sequence[Learning]) -> list[Learning]:
        """Return learnings such that a preference with a person's verdict keeps its id and its scope."""
        former = {
            x.id: id_everywhere(x.kind, x.text) for x in learnings if x.kind == "preference" and x.scope == "repo"
        }
        judged = {known.id for known in self._store.known(former.values()) if known.verdicts or known.is_undone}
        return [
            msgspec.structs.replace(one, id=former[one.id], scope="user", repo="")
            if former.get(one.id) in judged
            else one
            for one in learnings
        ]

    def _failed(self, job: Job, message: str) -> None:
        self.report.notes.append(message)
        due_at = self._now_us() + wait_us(job.attempts, chance())
        with self._store.transaction():
            self._queue.retry(job, holder=self._holder, due_at=due_at, reason=message)


def chance() -> float:
    """Return a random number in [0, 1), so that processes do not try again all at once."""
    import secrets  # only failures need it

    return secrets.SystemRandom().random()


def has_work(store: LearningStore, *, now_us: int, is_patient: bool) -> bool:
    """Take what the change log says; tell whether anything is due for the rules that ship. A few rows are read, and
    nothing is loaded.

    is_patient: see `Extracting.run`.
    """
    queue = store.queue
    if store.note(PROGRAM_NOTE) != _SHIPPED:
        return True
    _note_changes(store, now_us, ONE_BY_ONE_US if is_patient else 0)
    due_at = queue.next_due_at(("rules", "relate"), now_us=now_us)
    return due_at is not None and due_at <= now_us


def note_sessions(store: LearningStore, version: str, now_us: int, least_wait_us: int) -> None:
    """Take what the change log says, so that it need not be kept; have all sessions read that no such version read."""
    is_other = store.note(EXTRACTOR_NOTE) != version.encode()
    if is_other or store.note(PROGRAM_NOTE) != _SHIPPED:
        with store.transaction():
            store.queue.note_changes(now_us=now_us, least_wait_us=least_wait_us)
            if is_other:
                store.queue.add_all_sessions(now_us=now_us)
            store.set_note(EXTRACTOR_NOTE, version.encode())
            store.set_note(PROGRAM_NOTE, _SHIPPED)
    _note_changes(store, now_us, least_wait_us)


def _note_changes(store: LearningStore, now_us: int, least_wait_us: int) -> None:
    """Have the sessions that changed read; those that must wait at once where their newest turn is over."""
    queue = store.queue
    has_changes = queue.has_changes()
    if not has_changes and (not least_wait_us or queue.next_due_at(("rules",), now_us=now_us) is None):
        return
    with store.transaction():
        if has_changes:
            queue.note_changes(now_us=now_us, least_wait_us=least_wait_us)
        if least_wait_us:
            queue.hasten(now_us=now_us)


def _is_still_there(sighting: Sighting, source: AnalysisInput) -> bool:
    """Return whether the session still has all events that a sighting rests on."""
    events = {(event.event_id, event.part) for event in source.events}
    return all((e.event_id, e.part) in events for e in sighting.learning.evidence)


def _is_pending(sighting: Sighting) -> bool:
    """Return whether a session asks for something to be done, and did not take it back."""
    return sighting.learning.kind == "action" and sighting.learning.state != "undone"


def _as_they_stand(before: Iterable[Sighting], source: AnalysisInput) -> list[Sighting]:
    """Return what models said of a session whose basis changed: only on what was not undone, or only on what was."""
    said = [sighting for sighting in before if is_models(sighting)]
    undone = {(event.event_id, event.part) for event in source.events if event.is_undone} if said else set()
    found = []
    for sighting in said:
        learning = sighting.learning
        kept = tuple(e for e in learning.evidence if (e.event_id, e.part) not in undone)
        is_undone = bool(learning.evidence) and not kept
        if learning.state not in ("active", "undone"):
            continue
        state: LearningState = "undone" if is_undone else "active"
        now = msgspec.structs.replace(learning, state=state, evidence=kept or learning.evidence)
        if now != learning:
            found.append(sighting._replace(learning=now))
    return found


def _is_of_evicted(sighting: Sighting, source: AnalysisInput) -> bool:
    """Return whether a sighting rests on events deleted to save space: what they gave stays."""
    if source.base is None:
        return False
    return any(evidence.seq < source.base.through_seq for evidence in sighting.learning.evidence)


class Extractor(Protocol):
    """Finds learnings in a session, and whether it tells that something pending was done. Pure."""

    @property
    def version(self) -> str:
        """Name and version. Where it changes, sessions are learned from again."""
        ...

    def extract(self, of_session: AnalysisInput) -> Sequence[Learning]:
        """Return what a session gives, with evidence; `recorded_at` is not set."""
        ...

    def closed(self, of_session: AnalysisInput, pending: Iterable[Learning]) -> Sequence[Learning]:
        """Return those of the pending actions that the session shows to be done, with `done_at`."""
        ...


class Extraction(msgspec.Struct, frozen=True):
    """What rules learned from a session of so many events. learnings: with `recorded_at`."""

    learnings: tuple[Learning, ...]
    event_count: int


def extraction_of(source: AnalysisInput, extractor: Extractor) -> Extraction:
    """Return what an extractor learns from a session. Raises StoreCorrupt, ArchiveError."""
    if not source.events:
        return Extraction((), 0)
    return Extraction(recorded(extractor.extract(source), source), len(source.events))


def recorded(learnings: Sequence[Learning], source: AnalysisInput) -> tuple[Learning, ...]:
    """Return learnings of a session with when the last of the evidence that it has was first seen."""
    if not learnings:
        return ()
    locations = {(event.event_id, event.part): event.location for event in source.events}

    def seen_at(learning: Learning) -> int:
        return source.observed_at(
            {locations[key] for e in learning.evidence if (key := (e.event_id, e.part)) in locations}
        )

    return tuple(msgspec.structs.replace(one, recorded_at=seen_at(one)) for one in learnings)
