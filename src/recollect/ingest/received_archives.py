"""What another machine archived: its bytes go into this archive, and everything is derived from there.

A crash in between is what it always is where the archive knows more than the database: the next sync brings them in
step.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

import msgspec

from recollect.agents.registry import adapters
from recollect.archive.archive import Archive
from recollect.archive.journal import ArchivedRevision, JournalEntry, Removal
from recollect.archive.packs import ChunkPlace, Hole, hole
from recollect.config import PrivacyConfig
from recollect.erasure.exclusion import KeepingOut
from recollect.erasure.forget import Opened
from recollect.erasure.tombstones import Forgotten
from recollect.ingest.reconciliation import derive
from recollect.ingest.worker.derive import sealed_state
from recollect.model.synced import BatchHead, SentBytes, SentRemoval, SentRevision, foreign_key, foreign_source_id

_Key = tuple[str, int]


class Received:
    """The revisions of other machines in one archive."""

    def __init__(self, archive: Archive, forgotten: Forgotten) -> None:
        """forgotten: what must not come (again). Raises ArchiveError."""
        self._archive = archive
        self._forgotten = forgotten
        self._known = {(one.entry.source_id, one.entry.revision): one for one in archive.revisions()}
        self._changed: set[_Key] = set()
        self._passed_over: set[_Key] = set()
        self.notes: list[str] = []

    @property
    def changed(self) -> list[ArchivedRevision]:
        """What was taken, in the order in which its machine first saw it: that is the order of the events' numbers."""
        return [revision for key, revision in self._known.items() if key in self._changed]

    def is_wanted(self, machine: str, sent: SentRevision) -> bool:
        """Return whether a part brings anything: it is not here, its agent is known, and it is not forgotten."""
        key = foreign_source_id(machine, sent), sent.revision
        known = self._known.get(key)
        if key in self._passed_over:
            return False
        if known is not None and (known.bytes_seen, known.committed_bytes) >= (sent.bytes_seen, sent.committed_bytes):
            return False
        is_forgotten = bool(sent.sessions) and all(map(self._forgotten.has_session, sent.sessions))
        return sent.agent in adapters() and not is_forgotten

    def can_take(self, machine: str, sent: SentRevision) -> bool:
        """Return whether all that a part continues from is here."""
        known = self._known.get((foreign_source_id(machine, sent), sent.revision))
        return not sent.from_bytes or (known is not None and sent.from_bytes in _ends(known.chunks))

    def take(self, head: BatchHead, parts: Iterable[tuple[SentRevision, SentBytes]]) -> int:
        """Archive parts that can be taken, durably; return how many bytes came. Raises DiskFull, ArchiveError."""
        size = 0
        for sent, part in parts:
            if not (self.is_wanted(head.machine, sent) and self.can_take(head.machine, sent)):
                continue
            key = foreign_source_id(head.machine, sent), sent.revision
            known = self._known.get(key)
            join = _joined(known, sent, part)
            if known is not None and _overwrites(known, join, part.chunks[join.given :]):
                self.notes.append(f"{head.name}:{sent.path} went on after {head.name} evicted its beginning: not taken")
                self._passed_over.add(key)
                continue
            revision = self._grown(head, sent, part, known, join)
            self._archive.record(list(revision.entries()))
            self._known[key] = revision
            self._changed.add(key)
            size += sent.bytes_seen - sent.from_bytes
        self._archive.flush()
        return size

    def _grown(
        self, head: BatchHead, sent: SentRevision, part: SentBytes, known: ArchivedRevision | None, join: _Join
    ) -> ArchivedRevision:
        """Return the revision with what a part brings behind the place where the two are joined."""
        archive = self._archive
        came = part.chunks[join.given :]
        sealed = [archive.sealer.seal(data, is_open=is_open) for data, is_open in came if isinstance(data, bytes)]
        places = iter(archive.write(sealed))
        fresh = [(next(places) if isinstance(data, bytes) else hole(data), is_open) for data, is_open in came]
        removal = known.removal if known is not None else None
        if part.removal is not None:
            removal = _removal(archive, join.offset, part.removal, removal)
        seen = part.observations or ((sent.committed_bytes, 0),)
        entry = JournalEntry(
            source_id=foreign_source_id(head.machine, sent), agent=sent.agent, role=sent.role,
            key=foreign_key(head.machine, sent.key), path=f"{head.name}:{sent.path}", container=sent.container,
            session=sent.session, revision=sent.revision, observed_at=seen[0][1], from_bytes=0,
            to_bytes=sent.committed_bytes, bytes_seen=sent.bytes_seen, keep_chunks=0, chunks=[],
            relative=sent.relative, lane=sent.lane, marks=part.marks,
        )  # fmt: skip
        kept = known.chunks[: join.kept] if known is not None else []
        return ArchivedRevision(
            entry, [*kept, *fresh], sent.committed_bytes, sent.bytes_seen, list(seen), part.marks, removal
        )


class _Join(NamedTuple):
    """Where a part is joined to what is here: so many chunks of what is here stay, so many of the part are left out."""

    offset: int
    kept: int
    given: int


def _ends(chunks: Iterable[tuple[ChunkPlace, bool]]) -> list[int]:
    return list(accumulate(place.plain for place, _ in chunks))


def _joined(known: ArchivedRevision | None, sent: SentRevision, part: SentBytes) -> _Join:
    """Find the last end of a closed chunk that both have: what is here stays up to there."""
    given = list(accumulate((_length(data) for data, _ in part.chunks), initial=sent.from_bytes))
    closed = [(place, is_open) for place, is_open in known.chunks if not is_open] if known is not None else []
    here = [0, *_ends(closed)]
    offset = max(set(here) & set(given))
    return _Join(offset, here.index(offset), given.index(offset))


def _overwrites(known: ArchivedRevision, join: _Join, came: Iterable[tuple[bytes | int, bool]]) -> bool:
    """Return whether a hole would take the place of bytes that are here."""
    position = join.offset
    for data, _ in came:
        if isinstance(data, int):
            start = join.offset
            for place, _is_open in known.chunks[join.kept :]:
                if not place.is_hole and start < position + data and start + place.plain > position:
                    return True
                start += place.plain
        position += _length(data)
    return False


def _length(data: bytes | int) -> int:
    return data if isinstance(data, int) else len(data)


def _removal(archive: Archive, offset: int, told: SentRemoval, here: Removal | None) -> Removal:
    """Return what is to be said of the holes: those that are here up to an offset, and those that came behind it."""
    before = [one for one in here.holes if one.offset + one.length <= offset] if here is not None else []
    came = [Hole(*msgspec.structs.astuple(one)) for one in told.holes if one.offset >= offset]
    state = sealed_state(told.state, archive.sealer) if told.state else b""
    return Removal(
        [*before, *came], told.committed_bytes, told.records, told.is_newest, state, told.parser_version,
        told.turn_index, told.trail,
    )  # fmt: skip


def derive_received(opened: Opened, received: Received, keeping_out: KeepingOut, privacy: PrivacyConfig) -> list[str]:
    """Derive what was taken, and leave out what is forgotten or excluded here; return lines on what was lost or left.

    Raises StoreError, ArchiveError, IndexUnavailable.
    """
    changed = received.changed
    if not changed:
        return []
    touched, lost = derive(opened, changed, privacy, keeping_out=keeping_out)
    with opened.writer.transaction():
        opened.writer.mark_journal(opened.archive.journal.size_bytes())
    return [*lost, *keeping_out.finish(touched)]
