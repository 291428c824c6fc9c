"""Failures that no call has: errors of the model's API, limits, replies whose edits could not be applied."""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.insights.signals.calls import note_of
from recollect.insights.signals.errors import telling_line
from recollect.insights.stream import SessionEvents
from recollect.model.payloads import Lifecycle
from recollect.model.text import flatten

_NOTES = ("notice", "info", "error", "warning", "turn_ended", "status")
"""Lifecycle names under which agents show what their program prints."""
_NAMES = frozenset((*_NOTES, "api_error"))
_SHORT = ("turn_ended",)
"""Names whose text is rarely there, and short: what is longer than `_SHORT_CHARS` is not read."""
_SHORT_CHARS = 1000
_READ_CHARS = 8192
_MESSAGE = re.compile(r"^(?:error_?)?message: (\S[^\n]*)", re.MULTILINE | re.IGNORECASE)
_HINTS = (
    "api error", "apierror", "api_error", "badrequesterror", "internalservererror", "authenticationerror",
    "ratelimit", "apiconnection", "serviceunavailable", "permissiondenied", "notfounderror", "contextwindow",
    "apistatus", "overloaded", "contentpolicy", "timeouterror", "rate_limit_error", "invalid_request_error",
    "authentication_error", "insufficient_quota", "edit format", "blocks", "failed to apply",
    "failed to match", "no edits", "no changes",
)  # fmt: skip
_LIMITS, _REACHED = ("limit", "quota", "tokens", "turns", "iterations", "steps"), ("reached", "exceeded", "hit")
"""Lower-case pieces without any of which nothing below matches: one of the first, or one each of the others."""
_API = re.compile(
    r"\b(?:API ?Error|API_ERROR|(?:BadRequest|InternalServer|Authentication|RateLimit|APIConnection|ServiceUnavailable"
    r"|PermissionDenied|NotFound|ContextWindowExceeded|APIStatus|Overloaded|ContentPolicyViolation|Timeout)Error\b"
    r"|overloaded_error|rate_limit_error|invalid_request_error|authentication_error|insufficient_quota"
    r"|(?:usage|rate|quota|credit|spending|turn) limits? (?:has been |was )?(?:reached|exceeded|hit)"
    r"|(?:reached|exceeded|hit) (?:the|your|a|its) [\w -]{0,30}(?:limit|quota)"
    r"|has hit a token limit|(?:max(?:imum)?|output) (?:output )?tokens? (?:limit )?(?:reached|exceeded)"
    r"|max(?:imum)? (?:number of )?(?:session )?(?:turns|iterations|steps)\b[^.\n]{0,30}(?:reached|exceeded)"
    r"|(?:reached|exceeded) (?:the )?max(?:imum)? (?:number of )?(?:session )?(?:turns|iterations|steps))",
    re.IGNORECASE,
)
_UNAPPLIED = re.compile(
    r"did not conform to the edit format|(?:edit|patch|diff|search/replace) blocks? (?:that )?failed"
    r"|failed to (?:apply|match) (?:the |any )?(?:edit|patch|diff|search)|no (?:edits|changes) (?:were|could"
    r" be) applied",
    re.IGNORECASE,
)


_CRASH = re.compile(
    r"^(?:Unexpected error|Uncaught|Unhandled|fatal error|panic|[\w.]{0,80}(?:Error|Exception)): ", re.MULTILINE
)


class Failure(NamedTuple):
    """A failure that a lifecycle event tells: its telling line, and whether it is one of the API or a limit.

    is_sure: it is a failure wherever it stands; else only where the request has no other answer.
    """

    line: str
    is_api: bool
    is_sure: bool = True


def failures_of(session: SessionEvents) -> dict[tuple[str, int], Failure]:
    """Return the failures of a session by (event_id, part)."""
    found = {}
    for event in session.of(Lifecycle):
        payload = event.payload
        if isinstance(payload, Lifecycle) and payload.name in _NAMES:
            failure = failure_of(payload if payload.name in _SHORT else note_of(session, event))
            if failure is not None:
                found[event.event_id, event.part] = failure
    return found


def failure_of(payload: Lifecycle) -> Failure | None:
    """Return the failure that a lifecycle event tells, None for none."""
    if payload.name == "api_error":
        said = payload.text or flatten(payload.detail)
        stated = _MESSAGE.search(said[:_READ_CHARS])
        return Failure((stated[1].strip() if stated else telling_line(said)) or "an API error", is_api=True)
    if payload.name not in _NAMES or (payload.name in _SHORT and len(payload.text) > _SHORT_CHARS):
        return None
    text = payload.text[:_READ_CHARS]
    lowered = text.lower()
    if any(hint in lowered for hint in _HINTS) or (
        any(hint in lowered for hint in _REACHED) and any(hint in lowered for hint in _LIMITS)
    ):
        for pattern, is_api in ((_API, True), (_UNAPPLIED, False)):
            found = pattern.search(text)
            if found is not None:
                return Failure(_line_at(text, found), is_api)
    crash = _CRASH.search(text) if ": " in text else None
    return Failure(_line_at(text, crash), is_api=False, is_sure=False) if crash is not None else None


def _line_at(text: str, found: re.Match[str]) -> str:
    start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    return text[start : len(text) if end < 0 else end].strip()
