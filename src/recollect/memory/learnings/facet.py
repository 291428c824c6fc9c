"""The facet `memory.learn`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from recollect.config import Config
from recollect.errors import StoreError, StoreLocked, UnknownName
from recollect.ingest.learnings.extract import LearnReport
from recollect.ingest.learnings.run import Answered, Opened, Wanted, ask_models, learn, want_older
from recollect.ingest.learnings.user_file import UserFileReport
from recollect.ingest.learnings.views import HeldBack, LearnStatus, NewLearning, SeenEvidence, Why
from recollect.model.learnings.learnings import GIVEN_STATES, Learning, LearningState
from recollect.recall.context.person_files import USER, person_files
from recollect.store.connection import has_database
from recollect.store.learnings import LearningFilter

if TYPE_CHECKING:
    from recollect.ingest.learnings.extract import Extractor, LearnProgress
    from recollect.ingest.learnings.judgements import Judging
    from recollect.ingest.learnings.preview import AskPreview
    from recollect.insights.learnings.queue.pause import Pause
    from recollect.memory.known_names import KnownNames
    from recollect.model.learnings.learnings import LearningEvidence
    from recollect.model.sessions import Session
    from recollect.store.learnings import LearningReader, Quarantined, Verdict
    from recollect.store.reader import Reader

_T = TypeVar("_T")
MOST_PENDING = 200
"""Actions that are listed where nobody says how many."""


class OpenMemory(Protocol):
    """What the facet needs of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]

    def reader(self) -> Reader: ...
    def session(self, uid: str) -> Session: ...
    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames: ...
    def writing(self) -> AbstractContextManager[Opened]: ...


class LearnFacet:
    """What one memory learned of sessions, and the work that this takes."""

    def __init__(self, memory: OpenMemory, now_us: Callable[[], int]) -> None:
        self._memory = memory
        self._now_us = now_us

    # Running

    def run(
        self, *, max_seconds: float | None = None, should_stop: Callable[[], bool] | None = None,
        progress: LearnProgress | None = None, is_patient: bool = False, extractor: Extractor | None = None,
        at_once: bool = False,
    ) -> LearnReport:  # fmt: skip
        """Learn from the sessions that are due by the rules that always run. Asks no model, see `ask`.

        max_seconds: after this time the next run goes on. is_patient: beside agents at work, a session is read at most
        every 30 s while a turn goes on. extractor: in place of the rules that ship. at_once: a person waits; sessions
        that go on are read too, and a model is asked about them up to the last turn that is over. While another process
        is ingesting, returns at once with state "busy". Raises StoreError, ArchiveError.
        """
        if not self._is_there():
            return LearnReport(notes=["nothing is stored yet"])
        is_over = _deadline(max_seconds, should_stop)
        try:
            with self._memory.writing() as opened:
                wanted = Wanted(is_over, progress, is_patient, extractor, at_once)
                report = learn(self._memory, opened, wanted, now_us=self._now_us)
        except StoreLocked as error:
            return LearnReport("busy", notes=[str(error)])
        self.keep_user_file(report.notes)
        return report

    def keep_user_file(self, notes: list[str]) -> None:
        """After a run: have `user.md` follow what was learned; add a note where it cannot be written."""
        if not self._memory.config.learning.enabled:
            return
        try:
            self.write_user_file()
        except StoreError as error:
            notes.append(str(error))

    @property
    def asks_model(self) -> bool:
        """Tell whether a model is configured to be asked."""
        learning = self._memory.config.learning
        return learning.enabled and bool(learning.provider)

    def ask(
        self, *, max_seconds: float | None = None, should_stop: Callable[[], bool] | None = None, at_once: bool = False
    ) -> Answered:
        """Ask the configured model about the turns that wait, until none is due, it must pause, or the time is over.

        Takes no ingest lock; any number of processes may ask at once. What fails is in the answer, not raised: it is
        kept, and asked again when that makes sense. at_once: a person waits; a pause after a failure ends. Raises
        StoreError, ArchiveError.
        """
        if not self.asks_model or not self._is_there():
            return Answered(LearnReport("off", notes=[]))
        return ask_models(self._memory, _deadline(max_seconds, should_stop), now_us=self._now_us, is_at_once=at_once)

    def want_older(self, *, after: int | None = None, before: int | None = None) -> int:
        """Have the model asked about sessions that began before it was configured: the newest first, when nothing newer
        waits, as far as the budget goes, on the next days too. Return how many were not asked for before.

        after, before: UTC microseconds of when they began, [after, before). Raises StoreError.
        """
        if not self.asks_model or not self._is_there():
            return 0
        return want_older(self._memory, after, before, now_us=self._now_us)

    def preview(self, session: str) -> AskPreview:
        """Return what a model would be sent of a session, and what that would cost at most; nothing is sent.

        Also where no model is configured. session: uid or a unique beginning. Raises UnknownName, ConfigError.
        """
        from recollect.ingest.learnings.preview import preview_of

        return preview_of(self._memory, session, now_us=self._now_us)

    # Asking what was learned

    def learnings(self, where: LearningFilter | None = None) -> list[Learning]:
        """Return learnings with their evidence, the newest first. Nothing is taken in. Raises UnknownName for a
        repository."""
        where = where or LearningFilter()
        if where.repos and self._is_there():
            known = self._memory.known_names()
            where = msgspec.structs.replace(where, repos=tuple(map(known.repository, where.repos)))
        return self._asked(lambda reader: reader.learnings(where), [])

    def learning(self, name: str) -> Learning:
        """Return a learning by its id, a beginning of it that only one has, or its entry's uid. Raises UnknownName."""
        found = self._asked(lambda reader: reader.learning(name), None) if name.strip() else None
        if found is None:
            nobody: list[str] = []
            near = self._asked(lambda reader: reader.named(name), nobody) if name.strip() else nobody
            raise UnknownName("learning", name, nearest=tuple(near), hint="`recollect learnings` lists them")
        return found

    def actions(
        self, *, repos: Sequence[str] = (), states: Sequence[LearningState] = GIVEN_STATES, limit: int = MOST_PENDING
    ) -> list[Learning]:
        """Return actions: urgent ones first, then high, then others, each the newest first. What is over is left out
        where pending ones are asked for, also where nothing ran since. Raises UnknownName for a repository."""
        where = LearningFilter(kinds=("action",), repos=tuple(repos), states=tuple(states))
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
        """Return why no model is asked now, None where nothing keeps it from being asked. One row is read."""
        from recollect.ingest.learnings.status import pause_of

        return self._asked(lambda reader: pause_of(reader, self._memory, self._now_us()), None)

    def status(self) -> LearnStatus:
        """Return how learning is, from the database alone. Raises StoreError and its kinds."""
        from recollect.ingest.learnings.status import status_of

        empty = LearnStatus(
            enabled=self._memory.config.learning.enabled, provider=self._memory.config.learning.provider
        )
        return self._asked(lambda reader: status_of(reader, self._memory, self._now_us()), empty)

    def held_back(self, *, limit: int = 20) -> tuple[HeldBack, ...]:
        """Return what of a model's answers cannot be used, the newest first. Raises StoreError and its kinds."""
        nothing: list[Quarantined] = []
        found = self._asked(lambda reader: reader.quarantined(limit=limit), nothing)
        return tuple(HeldBack(session_uid=q.session_uid, at=q.at, reason=q.reason, text=q.text) for q in found)

    # A person's word. It is kept where StoreError says that `user.md` could not follow it.

    def confirm(self, name: str, *, reason: str = "") -> Learning:
        """Take a learning as confirmed: it is sure from now on, whatever is derived anew. Raises UnknownName."""
        return self._followed(self._judging().confirm(self.learning(name), reason=reason))

    def correct(self, name: str, text: str, *, reason: str = "") -> Learning:
        """Have a learning superseded by what is right, and return that one. Raises UnknownName, UsageError."""
        return self._followed(self._judging().correct(self.learning(name), text, reason=reason))

    def retire(self, name: str, *, reason: str = "") -> Learning:
        """Have a learning given to nobody any more; its history stays. Raises UnknownName."""
        return self._followed(self._judging().retire(self.learning(name), reason=reason))

    def done(self, name: str, *, reason: str = "") -> Learning:
        """Mark an action as done. Raises UnknownName, UsageError where it is no action."""
        return self._judging().done(self.learning(name), reason=reason)

    def add(self, new: NewLearning) -> Learning:
        """Keep what a person writes down: an action that waits, or anything else as confirmed. Raises UsageError."""
        return self._followed(self._judging().add(new))

    def settle_batch(self, batch: str) -> int:
        """After a batch was undone: retire what it added; return how many learnings changed. Raises StoreError."""
        return self._judging().settle_batch(batch)

    def write_user_file(self) -> UserFileReport:
        """Have the marked region of `user.md` say what the user prefers, where somebody made that file.

        Lines that were taken out by hand are retired first. Raises StoreError where the file cannot be written.
        """
        settings = self._memory.config.context
        (path,) = (
            Path(file.path)
            for file in person_files(self._memory.home, self._memory.env, user=settings.user_file)
            if file.name == USER
        )
        if not self._is_there() or not path.exists():
            return UserFileReport("absent", str(path))
        return self._judging().write_user_file(path)

    # Inside

    def _followed(self, learning: Learning) -> Learning:
        """Have `user.md` follow what was said of a learning."""
        if learning.kind == "preference":
            self.write_user_file()
        return learning

    def _judging(self) -> Judging:
        from recollect.ingest.learnings.judgements import Judging

        return Judging(self._memory, self._now_us)

    def _seen(self, evidence: LearningEvidence, *, is_revoked: bool = False) -> SeenEvidence:
        citation = f"{evidence.session_uid}#{evidence.seq}"
        found = None
        if evidence.session_uid and self._memory.reader().session(evidence.session_uid) is not None:
            events = self._memory.reader().events(evidence.session_uid, first_seq=evidence.seq, limit=1)
            found = next((e for e in events if (e.event_id, e.part) == (evidence.event_id, evidence.part)), None)
        return SeenEvidence(evidence=evidence, citation=citation, event=found, is_revoked=is_revoked)

    def _asked(self, question: Callable[[LearningReader], _T], nothing: _T) -> _T:
        """Ask the stored learnings; `nothing` where nothing was ever stored, so that asking makes no empty memory."""
        if not self._is_there():
            return nothing
        from recollect.store.learnings import LearningReader

        reader = LearningReader(self._memory.home)
        try:
            return question(reader)
        finally:
            reader.close()

    def _is_there(self) -> bool:
        return has_database(self._memory.home)


def _deadline(max_seconds: float | None, should_stop: Callable[[], bool] | None) -> Callable[[], bool]:
    ends_at = None if max_seconds is None else time.monotonic() + max_seconds
    return lambda: (should_stop is not None and should_stop()) or (ends_at is not None and time.monotonic() > ends_at)
