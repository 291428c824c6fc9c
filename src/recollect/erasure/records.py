"""Finds records in the archive by text, by session, or as repetitions of other records.

The rows of the store name each record once; the archive may have it again, in other revisions and sources.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from recollect.agents.registry import adapters, for_role
from recollect.archive.archive import Archive
from recollect.archive.packs import ChunkPlace, Hole
from recollect.capture.containers.jsonl import Line
from recollect.capture.replay import ReplayGap, is_rows, replay
from recollect.erasure.tombstones import SHA_BYTES
from recollect.errors import ArchiveError
from recollect.model.ids import session_uid
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.store.rows import SourceRow

_WINDOW_BYTES = 1 << 20
_OVERLAP_BYTES = 1 << 16
"""Of a record that is too large to decode: a match longer than this may be missed where two windows meet."""
_TRIES = 3
"""How often reading continues where a compaction has moved the chunks."""
_ESCAPES = {b"\\n": b"\n", b"\\t": b"\t", b'\\"': b'"', b"\\/": b"/", b"\\\\": b"\\"}
_ESCAPE = re.compile(rb'\\[nt"/\\]')


class ArchivedRecord(NamedTuple):
    """A record as the archive has it. number: its index in the revision. sha: the first 8 bytes of its SHA-256.

    line: None for one that is too large to decode.
    """

    number: int
    offset: int
    length: int
    sha: bytes
    line: Line | None


class RecordOwners(NamedTuple):
    """What a parser says of a record: the sessions that it is of (uids), and the events that their agent named."""

    sessions: frozenset[str]
    events: frozenset[tuple[str, str]]


def records_of(
    archive: Archive, places: Sequence[ChunkPlace], container: str, *, holes: Sequence[Hole], end: int
) -> Iterator[ArchivedRecord]:
    """Yield the whole records of a revision that the archive still has, in order.

    holes: lost parts of the revision. end: of the ingested records; an unfinished one follows. Raises ArchiveError,
    ArchiveCorrupt.
    """
    number = 0
    for batch in replay(pieces_and_gaps(archive, lambda: places, holes), container):
        if batch.gap is not None:
            number += batch.gap.records
        if batch.giant is not None:
            giant = batch.giant
            if giant.start >= end:
                return
            yield ArchivedRecord(number, giant.start, giant.end - giant.start, giant.sha256[:SHA_BYTES], None)
            number += 1
        for line in batch.lines:
            offset = batch.base + line.start
            if offset >= end:
                return
            yield ArchivedRecord(number, offset, len(line.raw), hashlib.sha256(line.raw).digest()[:SHA_BYTES], line)
            number += 1


def runs(records: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of the bytes of records, neighbours joined, with what is between them.

    records: (index in the revision, offset, length), in any order; omits those without bytes.
    """
    start = stop = 0
    previous = -2
    for number, offset, length in sorted(records):
        if not length:
            continue
        if number != previous + 1:
            if stop > start:
                yield start, stop
            start = offset
        previous, stop = number, offset + length
    if stop > start:
        yield start, stop


class RecordParser:
    """Asks a source's parser of each record in order what it is of. Use once a revision."""

    def __init__(self, row: SourceRow) -> None:
        self._adapter = for_role(adapters()[row.agent], row.role)
        info = SourceInfo.of(row.agent, row.role, row.relative, row.session)
        self._agent, self._session = row.agent, row.session
        self._state = self._adapter.begin(info)

    def owners(self, record: ArchivedRecord) -> RecordOwners:
        """Return what a record is of; one that tells no event is of the source's own session."""
        own = session_uid(self._agent, self._session) if self._session else ""
        line = record.line
        if line is None or not line.decoded.is_json:
            return RecordOwners(frozenset((own,)), frozenset())
        try:
            parsed: Parsed[Any] = self._adapter.parse(
                Record(line.decoded.value, line.raw, record.number, line.at, line.changed), self._state
            )
        except (RecursionError, UnicodeError):
            return RecordOwners(frozenset((own,)), frozenset())
        self._state = parsed.state
        sessions, events = set(), set()
        for draft in parsed.events:
            uid = own if draft.session is None else session_uid(self._agent, draft.session)
            sessions.add(uid)
            if draft.native_id is not None:
                events.add((uid, draft.native_id))
        return RecordOwners(frozenset(sessions or (own,)), frozenset(events))


def record_says(
    pattern: re.Pattern[str], record: ArchivedRecord, archive: Archive, places: Sequence[ChunkPlace], container: str
) -> bool:
    """Return whether a record has a text, in its exact bytes or decoded. places: the chunks of its revision."""
    if record.line is None:
        return _giant_says(pattern, record, archive, places)
    text = record.line.raw.decode("utf-8", "replace")
    if pattern.search(text):
        return True
    # Only escapes, and cells of rows that are packed once more, say something else than the bytes.
    if not record.line.decoded.is_json or ("\\" not in text and not is_rows(container)):
        return False
    return in_value(pattern, record.line.decoded.value)


def _giant_says(
    pattern: re.Pattern[str], record: ArchivedRecord, archive: Archive, places: Sequence[ChunkPlace]
) -> bool:
    end = record.offset + record.length
    for at in range(record.offset, end, _WINDOW_BYTES):
        raw = archive.read_range(places, at, min(_WINDOW_BYTES + _OVERLAP_BYTES, end - at))
        plain = _ESCAPE.sub(lambda match: _ESCAPES[match[0]], raw)
        if pattern.search(raw.decode("utf-8", "replace")) or pattern.search(plain.decode("utf-8", "replace")):
            return True
    return False


def has_text(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a text, which may be JSON, contains a match of a pattern."""
    return says(pattern, text.encode("utf-8", "surrogatepass"))


def says(pattern: re.Pattern[str], raw: bytes) -> bool:
    """Return whether bytes that may be JSON contain a text, as they are or decoded."""
    if pattern.search(raw.decode("utf-8", "replace")):
        return True
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return in_value(pattern, value)


def in_value(pattern: re.Pattern[str], value: object) -> bool:
    """Search every string and key of decoded JSON, also inside of strings that are JSON themselves."""
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if pattern.search(item):
                return True
            if item[:1] in ("{", "[") and "\\" in item:
                with suppress(ValueError, RecursionError):
                    waiting.append(msgspec.json.decode(item))
        elif isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
    return False


def pieces_and_gaps(
    archive: Archive, places_now: Callable[[], Sequence[ChunkPlace]], holes: Sequence[Hole]
) -> Iterator[bytes | ReplayGap]:
    """Yield a revision chunk by chunk, with a gap for every hole, for `capture.replay`.

    places_now: gives the chunks of the revision as the store knows them. holes: of the revision; one that nothing is
    known of counts as no record. Raises ArchiveCorrupt, ArchiveError when the chunk's turn comes.
    """
    known = {hole.offset: hole for hole in holes}
    position = 0
    for piece in lasting_pieces(archive, places_now):
        if isinstance(piece, bytes):
            yield piece
            position += len(piece)
        else:
            hole = known.get(position)
            yield ReplayGap(piece.plain, hole.records, hole.turn) if hole else ReplayGap(piece.plain, 0)
            position += piece.plain


def lasting_pieces(archive: Archive, places_now: Callable[[], Sequence[ChunkPlace]]) -> Iterator[bytes | ChunkPlace]:
    """Yield a revision chunk by chunk, holes as their place; where chunks moved meanwhile, from their new place.

    places_now: gives the chunks of the revision as the store knows them. Raises ArchiveCorrupt, ArchiveError.
    """
    places = places_now()
    done = tries = 0
    while True:
        position = 0
        try:
            for place in places:
                start, position = position, position + place.plain
                if position <= done and place.plain:
                    continue
                if place.is_hole:
                    yield place._replace(plain=position - done)
                else:
                    for piece in archive.iter_bytes((place,)):
                        yield piece[done - start :] if done > start else piece
                done = position
            return
        except ArchiveError:
            fresh = places_now()
            tries += 1
            if fresh == places or tries >= _TRIES:
                raise
            places = fresh


def holes_of(places: Sequence[ChunkPlace]) -> list[tuple[int, int]]:
    """Return (offset, length) of every hole among the chunks of a revision."""
    found = []
    position = 0
    for place in places:
        if place.is_hole:
            found.append((position, place.plain))
        position += place.plain
    return found
