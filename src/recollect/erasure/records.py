"""Looks into the archive for the records that are meant: by their text, by their session, by what they repeat.

The rows of the store name each record once; the archive may have it again, in other revisions and sources.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from recollect.agents.registry import adapters, for_role
from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace, Hole
from recollect.capture.containers.jsonl import Line
from recollect.capture.replay import ReplayGap, is_rows, replay
from recollect.erasure.tombstones import SHA_BYTES
from recollect.model.ids import session_uid
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.store.slices import SourceRow

_WINDOW_BYTES = 1 << 20
_OVERLAP_BYTES = 1 << 16
"""Of a record that is too large to decode: a match longer than this may be missed where two windows meet."""
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


class Named(NamedTuple):
    """What a parser says of a record: the sessions that it is of (uids), and the events that their agent named."""

    sessions: frozenset[str]
    events: frozenset[tuple[str, str]]


def records_of(
    archive: Archive, places: Sequence[ChunkPlace], container: str, *, holes: Sequence[Hole], end: int
) -> Iterator[ArchivedRecord]:
    """Yield the whole records of a revision that the archive still has, in order.

    holes: what the revision lost. end: of the records that were taken; an unfinished one stands behind it.

    Raises ArchiveError, ArchiveCorrupt.
    """
    number = 0
    for batch in replay(_pieces(archive, places, holes), container):
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


def _pieces(archive: Archive, places: Sequence[ChunkPlace], holes: Sequence[Hole]) -> Iterator[bytes | ReplayGap]:
    records = {hole.offset: hole.records for hole in holes}
    at = 0
    for place in places:
        if place.is_hole:
            yield ReplayGap(place.plain, records.get(at, 0))
        else:
            yield from archive.iter_bytes([place])
        at += place.plain


def runs(records: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of the bytes of records, neighbours as one, with what stands between them.

    records: (index in the revision, offset, length), in any order; those without bytes are left out.
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


class Naming:
    """Asks a source's parser of each record in order what it is of. Use once a revision."""

    def __init__(self, row: SourceRow) -> None:
        self._adapter = for_role(adapters()[row.agent], row.role)
        info = SourceInfo.of(row.agent, row.role, row.relative, row.session)
        self._agent, self._session = row.agent, row.session
        self._state = self._adapter.begin(info)

    def name(self, record: ArchivedRecord) -> Named:
        """Return what a record is of; one that tells no event is of the source's own session."""
        own = session_uid(self._agent, self._session) if self._session else ""
        line = record.line
        if line is None or not line.decoded.is_json:
            return Named(frozenset((own,)), frozenset())
        try:
            parsed: Parsed[Any] = self._adapter.parse(
                Record(line.decoded.value, line.raw, record.number, line.at, line.changed), self._state
            )
        except (RecursionError, UnicodeError):
            return Named(frozenset((own,)), frozenset())
        self._state = parsed.state
        sessions, events = set(), set()
        for draft in parsed.events:
            uid = own if draft.session is None else session_uid(self._agent, draft.session)
            sessions.add(uid)
            if draft.native_id is not None:
                events.add((uid, draft.native_id))
        return Named(frozenset(sessions or (own,)), frozenset(events))


class TextSearch:
    """Tells whether a record has a text, in its exact bytes or in what it says once it is decoded."""

    def __init__(self, pattern: re.Pattern[str], archive: Archive) -> None:
        self._pattern = pattern
        self._search = pattern.search
        self._archive = archive

    def finds(self, record: ArchivedRecord, places: Sequence[ChunkPlace], container: str) -> bool:
        """Search one record. places: the chunks of its revision."""
        if record.line is None:
            return self._in_giant(record, places)
        raw = record.line.raw
        text = raw.decode("utf-8", "replace")
        if self._search(text):
            return True
        # Only escapes, and cells of rows that are packed once more, say something else than the bytes.
        if not record.line.decoded.is_json or ("\\" not in text and not is_rows(container)):
            return False
        return in_value(self._pattern, record.line.decoded.value)

    def _in_giant(self, record: ArchivedRecord, places: Sequence[ChunkPlace]) -> bool:
        end = record.offset + record.length
        for at in range(record.offset, end, _WINDOW_BYTES):
            raw = self._archive.read_range(places, at, min(_WINDOW_BYTES + _OVERLAP_BYTES, end - at))
            plain = _ESCAPE.sub(lambda match: _ESCAPES[match[0]], raw)
            if self._search(raw.decode("utf-8", "replace")) or self._search(plain.decode("utf-8", "replace")):
                return True
        return False


def says(pattern: re.Pattern[str], raw: bytes) -> bool:
    """Tell whether bytes that may be JSON have a text, as they are or in what they say."""
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
                waiting += _inside(item)
        elif isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
    return False


def _inside(text: str) -> list[object]:
    try:
        return [msgspec.json.decode(text)]
    except (ValueError, RecursionError):
        return []
