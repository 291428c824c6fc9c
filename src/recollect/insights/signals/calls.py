"""The tool calls of a session, their results, and failures outside of calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from recollect.insights.commands import Simple, command_of, is_preparing, simple_commands, subject_of
from recollect.insights.error_lines import telling_line
from recollect.insights.session_events import TOOL_REPORT, Call, SessionEvents
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.payloads import Json, Lifecycle, ToolCall, ToolResult
from recollect.model.text import flatten, paths_in

Ending = Literal["ok", "failed", "expected", "denied", "interrupted", "open", "unsaid"]
"""expected: a non-zero exit that only answers a question (`grep` found nothing); open: no result came; unsaid: a result
came and the agent does not say how it went."""

EXPECTED_EXITS: Mapping[str, frozenset[int]] = {
    name: frozenset(codes)
    for names, codes in (
        ("grep egrep fgrep zgrep rg ag ack findstr", (1,)),
        ("diff cmp colordiff", (1,)),
        ("test [ [[ expr", (1,)),
        ("pgrep pidof which where whereis type hash", (1,)),
        ("robocopy", (1, 2, 3, 4, 5, 6, 7)),
    )
    for name in names.split()
}
"""Exit codes that are an answer and no error, by program: nothing found, files differ, it is not so. After each
program's own manual; anything else a program exits with is an error."""
_EXPECTED_OF_GIT = {"grep": 1, "diff": 1, "check-ignore": 1, "merge-base": 1, "show-ref": 1}

_DENIED = (
    r"(?:the )?user (?:doesn't want|does not want|rejected|denied|declined|refused|chose not)"
    r"|.{0,80}?(?:rejected|denied|declined|refused|not approved) by (?:the )?user|.{0,120}?you haven't granted"
    r"|.{0,40}?tool (?:use|call) was (?:rejected|denied)"
    r"|.{0,40}?user did not (?:approve|allow)|permission for this action (?:has been|was) denied"
)
_INTERRUPTED = (
    r"\[?(?:request )?interrupted by (?:the )?user|.{0,40}?(?:operation|request|tool|command|execution)\]? (?:was )?"
    r"(?:cancell?ed|interrupted) by|.{0,40}?user cancell?ed|command aborted\s*$|\[operation cancelled\]|aborted by user"
)
_REFUSALS = late_pattern(
    r"(?:permission_|user_|tool_)?(?:den(?:y|ied)|reject(?:ed)?|declined?|refused?|disallow(?:ed)?|cancell?ed|cancel|abort)"
    r"(?:_by_user|_once|_always)?",
    re.IGNORECASE,
)
"""Words that by themselves answer a question for permission with no."""
ANSWERS = ("permission", TOOL_REPORT)
"""Lifecycle names that may say how a question for permission was answered, or that a call was stopped."""
_ANSWER_KEYS = ("outcome", "decision", "response", "result", "answer", "status", "verdict")
_QUERY_KEYS = ("query", "pattern", "regex", "q", "search", "glob", "url", "uri", "prompt", "description", "name")
TARGET_CHARS = 300
"""What is longer is no target: short enough that no light event leaves it out (`SessionEvents`)."""


class Tried(NamedTuple):
    """A call and how it ended. target: a path, what a command is about, a url or a query; "" where it has none.
    exact: the whole command or all short arguments, to tell the same call from a similar one."""

    call: Call
    ending: Ending
    target: str
    exact: str
    line: str = ""
    """What went wrong, where it failed: see `telling.telling_line`."""
    commands: Sequence[Simple] = ()
    """Of a shell call: its simple commands."""

    @property
    def tool(self) -> str:
        """The canonical tool, or the name of one that has no other."""
        return tool_of(self.call.call)


def tool_of(call: ToolCall) -> str:
    """Return the canonical name of a tool; where it is "mcp" or "other", the name that the agent gives it."""
    return call.name if call.canonical in ("mcp", "other", "") and call.name else call.canonical


def endings_of(session: SessionEvents) -> dict[str, Tried]:
    """Return every call of a session with how it ended, by its key in `SessionEvents.calls`."""
    refused, stopped = set(), set()
    for event in session.of(Lifecycle):
        answer = event.payload
        if not isinstance(answer, Lifecycle) or answer.name not in ANSWERS:
            continue
        note = note_of(session, event)
        if is_stop(note):
            stopped.add(answer.call_id)
        elif is_refusal(note):
            refused.add(answer.call_id)
    return {
        key: _tried(session, call, is_refused=key in refused, is_stopped=key in stopped)
        for key, call in session.calls.items()
    }


def note_of(session: SessionEvents, event: Event) -> Lifecycle:
    """Return a lifecycle event's payload, whole where its text was left out. Ask only for what may be of interest."""
    payload = event.payload
    if isinstance(payload, Lifecycle) and not payload.text:
        payload = session.whole(event).payload
    return payload if isinstance(payload, Lifecycle) else Lifecycle()


def is_stop(payload: Lifecycle) -> bool:
    """Return whether telemetry says that a call was stopped while it ran."""
    return (
        payload.name == TOOL_REPORT
        and isinstance(payload.detail, dict)
        and payload.detail.get("outcome") == "cancelled"
    )


def is_refusal(payload: Lifecycle) -> bool:
    """Return whether the answer to a permission question was no."""
    if payload.name not in ANSWERS:
        return False
    detail = payload.detail if isinstance(payload.detail, dict) else {}
    if isinstance(detail.get("denied"), bool):
        return bool(detail["denied"])
    said = [detail.get(key) for key in _ANSWER_KEYS]
    if payload.name == "permission":
        lines = payload.text[:2000].strip().splitlines()
        said += [*lines[:1], *lines[-1:]]
        if is_denial(payload.text):
            return True
    return any(isinstance(answer, str) and _REFUSALS.fullmatch(answer.strip()) for answer in said)


def _tried(session: SessionEvents, call: Call, *, is_refused: bool, is_stopped: bool) -> Tried:
    is_shell = call.call.canonical == "shell"
    command = command_of(session, call.event) if is_shell else ""
    commands = simple_commands(command) if command else ()
    target = subject_of(commands) if is_shell else _target_of(call.call.arguments)
    exact = command if is_shell else target
    if call.result is None:
        unanswered: Ending = "denied" if is_refused else "interrupted" if is_stopped else "open"
        return Tried(call, unanswered, target, exact, "", commands)
    result = call.result.payload
    if not isinstance(result, ToolResult):
        return Tried(call, "unsaid", target, exact, "", commands)
    if result.ok is not False and not result.exit_code:
        said = result.ok is True or result.exit_code == 0
        return Tried(call, "denied" if is_refused else "ok" if said else "unsaid", target, exact, "", commands)
    text = text_of(session, call.result)
    ending: Ending = "failed"
    if is_refused or is_denial(text):
        ending = "denied"
    elif is_stopped or is_interruption(text):
        ending = "interrupted"
    elif is_shell and is_expected(commands, result.exit_code):
        ending = "expected"
    return Tried(call, ending, target, exact, telling_line(text) if ending == "failed" else "", commands)


def text_of(session: SessionEvents, event: Event) -> str:
    """Return what a result says, whole: its text, else its structured output."""
    payload = event.payload
    if isinstance(payload, ToolResult) and not payload.text:
        payload = session.whole(event).payload
    if not isinstance(payload, ToolResult):
        return ""
    return payload.text or (flatten(payload.structured) if payload.structured is not None else "")


def is_denial(text: str) -> bool:
    """Return whether a failed result says that a person did not allow the call."""
    return re.match(_DENIED, text[:400].lstrip(), re.IGNORECASE) is not None


def is_interruption(text: str) -> bool:
    """Return whether a failed result says that a person stopped the call."""
    return any(
        re.match(_INTERRUPTED, part, re.IGNORECASE)
        for part in (text[:200].strip(), text[-200:].strip().rpartition("\n")[2])
    )


def is_expected(commands: Sequence[Simple], exit_code: int | None) -> bool:
    """Return whether a non-zero exit of commands only answers a question, see `EXPECTED_EXITS`.

    The last command decides; those before it (`&&`) must only prepare or be such a question themselves.
    """
    if not exit_code or not commands:
        return False
    answered = False
    for place in range(len(commands) - 1, -1, -1):
        simple = commands[place]
        is_last = place == len(commands) - 1
        if not is_last and simple.joint != "&&":
            continue
        if _answers(simple, exit_code):
            answered = True
        elif not is_preparing(simple):
            return False
    return answered


def _answers(simple: Simple, exit_code: int) -> bool:
    words, program = simple.words, simple.program
    if program == "git" and len(words) > 1:
        verb = next((w for w in words[1:] if not w.startswith("-")), "")
        return _EXPECTED_OF_GIT.get(verb) == exit_code
    if program == "command":  # `command -v NAME`: is there such a program?
        return exit_code == 1
    return exit_code in EXPECTED_EXITS.get(program, ())


def _target_of(arguments: Json) -> str:
    """Return the path, url or query that a call is about, "" for none."""
    if isinstance(arguments, str):
        return " ".join(arguments.split()) if len(arguments) <= TARGET_CHARS else ""
    if not isinstance(arguments, dict):
        return ""
    said = [*paths_in(arguments), *(arguments.get(key) for key in _QUERY_KEYS)]
    return next((" ".join(v.split()) for v in said if isinstance(v, str) and v and len(v) <= TARGET_CHARS), "")


_NOTES = ("notice", "info", "error", "warning", "turn_ended", "status")
"""Lifecycle names under which agents show what their program prints."""
_NAMES = frozenset((*_NOTES, "api_error"))
_SHORT = ("turn_ended",)
"""Names whose text is rarely there, and short: what is longer than `_SHORT_CHARS` is not read."""
_SHORT_CHARS = 1000
_READ_CHARS = 8192
_MESSAGE = late_pattern(r"^(?:error_?)?message: (\S[^\n]*)", re.MULTILINE | re.IGNORECASE)
_HINTS = (
    "api error", "apierror", "api_error", "badrequesterror", "internalservererror", "authenticationerror",
    "ratelimit", "apiconnection", "serviceunavailable", "permissiondenied", "notfounderror", "contextwindow",
    "apistatus", "overloaded", "contentpolicy", "timeouterror", "rate_limit_error", "invalid_request_error",
    "authentication_error", "insufficient_quota", "edit format", "blocks", "failed to apply",
    "failed to match", "no edits", "no changes",
)  # fmt: skip
_LIMITS, _REACHED = ("limit", "quota", "tokens", "turns", "iterations", "steps"), ("reached", "exceeded", "hit")
"""Lower-case pieces without any of which nothing below matches: one of the first, or one each of the others."""
_API = late_pattern(
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
_UNAPPLIED = late_pattern(
    r"did not conform to the edit format|(?:edit|patch|diff|search/replace) blocks? (?:that )?failed"
    r"|failed to (?:apply|match) (?:the |any )?(?:edit|patch|diff|search)|no (?:edits|changes) (?:were|could"
    r" be) applied",
    re.IGNORECASE,
)


_CRASH = late_pattern(
    r"^(?:Unexpected error|Uncaught|Unhandled|fatal error|panic|[\w.]{0,80}(?:Error|Exception)): ", re.MULTILINE
)


class Failure(NamedTuple):
    """A failure in a lifecycle event: its significant line, and whether it is one of the API or a limit.

    is_sure: it is always a failure; else only if the request has no other answer.
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
