# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Which of a session's events are the memory's own: it was asked, it answered, or the session is one of ours.

They stay in the archive and are shown; they are never indexed. A result is joined to its call by the call's id, in
whatever slice and source either comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from recollect.model.ids import call_key
from recollect.model.payloads import KINDS, ToolResult
from recollect.store.blocks import BlockEntry, decode_frame
from recollect.store.bodies import payload_without_record
from recollect.store.ports import FLAG_OWN, SEQ_BITS, EventDraft
from recollect.store.sqlite.bits import EVICTED, KIND_MASK, OWN
from recollect.store.sqlite.writing.session_rows import SessionRow

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
        """Mark calls and results in order; return the ids that stand for calls of ours at the end.

        Some agents count their calls anew in every turn: an id belongs to the newest call that has it.
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
        rows: list[Any] = self._db.execute(
            "SELECT call FROM own_call WHERE session = ?", (self._session.number,)
        ).fetchall()
        return {call for (call,) in rows}

    def _has_other_sources(self) -> bool:
        statement = "SELECT EXISTS (SELECT 1 FROM session_source WHERE session = ? AND source <> ?)"
        return bool(self._db.execute(statement, (self._session.number, self._source)).get)


def _mark(draft: EventDraft) -> None:
    draft.flags |= FLAG_OWN
    draft.docs = ()
