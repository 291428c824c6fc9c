# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Keeps in each event's bits whether a rewind left it behind, see `model.undone`. For the ingester."""

from __future__ import annotations

from typing import Any

import apsw

from recollect.model.own import without_own_blocks
from recollect.model.payloads import KINDS, Payload, UserMessage
from recollect.model.text import one_line
from recollect.model.undone import Step, step_of, undone
from recollect.store.blocks import BlockBody, decode_bodies_at_once
from recollect.store.bodies import payload_without_record
from recollect.store.keys import SEQ_BITS
from recollect.store.sqlite.bits import EVICTED, HIDDEN, KIND_MASK, UNDONE, is_sidechain, is_undone
from recollect.store.sqlite.event_ids import unpack_event_id
from recollect.store.sqlite.light_rows import LightRow, in_canonical_order, rows_of
from recollect.store.sqlite.session_facts import decode_facts, encode_facts

REWIND = "rewind"
_REWIND, _USER = KINDS.index(REWIND), KINDS.index("user_message")
_MARKED = "undone_events"
"""The key in `meta` that says that earlier sessions were marked."""
_SEEN = f"(NOT bits & {HIDDEN} OR bits & {EVICTED} AND NOT bits & {UNDONE})"
"""What was evicted keeps its mark, for the rewind may be gone with it; its name still says where a later one goes."""


def mark_undone(db: apsw.Connection, number: int) -> None:
    """Have the events of a session say whether they are undone. Its title is the first prompt that was not."""
    keys = (number << SEQ_BITS, (number + 1 << SEQ_BITS) - 1)
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
        rows: list[Any] = db.execute(
            "SELECT number FROM session WHERE instr(kind_counts, ?) > 0", (f'"{REWIND}"',)
        ).fetchall()
        for (number,) in rows:
            mark_undone(db, number)
        db.execute("INSERT INTO meta VALUES (?, 'marked')", (_MARKED,))


def has_several_sources(db: apsw.Connection, number: int) -> bool:
    """Tell whether a session is told by more than one source."""
    return int(db.execute("SELECT count(*) FROM session_source WHERE session = ?", (number,)).get or 0) > 1


def _name_anew(db: apsw.Connection, number: int, prompts: dict[int, str], undone_keys: set[int]) -> None:
    """Where a session is called after a prompt that was undone, call it after the first one that was not."""
    facts = decode_facts(db.execute("SELECT facts FROM session WHERE number = ?", (number,)).get)
    kept = [text for key, text in prompts.items() if key not in undone_keys]
    if kept and facts.first_human in prompts.values() and facts.first_human not in kept:
        facts.first_human = kept[0]
        db.execute("UPDATE session SET facts = ? WHERE number = ?", (encode_facts(facts), number))


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
