# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Inserts the events of a session part: new ones, numbers, bodies, replaced and hidden ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

import apsw
import msgspec

from recollect.model.capabilities import WITNESS_LANE
from recollect.store.bodies import (
    FRAME_BYTES,
    SMALL_FRAME_BYTES,
    BlockEntry,
    Frame,
    SessionBodies,
    block_frames,
    content_key,
    decode_block,
    decode_frame,
    encode_frames,
    is_same_content,
)
from recollect.store.event_marks import OwnCalls, Witnesses
from recollect.store.event_names import SHA_BYTES, KnownEvent, Naming, SessionNumbers
from recollect.store.event_order import Arrangement, PartKeys, settle, taken_back
from recollect.store.row_keys import (
    EVICTED,
    EVICTED_BLOCK,
    FLAG_GONE,
    FLAG_REPLACED,
    FLAG_SHIFT,
    FLAG_UNDONE,
    FLAG_VIEW,
    HIDDEN,
    KIND_MASK,
    OWN,
    SEQ_BITS,
    STALE,
    pack_event_id,
)
from recollect.store.rows import EventDraft, IndexDoc, RecordPlace, SessionPart
from recollect.store.session_rows import SessionRow
from recollect.store.sources import SliceContext

_INSERT = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REFRESH = (
    "UPDATE event SET bits = ?, ts = ?, turn = ?, offset = iif(revision = ?, ?, offset), tool = ?, block = ?, "
    "entry = ? WHERE key = ?"
)
"""The same bytes may stand elsewhere in a later revision; an event's place is that where it was first seen."""
_KEEP_FLAGS = (FLAG_REPLACED | FLAG_VIEW | FLAG_UNDONE) << FLAG_SHIFT
_REPLACED = FLAG_REPLACED << FLAG_SHIFT
_VIEW = FLAG_VIEW << FLAG_SHIFT
_IN_SLICE = -1
"""The block of an event that the slice itself brought, see `KnownEvent`."""


class Taken(msgspec.Struct):
    """What one session part changed."""

    replays: int = 0
    docs: list[IndexDoc] = []
    stale_keys: list[int] = []
    new_keys: list[int] = []
    keys: list[int | None] = []
    """The key of each draft: of the event it became, or of the one that it repeats."""
    changed: list[int] = []
    """Keys of earlier events that changed."""


class EventIntake:
    """Writes the events of one session part. Made for one use: `take`."""

    def __init__(
        self,
        db: apsw.Connection,
        at: SliceContext,
        session: SessionRow,
        *,
        intern: Callable[[str], int],
        lane_of: Callable[[int], int],
        given: SessionNumbers | None = None,
    ) -> None:
        """given: the events' numbers in the present database, when this one is a rebuild of it."""
        self._db = db
        self._at = at
        self._session = session
        self._intern = intern
        self._lane_of = lane_of
        self._given = given
        self._base = session.number << SEQ_BITS
        self._next_key = self._base + session.next_seq
        self._has_foreign = False
        self._replaces_foreign = False
        self._rows: list[list[Any]] = []
        self._drafts: list[EventDraft] = []
        self._refreshed: list[tuple[KnownEvent, EventDraft, int]] = []
        self._replaced: list[tuple[int, int]] = []
        self._said: list[tuple[int, bytes, int, int]] = []
        self._said_too: list[tuple[int, int, bytes, int]] = []
        self._replayed: set[tuple[int, bytes, int]] = set()
        self._body_places: dict[int, tuple[int, int]] = {}
        self._own_entries: list[BlockEntry] = []
        self._bodies = SessionBodies(db, session.number)
        self._out = Taken(docs=[], stale_keys=[], new_keys=[], keys=[], changed=[])

    def take(self, part: SessionPart, records: list[RecordPlace]) -> Taken:
        """Store a part's events and bodies and return what changed."""
        out = self._out
        own = OwnCalls(self._db, self._session, self._at.source)
        own.mark(part.events)
        self._sort_out(part, records)
        told = PartKeys(part, out.keys, {row[0]: row for row in self._rows})
        if not self._at.is_appended and not self._session.is_new:
            settle(self._db, self._at, self._session, told)
        self._store_bodies(part)
        self._db.executemany(_INSERT, self._rows)
        if self._refreshed:
            self._refresh(records)
        if self._said:
            self._db.executemany("INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?)", self._said)
        if self._said_too:
            self._db.executemany(
                "UPDATE said SET lane = ? WHERE session = ? AND text_sha = ? AND key = ?", self._said_too
            )
        if self._replayed:
            self._db.executemany("INSERT OR IGNORE INTO replayed VALUES (?, ?, ?)", list(self._replayed))
        self._count_new()
        for draft, row in zip(self._drafts, self._rows, strict=True):
            if draft.replaces is not None:
                self._replace_named(draft.replaces, row[0])
        self._arrange()
        for key, by_key in sorted(self._replaced, key=itemgetter(1)):  # the last to replace an event names itself
            self._hide(key, _REPLACED)
            self._db.execute("INSERT OR REPLACE INTO replacement VALUES (?, ?)", (key, by_key))
        out.new_keys = [row[0] for row in self._rows]
        new_keys = set(out.new_keys)
        for key in own.answered_before(self._base + self._session.next_seq):
            if key in new_keys:
                continue
            self._db.execute("UPDATE event SET bits = bits | ? WHERE key = ?", (OWN, key))
            out.stale_keys.append(key)
            out.changed.append(key)
        new = [(row[0], draft) for row, draft in zip(self._rows, self._drafts, strict=True)]
        witnesses = Witnesses(self._db, self._session, lane=self._at.lane, lane_of=self._lane_of)
        for key in witnesses.views(part.events, new, part.block):
            self._hide(key, _VIEW)
        self._collect_docs()
        self._session.next_seq = self._next_key - self._base
        return out

    def _sort_out(self, part: SessionPart, records: list[RecordPlace]) -> None:
        """Decide for every draft: new event (a row), replay, or new version (a row, and the old one is replaced)."""
        at = self._at
        names = {d.event_id: pack_event_id(d.event_id) for d in part.events if d.event_id is not None}
        naming = self._naming(part, names, records)
        known, out_keys, rows, drafts = naming.known, self._out.keys, self._rows, self._drafts
        source, revision = at.source, at.revision
        tools: dict[str, int | None] = {"": None}
        seen: dict[tuple[bytes, int], int] = {}
        firsts: dict[str | None, int] = {}
        for draft in part.events:
            event_id, parent_id, tool = draft.event_id, draft.parent_id, draft.tool
            place = records[draft.record]
            name = naming.of_record(draft.record, place) if event_id is None else names[event_id]
            if at.adds_nothing and not _is_stored(known.get(name, ()), draft.part, place):
                out_keys.append(None)
                continue
            version = 0
            named = (name, draft.part)
            if named in seen:  # from here on it is an event like any other stored one
                known.setdefault(name, []).append(self._stored(rows[seen.pop(named)]))
            same_name = known.get(name, ())
            key = self._next_key if self._given is None else self._key(self._given, name, draft, place, same_name)
            if same_name:
                version = self._version(same_name, draft, place, part, key)
                if version < 0:
                    self._note_replay(same_name, place, is_named=event_id is not None)
                    continue
            self._next_key = max(self._next_key, key + 1)
            bits = _bits_of(draft)
            if draft.text_sha:
                bits |= self._say(draft.text_sha, key)
            if tool not in tools:
                tools[tool] = self._intern(tool)
            seen[named] = len(rows)
            parent = None if parent_id is None else _parent(parent_id, firsts.get(parent_id), key)
            firsts.setdefault(event_id, key)
            rows.append(
                [
                    key, name, draft.part, version, bits, draft.ts, draft.turn, source, revision, place.index,
                    place.offset, place.length, place.sha256[:SHA_BYTES], parent, tools[tool], 0, draft.body,
                ]
            )  # fmt: skip
            drafts.append(draft)
            out_keys.append(key)

    def _naming(self, part: SessionPart, names: dict[str, bytes], records: list[RecordPlace]) -> Naming:
        """Return what names events, with those that are stored and the numbers that are given looked up."""
        at, session = self._at, self._session
        naming = Naming(
            self._db, session=session.number, native_id=part.native_id, source=at.source, revision=at.revision
        )
        if not session.is_new:
            naming.look_up(part.events, names, records)
        if self._given is not None:
            self._given.look_up(naming.names_of(part.events, names, records))
        return naming

    def _key(
        self, given: SessionNumbers, name: bytes, draft: EventDraft, place: RecordPlace, same_name: Iterable[KnownEvent]
    ) -> int:
        """Return the key of an event where it is new: the one that it has in the present database, else the next."""
        taken = {event.key - self._base for event in same_name}
        seq = given.find(name, draft.part, place.sha256[:SHA_BYTES], taken)
        return self._next_key if seq is None else self._base + seq

    @staticmethod
    def _stored(row: list[Any]) -> KnownEvent:
        """Return a row of this slice as an event that is known."""
        return KnownEvent(row[2], row[3], row[12], row[7], row[8], row[9], row[0], row[4], _IN_SLICE, row[16])

    def _version(
        self, known: Iterable[KnownEvent], draft: EventDraft, place: RecordPlace, part: SessionPart, key: int
    ) -> int:
        """Return the version under which a draft is new, with the key, or -1 when it is a replay.

        A replay has the bytes of a stored record, or says what the newest version says: a document that is rewritten
        holds most of its events in records that changed for another reason.
        """
        sha = place.sha256[:SHA_BYTES]
        stored = [e for e in known if e.part == draft.part]
        if not stored:
            return 0
        newest = max(stored, key=lambda e: e.version)
        at = self._at
        # The last state of a thing, read again: what it was long ago can be what it is now.
        is_rewritten = not at.is_appended and not at.adds_nothing
        is_back = is_rewritten and newest.source == at.source and newest.revision != at.revision
        for same in (newest,) if is_back else stored:
            is_better = at.lane < self._lane_of(same.source)
            if is_better and same.bits & _VIEW:
                continue  # hidden behind another that says the same: now the better source tells it too
            if same.sha == sha and is_better and draft.text_sha:
                self._said_too.append((at.lane, self._session.number, draft.text_sha, same.key))
            if same.sha == sha or (same is newest and self._at.lane > self._lane_of(same.source)):
                self._out.replays += 1
                self._out.keys.append(same.key)
                is_own = same.source == at.source and same.sha == sha and same.block != _IN_SLICE
                if at.is_refreshing and is_own and not same.bits & EVICTED:
                    self._refreshed.append((same, draft, len(self._out.keys) - 1))
                return -1
        # A better lane's version counts also where it says the same: it knows more beside it, such as the time.
        is_worse = self._at.lane >= self._lane_of(newest.source)
        if is_worse and any(self._says_the_same(e, draft, part) for e in self._comparable(stored, newest)):
            self._out.replays += 1
            self._out.keys.append(newest.key)
            return -1
        self._replaced.append((newest.key, key))
        self._replaces_foreign |= newest.source != at.source
        return newest.version + 1

    def _comparable(self, stored: list[KnownEvent], newest: KnownEvent) -> list[KnownEvent]:
        """Return the versions that a draft may repeat. A history read again may repeat old versions; a continuation,
        or the last state of something, repeats only the newest one.
        """
        at = self._at
        is_read_again = newest.source != at.source or (at.is_appended and newest.revision != at.revision)
        return stored if is_read_again else [newest]

    def _says_the_same(self, stored: KnownEvent, draft: EventDraft, part: SessionPart) -> bool:
        if stored.bits & KIND_MASK != draft.kind:
            return False
        if not self._own_entries:
            self._own_entries = decode_block(part.block)
        if stored.block == EVICTED_BLOCK:
            return content_key(self._own_entries[draft.body].body) == stored.entry
        if stored.block == _IN_SLICE:
            body = self._own_entries[stored.entry].body
        else:
            body = self._bodies.entry(stored.block, stored.entry).body
        return is_same_content(body, self._own_entries[draft.body].body)

    def _note_replay(self, known: Sequence[KnownEvent], place: RecordPlace, *, is_named: bool) -> None:
        """Remember a record that repeats an event of another revision or source, for counting equal records."""
        at = self._at
        self._has_foreign |= known[0].source != at.source
        if is_named:
            return
        own = any(e.source == at.source and e.revision == at.revision and e.record == place.index for e in known)
        if not own:
            self._replayed.add((at.source, place.sha256[:SHA_BYTES], place.index))

    def _say(self, text_sha: bytes, key: int) -> int:
        """Register a user message; return the flag of a view when a transcript (lane 0) says the same.

        A transcript's message hides what a prompt history said before it, so that the order of arrival does not matter.
        `Witnesses` settles later what witnesses say.
        """
        session, lane = self._session, self._at.lane
        self._said.append((session.number, text_sha, key, lane))
        if session.is_new or lane >= WITNESS_LANE:
            return 0
        others: list[Any] = self._db.execute(
            "SELECT key, lane FROM said WHERE session = ? AND text_sha = ?", (session.number, text_sha)
        ).fetchall()
        if lane:
            return _VIEW if any(other == 0 for _key, other in others) else 0
        for other_key, other_lane in others:
            if 0 < other_lane < WITNESS_LANE:
                self._hide(other_key, _VIEW)
        return 0

    def _arrange(self) -> None:
        """Remember the order in which the source tells the session, where the seqs don't say it."""
        at, keys = self._at, list(dict.fromkeys(key for key in self._out.keys if key is not None))
        if at.is_appended and not at.is_refreshing and at.revision == 1:
            # What a line repeats of an earlier one stays where it was told first.
            keys = [key for key in keys if key >= self._base + self._session.next_seq]
        if not keys or at.is_repeat or at.adds_nothing or at.lane >= WITNESS_LANE:
            return
        arrangement = Arrangement(self._db, self._session.number, at.source)
        # A new version stands where its first one stood, which another source's order says.
        is_told_elsewhere = self._replaces_foreign or (self._has_foreign and not at.is_appended)
        is_rising = all(one <= other for one, other in pairwise(keys))
        if is_rising and not is_told_elsewhere and not arrangement.is_stored and (at.is_appended or at.revision == 1):
            return
        arrangement.take(keys, self._base + self._session.next_seq)
        if at.is_entire and not at.is_appended:
            for key, is_back in taken_back(self._db, self._base, arrangement.before, keys):
                if is_back:
                    self._show(key)
                else:
                    self._hide(key, FLAG_GONE << FLAG_SHIFT)

    def _show(self, key: int) -> None:
        """Show an event that had disappeared and exists again."""
        bits: int = self._db.execute(
            f"UPDATE event SET bits = bits & ~{FLAG_GONE << FLAG_SHIFT} WHERE key = ? RETURNING bits", (key,)
        ).get
        if not bits & HIDDEN:
            self._session.count(bits & KIND_MASK, 1)
        self._out.changed.append(key)

    def _hide(self, key: int, flag: int) -> None:
        """Set a hiding flag on a stored event, once."""
        found = self._db.execute("SELECT bits FROM event WHERE key = ?", (key,)).fetchone()
        if found is None or found[0] & flag:
            return
        self._db.execute("UPDATE event SET bits = bits | ? WHERE key = ?", (flag, key))
        if not found[0] & HIDDEN:
            self._session.count(found[0] & KIND_MASK, -1)
        self._out.stale_keys.append(key)
        self._out.changed.append(key)

    def _replace_named(self, name: tuple[str, int], by_key: int) -> None:
        event_id, part = name
        found: Any = self._db.execute(
            "SELECT key FROM event WHERE key >> 24 = ?1 AND substr(event_id, -6) = substr(?2, -6) AND event_id = ?2 "
            "AND part = ?3 AND key < ?4 ORDER BY version DESC LIMIT 1",
            (self._session.number, pack_event_id(event_id), part, by_key),
        ).fetchone()
        if found is not None:
            self._replaced.append((found[0], by_key))

    def _count_new(self) -> None:
        session = self._session
        visible = [row for row in self._rows if not row[4] & HIDDEN]
        for kind, count in Counter(row[4] & KIND_MASK for row in visible).items():
            session.count(kind, count)
        session.turn_count = max(session.turn_count, max((row[6] for row in visible), default=0))

    def _collect_docs(self) -> None:
        session, docs = self._session, self._out.docs
        hidden = {row[0] for row in self._rows if row[4] & HIDDEN}.union(self._out.stale_keys)
        number, shard = session.number, session.shard
        for draft, row in zip(self._drafts, self._rows, strict=True):
            if draft.docs and row[0] not in hidden:
                docs.extend([IndexDoc(row[0], number, shard, text) for text in draft.docs])
        for known, draft, _position in self._refreshed:
            if not known.bits & HIDDEN:
                docs.extend([IndexDoc(known.key, number, shard, text) for text in draft.docs])

    def _refresh(self, records: list[RecordPlace]) -> None:
        """Replace what an older parser said of events that the source still has. Their keys and flags stay."""
        updates = []
        places = self._body_places
        for known, draft, _position in self._refreshed:
            bits = _bits_of(draft) | known.bits & _KEEP_FLAGS
            tool = self._intern(draft.tool) if draft.tool else None
            place = records[draft.record]
            updates.append(
                (bits, draft.ts, draft.turn, self._at.revision, place.offset, tool, *places[draft.body], known.key)
            )
            if not known.bits & HIDDEN:
                self._session.count(known.bits & KIND_MASK, -1)
            if not bits & HIDDEN:
                self._session.count(draft.kind, 1)
            self._out.stale_keys.append(known.key)
            self._out.changed.append(known.key)
        self._db.executemany(_REFRESH, updates)

    def _store_bodies(self, part: SessionPart) -> None:
        """Store the bodies of new events, and give every row its block and its entry in it."""
        used = [row[16] for row in self._rows] + [draft.body for _known, draft, _position in self._refreshed]
        if not used:
            return
        frames = block_frames(part.block)
        position_of: dict[int, int] | None = None
        total = sum(frame.entry_count for frame in frames)
        if len(used) < total:
            entries = decode_block(part.block)
            kept = sorted(set(used))
            position_of = {body: position for position, body in enumerate(kept)}
            frames = encode_frames([entries[body] for body in kept])
        places = self._store_frames(frames)
        if position_of is None:
            self._body_places = dict(enumerate(places))
        else:
            self._body_places = {body: places[position] for body, position in position_of.items()}
        for row in self._rows:
            row[15], row[16] = self._body_places[row[16]]

    def _store_frames(self, frames: list[Frame]) -> list[tuple[int, int]]:
        """Store frames behind the session's newest one, or in it while it is small; return each entry's place."""
        session = self._session
        skip = 0
        if session.next_block and sum(frame.plain_bytes for frame in frames) < FRAME_BYTES:
            key = self._base + session.next_block - 1
            newest: Any = self._db.execute("SELECT plain, data FROM block WHERE key = ?", (key,)).fetchone()
            if newest is not None and newest[0] < SMALL_FRAME_BYTES:  # None: its events were evicted
                older = decode_frame(newest[1])
                newer: list[BlockEntry] = [entry for frame in frames for entry in decode_frame(frame.data)]
                frames = encode_frames(older + newer)
                session.next_block -= 1
                skip = len(older)
        number = session.next_block
        self._db.executemany(
            "INSERT OR REPLACE INTO block VALUES (?, ?, ?)",
            [(self._base + number + i, frame.plain_bytes, frame.data) for i, frame in enumerate(frames)],
        )
        session.next_block += len(frames)
        places = [(number + i, entry) for i, frame in enumerate(frames) for entry in range(frame.entry_count)]
        return places[skip:]


def _parent(parent_id: str, first: int | None, key: int) -> int | bytes:
    """Return how a row names its parent: by its distance if the slice holds it, else by its id."""
    return pack_event_id(parent_id) if first is None else key - first


def _bits_of(draft: EventDraft) -> int:
    return draft.kind | draft.role << 6 | draft.ts_quality << 8 | draft.flags << FLAG_SHIFT


def _is_stored(known: Iterable[KnownEvent], part: int, place: RecordPlace) -> bool:
    return any(e.part == part and e.sha == place.sha256[:SHA_BYTES] for e in known)


def retire(db: apsw.Connection, session: SessionRow, keys_and_bits: list[tuple[int, int]]) -> None:
    """Hide events that a newer parser does not make any more."""
    db.executemany(
        f"UPDATE event SET bits = (bits & ~{STALE}) | {FLAG_GONE << FLAG_SHIFT} WHERE key = ?",
        [(key,) for key, _bits in keys_and_bits],
    )
    for _key, bits in keys_and_bits:
        if not bits & HIDDEN:
            session.count(bits & KIND_MASK, -1)
