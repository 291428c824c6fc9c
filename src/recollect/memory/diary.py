"""Diaries, the base of all note facets, and runs that can be undone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import msgspec

from recollect.clock import now_us
from recollect.errors import StoreError, UnknownName
from recollect.ingest.open_home import OpenHome
from recollect.insights.notes.diary import NewEntry, checked_entry, diary_agent, find_entry, made_entry
from recollect.model.learnings.notes import Batch, DiaryEntry
from recollect.model.time import Period, required_time
from recollect.store.notes import DiaryQuestion, NoteReader, NoteStore, NoteWriter
from recollect.store.rows import EventFilter


class Noting:
    """Opens the notes of a memory and redacts what is written to them. Safe from many threads."""

    def __init__(self, home: OpenHome, now_us: Callable[[], int] = now_us) -> None:
        self.home = home
        self.now_us = now_us
        self.store = NoteStore(home.home)
        self.clean = home.redacted
        """Gives a text without secrets. Raises KeyUnavailable."""

    def reading(self) -> AbstractContextManager[NoteReader]:
        """Open the notes for reading. Creates an empty memory if there is none. Raises StoreError and subclasses."""
        return self.store.reading()

    def writing(self) -> AbstractContextManager[NoteWriter]:
        """Open one transaction. Raises StoreLocked, DiskFull, StoreError."""
        return self.store.writing()

    def period(self, text: str, *, name: str) -> Period:
        """Parse a text about a period. Raises UsageError, which refers to it as `name`."""
        return required_time(text, self.now_us(), self.home.zone, name=name)

    def repository(self, name: str, *, whole: bool = False) -> str:
        """Return what is looked for by a repository's name or a part of it, "" by "". Raises UnknownName.

        whole: the name must be a whole one, and is returned as stored.
        """
        names = self.home.known_names()
        return (names.repository(name) if whole else names("repo", name)) if name else ""

    def session_uid(self, name: str) -> str:
        """Resolve a session by uid, prefix or citation. Raises UnknownName."""
        return self.home.session(name).session_uid

    def must_be_there(self) -> None:
        """Raise StoreError if the memory does not exist yet, so that a question does not create one."""
        if not self.home.is_there():
            raise StoreError("nothing is stored yet", hint="`recollect sync` ingests what your agents wrote")


class NotingFacet:
    """What the facets of the notes of one memory have in common."""

    def __init__(self, noting: Noting) -> None:
        self._noting = noting


PRESENT_US = 15 * 60 * 1_000_000
"""A session that did something so recently is taken for the one in which an entry is written."""
_AHEAD_US = 60 * 1_000_000


class DiaryAnswer(msgspec.Struct, frozen=True):
    """Diary entries, newest first. total: how many match."""

    entries: tuple[DiaryEntry, ...]
    total: int


class DiaryFacet(NotingFacet):
    """The diaries of one memory."""

    def write(self, new: NewEntry) -> DiaryEntry:
        """Store an entry, redacted. Without a session, the agent's present session in that folder is used.

        Writes to the database without the ingest lock; the next search finds the entry. Raises UsageError for an empty
        or oversized text, UnknownName for a session, StoreLocked, DiskFull, StoreError.
        """
        clean = self._noting.clean
        new = checked_entry(msgspec.structs.replace(new, agent=clean(new.agent), repo=clean(new.repo)))
        agent = self._writer(new.agent)
        sessions = tuple(self._noting.session_uid(name) for name in new.sessions) or self._present(agent, new.repo)
        new = msgspec.structs.replace(
            new,
            agent=agent,
            text=clean(new.text),
            topic=clean(new.topic),
            decided=tuple(map(clean, new.decided)),
            discovered=tuple(map(clean, new.discovered)),
            left_pending=tuple(map(clean, new.left_pending)),
            sessions=sessions,
        )
        entry = made_entry(new, written_at=self._noting.now_us())
        with self._noting.writing() as notes:
            notes.put_diary(entry)
        return entry

    def read(self, question: DiaryQuestion, *, limit: int | None = 10) -> DiaryAnswer:
        """Return entries, newest first. Raises UnknownName for a session, a repository or an author without a diary,
        StoreError.
        """
        if not self._noting.home.is_there():
            return DiaryAnswer((), 0)
        where = msgspec.structs.replace(
            question,
            agent=self._noting.home.slug(question.agent) if question.agent else "",
            repo=self._noting.repository(question.repo),
            session=self._noting.session_uid(question.session) if question.session else "",
        )
        with self._noting.reading() as notes:
            found = notes.diary(where)
        return DiaryAnswer(tuple(found[:limit]), len(found))

    def entry(self, name: str) -> DiaryEntry:
        """Return one entry by id or unique prefix. Raises UnknownName."""
        self._noting.must_be_there()
        with self._noting.reading() as notes:
            return find_entry(notes, name)

    def _writer(self, name: str) -> str:
        """Return the slug of an agent, by whichever of its names; who is none keeps the name: people have diaries."""
        try:
            return self._noting.home.slug(name)
        except UnknownName:
            return diary_agent(name)

    def _present(self, agent: str, repo: str) -> tuple[str, ...]:
        """Return the session of an agent in a repository that is going on, () where none or more than one is."""
        if not self._noting.home.is_there() or not repo:
            return ()
        now = self._noting.now_us()
        where = EventFilter(agents=(agent,), repos=(f"={repo}",), is_subagent=False)
        found, _total = self._noting.home.reader().sessions(
            where, after=now - PRESENT_US, before=now + _AHEAD_US, limit=20, offset=0
        )
        going_on = [s.session_uid for s in found if s.ended_at is not None and s.ended_at >= now - PRESENT_US]
        return tuple(going_on) if len(going_on) == 1 else ()


class UndoReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of undoing a batch. was_undone: it had been undone before. Counts are of this call."""

    batch: Batch
    was_undone: bool = False
    facts: int = 0
    diary: int = 0
    documents: int = 0
    learnings: int = 0


class BatchesFacet(NotingFacet):
    """The runs of one memory that can be undone."""

    def list(self) -> tuple[Batch, ...]:
        """Return the batches, newest first."""
        if not self._noting.home.is_there():
            return ()
        with self._noting.reading() as notes:
            return tuple(notes.batches())

    def undo(self, name: str) -> UndoReport:
        """Retire everything that a run added and keep its history. Repeating it, even after a kill, is harmless.

        name: a batch's id or unique prefix. What a person confirmed stays. Raises UnknownName, StoreLocked, StoreError.
        """
        from recollect.ingest.learnings.run import LearnFacet
        from recollect.store.notes import undo_batch

        self._noting.must_be_there()
        with self._noting.reading() as notes:
            batch = find_batch(notes, name)
        undone = undo_batch(self._noting.store, batch, at=self._noting.now_us())
        with self._noting.reading() as notes:
            after = find_batch(notes, batch.id)
        learnings = LearnFacet(self._noting.home).settle_batch(batch.id) if undone.has_learnings else 0
        was_undone = batch.undone_at is not None
        return UndoReport(after, was_undone, undone.facts, undone.diary, undone.documents, learnings)


def find_batch(notes: NoteReader, name: str) -> Batch:
    """Return the batch with an id or unique prefix. Raises UnknownName."""
    found = notes.named_batches(name.strip()) if name.strip() else []
    if len(found) != 1:
        nearest = tuple(batch.id for batch in found[:3])
        raise UnknownName("batch", name, nearest=nearest, hint="`recollect undo --list` lists them")
    return found[0]
