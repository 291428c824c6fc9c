"""Retries and loops: the same call again after it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from recollect.insights.error_lines import fingerprint_of
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.signals.calls import Tried
from recollect.model.events import Event
from recollect.model.insights.signals import Loop, Retry
from recollect.model.payloads import Json, Lifecycle

LOOP_CALLS = 3
_ATTEMPT_KEYS = ("retryAttempt", "retry_attempt", "attempt", "attempt_number", "retryCount", "retry_count")
_MAX_EVIDENCE = 16


class _Failures(NamedTuple):
    """Failures of the same tool on the same target since it last worked. newest: the newest failed result."""

    times: int
    newest: Event


def retries_of(session: SessionEvents, tried: Sequence[Tried]) -> list[Retry]:
    """Return the calls that were made again after they had failed, in order of the calls."""
    place = session.positions
    failed: dict[tuple[str, str], _Failures] = {}
    ended: dict[tuple[str, str], list[tuple[int, int, Tried]]] = {}
    found: list[Retry] = []
    for number, one in enumerate(tried):
        key = (one.tool, one.target)
        if not one.target:
            continue
        at = _place(place, one.call.event)
        # What of earlier calls was known when this one was made: calls made side by side repeat nothing.
        waiting = ended.setdefault(key, [])
        while waiting and waiting[0][0] < at:
            _settle(failed, key, heappop(waiting)[2])
        before = failed.get(key)
        if before is not None and one.ending != "denied":
            evidence = (evidence_of(one.call.event, "command"), evidence_of(before.newest, "context"))
            ok = {"ok": True, "expected": True, "failed": False}.get(one.ending)
            told = {"tool": one.tool, "target": one.target, "attempt": before.times + 1, "ok": ok}
            found.append(Retry.at(one.call.event, *evidence, **told))
        if one.call.result is not None:
            heappush(waiting, (_place(place, one.call.result), number, one))
    return found


def _place(places: Mapping[tuple[str, int], int], event: Event) -> int:
    return places[event.event_id, event.part]


def _settle(failed: dict[tuple[str, str], _Failures], key: tuple[str, str], one: Tried) -> None:
    if one.ending == "failed" and one.call.result is not None:
        before = failed.get(key)
        failed[key] = _Failures(before.times + 1 if before else 1, one.call.result)
    elif one.ending in ("ok", "expected", "unsaid"):
        failed.pop(key, None)


def own_retry(event: Event, payload: Lifecycle) -> Retry | None:
    """Return the retry that an agent itself reports: its retry event, or an API error that counts attempts."""
    if payload.name not in ("retry", "api_error"):
        return None
    attempt = _attempt(payload.detail)
    if payload.name == "api_error" and attempt is None:
        return None
    return Retry.at(event, evidence_of(event, "context"), attempt=max(2, (attempt or 1) + 1))


def _attempt(detail: Json) -> int | None:
    if not isinstance(detail, dict):
        return None
    said = (detail.get(key) for key in _ATTEMPT_KEYS)
    return next((v for v in said if isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1000), None)


def loops_of(tried: Sequence[Tried]) -> list[Loop]:
    """Return runs of at least three of the same failing call with the same error, nothing else working in between."""
    found: list[Loop] = []
    run: list[Tried] = []
    key: tuple[str, str, str] | None = None
    for one in tried:
        if one.ending == "failed":
            this = (one.tool, one.exact, fingerprint_of(one.line))
            if this != key:
                found += _loop(run, key)
                run, key = [], this
            run.append(one)
        elif one.ending in ("ok", "expected", "unsaid"):
            found += _loop(run, key)
            run, key = [], None
    return found + _loop(run, key)


def _loop(run: Sequence[Tried], key: tuple[str, str, str] | None) -> list[Loop]:
    if key is None or len(run) < LOOP_CALLS:
        return []
    first = run[0]
    evidence = (evidence_of(one.call.event, "command") for one in run[:_MAX_EVIDENCE])
    told = {"tool": first.tool, "target": first.target, "count": len(run), "fingerprint": key[2]}
    return [Loop.at(first.call.event, *evidence, **told)]
