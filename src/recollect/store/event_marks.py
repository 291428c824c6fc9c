# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Two flags of an event: undone by a rewind (see `model.undone`), or the memory's own.

Its own are events where it was asked, where it answered, and those of its own sessions. They stay in the archive and
are shown; they are never indexed. A result is joined to its call by the call's id, in whatever slice and source either
comes.

What a session's witnesses say is shown only while no better source says it. A witness (a source of lane `WITNESS_LANE`
or higher: what hooks told) says again what the session's own source says, or will say, or never will, because it lags
or was lost. Which of its events are views of another one is told by marks: of a message its text; of a call and its
result the call's id, or, where a witness had to make one up, tool and arguments; of other things their kind. Under a
mark each event of a better lane has at most one view, and one that is near in time where both have a time: "yes" said
twice stays two. So the order in which sources, slices and records come is no matter. The marks stand in the table
`said`, beside those of human messages. The others are only kept of sessions that have a witness, which a row with an
empty mark says.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.capabilities import WITNESS_LANE
from recollect.model.ids import OWN_CALL_ID, call_key
from recollect.model.own import without_own_blocks
from recollect.model.payloads import KINDS, AssistantMessage, Payload, ToolCall, ToolResult, UserMessage, kind_of
from recollect.model.sessions import named_after
from recollect.model.text import one_line
from recollect.model.undone import Step, step_of, undone
from recollect.store.bodies import SessionBodies, decode_block, payload_without_record
from recollect.store.connection import column
from recollect.store.event_order import LightRow, in_canonical_order, rows_of
from recollect.store.row_keys import (
    EVICTED,
    FLAG_GONE,
    FLAG_OWN,
    FLAG_SHIFT,
    HIDDEN,
    KIND_MASK,
    OWN,
    SEQ_BITS,
    UNDONE,
    is_sidechain,
    is_undone,
    span_of,
    unpack_event_id,
)
from recollect.store.rows import EventDraft
from recollect.store.session_rows import SessionRow, decode_facts, encode_facts

REWIND = "rewind"
_REWIND, _USER = KINDS.index(REWIND), KINDS.index("user_message")
_MARKED = "undone_events"
"""The key in `meta` that says that earlier sessions were marked."""
_LEAST_ALIKE = 12
"""Characters at the beginning of a name and of a prompt that tell that the session is called after this prompt."""
_SEEN = f"(NOT bits & {HIDDEN} OR bits & {EVICTED} AND NOT bits & {UNDONE})"
"""What was evicted keeps its mark, for the rewind may be gone with it; its name still says where a later one goes."""


def mark_undone(db: apsw.Connection, number: int) -> None:
    """Update the undone flag of a session's events. Its title is the first prompt that still counts."""
    keys = span_of(number)
    rows = in_canonical_order(db, number, rows_of(db, keys, _SEEN))
    bodies = _Bodies(db, number)
    marks = undone(_step(row, bodies) for row in rows)
    _name_anew(db, number, bodies.prompts, {row[0] for row, mark in zip(rows, marks, strict=True) if mark})
    changed = [(row[0],) for row, mark in zip(rows, marks, strict=True) if is_undone(row[3]) != mark]
    db.executemany(f"UPDATE event SET bits = (bits | {UNDONE}) - (bits & {UNDONE}) WHERE key = ?", changed)


def mark_earlier(db: apsw.Connection) -> None:
    """Mark the sessions that an earlier version stored, once in the life of a database. Outside of a transaction."""
    if db.execute("SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?)", (_MARKED,)).get:
        return
    with db:
        for number in column(db, "SELECT number FROM session WHERE instr(kind_counts, ?) > 0", (f'"{REWIND}"',)):
            mark_undone(db, number)
        db.execute("INSERT INTO meta VALUES (?, 'marked')", (_MARKED,))


def has_several_sources(db: apsw.Connection, number: int) -> bool:
    """Return whether a session has more than one source."""
    return int(db.execute("SELECT count(*) FROM session_source WHERE session = ?", (number,)).get or 0) > 1


def _name_anew(db: apsw.Connection, number: int, prompts: dict[int, str], undone_keys: set[int]) -> None:
    """Where a session is called after a prompt that was undone, call it after the first one that was not."""
    facts = decode_facts(db.execute("SELECT facts FROM session WHERE number = ?", (number,)).get)
    kept = [text for key, text in prompts.items() if key not in undone_keys]
    if kept and facts.first_human in prompts.values() and facts.first_human not in kept:
        facts.first_human = reduce(named_after, kept)
        db.execute("UPDATE session SET facts = ? WHERE number = ?", (encode_facts(facts), number))


def name_redacted(db: apsw.Connection, number: int) -> bool:
    """Call a session after its prompt as it is redacted now; return whether that is another name than before.

    A name is a cut prompt: what tells a secret may lie behind the cut, so that the name alone is not redacted.
    """
    facts = decode_facts(db.execute("SELECT facts FROM session WHERE number = ?", (number,)).get)
    if not facts.first_human.endswith("…"):
        return False
    bodies = _Bodies(db, number)
    keys = span_of(number)
    for row in rows_of(db, keys, f"bits & {KIND_MASK} = {_USER} AND NOT bits & {EVICTED}"):
        bodies.of(row)
    names = list(bodies.prompts.values())
    begins = facts.first_human[:_LEAST_ALIKE]
    alike = next((name for name in names if name.startswith(begins)), "")
    if not alike or facts.first_human in names:
        return False
    facts.first_human = alike
    db.execute("UPDATE session SET facts = ? WHERE number = ?", (encode_facts(facts), number))
    return True


class _Bodies(SessionBodies):
    """The payloads of one session. prompts: what a person asked, by key, as a title says it."""

    def __init__(self, db: apsw.Connection, number: int) -> None:
        super().__init__(db, number)
        self.prompts: dict[int, str] = {}

    def of(self, row: LightRow) -> Payload:
        payload = self.payload(row[13], row[14])
        if isinstance(payload, UserMessage) and payload.origin in ("human", "queued") and payload.text:
            self.prompts[row[0]] = one_line(without_own_blocks(payload.text))
        return payload


def _step(row: LightRow, bodies: _Bodies) -> Step:
    name, bits = unpack_event_id(row[1]), row[3]
    kind = bits & KIND_MASK
    if bits & EVICTED:
        return Step(name, is_turn=kind == _USER and not is_sidechain(bits))
    if kind not in (_REWIND, _USER):
        return Step(name)
    return step_of(name, bodies.of(row), is_sidechain=is_sidechain(bits))


_CALL, _RESULT = KINDS.index("tool_call"), KINDS.index("tool_result")


class OwnCalls:
    """The calls of one session that ask the memory, while a part of it is written. Made for one use."""

    def __init__(self, db: apsw.Connection, session: SessionRow, source: int) -> None:
        self._db = db
        self._session = session
        self._source = source
        self._new: set[bytes] = set()

    def mark(self, drafts: Sequence[EventDraft]) -> None:
        """Flag what is our own among new drafts, and take their documents away."""
        if self._session.facts.is_internal:
            for draft in drafts:
                _mark(draft)
            return
        known = self._known()
        if not known and not any(draft.flags & FLAG_OWN for draft in drafts):
            return
        open_calls = self._walk(drafts, set(known))
        number = self._session.number
        self._new = open_calls - known
        self._db.executemany("INSERT OR IGNORE INTO own_call VALUES (?, ?)", [(number, call) for call in self._new])
        self._db.executemany(
            "DELETE FROM own_call WHERE session = ? AND call = ?", [(number, call) for call in known - open_calls]
        )

    def answered_before(self, end: int) -> list[int]:
        """Return the keys of results, stored before the key `end`, whose call comes only now, from another source."""
        number = self._session.number
        if not self._new or self._session.is_new or not self._has_other_sources():
            return []
        rows: list[Any] = self._db.execute(
            f"SELECT key, block, entry FROM event WHERE key BETWEEN ? AND ? AND bits & {KIND_MASK} = {_RESULT} "
            f"AND NOT bits & {OWN | EVICTED} ORDER BY block",
            (number << SEQ_BITS, end - 1),
        ).fetchall()
        bodies = SessionBodies(self._db, number)
        found = ((key, bodies.payload(block, entry)) for key, block, entry in rows)
        return [key for key, said in found if isinstance(said, ToolResult) and call_key(said.call_id) in self._new]

    @staticmethod
    def _walk(drafts: Sequence[EventDraft], own: set[bytes]) -> set[bytes]:
        """Mark calls and results in order; return the ids that belong to our own calls at the end.

        Some agents number their calls per turn: an id belongs to the newest call that has it.
        """
        called: set[bytes] = set()
        early: dict[bytes, list[EventDraft]] = {}
        for draft in drafts:
            call = draft.call
            if draft.flags & FLAG_OWN:
                _mark(draft)
            if not call:
                continue
            if draft.kind == _CALL:
                if draft.flags & FLAG_OWN:
                    own.add(call)
                    for result in early.pop(call, ()) if call not in called else ():
                        _mark(result)
                else:
                    own.discard(call)
                called.add(call)
            elif call in own:
                _mark(draft)
            elif call not in called:
                early.setdefault(call, []).append(draft)
        return own

    def _known(self) -> set[bytes]:
        if self._session.is_new:
            return set()
        return set(column(self._db, "SELECT call FROM own_call WHERE session = ?", (self._session.number,)))

    def _has_other_sources(self) -> bool:
        statement = "SELECT EXISTS (SELECT 1 FROM session_source WHERE session = ? AND source <> ?)"
        return bool(self._db.execute(statement, (self._session.number, self._source)).get)


def _mark(draft: EventDraft) -> None:
    draft.flags |= FLAG_OWN
    draft.docs = ()


Marks = dict[bytes, bool]
"""Each mark, and whether the time counts: an id names one thing whenever it was told."""
_SENTINEL = b""
_MARK_BYTES = 8
NEAR_US = 10 * 60 * 1_000_000
"""How far apart an event and its view may be: a hook tells of a call when it is over."""
AGAIN_US = 2_000_000
"""What a witness says twice within this time is one event that two hooks were run for."""
_DAY_US = 24 * 3600 * 1_000_000
_TIMELESS = ("session_start", "session_end")
_KINDS = frozenset(
    KINDS.index(kind)
    for kind in ("session_start", "assistant_message", "tool_call", "tool_result", "compaction", "session_end")
)
"""What is marked beside human messages, which always are."""
_IS_MARKED = f"bits & {KIND_MASK} IN ({','.join(map(str, sorted(_KINDS)))})"
_GONE = FLAG_GONE << FLAG_SHIFT


class Witnesses:
    """The marks of one session while a part of it is written. Made for one use."""

    def __init__(self, db: apsw.Connection, session: SessionRow, *, lane: int, lane_of: Callable[[int], int]) -> None:
        self._db = db
        self._session = session
        self._number = session.number
        self._lane = lane
        self._lane_of = lane_of
        self._contents: dict[bytes, bytes] = {}
        """By the key of a call's id: the mark of its tool and arguments."""
        self._bodies = SessionBodies(db, session.number)

    def views(self, drafts: Sequence[EventDraft], new: Sequence[tuple[int, EventDraft]], block: bytes) -> list[int]:
        """Mark a part's new events and return the keys of events that are views of better ones now.

        drafts: all of the part, also those that repeat a stored event. new: those that do not, with their keys, by now
        stored. block: the bodies of the part. A key may be returned that was a view before.
        """
        is_witness, has_witness = self._lane >= WITNESS_LANE, self._has_witness()
        if not is_witness and not has_witness:
            return []
        if not has_witness:
            self._mark_stored()
        touched = {draft.text_sha: True for _key, draft in new if draft.text_sha}
        touched |= self._mark_new(drafts, new, block)
        return sorted({key for mark, is_timed in touched.items() for key in self._views(mark, is_timed=is_timed)})

    def _has_witness(self) -> bool:
        if self._session.is_new:
            return False
        statement = "SELECT EXISTS (SELECT 1 FROM said WHERE session = ? AND text_sha = ?)"
        return bool(self._db.execute(statement, (self._number, _SENTINEL)).get)

    def _mark_stored(self) -> None:
        """Mark what the session had before its first witness came."""
        self._db.execute("INSERT OR IGNORE INTO said VALUES (?, ?, 0, ?)", (self._number, _SENTINEL, self._lane))
        first = self._number << SEQ_BITS
        stored: list[Any] = self._db.execute(
            f"SELECT key, block, entry, source FROM event WHERE key BETWEEN ? AND ? AND {_IS_MARKED} "
            f"AND NOT bits & {EVICTED} ORDER BY key",
            (first, first + self._session.next_seq - 1),
        ).fetchall()
        for key, block, entry, source in stored:
            lane = self._lane_of(source)
            self._save(key, self._marks(self._bodies.payload(block, entry), lane), lane)

    def _mark_new(self, drafts: Sequence[EventDraft], new: Sequence[tuple[int, EventDraft]], block: bytes) -> Marks:
        entries = decode_block(block)
        payloads = [payload_without_record(entries[d.body].body) if d.kind in _KINDS else None for d in drafts]
        for payload in payloads:
            if isinstance(payload, ToolCall):
                self._learn(payload)
        by_draft = {id(draft): payload for draft, payload in zip(drafts, payloads, strict=True)}
        touched: Marks = {}
        for key, draft in new:
            payload = by_draft[id(draft)]
            if payload is not None:
                marks = self._marks(payload, self._lane)
                self._save(key, marks, self._lane)
                touched |= marks
        return touched

    def _save(self, key: int, marks: Iterable[bytes], lane: int) -> None:
        rows = [(self._number, mark, key, lane) for mark in sorted(marks)]
        self._db.executemany("INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?)", rows)

    def _marks(self, payload: Payload, lane: int) -> Marks:
        """Return the marks of a payload. A call and its result have two: by its id and by its subject.

        A witness that knows the agent's own id uses only that: another call may have the same arguments.
        """
        if not isinstance(payload, ToolCall | ToolResult):
            text = without_own_blocks(payload.text).strip() if isinstance(payload, AssistantMessage) else ""
            return {_mark_of(kind_of(payload), text): kind_of(payload) not in _TIMELESS}
        kind, name = kind_of(payload), payload.call_id
        marks = {_mark_of(kind, name): False} if name else {}
        is_told_by_id = lane >= WITNESS_LANE and bool(name) and not name.startswith(OWN_CALL_ID)
        content = self._learn(payload) if isinstance(payload, ToolCall) else None
        if not is_told_by_id:
            content = content or self._content_of(name)
            if content is not None:
                marks[_mark_of(f"{kind} of", content.hex())] = True
        return marks

    def _learn(self, call: ToolCall) -> bytes:
        told = msgspec.json.encode([call.name, call.arguments], order="sorted").decode("utf-8", "replace")
        content = _mark_of("content", told)
        if call.call_id:
            self._contents[call_key(call.call_id)] = content
        return content

    def _content_of(self, call_id: str) -> bytes | None:
        """Return what a call is about, which may have been stored long ago; None when it is not known."""
        key = call_key(call_id)
        if not key or key in self._contents:
            return self._contents.get(key)
        found: Any = self._db.execute(
            "SELECT block, entry FROM said JOIN event USING (key) WHERE session = ? AND text_sha = ? "
            f"AND NOT bits & {EVICTED} LIMIT 1",
            (self._number, _mark_of("tool_call", call_id)),
        ).fetchone()
        call = self._bodies.payload(*found) if found is not None else None
        return self._learn(call) if isinstance(call, ToolCall) else None

    def _views(self, mark: bytes, *, is_timed: bool) -> Iterator[int]:
        """Yield the keys of what witnesses say under a mark that a better lane says too."""
        rows: Iterable[Any] = self._db.execute(
            f"SELECT lane, event_id, key, ts FROM said JOIN event USING (key) "
            f"WHERE session = ? AND text_sha = ? AND NOT bits & {_GONE} ORDER BY key",
            (self._number, mark),
        )
        lanes: dict[int, dict[bytes, _Sighting]] = defaultdict(dict)
        for lane, event_id, key, ts in rows:
            lanes[lane].setdefault(event_id, _Sighting(ts if is_timed else None, [])).keys.append(key)
        better: list[_Sighting] = []
        for lane in sorted(lanes):
            events = list(lanes[lane].values())  # in the order in which they were first seen
            if lane >= WITNESS_LANE:
                again = _again(events) if is_timed else []
                events = [event for event in events if event not in again]
                for event in (*again, *_matched(events, better)):
                    yield from event.keys
            if len(events) > len(better):
                better = events


class _Sighting(NamedTuple):
    """An event under a mark: its time, and the keys of its versions."""

    ts: int | None
    keys: list[int]


def _again(events: list[_Sighting]) -> list[_Sighting]:
    """Return the events that repeat another one at once."""
    repeated = []
    last: int | None = None
    for event in sorted((e for e in events if e.ts is not None), key=lambda e: (e.ts or 0, e.keys)):
        if last is not None and event.ts is not None and event.ts - last <= AGAIN_US:
            repeated.append(event)
        else:
            last = event.ts
    return repeated


def _matched(events: list[_Sighting], better: list[_Sighting]) -> list[_Sighting]:
    """Return the events that each have one of the better ones near in time; without times, in order.

    What then is left on both sides and is days apart was not said twice: one of the clocks is wrong.
    """
    if any(one.ts is None for one in (*events, *better)):
        return events[: len(better)]
    matched, left = [], []
    times = sorted(one.ts or 0 for one in better)
    spare = []
    for event in sorted(events, key=lambda e: (e.ts or 0, e.keys)):
        while times and times[0] < (event.ts or 0) - NEAR_US:
            spare.append(times.pop(0))
        if times and times[0] <= (event.ts or 0) + NEAR_US:
            times.pop(0)
            matched.append(event)
        else:
            left.append(event)
    spare += times
    for event in left:
        far = next((ts for ts in spare if abs(ts - (event.ts or 0)) > _DAY_US), None)
        if far is not None:
            spare.remove(far)
            matched.append(event)
    return matched


def _mark_of(kind: str, text: str) -> bytes:
    content = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=_MARK_BYTES).digest()
