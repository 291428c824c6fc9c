"""`memory.notes`: diary, facts, tags, and runs that can be undone; `memory.saved_searches`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from recollect.clock import now_us
from recollect.errors import UnknownName, UsageError
from recollect.memory.diary import Noting
from recollect.memory.facets import HomeFacet, facet
from recollect.model.learnings.names import tag_name
from recollect.store.meta import change_mark

if TYPE_CHECKING:
    from recollect.ingest.open_home import OpenHome
    from recollect.memory.diary import BatchesFacet, DiaryFacet
    from recollect.memory.facts import FactsFacet, SeedingFacet
    from recollect.memory.palace import PalaceFacet

MAX_TAG_CHARS = 60


class Tagged(msgspec.Struct, frozen=True):
    """A session's tag. tagged_at: UTC microseconds."""

    name: str
    session_uid: str
    tagged_at: int


class NotesFacet:
    """The notes of one memory. Safe from many threads."""

    def __init__(self, home: OpenHome, now_us: Callable[[], int] = now_us) -> None:
        self._noting = Noting(home, now_us)

    diary: DiaryFacet = facet("recollect.memory.diary", of="_noting")
    """Diaries: write and read."""
    facts: FactsFacet = facet("recollect.memory.facts", of="_noting")
    """Facts with their time."""
    seeding: SeedingFacet = facet("recollect.memory.facts", of="_noting")
    """Facts that follow from decisions and learnings."""
    palace: PalaceFacet = facet("recollect.memory.palace", of="_noting")
    """What another program keeps of the same kind, taken over."""
    batches: BatchesFacet = facet("recollect.memory.diary", of="_noting")
    """Runs that can be undone."""

    # Tags

    def tag(self, session: str, names: Sequence[str]) -> tuple[Tagged, ...]:
        """Add tags to a session and return all that it has. Repeating it is harmless.

        Raises UnknownName for a session, UsageError for a tag without a letter or digit, StoreLocked, StoreError.
        """
        uid, tags = self._noting.session_uid(session), [_checked(self._noting.clean(name)) for name in names]
        now = self._noting.now_us()
        with self._noting.writing() as notes:
            for name in tags:
                notes.tag(uid, name, now)
            return _shown(notes.tags(session_uid=uid))

    def untag(self, session: str, names: Sequence[str]) -> tuple[Tagged, ...]:
        """Remove tags from a session, without names all of them, and return the rest.

        Raises UnknownName for a session or for a tag that no session has.
        """
        uid = self._noting.session_uid(session)
        named = [self._known(name) for name in names]
        with self._noting.writing() as notes:
            gone = named or [row.name for row in notes.tags(session_uid=uid)]
            for name in gone:
                notes.untag(uid, name)
            return _shown(notes.tags(session_uid=uid))

    def tags(self, *, session: str = "", name: str = "") -> tuple[Tagged, ...]:
        """Return tags by name: all, those of one session, or those of one name. Raises UnknownName for a session or
        for a tag that no session has.
        """
        if not self._noting.home.is_there():
            return ()
        uid = self._noting.session_uid(session) if session else ""
        tag = self._known(name) if name else ""
        with self._noting.reading() as notes:
            return _shown(notes.tags(session_uid=uid, name=tag))

    def _known(self, name: str) -> str:
        return self._noting.home.known_names()("tag", _checked(name))


def _checked(name: str) -> str:
    tag = tag_name(name)
    if not tag or len(tag) > MAX_TAG_CHARS:
        raise UsageError(f"{name!r} is not a tag: use letters and digits, at most {MAX_TAG_CHARS}")
    return tag


def _shown(rows: Sequence[tuple[str, str, int]]) -> tuple[Tagged, ...]:
    return tuple(Tagged(*row) for row in rows)


_MARK = "saved_searches"
MAX_SAVED = 100
MAX_CHARS = 500
_decode = msgspec.json.Decoder(list[str]).decode


class SavedSearchesFacet(HomeFacet):
    """Saved queries, newest first. Safe from many threads and processes."""

    def list(self) -> tuple[str, ...]:
        """Return every saved query."""
        return tuple(_decode(self._home.reader().mark(_MARK) or "[]")) if self._home.is_there() else ()

    def keep(self, query: str) -> None:
        """Save a query, redacted. Raises UsageError if it is empty or too long, or if there are too many;
        StoreError.
        """
        text = " ".join(self._home.redacted(query).split())
        if not text or len(text) > MAX_CHARS:
            raise UsageError(f"a saved search has 1 to {MAX_CHARS} characters")
        self._home.reader()  # makes an empty memory if there is none

        def added(kept: str) -> str:
            queries = [text, *(one for one in _decode(kept or "[]") if one != text)]
            if len(queries) > MAX_SAVED:
                raise UsageError(f"{MAX_SAVED} searches are saved already", hint="remove one first")
            return msgspec.json.encode(queries).decode()

        change_mark(self._home.home, _MARK, added)

    def remove(self, query: str) -> None:
        """Delete a saved query. Raises UnknownName."""

        def left(kept: str) -> str:
            queries = _decode(kept or "[]")
            if query not in queries:
                raise UnknownName("saved search", query)
            return msgspec.json.encode([one for one in queries if one != query]).decode()

        change_mark(self._home.home, _MARK, left)
