"""`memory.notes.diary`: what agents write down for the next session, and people beside them."""

from __future__ import annotations

import msgspec

from recollect.errors import UnknownName
from recollect.insights.notes.diary import NewEntry, checked_entry, diary_agent, find_entry, made_entry
from recollect.memory.notes.base import Noting
from recollect.model.learnings.notes import DiaryEntry
from recollect.store.notes import DiaryFilter
from recollect.store.rows import EventFilter

PRESENT_US = 15 * 60 * 1_000_000
"""A session that did something so recently is taken for the one in which an entry is written."""
_AHEAD_US = 60 * 1_000_000


class DiaryAnswer(msgspec.Struct, frozen=True):
    """Entries of diaries, the newest first. total: how many there are."""

    entries: tuple[DiaryEntry, ...]
    total: int


class DiaryQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries. Empty: all. after, before: UTC microseconds, [after, before). is_history: retired ones too."""

    agent: str = ""
    repo: str = ""
    session: str = ""
    after: int | None = None
    before: int | None = None
    is_history: bool = False


class DiaryFacet:
    """Diaries of one memory."""

    def __init__(self, noting: Noting) -> None:
        self._noting = noting

    def write(self, new: NewEntry) -> DiaryEntry:
        """Keep an entry, its secrets redacted. Where it names no session, the present one of that agent there is meant.

        Straight to the database, without the ingest lock; the next search finds it. Raises UsageError for an empty or
        endless text, UnknownName for a session that is not there, StoreLocked, DiskFull, StoreError.
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
        """Return entries, the newest first. Raises UnknownName for a session, a repository and for who keeps no
        diary, StoreError."""
        if not self._noting.is_there():
            return DiaryAnswer((), 0)
        where = DiaryFilter(
            agent=self._noting.memory.agents.slug(question.agent) if question.agent else "",
            repo=self._noting.repository(question.repo),
            session=self._noting.session_uid(question.session) if question.session else "",
            after=question.after,
            before=question.before,
            is_history=question.is_history,
        )
        with self._noting.reading() as notes:
            found = notes.diary(where)
        return DiaryAnswer(tuple(found[:limit]), len(found))

    def entry(self, name: str) -> DiaryEntry:
        """Return one entry by id or a unique beginning. Raises UnknownName."""
        self._noting.must_be_there()
        with self._noting.reading() as notes:
            return find_entry(notes, name)

    def _writer(self, name: str) -> str:
        """Return the slug of an agent, by whichever of its names; who is none keeps the name: people have diaries."""
        try:
            return self._noting.memory.agents.slug(name)
        except UnknownName:
            return diary_agent(name)

    def _present(self, agent: str, repo: str) -> tuple[str, ...]:
        """Return the session of an agent in a repository that is going on, () where none or more than one is."""
        if not self._noting.is_there() or not repo:
            return ()
        now = self._noting.now_us()
        where = EventFilter(agents=(agent,), repos=(f"={repo}",), is_subagent=False)
        found, _total = self._noting.memory.reader().sessions(
            where, after=now - PRESENT_US, before=now + _AHEAD_US, limit=20, offset=0
        )
        going_on = [s.session_uid for s in found if s.ended_at is not None and s.ended_at >= now - PRESENT_US]
        return tuple(going_on) if len(going_on) == 1 else ()
