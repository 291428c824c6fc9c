"""`memory.notes`: what people and agents write down: diary, facts, tags, and the runs that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from recollect.errors import UsageError
from recollect.memory.notes.base import Noting, OpenMemory
from recollect.model.learnings.names import tag_name

if TYPE_CHECKING:
    from recollect.memory.notes.batches import BatchesFacet
    from recollect.memory.notes.diary import DiaryFacet
    from recollect.memory.notes.facts import FactsFacet
    from recollect.memory.notes.palace import PalaceFacet
    from recollect.memory.notes.seeds import SeedingFacet

MAX_TAG_CHARS = 60


class Tagged(msgspec.Struct, frozen=True):
    """A session's tag. tagged_at: UTC microseconds."""

    name: str
    session_uid: str
    tagged_at: int


class NotesFacet:
    """Notes of one memory. Safe from many threads."""

    def __init__(self, memory: OpenMemory, now_us: Callable[[], int]) -> None:
        self._noting = Noting(memory, now_us)

    @cached_property
    def diary(self) -> DiaryFacet:
        """Diaries: write and read."""
        from recollect.memory.notes.diary import DiaryFacet

        return DiaryFacet(self._noting)

    @cached_property
    def facts(self) -> FactsFacet:
        """Facts with their time."""
        from recollect.memory.notes.facts import FactsFacet

        return FactsFacet(self._noting)

    @cached_property
    def seeding(self) -> SeedingFacet:
        """Facts that follow from decisions and learnings."""
        from recollect.memory.notes.seeds import SeedingFacet

        return SeedingFacet(self._noting)

    @cached_property
    def palace(self) -> PalaceFacet:
        """What another program keeps of the same kind, taken over."""
        from recollect.memory.notes.palace import PalaceFacet

        return PalaceFacet(self._noting)

    @cached_property
    def batches(self) -> BatchesFacet:
        """Runs that can be undone."""
        from recollect.memory.notes.batches import BatchesFacet

        return BatchesFacet(self._noting)

    # Tags

    def tag(self, session: str, names: Sequence[str]) -> tuple[Tagged, ...]:
        """Give a session tags, and return all that it has. Harmless when done twice.

        Raises UnknownName for a session, UsageError for a tag without a letter or digit, StoreLocked, StoreError.
        """
        uid, tags = self._noting.session_uid(session), [_checked(self._noting.clean(name)) for name in names]
        now = self._noting.now_us()
        with self._noting.writing() as notes:
            for name in tags:
                notes.tag(uid, name, now)
            return _shown(notes.tags(session_uid=uid))

    def untag(self, session: str, names: Sequence[str]) -> tuple[Tagged, ...]:
        """Take tags of a session away, all without names, and return what is left. Raises UnknownName for a session and
        for a tag that no session has."""
        uid = self._noting.session_uid(session)
        named = [self._known(name) for name in names]
        with self._noting.writing() as notes:
            gone = named or [row.name for row in notes.tags(session_uid=uid)]
            for name in gone:
                notes.untag(uid, name)
            return _shown(notes.tags(session_uid=uid))

    def tags(self, *, session: str = "", name: str = "") -> tuple[Tagged, ...]:
        """Return tags by name: all, of one session, or of one name. Raises UnknownName for a session and for a tag that
        no session has."""
        if not self._noting.is_there():
            return ()
        uid = self._noting.session_uid(session) if session else ""
        tag = self._known(name) if name else ""
        with self._noting.reading() as notes:
            return _shown(notes.tags(session_uid=uid, name=tag))

    def _known(self, name: str) -> str:
        return self._noting.memory.known_names()("tag", _checked(name))


def _checked(name: str) -> str:
    tag = tag_name(name)
    if not tag or len(tag) > MAX_TAG_CHARS:
        raise UsageError(f"{name!r} is no tag: use letters and digits, at most {MAX_TAG_CHARS}")
    return tag


def _shown(rows: Sequence[tuple[str, str, int]]) -> tuple[Tagged, ...]:
    return tuple(Tagged(*row) for row in rows)
