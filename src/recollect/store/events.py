# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Reads event rows in order and turns them into events with full, redacted payloads."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.archive.packs import ChunkPlace
from recollect.errors import ArchiveError, RawGone, StoreCorrupt, StoreError
from recollect.model.events import Event, SourceLocation
from recollect.model.payloads import KINDS, Payload, Unknown
from recollect.model.rows import PREFIX
from recollect.model.text import searchable, summary_of
from recollect.store.bodies import BlockEntry, decode_entry, hydrate, is_whole, open_frame, payload_without_record
from recollect.store.connection import REBUILD_HINT, query
from recollect.store.event_order import first_versions
from recollect.store.row_keys import (
    EVICTED_BLOCK,
    FLAG_EVICTED,
    FLAG_GONE,
    FLAG_REPLACED,
    FLAG_SHIFT,
    FLAG_VIEW,
    HIDDEN,
    KIND_MASK,
    NOT_INDEXED,
    SEQ_BITS,
    SEQ_MASK,
    is_sidechain,
    is_undone,
    kind_of_bits,
    quality_of_bits,
    role_of_bits,
    span_of,
    unpack_event_id,
)
from recollect.store.rows import ChunkReader, HitText, IndexEvent, TextRedactor
from recollect.store.sessions import int_array
from recollect.store.sources import read_lasting, revision_chunks, revision_holes, why_gone

REACH = 64
"""Rows looked at on each side of a reply: counts of tokens and the like stand between what is done."""
_PERSON = KINDS.index("user_message")
_EDIT = KINDS.index("file_edit")


def codes_of(*kinds: str) -> str:
    return ",".join(str(KINDS.index(kind)) for kind in kinds)


def _nearest(kinds: str, *, is_after: bool, told: str = f"bits & {KIND_MASK}", reach: int = REACH) -> str:
    """Return SQL for the nearest event of these kinds beside the key `value`, in its session. told: what of it, by
    default its kind. reach: events looked at."""
    first, last, order = (
        ("value + 1", f"min(value + {reach}, value | {SEQ_MASK})", "ASC")
        if is_after
        else (f"max(value - {reach}, value & ~{SEQ_MASK})", "value - 1", "DESC")
    )
    return (
        f"(SELECT {told} FROM event WHERE key BETWEEN {first} AND {last} AND NOT bits & {NOT_INDEXED} "
        f"AND bits & {KIND_MASK} IN ({kinds}) ORDER BY key {order} LIMIT 1)"
    )


_DONE = codes_of("user_message", "assistant_message", "thinking", "tool_call", "tool_result")
_STATEMENT = (
    f"SELECT value, {_nearest(_DONE, is_after=True)}, {_nearest(f'{_DONE},{_EDIT}', is_after=True)}, "
    f"{_nearest(codes_of('user_message', 'tool_call', 'file_edit'), is_after=False)} FROM carray(?)"
)


def read_closing(db: apsw.Connection, keys: Sequence[int]) -> set[int]:
    """Return those of the keys of replies that close a turn of work, see `store.rows.HitText.is_closing`.

    An edit beside a reply may have been told in the same record, after it.
    """
    closing: set[int] = set()
    if not keys:
        return closing
    for key, after, next_to, before in db.execute(_STATEMENT, (int_array(keys),)):
        has_worked = next_to == _EDIT or before not in (None, _PERSON)
        if after in (None, _PERSON) and has_worked:
            closing.add(key)
    return closing


TEXT_CHARS = 65_536
BATCH = 500
_EVICTED = BlockEntry(msgspec.json.encode(Unknown(text="[not available: evicted]")), "", "")
_KEPT_FRAMES = 64
_KEPT_SESSIONS = 1_000
_COLUMNS = (
    "key, event_id, part, bits, ts, turn, source, revision, record, offset, length, sha, parent, block, entry, "
    "(SELECT text FROM name WHERE id = tool)"
)


class EventRow(NamedTuple):
    """A row of the event table, as selected here."""

    key: int
    event_id: bytes
    part: int
    bits: int
    ts: int | None
    turn: int
    source: int
    revision: int
    record: int
    offset: int
    length: int
    sha: bytes
    parent: int | bytes | None
    block: int
    entry: int
    tool: str | None


_SHOWN = f"SELECT key FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {HIDDEN} ORDER BY key"


class EventReader:
    """Turns rows into events, with one thread's connection. Made per question: it keeps what it has decoded."""

    def __init__(self, db: apsw.Connection, archive: ChunkReader | None, redactor: TextRedactor | None) -> None:
        self._db = db
        self._archive = archive
        self._redactor = redactor
        self._frames: dict[int, list[msgspec.Raw]] = {}
        self._chunks: dict[tuple[int, int], list[ChunkPlace]] = {}
        self._uids: dict[int, tuple[str, str]] = {}
        self._short: dict[int, bool] = {}
        self._source_ids: dict[int, str] = {}
        self._record: tuple[tuple[int, int, int], bytes] | None = None
        self._hash: tuple[tuple[int, int, int], str] | None = None

    def in_range(
        self, first_key: int, last_key: int, *, include_hidden: bool, limit: int | None = None, condition: str = ""
    ) -> Iterator[list[EventRow]]:
        """Yield the rows of a key range in batches, in order; no read transaction stays open between them.

        condition: additional SQL of this package that the rows must meet.
        """
        shown = "" if include_hidden else f"AND NOT bits & {HIDDEN} "
        shown += f"AND {condition} " if condition else ""
        statement = f"SELECT {_COLUMNS} FROM event WHERE key BETWEEN ? AND ? {shown}ORDER BY key LIMIT ?"
        while limit is None or limit > 0:
            size = BATCH if limit is None else min(BATCH, limit)
            rows = [EventRow(*row) for row in self._db.execute(statement, (first_key, last_key, size))]
            if rows:
                yield rows
                first_key = rows[-1].key + 1
            if len(rows) < size:
                return
            if limit is not None:
                limit -= size

    def of_session(
        self, number: int, first_seq: int, *, include_hidden: bool, limit: int | None
    ) -> Iterator[list[EventRow]]:
        """Yield the rows of a session in batches; a newer version of an event takes the place of its first version."""
        first, last = (number << SEQ_BITS) + first_seq, (number + 1 << SEQ_BITS) - 1
        places = {} if include_hidden else first_versions(self._db, number)
        if not places:
            yield from self.in_range(first, last, include_hidden=include_hidden, limit=limit)
            return
        yield from self._batches(self._placed(first, last, places)[:limit])

    def from_place(
        self, number: int, first_seq: int, *, limit: int | None = None, behind: int = 0
    ) -> Iterator[list[EventRow]]:
        """Yield the rows of a session in batches from an event on, in the order of `of_session`, whatever their
        numbers.

        behind: how many rows before it are included.
        """
        base, last = span_of(number)
        first = base + first_seq
        places = first_versions(self._db, number)
        if not places:
            before: Any = self._db.execute(f"{_SHOWN} DESC LIMIT ?", (base, first - 1, behind)).fetchall()
            yield from self.in_range(before[-1][0] if before else first, last, include_hidden=False, limit=limit)
            return
        begin = (places.get(first, first), first if first in places else base)
        keys = self._placed(base, last, places)
        start = bisect_left(keys, begin, key=lambda key: (places.get(key, key), key))
        yield from self._batches(keys[max(0, start - behind) :][:limit])

    def order_of(self, number: int) -> list[int]:
        """Return the keys of a session's shown events in order, see `of_session`."""
        first, last = span_of(number)
        return self._placed(first, last, first_versions(self._db, number))

    def _batches(self, keys: Sequence[int]) -> Iterator[list[EventRow]]:
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            rows = {row.key: row for row in self.by_key(batch)}
            yield [rows[key] for key in batch if key in rows]

    def _placed(self, first: int, last: int, places: Mapping[int, int]) -> list[int]:
        """Return the keys of shown events in a range, those with a place of their own at that."""
        keys: list[int] = [key for (key,) in self._db.execute(_SHOWN, (first, last))]
        return sorted(keys, key=lambda key: (places.get(key, key), key)) if places else keys

    def by_key(self, keys: Iterable[int]) -> list[EventRow]:
        """Return the rows with these keys, in order of key."""
        statement = f"SELECT {_COLUMNS} FROM event WHERE key IN (SELECT value FROM carray(?)) ORDER BY key"
        return [EventRow(*row) for row in self._db.execute(statement, (int_array(keys),))]

    def near(self, key: int, kinds: str, limit: int, *, is_after: bool) -> list[EventRow]:
        """Return the nearest shown rows of some kinds after or before an event, in its session, nearest first.

        kinds: their codes, as SQL.
        """
        first, last, order = (key + 1, key | SEQ_MASK, "ASC") if is_after else (key & ~SEQ_MASK, key - 1, "DESC")
        statement = (
            f"SELECT {_COLUMNS} FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {NOT_INDEXED} "
            f"AND bits & {KIND_MASK} IN ({kinds}) ORDER BY key {order} LIMIT ?"
        )
        return [EventRow(*row) for row in self._db.execute(statement, (first, last, limit))]

    def nearest(self, keys: Iterable[int], kinds: str, *, is_after: bool) -> dict[int, int]:
        """Return, by key, the key of the nearest shown event of some kinds after or before each, in its session.

        kinds: their codes, as SQL.
        """
        nearest = _nearest(kinds, is_after=is_after, told="key", reach=SEQ_MASK)
        rows: Iterable[Any] = self._db.execute(f"SELECT value, {nearest} FROM carray(?)", (int_array(keys),))
        return {key: place for key, place in rows if place is not None}

    def events(self, rows: Sequence[EventRow], *, with_whole_sha: bool = True) -> list[Event]:
        """Return events with whole, redacted payloads.

        with_whole_sha: hash each record again from the archive; else, and where the archive cannot be read,
        `location.record_sha256` is the beginning that the database keeps.
        """
        parents = self._ids(row.key - row.parent for row in rows if isinstance(row.parent, int))
        replaced = self._replacements(rows)
        found = []
        for row in rows:
            entry = self._entry(row)
            payload = self._payload(row, entry)
            parent = row.parent
            found.append(
                Event(
                    session_uid=self._session(row.key)[0],
                    seq=row.key & SEQ_MASK,
                    event_id=unpack_event_id(row.event_id),
                    part=row.part,
                    kind=kind_of_bits(row.bits),
                    payload=payload,
                    location=self._location(row, with_whole_sha=with_whole_sha),
                    parent_id=parents.get(row.key - parent)
                    if isinstance(parent, int)
                    else unpack_event_id(parent)
                    if parent
                    else None,
                    ts=row.ts,
                    ts_quality=quality_of_bits(row.bits),
                    role=role_of_bits(row.bits),
                    turn_index=row.turn,
                    is_sidechain=is_sidechain(row.bits),
                    summary=entry.summary or summary_of(payload),
                    replaced_by=replaced.get(row.key),
                    is_undone=is_undone(row.bits),
                )
            )
        return found

    def texts(self, rows: Sequence[EventRow], *, with_closing: bool = True) -> dict[int, HitText]:
        """Return what search shows and verifies of events, by key. with_closing: tell which replies close a turn."""
        found = {}
        replies = [row.key for row in rows if with_closing and kind_of_bits(row.bits) == "assistant_message"]
        closing = read_closing(self._db, replies)
        self._fetch_frames(rows)
        self._fetch_sessions(rows)
        for row in rows:
            entry = self._entry(row)
            payload = self._payload(row, entry)
            _class, text, _paths = searchable(payload)
            found[row.key] = HitText(
                event_id=unpack_event_id(row.event_id),
                part=row.part,
                seq=row.key & SEQ_MASK,
                kind=kind_of_bits(row.bits),
                ts=row.ts,
                session_uid=self._session(row.key)[0],
                tool=row.tool or "",
                summary=entry.summary or summary_of(payload),
                text=text[:TEXT_CHARS],
                is_hidden=bool(row.bits & NOT_INDEXED),
                is_closing=row.key in closing,
                is_undone=is_undone(row.bits),
            )
        return found

    def whole_payload(self, row: EventRow, body: bytes | None = None) -> Payload | None:
        """Return an event's whole, redacted payload; None where a light one lacks nothing. body: where it is known."""
        entry = self._entry(row) if body is None else BlockEntry(body, "", "")
        return None if is_whole(entry.body) else self._payload(row, entry)

    def payloads(self, rows: Iterable[EventRow]) -> Iterator[tuple[EventRow, Payload]]:
        """Yield rows with their whole, redacted payloads."""
        for row in rows:
            yield row, self._payload(row, self._entry(row))

    def light_payloads(self, rows: Sequence[EventRow]) -> Iterator[tuple[EventRow, Payload]]:
        """Yield rows with the payloads that the database alone has: strings stored in the archive are empty."""
        self._fetch_frames(rows)
        for row in rows:
            yield row, payload_without_record(self._entry(row).body)

    def index_events(self, rows: Sequence[EventRow]) -> Iterator[IndexEvent]:
        """Yield events for the index. They come session by session, so what is known of many before is let go of."""
        if len(self._uids) > _KEPT_SESSIONS:
            for kept in (self._uids, self._short, self._chunks, self._source_ids):
                kept.clear()
        for row, event in zip(rows, self.events(rows, with_whole_sha=False), strict=True):
            shard = self._session(row.key)[1]
            is_hidden = bool(row.bits & NOT_INDEXED) or self._is_short(row.key >> SEQ_BITS)
            yield IndexEvent(row.key, row.key >> SEQ_BITS, shard, is_hidden, event)

    def summary(self, row: EventRow) -> str:
        """Return an event's summary."""
        entry = self._entry(row)
        return entry.summary or summary_of(self._payload(row, entry))

    def _payload(self, row: EventRow, entry: BlockEntry) -> Payload:
        return hydrate(entry.body, lambda: self._read(row), self._redact)

    def _redact(self, text: str) -> str:
        if self._redactor is None:
            return f"[{len(text):,} characters not shown: no redactor is loaded]"
        return self._redactor.redact_text(text)[0]

    def _read(self, row: EventRow) -> bytes:
        """Return the bytes of an event's record. Raises ArchiveError."""
        if self._archive is None:
            raise ArchiveError("the archive is not open")
        place = (row.source, row.revision, row.record)
        if self._record is None or self._record[0] != place:
            chunks = self._places(row.source, row.revision)
            fetch = partial(self._fetch_places, row.source, row.revision)
            try:
                data, places = read_lasting(self._archive, chunks, fetch, row.offset, row.length)
            except RawGone as error:
                why = why_gone(revision_holes(self._db, row.source, row.revision), row.offset, row.length)
                raise RawGone(why or str(error)) from error
            self._chunks[row.source, row.revision] = places
            self._record = (place, data)
        return self._record[1]

    def _location(self, row: EventRow, *, with_whole_sha: bool) -> SourceLocation:
        sha = row.sha.hex()
        if with_whole_sha and self._archive is not None:
            try:
                sha = self._whole_sha(row)
            except ArchiveError:
                sha = row.sha.hex()
        return SourceLocation(self._source_id(row.source), row.revision, row.offset, row.length, row.record, sha)

    def _whole_sha(self, row: EventRow) -> str:
        """Return the hash of an event's record; the many events of one large record share it. Raises ArchiveError."""
        place = (row.source, row.revision, row.record)
        if self._hash is None or self._hash[0] != place:
            self._hash = (place, hashlib.sha256(self._read(row)).hexdigest())
        return self._hash[1]

    def _fetch_frames(self, rows: Sequence[EventRow]) -> None:
        """Read the frames of a few rows by one statement; what they are too many for is read one by one."""
        keys = {_frame_key(row) for row in rows if row.block != EVICTED_BLOCK} - self._frames.keys()
        if not 1 < len(keys) <= _KEPT_FRAMES:
            return
        for key, data in query(
            self._db, "SELECT key, data FROM block WHERE key IN (SELECT value FROM carray(?))", (int_array(keys),)
        ):
            self._keep_frame(key, data)

    def _keep_frame(self, key: int, data: bytes | None) -> list[msgspec.Raw]:
        if len(self._frames) >= _KEPT_FRAMES:
            self._frames.pop(next(iter(self._frames)))
        entries = self._frames[key] = open_frame(data) if data else []
        return entries

    def _entry(self, row: EventRow) -> BlockEntry:
        if row.block == EVICTED_BLOCK:
            return _EVICTED
        key = _frame_key(row)
        entries = self._frames.get(key)
        if entries is None or row.entry >= len(entries):
            data = self._db.execute("SELECT data FROM block WHERE key = ?", (key,)).get
            entries = self._keep_frame(key, data)
            if row.entry >= len(entries):
                if not data and self._has_moved(row):
                    return _EVICTED
                raise StoreCorrupt("the body of a stored event is missing", hint=REBUILD_HINT)
        return decode_entry(entries[row.entry])

    def _has_moved(self, row: EventRow) -> bool:
        """Return whether an event lost its body after its row was read: its session was just evicted."""
        block = self._db.execute("SELECT block FROM event WHERE key = ?", (row.key,)).get
        return bool(block != row.block)

    def _places(self, source: int, revision: int) -> list[ChunkPlace]:
        places = self._chunks.get((source, revision))
        if places is None:
            places = self._chunks[source, revision] = self._fetch_places(source, revision)
        return places

    def _fetch_places(self, source: int, revision: int) -> list[ChunkPlace]:
        return [place for place, _ in revision_chunks(self._db, self._source_id(source), revision)]

    def _fetch_sessions(self, rows: Sequence[EventRow]) -> None:
        """Read what `_session` tells of a few rows by one statement."""
        numbers = {row.key >> SEQ_BITS for row in rows} - self._uids.keys()
        if len(numbers) > 1:
            found: Iterable[Any] = self._db.execute(
                "SELECT number, uid, shard FROM session WHERE number IN (SELECT value FROM carray(?))",
                (int_array(numbers),),
            )
            self._uids |= {number: (uid, shard) for number, uid, shard in found}

    def _session(self, key: int) -> tuple[str, str]:
        """Return (uid, shard) of an event's session."""
        number = key >> SEQ_BITS
        found = self._uids.get(number)
        if found is None:
            row: Any = self._db.execute("SELECT uid, shard FROM session WHERE number = ?", (number,)).fetchone()
            if row is None:
                raise StoreCorrupt("the session of a stored event is missing", hint=REBUILD_HINT)
            found = self._uids[number] = row
        return found

    def _is_short(self, number: int) -> bool:
        """Return whether a session is not indexed because it has too few messages."""
        found = self._short.get(number)
        if found is None:
            statement = "SELECT EXISTS (SELECT 1 FROM unindexed WHERE session = ?)"
            found = self._short[number] = bool(self._db.execute(statement, (number,)).get)
        return found

    def _source_id(self, number: int) -> str:
        found = self._source_ids.get(number)
        if found is None:
            found = self._db.execute("SELECT source_id FROM source WHERE number = ?", (number,)).get
            if found is None:
                raise StoreCorrupt("the source of a stored event is missing", hint=REBUILD_HINT)
            self._source_ids[number] = found
        return found

    def _ids(self, keys: Iterable[int]) -> dict[int, str]:
        """Return the event ids of keys."""
        wanted = set(keys)
        if not wanted:
            return {}
        rows: Iterable[Any] = self._db.execute(
            "SELECT key, event_id FROM event WHERE key IN (SELECT value FROM carray(?))", (int_array(wanted),)
        )
        return {key: unpack_event_id(event_id) for key, event_id in rows}

    def _replacements(self, rows: Sequence[EventRow]) -> dict[int, str]:
        """Return the id of the event that replaces another one, by the replaced one's key."""
        hidden = [row.key for row in rows if row.bits & HIDDEN]
        if not hidden:
            return {}
        found: list[Any] = self._db.execute(
            "SELECT key, by_key FROM replacement WHERE key IN (SELECT value FROM carray(?))", (int_array(hidden),)
        ).fetchall()
        ids = self._ids(by_key for _key, by_key in found)
        return {key: ids[by_key] for key, by_key in found if by_key in ids}


def _frame_key(row: EventRow) -> int:
    return (row.key >> SEQ_BITS << SEQ_BITS) + row.block


def why_missing(db: apsw.Connection, number: int, seq: int) -> str:
    """Return why no event of a session is shown under a number; "" for a number that was never given."""
    key = (number << SEQ_BITS) + seq
    bits: int | None = db.execute("SELECT bits FROM event WHERE key = ?", (key,)).get
    if bits is None:
        next_seq: int = db.execute("SELECT next_seq FROM session WHERE number = ?", (number,)).get
        return "it was forgotten, or the number was never used" if 0 <= seq < next_seq else ""
    flags = bits >> FLAG_SHIFT
    if flags & FLAG_REPLACED:
        by_key = _standing_for(db, key)
        return f"a newer version of it is #{by_key & SEQ_MASK}" if by_key != key else "a newer version replaces it"
    if flags & FLAG_EVICTED:
        return "its text was evicted"
    if flags & FLAG_VIEW:
        return "another record of the session says the same"
    return "the newest version of the transcript no longer contains it" if flags & FLAG_GONE else ""


def _standing_for(db: apsw.Connection, key: int) -> int:
    """Return the key of the newest version of an event that was replaced."""
    seen: set[int] = set()
    while key not in seen:
        seen.add(key)
        found: int | None = db.execute("SELECT by_key FROM replacement WHERE key = ?", (key,)).get
        key = key if found is None else found
    return key


_MARGIN = 16_384
"""More characters than the longest secret that is looked for."""


class TranscriptReader(EventReader):
    """An event reader that returns at most `max_chars` of each string stored in the archive."""

    def __init__(
        self, db: apsw.Connection, archive: ChunkReader | None, redactor: TextRedactor | None, *, max_chars: int
    ) -> None:
        super().__init__(db, archive, redactor)
        self._max_chars = max_chars

    def holds(self, row: EventRow, text: str) -> bool:
        """Return whether the searchable text of an event contains a lower-case text."""
        entry = self._entry(row)
        plain = text.encode() if text.isascii() and text.isprintable() and not set(text) & {'"', "\\"} else b""
        if plain and plain not in entry.body.lower():
            if is_whole(entry.body):
                return False
            try:
                raw = self._read(row)
            except (ArchiveError, StoreError):
                return False
            if raw.startswith(b"{") and not raw.startswith(PREFIX) and plain not in raw.lower():
                return False
        return text in searchable(self._payload(row, entry))[1].casefold()

    def record(self, row: EventRow) -> bytes:
        """Return the exact bytes of an event's record. Raises ArchiveError, RawGone."""
        return self._read(row)

    def _redact(self, text: str) -> str:
        # Some more is redacted than shown: a secret that is cut in the middle would not be found.
        return super()._redact(text[: self._max_chars + _MARGIN])[: self._max_chars]
