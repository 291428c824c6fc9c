# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Two flags of an event: undone by a rewind (see `model.undone`), or the memory's own.

Its own are events where it was asked, where it answered, and those of its own sessions. They stay in the archive and
are shown; they are never indexed. A result is joined to its call by the call's id, in whatever slice and source either
comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import apsw

from recollect.model.ids import call_key
from recollect.model.own import without_own_blocks
from recollect.model.payloads import KINDS, Payload, ToolResult, UserMessage
from recollect.model.sessions import named_after
from recollect.model.text import one_line
from recollect.model.undone import Step, step_of, undone
from recollect.store.bodies import BlockBody, BlockEntry, decode_bodies_at_once, decode_frame, payload_without_record
from recollect.store.connection import column
from recollect.store.event_order import LightRow, in_canonical_order, rows_of
from recollect.store.keys import (
    EVICTED,
    FLAG_OWN,
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
from recollect.store.session_facts import decode_facts, encode_facts
from recollect.store.session_rows import SessionRow
from recollect.store.slices import EventDraft

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


class _Bodies:
    """The payloads of one session, decoded frame by frame. prompts: what a person asked, by key, as a title says it."""

    def __init__(self, db: apsw.Connection, number: int) -> None:
        self._db = db
        self._base = number << SEQ_BITS
        self._block = -1
        self._frame: list[BlockBody] = []
        self.prompts: dict[int, str] = {}

    def of(self, row: LightRow) -> Payload:
        block, entry = row[13], row[14]
        if block != self._block:
            data = self._db.execute("SELECT data FROM block WHERE key = ?", (self._base + block,)).get
            self._block, self._frame = block, decode_bodies_at_once(data)
        payload = payload_without_record(self._frame[entry].body)
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
        self._frames: dict[int, list[BlockEntry]] = {}

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
        return [key for key, block, entry in rows if self._call_of(block, entry) in self._new]

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

    def _call_of(self, block: int, entry: int) -> bytes:
        entries = self._frames.get(block)
        if entries is None:
            key = (self._session.number << SEQ_BITS) + block
            self._frames.clear()  # they come in order of block
            entries = self._frames[block] = decode_frame(
                self._db.execute("SELECT data FROM block WHERE key = ?", (key,)).get
            )
        payload = payload_without_record(entries[entry].body)
        return call_key(payload.call_id) if isinstance(payload, ToolResult) else b""

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
