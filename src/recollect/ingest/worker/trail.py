"""The human turns of a rewritten source, to detect what a shorter version left out.

A source that got shorter was compacted or rewound, never deleted: what was left behind stays in the memory, and
one `rewind` says behind which event the source continues, and how many turns that was, unless the new version says
itself that it was shortened. Where the rewind stands depends on the content alone: before the first human turn that
the version before did not have; in a file that is read in one piece and has none, behind the last event of its
conversation. Of turns that vanished from the midst, nothing is known but that they did.
"""

from __future__ import annotations

import hashlib

import msgspec

from recollect.agents.base import Adapter
from recollect.capture.replay import is_whole
from recollect.model.payloads import Rewind
from recollect.store.rows import SourceRow

MAX_NAME_CHARS = 200
MAX_TURNS = 4096
"""Human turns remembered of a source; older ones are not missed."""
_MARK_BYTES = 6

_encode = msgspec.msgpack.Encoder().encode
LeftBehind = tuple[str, Rewind]
"""A rewind and the name of its event."""


class Marks(msgspec.Struct, array_like=True):
    """What is stored: marks of human turns and of what shortened history, now and in the revision before."""

    turns: list[bytes] = []
    counted: int = 0
    turns_before: list[bytes] = []
    counted_before: int = 0
    """How often history was shortened, as earlier versions stored it; not read."""
    is_told: bool = False
    newest: str = ""
    """The name of the newest event of the conversation, "" where it has none."""
    shortenings: list[bytes] = []
    shortenings_before: list[bytes] = []


class Trail:
    """Follows one revision. `marks` is what to store with its source."""

    def __init__(self, marks: Marks, *, is_whole: bool) -> None:
        self._marks = marks
        self._is_whole = is_whole
        self._before = frozenset(marks.turns_before)
        self._is_blind = False
        self._kept = ""
        self.begins_anew = self.ends_anew = False
        """The newest turn is the first of some that the version before did not have; is one of them."""

    def take_turn(self, name: bytes) -> LeftBehind | None:
        """Take note of a human turn (its event's native id, else its record's hash); return what it leaves behind."""
        marks = self._marks
        mark = _mark(name)
        is_new = mark not in self._before
        self.begins_anew = is_new and not self.ends_anew
        self.ends_anew = is_new
        if self.begins_anew:
            self._kept = marks.newest
        found = self._left_behind(marks.newest) if not self._is_whole and is_new else None
        if len(marks.turns) < MAX_TURNS:
            marks.turns.append(mark)
        return found

    def take_talk(self, name: str) -> None:
        """Take note of an event of the conversation, by its name; "" where it has none."""
        self._marks.newest = name if len(name) <= MAX_NAME_CHARS else ""

    def take_shortening(self, name: bytes) -> None:
        """Record that the source itself says that its history was shortened. A later summary may replace the one
        before, so their number does not grow.
        """
        if len(self._marks.shortenings) < MAX_TURNS:
            self._marks.shortenings.append(_mark(name))

    def take_unreadable(self) -> None:
        """Take note that something of the source cannot be read: what is not seen is not gone."""
        self._is_blind = True

    def end(self) -> LeftBehind | None:
        """Return what a file that was read in one piece left behind. Call after its last record."""
        if not self._is_whole:
            return None
        if self._is_blind:
            marks = self._marks
            marks.turns = list(dict.fromkeys((*marks.turns_before, *marks.turns)))[:MAX_TURNS]
            marks.shortenings = list(dict.fromkeys((*marks.shortenings_before, *marks.shortenings)))[:MAX_TURNS]
            return None
        return self._left_behind(self._kept if self.ends_anew else self._marks.newest)

    def _left_behind(self, kept: str) -> LeftBehind | None:
        marks = self._marks
        if marks.is_told or not marks.turns_before or not {*marks.shortenings} <= {*marks.shortenings_before}:
            return None
        now = set(marks.turns)
        gone = [mark for mark in marks.turns_before if mark not in now]
        if not gone:
            return None
        marks.is_told = True
        name = hashlib.blake2b(b"".join(gone), digest_size=8).hexdigest()
        is_end = marks.turns_before[-len(gone) :] == gone
        return f"rewind-{name}", Rewind(kept, len(gone)) if is_end else Rewind()

    def of_nothing(self) -> bytes:
        """Return the trail of a revision without records, which reveals nothing."""
        self.take_unreadable()
        self.end()
        return self.encoded()

    def encoded(self) -> bytes:
        """Return the trail as stored with its source."""
        return _encoded(self._marks)


def trail_of(adapter: Adapter, row: SourceRow) -> Trail | None:
    """Return a source's trail to continue with; None if its agent never rewrites, or says itself what it drops."""
    place = next((p for p in adapter.facts.places if p.role == row.role), None)
    if not adapter.facts.capabilities.rewrites_history or row.lane or place is None or place.tells_rewinds:
        return None
    return Trail(_decode(row.trail), is_whole=is_whole(row.container))


def next_revision(stored: bytes) -> bytes:
    """Return the trail with which a source's next revision begins."""
    was = _decode(stored)
    return _encoded(Marks(turns_before=was.turns, shortenings_before=was.shortenings))


def same_revision(stored: bytes) -> bytes:
    """Return the trail for reading a source's newest revision again."""
    was = _decode(stored)
    return _encoded(Marks(turns_before=was.turns_before, shortenings_before=was.shortenings_before))


def _decode(stored: bytes) -> Marks:
    return msgspec.msgpack.decode(stored, type=Marks) if stored else Marks()


def _encoded(marks: Marks) -> bytes:
    return _encode(marks) if marks.turns or marks.turns_before or marks.shortenings else b""


def _mark(name: bytes) -> bytes:
    return hashlib.blake2b(name, digest_size=_MARK_BYTES).digest()
