"""The database against the archive: what was derived anew from the archive says the same, event by event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from recollect.errors import StoreCorrupt
from recollect.maintenance.deep_verify.parts import PartCheck
from recollect.model.events import Event
from recollect.model.sessions import Session
from recollect.store.ports import EventFilter, Reader

_PAGE = 500
_TOLD_OF_ONE = 5
Progress = Callable[[int, int], None]
"""(sessions done, sessions in all)"""
_encode = msgspec.json.Encoder().encode
_NOT_DERIVED = (
    "discovered_at", "ingested_at", "analyzed_at", "evicted_at", "outcome", "outcome_reason", "defect_count",
)  # fmt: skip
"""Of a session: when things were done, and what analysing says of it."""

_RETOLD = ("session_start", "lifecycle")
"""Kinds of events that say what holds for all records behind them."""


def compare_events(
    present: Reader, derived: Reader, *, progress: Progress | None = None
) -> tuple[PartCheck, PartCheck]:
    """Hold every session and every event of a store against those of one that was derived anew.

    Events are found again by the record's name and their part. Their number in the session (`seq`) must be the same,
    because it is cited. Evicted sessions are skipped; of sources with holes what is there must be in the database, but
    what is left may say less than when all of it was there.
    """
    cut = frozenset(row.source_id for row in present.ledgers() if row.holes)
    sessions, events = PartCheck("sessions"), PartCheck("events")
    others = {session.session_uid: session for session in sessions_of(derived)}
    all_of_them = list(sessions_of(present))
    for done, session in enumerate(all_of_them, 1):
        other = others.pop(session.session_uid, None)
        if session.evicted_at is not None:
            sessions.skipped += 1
        elif other is None:
            sessions.differs(session.session_uid, "is not in the archive any more")
        else:
            try:
                is_whole = _compare_events_of(session.session_uid, present, derived, events, cut=cut)
            except StoreCorrupt as error:
                events.differs(session.session_uid, str(error))
                is_whole = False
            if is_whole:
                _compare_session(session, other, sessions)
            else:
                sessions.skipped += 1
        if progress is not None:
            progress(done, len(all_of_them))
    for uid in others:
        sessions.differs(uid, "is in the archive, not in the database")
    return sessions, events


def sessions_of(reader: Reader) -> Iterator[Session]:
    """Yield every session of a store."""
    offset = 0
    while True:
        page, total = reader.sessions(EventFilter(), limit=_PAGE, offset=offset)
        yield from page
        offset += len(page)
        if not page or offset >= total:
            return


def _compare_session(session: Session, other: Session, check: PartCheck) -> None:
    check.checked += 1
    mine, theirs = (msgspec.structs.asdict(one) for one in (session, other))
    fields = [name for name in mine if name not in _NOT_DERIVED and mine[name] != theirs[name]]
    if fields:
        check.differs(session.session_uid, f"says otherwise: {', '.join(fields)}")


def _compare_events_of(uid: str, present: Reader, derived: Reader, check: PartCheck, *, cut: frozenset[str]) -> bool:
    """Compare the events of one session; return whether nothing of it was taken away. cut: sources with holes.

    What a record that is gone told for all behind it, the first of these tells in its place when it is derived; behind
    a hole nothing is added to a session, so that the database need not have it.
    """
    expected: dict[tuple[str, int], list[_Derived]] = defaultdict(list)
    retold: dict[tuple[str, int], int] = defaultdict(int)
    for event in derived.events(uid, limit=None, include_hidden=True):
        expected[event.event_id, event.part].append(_Derived(event.seq, _content(event)))
        retold[event.event_id, event.part] += event.kind in _RETOLD and event.location.source_id in cut
    told = 0
    is_whole = True
    for event in present.events(uid, limit=None, include_hidden=True):
        is_cut = event.location.source_id in cut
        is_whole = is_whole and not is_cut
        same_name = expected.get((event.event_id, event.part), [])
        mine = _Derived(event.seq, _content(event))
        same = next((one for one in same_name if one == mine), None)
        same = same or next((one for one in same_name if one.content == mine.content), None)
        if same is not None:
            same_name.remove(same)
        if same == mine or (same is not None and is_cut):
            check.checked += 1
            continue
        if same is not None:
            why = f"would become #{same.seq} when it is derived"
        elif same_name:
            same_name.pop()
            why = "says otherwise when it is derived"
        else:
            why = "is not derived"
        if is_cut:
            check.skipped += 1
            continue
        check.checked += 1
        told += 1
        if told <= _TOLD_OF_ONE:
            check.differs(f"{uid}#{event.seq}", f"{event.kind} {why} from the archive")
    unneeded = sum(min(len(left), retold[name]) for name, left in expected.items())
    check.skipped += unneeded
    missing = sum(map(len, expected.values())) - unneeded
    if missing:
        check.differs(uid, f"{missing:,} events of the archive are not in the database")
    if told > _TOLD_OF_ONE:
        check.differs(uid, f"{told - _TOLD_OF_ONE:,} more events differ")
    return is_whole


class _Derived(NamedTuple):
    """An event that was derived anew: its number, and what it says."""

    seq: int
    content: bytes


def _content(event: Event) -> bytes:
    """Return what an event says, without its number."""
    return _encode(msgspec.structs.replace(event, seq=0))
