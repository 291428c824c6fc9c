"""The order of a slice's events, where a document has them in another order than they happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recollect.store.row_keys import TS_QUALITIES
from recollect.store.rows import EventDraft

_INFERRED = TS_QUALITIES.index("inferred")


class Reordered(NamedTuple):
    """Events in the order in which they happened. places: the new place of each. lost: places of those that follow an
    event that is not here; they stay where they were told."""

    events: list[EventDraft]
    places: list[int]
    lost: list[int]


def reordered(events: Sequence[EventDraft], follows: Mapping[int, str | int], *, user_kind: int) -> Reordered:
    """Move events behind those that they follow, and count turns again.

    follows: by place, the name of the event or its place; "" and -1 for the beginning. An inferred time becomes that of
    the event before, or of the one after if that is earlier.
    """
    behind: dict[int, list[int]] = {}
    lost: list[int] = []
    newest: dict[str | None, int] = {}
    stay: list[int] = []
    for i, event in enumerate(events):
        name = follows.get(i)
        at = -1 if name == "" else newest.get(name) if isinstance(name, str) else name
        if name is not None and at is None:
            lost.append(i)
        if at is None:
            stay.append(i)
        else:
            behind.setdefault(at, []).append(i)
        newest[event.event_id] = i
    order: list[int] = []
    pending = [*reversed(stay), *reversed(behind.get(-1, ()))]
    while pending:
        i = pending.pop()
        order.append(i)
        pending += reversed(behind.get(i, ()))
    starts = _starts(events, user_kind)
    turn = events[0].turn - (0 in starts) if events else 0
    moved = follows.keys() - lost
    before: int | None = None
    for i in order:
        turn += i in starts
        events[i].turn = turn
        if i in moved and events[i].ts_quality == _INFERRED and before is not None:
            events[i].ts = before
        before = events[i].ts if events[i].ts is not None else before
    after: int | None = None
    for i in reversed(order):
        ts = events[i].ts
        if i in moved and events[i].ts_quality == _INFERRED and ts is not None and after is not None:
            events[i].ts = min(ts, after)
        after = events[i].ts if events[i].ts is not None else after
    places = [0] * len(order)
    for place, i in enumerate(order):
        places[i] = place
    return Reordered([events[i] for i in order], places, [places[i] for i in lost])


def _starts(events: Sequence[EventDraft], user_kind: int) -> set[int]:
    """Return the places of events that begin a turn: a message with which the count of turns rose."""
    found = set()
    turn = -1
    for i, event in enumerate(events):
        is_first = i == 0 and event.kind == user_kind and event.turn > 0
        if is_first or (i and event.kind == user_kind and event.turn > turn):
            found.add(i)
        turn = event.turn
    return found
