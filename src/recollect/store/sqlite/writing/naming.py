"""Which event is new, which is a replay, which a new version: the names of one session part's events."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw

from recollect.store.ports import EventDraft, RecordPlace

SHA_BYTES = 8
"""How much of a record's SHA-256 a row keeps: tells versions apart; the whole is recomputed from the archive."""
ID_TAIL_BYTES = 6
"""How much of a stored event id the index holds."""

_SELECT = (
    "SELECT event_id, part, version, sha, source, revision, record, key, bits, block, entry FROM event "
    "WHERE key >> 24 = ? AND substr(event_id, -6) IN (SELECT value FROM carray(?))"
)


class KnownEvent(NamedTuple):
    """A stored event with the same name."""

    part: int
    version: int
    sha: bytes
    source: int
    revision: int
    record: int
    key: int
    bits: int
    block: int
    """-1: its body is in the slice that is being written, under the ordinal `entry`."""
    entry: int


class Naming:
    """Names the events of one session part and knows which names are stored already.

    Events without a native id are named by a hash of session, record bytes and occurrence: how many equal records stand
    before theirs in this revision of the source. Equal records are those with an event of ours under occurrence
    0, 1, 2 …; the ones of this source and revision, and those that were replays (table `replayed`), stand before.
    """

    def __init__(self, db: apsw.Connection, *, session: int, native_id: str, source: int, revision: int) -> None:
        self._db = db
        self._session = session
        self._source = source
        self._revision = revision
        self._hasher = hashlib.blake2b(digest_size=16, person=b"recollect.event")
        self._hasher.update(native_id.encode("utf-8", "surrogatepass") + b"\0")
        self._first: dict[bytes, bytes] = {}
        self._ranks: dict[bytes, int] = {}
        self._by_record: dict[int, bytes] = {}
        self.known: dict[bytes, list[KnownEvent]] = {}

    def look_up(self, drafts: Iterable[EventDraft], names: dict[str, bytes], records: list[RecordPlace]) -> None:
        """Fetch the stored events that share a name with a draft, in one query."""
        self._fetch(self.names_of(drafts, names, records))

    def names_of(self, drafts: Iterable[EventDraft], names: dict[str, bytes], records: list[RecordPlace]) -> set[bytes]:
        """Return the names of drafts, as if no two of their records were equal."""
        found = set(names.values())
        for draft in drafts:
            if draft.event_id is None:
                found.add(self._first_name(records[draft.record].sha256))
        return found

    def of_record(self, ordinal: int, place: RecordPlace) -> bytes:
        """Return the stored name of a record without a native id. Call in record order."""
        name = self._by_record.get(ordinal)
        if name is None:
            sha = place.sha256
            rank = self._ranks.get(sha)
            if rank is None:
                rank = self._rank(place) if self._first_name(sha) in self.known else 0
            self._ranks[sha] = rank + 1
            name = self._first[sha] if rank == 0 else self._name(sha, rank)
            if rank and self._first[sha] in self.known and name not in self.known:
                self._fetch((name,))
            self._by_record[ordinal] = name
        return name

    def _rank(self, place: RecordPlace) -> int:
        """Return how many equal records of this revision stand before a record whose first name is stored."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT record FROM replayed WHERE source = ? AND sha = ? AND record < ?",
            (self._source, place.sha256[:SHA_BYTES], place.index),
        )
        before = {record for (record,) in rows}
        occurrence = 0
        while True:
            name = self._name(place.sha256, occurrence)
            if name not in self.known:
                self._fetch((name,))
            equal = self.known.get(name)
            if not equal:
                return len(before)
            own = (e.record for e in equal if e.source == self._source and e.revision == self._revision)
            before.update(record for record in own if record < place.index)
            occurrence += 1

    def _fetch(self, names: Iterable[bytes]) -> None:
        wanted = frozenset(names)
        if not wanted:
            return
        rows: Iterable[tuple[Any, ...]] = self._db.execute(
            _SELECT, (self._session, apsw.carray(tuple({name[-ID_TAIL_BYTES:] for name in wanted})))
        )
        for name, *rest in rows:
            if name in wanted:
                self.known.setdefault(name, []).append(KnownEvent(*rest))

    def _first_name(self, sha: bytes) -> bytes:
        name = self._first.get(sha)
        if name is None:
            name = self._first[sha] = self._name(sha, 0)
        return name

    def _name(self, sha: bytes, occurrence: int) -> bytes:
        h = self._hasher.copy()
        h.update(sha + occurrence.to_bytes(4, "big"))
        return b"\x01" + h.digest()
