"""What belongs to an event in its turn: the prompt that it serves, its call or result, and the reply that closed it."""

# ruff: noqa: S608  statements are put together of our own constants; values are always bound

from __future__ import annotations

import apsw

from recollect.model.payloads import KINDS, ToolCall, ToolResult, UserMessage
from recollect.store.ports import SEQ_BITS
from recollect.store.sqlite.bits import KIND_MASK, NOT_INDEXED
from recollect.store.sqlite.readers.events import EventReader, EventRow
from recollect.store.sqlite.readers.turns import codes_of

_SEQ_MASK = (1 << SEQ_BITS) - 1
_CALLS_LOOKED_AT = 8
"""Calls before a result, and results after a call, that are compared: agents call several tools at once."""
_PROMPTS_LOOKED_AT = 4
"""Messages before an event that may be a harness's and not a person's."""


def read_related(reader: EventReader, db: apsw.Connection, key: int) -> dict[str, int]:
    """Return the keys of what belongs to an event in its turn, by label, see `recall.answers.RelatedEvent`."""
    rows = reader.by_key([key])
    if not rows:
        return {}
    kind = KINDS[rows[0].bits & KIND_MASK]
    found: dict[str, int | None] = {
        "asked": None if kind == "user_message" else _prompt(reader, db, key, is_after=False)
    }
    if kind in ("tool_call", "tool_result"):
        label = "result" if kind == "tool_call" else "call"
        found[label] = _other_half(reader, db, rows[0])
    found["answer"] = _reply_after(reader, db, key)
    return {label: place for label, place in found.items() if place is not None and place != key}


def _near_keys(db: apsw.Connection, key: int, kinds: str, limit: int, *, is_after: bool) -> list[int]:
    """Return the keys of the nearest events of some kinds after or before one, in its session, nearest first."""
    first, last, order = (key + 1, key | _SEQ_MASK, "ASC") if is_after else (key & ~_SEQ_MASK, key - 1, "DESC")
    statement = (
        f"SELECT key FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {NOT_INDEXED} "
        f"AND bits & {KIND_MASK} IN ({kinds}) ORDER BY key {order} LIMIT ?"
    )
    return [near for (near,) in db.execute(statement, (first, last, limit))]


def _prompt(reader: EventReader, db: apsw.Connection, key: int, *, is_after: bool) -> int | None:
    """Return the nearest message of a person after or before an event; what a harness injects is none."""
    near = _near_keys(db, key, codes_of("user_message"), _PROMPTS_LOOKED_AT, is_after=is_after)
    said = {
        row.key
        for row, payload in reader.payloads(reader.by_key(near))
        if isinstance(payload, UserMessage) and payload.origin != "injected"
    }
    return next((one for one in near if one in said), None)


def _other_half(reader: EventReader, db: apsw.Connection, row: EventRow) -> int | None:
    is_call = KINDS[row.bits & KIND_MASK] == "tool_call"
    wanted = _call_id_of(reader, row)
    if not wanted:
        return None
    kinds = codes_of("tool_result" if is_call else "tool_call")
    near = _near_keys(db, row.key, kinds, _CALLS_LOOKED_AT, is_after=is_call)
    return next((one.key for one in reader.by_key(near) if _call_id_of(reader, one) == wanted), None)


def _call_id_of(reader: EventReader, row: EventRow) -> str:
    payload = next(payload for _, payload in reader.payloads([row]))
    return payload.call_id if isinstance(payload, ToolCall | ToolResult) else ""


def _reply_after(reader: EventReader, db: apsw.Connection, key: int) -> int | None:
    """Return the last reply before the person spoke again."""
    following = _prompt(reader, db, key, is_after=True)
    stop = following if following is not None else key | _SEQ_MASK
    near = _near_keys(db, stop, codes_of("assistant_message"), 1, is_after=False)
    return next((one for one in near if one > key), None)
