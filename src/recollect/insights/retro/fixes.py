"""Finds what fixed an error: the events between a failed call and the success of the same call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from recollect.insights.last_change import Change, changes_since, edits_in
from recollect.insights.retro.report import FixLine, How
from recollect.insights.session_events import SessionEvents
from recollect.insights.signals.calls import Tried, endings_of
from recollect.model.events import Event
from recollect.model.insights.nodes import Evidence
from recollect.model.insights.signals import ErrorSeen, Retry, Signal
from recollect.model.text import one_line

MAX_EVENTS = 200
"""Events looked at before the call that worked: what fixed it stands close before it."""
EventsBetween = Callable[[str, int, int], Iterable[Event]]
"""(session_uid, first_seq, last_seq) → the events of a session from one seq to another, whole."""


class Repair(NamedTuple):
    """An error after which the same call worked. call: the seq of the failed call, or of its result where nobody knows
    it. first: of the first failure in a row."""

    error: ErrorSeen
    first: int
    call: int
    failed: Evidence
    worked: Evidence


def repairs_of(signals: Sequence[Signal]) -> list[Repair]:
    """Return the errors of a session after which the same call worked, in order; each error once.

    A call that failed several times in a row is repaired by what came after the last failure.
    """
    by_result = {_place(s.evidence[0]): s for s in signals if isinstance(s, ErrorSeen)}
    by_call = {_place(s.evidence[1]): s for s in by_result.values() if len(s.evidence) > 1}
    chains: dict[tuple[str, int], list[ErrorSeen]] = {}
    repaired: dict[tuple[str, int], Repair] = {}
    for retry in signals:
        if not isinstance(retry, Retry) or len(retry.evidence) < 2:
            continue
        call, failed = retry.evidence[0], retry.evidence[1]
        before = by_result.get(_place(failed))
        if before is None:
            continue
        chain = chains.setdefault(_place(failed), [before])
        if retry.ok is True:
            for error in chain:
                place = _place(error.evidence[0])
                repaired.setdefault(place, Repair(error, _seq_of_call(chain[0]), _seq_of_call(before), failed, call))
        elif (again := by_call.get(_place(call))) is not None:
            chains[_place(again.evidence[0])] = [*chain, again]
    return sorted(repaired.values(), key=lambda repair: (repair.worked.seq, repair.error.evidence[0].seq))


def fix_of(repair: Repair, between: EventsBetween, *, root: str = "") -> FixLine | None:
    """Return what fixed an error; None if the events no longer exist. root: the folder to which paths are relative.

    The last change counts, see `insights.last_change`. Without one it is that the same target was read first, else the
    call itself: changed, or tried again.
    """
    uid, last = repair.worked.session_uid, repair.worked.seq
    first = max(repair.first, last - MAX_EVENTS)
    stream = SessionEvents(between(uid, first, last)).kept
    tried = list(endings_of(stream).values())
    worked = next((one for one in tried if _is(one.call.event, repair.worked)), None)
    if worked is None:
        return None

    def line(how: How, what: str, seq: int) -> FixLine:
        return FixLine(
            how=how,
            what=one_line(below(what, root)),
            evidence=f"{uid}#{seq}",
            failed=cite(repair.failed),
            worked=cite(repair.worked),
        )

    changed = _last_change(stream, tried, repair)
    if changed is not None:
        return line(changed.how, changed.what, changed.place)
    read = _read_before(tried, worked, repair)
    if read is not None:
        return line("read", read.target, read.call.event.seq)
    failed = next((one for one in tried if one.call.event.seq == repair.call), None)
    is_other = failed is not None and failed.call.call.arguments != worked.call.call.arguments
    return line("call" if is_other else "again", worked.exact or worked.tool, repair.worked.seq)


def below(path: str, root: str) -> str:
    """Return a path relative to a folder, with "/"; a path outside of it as written.

    Windows compares without case, but a path that differs only in case is rare enough to be shown whole.
    """
    plain, folder = path.replace("\\", "/"), root.replace("\\", "/").rstrip("/")
    if folder and plain.startswith(f"{folder}/"):
        return plain[len(folder) + 1 :]
    return path.removeprefix("./")


def cite(evidence: Evidence) -> str:
    """Return the citation of a piece of evidence, `session_uid#seq`."""
    return f"{evidence.session_uid}#{evidence.seq}"


def _read_before(tried: Sequence[Tried], worked: Tried, repair: Repair) -> Tried | None:
    """Return the last successful read of the working call's target, None without one."""
    if not worked.target or worked.call.call.canonical == "read":
        return None
    for one in reversed(tried):
        is_between = repair.failed.seq < one.call.event.seq < repair.worked.seq
        is_look = one.call.call.canonical == "read" and one.target == worked.target
        if is_between and is_look and one.ending in ("ok", "unsaid"):
            return one
    return None


def _last_change(stream: SessionEvents, tried: Sequence[Tried], repair: Repair) -> Change | None:
    """Return the last change between the failure and the success."""
    lost = {one.call.call.call_id for one in tried if one.ending in ("failed", "denied", "interrupted")} - {""}
    found = [
        change
        for event in stream.events
        for change in edits_in(event.seq, event.payload, partial(getattr, event, "payload"))
        if change.call_id not in lost
    ]
    found += [
        Change(one.call.event.seq, "command", one.exact)
        for one in tried
        if one.call.call.canonical == "shell" and one.ending in ("ok", "unsaid")
    ]
    found.sort(key=lambda change: change.place)
    between = (change for change in found if repair.first < change.place < repair.worked.seq)
    return next(reversed(changes_since(between, repair.failed.seq)), None)


def _seq_of_call(error: ErrorSeen) -> int:
    return error.evidence[1].seq if len(error.evidence) > 1 else error.evidence[0].seq


def _is(event: Event, evidence: Evidence) -> bool:
    return (event.event_id, event.part) == (evidence.event_id, evidence.part)


def _place(evidence: Evidence) -> tuple[str, int]:
    return evidence.event_id, evidence.part
