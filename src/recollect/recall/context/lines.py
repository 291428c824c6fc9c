"""The contract of a context source. `ordered` is the only list of sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from recollect.errors import IndexUnavailable
from recollect.ready_blocks import work_folder
from recollect.recall.related_events import EarlierStatement, RelatedEvent
from recollect.store.context_reader import RecentReader
from recollect.store.context_rows import Folder, RecentSession

if TYPE_CHECKING:
    from recollect.index.text.shards import TextIndex
    from recollect.recall.said_later import LaterStatements

ContextEvent = Literal["start", "compact", "prompt"]
SESSIONS = 8
"""At least so many sessions are looked at, and less than twice as many, see `window`."""
LINE_TOKENS = 40
"""What a short line takes: a source is asked for at least as many lines as the budget has room for."""

MISSED = 0.7
"""The worth from which a line that has no room is counted as left out. What is old or unsure is found by asking; to
count it would only say that the memory is large."""


class ContextLine(msgspec.Struct, frozen=True):
    """A line that may be shown.

    text: without its citation. citation: `session_uid#seq`, or the uid of a learning or note. ts: of its content, UTC
    microseconds, None if unknown. worth: 0 to 1; higher ones come first when space is short. identifiers: names in it
    that show that it was used. also: a further citation, if the block has room. later: what a person said later about
    the same thing, beneath it.
    """

    text: str
    citation: str
    ts: int | None
    worth: float
    identifiers: tuple[str, ...] = ()
    also: str = ""
    later: tuple[RelatedEvent, ...] = ()


class SourceLines(msgspec.Struct, frozen=True):
    """What a source has to say: candidates in the order in which they are shown; how many it has beside them that are
    worth as much as `MISSED`."""

    candidates: Sequence[ContextLine]
    left_out: int = 0


class ContextRequest:
    """What the sources are asked.

    folder: None where it is not known. session: the present session's uid, "" where it is not known. room: how many
    lines there is room for, about. agent: who is given the block, "" where that is not known. now_us: the time, UTC
    microseconds; only what begins or ends by itself may depend on it.
    """

    def __init__(
        self, reader: RecentReader, folder: Folder | None, session: str, *, room: int, agent: str = "", now_us: int = 0,
        index: Callable[[], TextIndex] | None = None,
    ) -> None:  # fmt: skip
        self.reader = reader
        self.folder = folder
        self.session = session
        self.room = room
        self.agent = agent or session.partition(":")[0]
        self.now_us = now_us
        self.said: frozenset[str] = frozenset()
        """The lines of the person's own files, each as one text: what they say is not said twice."""
        self.holds_until: int | None = None
        """When the answers of the sources change by themselves, UTC microseconds; None: never."""
        self._index = index
        self._told_later: set[str] = set()
        self.is_whole = False
        """The present session is told to its end, not to its newest compaction."""

    def changes_at(self, at: int | None) -> None:
        """Take note that an answer changes by itself then."""
        if at is not None:
            self.holds_until = at if self.holds_until is None else min(at, self.holds_until)

    @cached_property
    def sessions(self) -> tuple[list[RecentSession], int]:
        """The newest root sessions in the folder but the present one, oldest first, and how many there are."""
        if self.folder is None:
            return [], 0
        return self.reader.sessions_in(self.folder, except_uid=self.session, limit=2 * max(SESSIONS, self.room))

    def said_later(self, earlier: EarlierStatement) -> tuple[RelatedEvent, ...]:
        """Return at most one later statement of a person about the same thing, each only once in a block; none where
        there is no index to look in."""
        try:
            found = self._later.of(earlier) if self._later is not None else ()
        except IndexUnavailable:
            return ()
        fresh = tuple(event for event in found if event.citation not in self._told_later)[:1]
        self._told_later.update(event.citation for event in fresh)
        return fresh

    @cached_property
    def _later(self) -> LaterStatements | None:
        if self._index is None or self.folder is None or not self.sessions[1]:
            return None
        from recollect.recall.said_later import LaterStatements

        return LaterStatements(self.reader, self.reader.worked_in(self.folder), self._index())


class ContextSource(Protocol):
    """One source. Pure but for what it reads through `Asked.reader`; the same store gives the same candidates.

    What changes least comes first, within a source and among them: the beginning of the block then stays the same from
    session to session, and what a model's host has cached of it stays valid.
    """

    @property
    def heading(self) -> str:
        """The line above its candidates."""
        ...

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return what there is to say."""
        ...


def window(sessions: Sequence[RecentSession], total: int, shown: int) -> Sequence[RecentSession]:
    """Return the newest sessions, at least `shown` and less than twice as many.

    The first one stays the same until `shown` further sessions have come: a new session is one more line at the end.
    """
    if total <= shown:
        return sessions
    first = (total - shown) // shown * shown
    return sessions[max(0, len(sessions) - (total - first)) :]


def folder_of(cwd: str, env: Mapping[str, str]) -> Folder | None:
    """Return the repository that a folder is in, else the folder itself; None where it names nothing.

    The rule is `recollect.ready_blocks.work_folder`.
    """
    found = work_folder(cwd, env)
    if found is None:
        return None
    path, is_repository = found
    name = os.path.basename(path)
    return Folder(path, (name,) if name else (), is_repository)
