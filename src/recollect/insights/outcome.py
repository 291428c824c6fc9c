"""A session's outcome with its reasons. Definitions: docs/development/insight-rules.md, "Outcome".

Only the last request counts: what came before it was answered by asking for something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from recollect.insights.commands import CHECKS
from recollect.insights.session_events import SessionEvents
from recollect.insights.signals.calls import Tried
from recollect.insights.signals.endings import (
    asks_nothing,
    is_acceptance,
    is_only_prompts,
    last_request,
    left_open,
    quote,
)
from recollect.insights.signals.turns import Turn, turns_of
from recollect.late import late_pattern
from recollect.model.insights.signals import Signal, TestRun
from recollect.model.sessions import Outcome
from recollect.units import plural

_UNABLE = late_pattern(
    r"(?:(?:unfortunately|sorry|i'm sorry|i apologi[sz]e|apologies|ok(?:ay)?)[,.;: ]{1,3}(?:but )?){0,3}"
    r"i(?:'m| am| was|'ve been| have been)? ?(?:unable to|not able to|cannot|can't|can not|could not|couldn't|failed to"
    r"|do not have (?:access|permission)|don't have (?:access|permission))\b"
    r"(?! (?:find|see|think of|spot|identify|detect) (?:any|a) (?:problem|issue|error|bug|reason))",
    re.IGNORECASE,
)
_INSTEAD = late_pattern(
    r"\b(?:but|instead|however|you can|here(?:'s| is| are)|because|since|alternatively)\b", re.IGNORECASE
)
_SHORT_CHARS = 400
_MAX_REASONS = 4


class Verdict(NamedTuple):
    """An outcome and why, the strongest reason first; never without one."""

    outcome: Outcome
    reasons: tuple[str, ...]


def outcome_of(session: SessionEvents, signals: Sequence[Signal]) -> Verdict:
    """Return the outcome of a session. signals: of the same session."""
    turns = session.once(turns_of)
    turn = last_request(turns)
    if is_only_prompts(session):
        return Verdict("unknown", ("only prompts are known, nothing of what the agent did",))
    if turn is None:
        return Verdict("unknown", ("nothing was asked: only commands, notices or metadata",))
    if asks_nothing(turns):
        return Verdict("unknown", (f"nothing was asked: only {quote(turn.text)}",))
    left = left_open(turns)
    if left is not None:
        return Verdict("abandoned", (left[1],))
    if turn.failure is not None:
        return Verdict("fail", (f"the last request ended in a failure: {quote(turn.failure[1])}",))
    failed = _unresolved(session, turn, signals)
    if failed:
        return Verdict("fail", failed[:_MAX_REASONS])
    if _gave_up(turn):
        return Verdict("fail", (f"the agent says that it could not: {quote(turn.said)}",))
    return _success(turn, signals)


def _success(turn: Turn, signals: Sequence[Signal]) -> Verdict:
    reasons = []
    if is_acceptance(turn):
        reasons.append(f"the person accepts: {quote(turn.text)}")
    passed = [s for s in signals if isinstance(s, TestRun) and s.ok]
    if passed and passed[-1].turn_index == _turn_index(turn):
        reasons.append(f"the last test run passes: {quote(passed[-1].command)}")
    if turn.reply is not None:
        what = "closes the last request after its work" if turn.has_worked else "answers the last request"
        reasons.append(f"a reply {what}: {quote(turn.said)}")
    if turn.edits:
        reasons.append(f"{plural(turn.edits, 'edit')} applied in the last request")
    if turn.end is not None:
        said = getattr(turn.end.payload, "reason", "")
        reasons.append(f"the agent says that the session ended{f': {quote(said)}' if said else ''}")
    if not reasons:
        return Verdict("unknown", ("no reply and no work tell how the last request ended",))
    return Verdict("success", tuple(reasons[:_MAX_REASONS]))


def _gave_up(turn: Turn) -> bool:
    """Return whether the last reply says that the agent could not do it.

    A reply without work that offers something else instead is an answer.
    """
    if not _UNABLE.match(turn.said):
        return False
    return turn.has_worked or (len(turn.said) <= _SHORT_CHARS and _INSTEAD.search(turn.said) is None)


def _turn_index(turn: Turn) -> int:
    event = turn.asked or turn.reply
    return event.turn_index if event is not None else -1


def _unresolved(session: SessionEvents, turn: Turn, signals: Sequence[Signal]) -> tuple[str, ...]:
    """Return the test run and the builds of the last request that fail, where no edit or success came after them."""
    place = session.positions
    edited = place[turn.last_edit.event_id, turn.last_edit.part] if turn.last_edit is not None else -1
    found = []
    runs = [s for s in signals if isinstance(s, TestRun) and s.turn_index == _turn_index(turn)]
    if runs and runs[-1].ok is False:
        evidence = runs[-1].evidence[0]
        if place[evidence.event_id, evidence.part] > edited:
            count = f", {runs[-1].failed} failed" if runs[-1].failed else ""
            found.append(f"the last test run fails{count}: {quote(runs[-1].command)}")
    tests = {evidence.event_id for run in runs for evidence in run.evidence}
    newest: dict[str, Tried] = {}
    for one in turn.tried:
        if one.call.call.canonical == "shell" and one.target and one.call.event.event_id not in tests:
            newest[one.target] = one
    for target, one in newest.items():
        result = one.call.result
        if one.ending == "failed" and result is not None and CHECKS.search(target):
            is_last = place[result.event_id, result.part] > edited and one is turn.tried[-1]
            if is_last:
                found.append(f"the last build or check fails: {quote(one.exact)}")
    return tuple(found)
