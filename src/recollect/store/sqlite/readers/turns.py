"""Which replies close a turn, from the rows around them."""

# ruff: noqa: S608  statements are put together of our own constants; values are always bound

from __future__ import annotations

from collections.abc import Sequence

import apsw

from recollect.model.payloads import KINDS
from recollect.store.ports import SEQ_BITS
from recollect.store.sqlite.bits import KIND_MASK, NOT_INDEXED
from recollect.store.sqlite.readers.filters import int_array

REACH = 64
"""Rows looked at on each side of a reply: counts of tokens and the like stand between what is done."""
_SEQ_MASK = (1 << SEQ_BITS) - 1
_PERSON = KINDS.index("user_message")
_EDIT = KINDS.index("file_edit")


def codes_of(*kinds: str) -> str:
    return ",".join(str(KINDS.index(kind)) for kind in kinds)


def _nearest(kinds: str, *, is_after: bool) -> str:
    """Return SQL for the kind of the nearest event of these kinds beside the key `value`, in its session."""
    first, last, order = (
        ("value + 1", f"min(value + {REACH}, value | {_SEQ_MASK})", "ASC")
        if is_after
        else (f"max(value - {REACH}, value & ~{_SEQ_MASK})", "value - 1", "DESC")
    )
    return (
        f"(SELECT bits & {KIND_MASK} FROM event WHERE key BETWEEN {first} AND {last} AND NOT bits & {NOT_INDEXED} "
        f"AND bits & {KIND_MASK} IN ({kinds}) ORDER BY key {order} LIMIT 1)"
    )


_DONE = codes_of("user_message", "assistant_message", "thinking", "tool_call", "tool_result")
_STATEMENT = (
    f"SELECT value, {_nearest(_DONE, is_after=True)}, {_nearest(f'{_DONE},{_EDIT}', is_after=True)}, "
    f"{_nearest(codes_of('user_message', 'tool_call', 'file_edit'), is_after=False)} FROM carray(?)"
)


def read_closing(db: apsw.Connection, keys: Sequence[int]) -> set[int]:
    """Return those of the keys of replies that close a turn of work, see `store.ports.HitText.is_closing`.

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
