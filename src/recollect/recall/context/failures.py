"""What failed here, and what made it work: a call that failed, the edits after it, the same call when it passed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from recollect.model.payloads import FileEdit, ToolCall, ToolResult
from recollect.model.text import one_line, paths_in
from recollect.model.time import day_of
from recollect.recall.context.commands import Command, command_of
from recollect.recall.context.learnings.learnings import LearnedHere
from recollect.recall.context.sources import SESSIONS, Asked, Candidate, Found, window
from recollect.store.recent import RecentEvent
from recollect.units import plural

EVENTS = 300
"""Events looked at in each session, the newest calls, results and edits."""
COMMAND_CHARS = 90
REASON_CHARS = 110
FILES = 4
_STEP = 2
_KINDS = ("tool_call", "tool_result", "file_edit")
# Texts, as those of `commands`.
_CAUSE = (
    r"\w(?:error|exception)\b|\berror\b|assert|panic|fatal|cannot|can't|not found|no such|undefined|unresolved|denied|"
    r"refused|mismatch|错误|エラー|오류"
)
_COUNT = r"fail|expected|失败|失敗"
_PASSED = r"\b[1-9]\d* (?:tests? )?pass|\bpassed\b|\b0 fail|\bno issues\b|\bsuccess|\bok\b"
_NOT_PASSED = r"\b[1-9]\d* (?:tests? )?(?:fail|error)|(?-i:\bFAILED\b)|\berror:|\bTraceback\b"
_REFUSED = (
    r"\b(?:user|operator|human)\b.{0,40}\b(?:doesn't want|does not want|rejected|declined|denied|refused|cancel|abort|"
    r"interrupt)|\brequest(?:ed)? (?:was )?(?:interrupted|cancelled|aborted)"
)
"""A person said no: that is no failure of the call."""
_REFUSING = ("user", "operator", "human", "request")
"""One of these is in it."""
_DOWNLOADED = (
    r"\b(?:curl|wget|iwr|irm|invoke-webrequest)\b[^|]{0,300}\|\s*(?:sudo\s+)?(?:\w{0,8}sh|iex|python3?|node)\b"
)
_NOT_QUOTED = "[a command that runs what it downloads]"
"""A tool's words are quoted, but a block is the last place to repeat such a command from."""


class Failure(msgspec.Struct):
    """One thing that failed, once or several times, and how it went on. Times in UTC microseconds."""

    command: Command
    reason: str
    ts: int | None
    citation: str
    count: int = 1
    edited: list[str] = []
    ran: list[str] = []
    """Commands that changed something, in order."""
    passed: str = ""
    """Citation of the run that passed."""

    @property
    def is_worth_telling(self) -> bool:
        """A fix is told where it is known. One that was run again is a problem that somebody had; of the others only
        tests, builds and the like are."""
        if self.passed:
            return bool(self.edited or self.ran)
        return self.count > 1 or self.command.is_check


class FailuresHere:
    """What failed in the folder's newest root sessions, but the present one; looked for once for a block.

    What the learnings tell of the same command is not told again, nor told otherwise.
    """

    def __init__(self, learned: LearnedHere) -> None:
        self._learned = learned
        self._found: list[Failure] | None = None

    def of(self, asked: Asked) -> list[Failure]:
        """Return the failures worth telling, in order of time."""
        if self._found is None:
            uids = [session.session_uid for session in window(*asked.sessions, SESSIONS)]
            failing = asked.reader.has_failures(uids)
            first = next((place for place, uid in enumerate(uids) if uid in failing), len(uids))
            walk = FailureWalk(asked.folder.path if asked.folder is not None else "")
            for uid in uids[first:]:  # what failed in one session may pass in a later one
                walk.take(uid, asked.reader.events(uid, _KINDS, limit=EVENTS))
            self._found = [f for f in walk.failures() if f.is_worth_telling and not self._is_learned(f, asked)]
        return self._found

    def _is_learned(self, failure: Failure, asked: Asked) -> bool:
        """Tell whether a learning says what made a command pass that had failed, then or later."""
        named = f"`{failure.command.shown}`"
        return any(
            text.startswith(named) and (failure.ts is None or ts >= failure.ts)
            for text, ts in self._learned.repairs(asked)
        )


class Fixed:
    """Failures that were fixed, oldest first."""

    name = "fixed failures"
    heading = "Failed here before, and what made it pass:"

    def __init__(self, here: FailuresHere) -> None:
        self._here = here

    def candidates(self, asked: Asked) -> Found:
        """Return the newest failures of the folder's sessions that were fixed."""
        return lines_of([f for f in self._here.of(asked) if f.passed], asked, asked.room // 5)


class Unfixed:
    """Failures that nobody fixed, oldest first."""

    name = "open failures"
    heading = "Failed here, and not seen to pass since:"

    def __init__(self, here: FailuresHere) -> None:
        self._here = here

    def candidates(self, asked: Asked) -> Found:
        """Return the newest failures of the folder's sessions that were never seen to pass."""
        return lines_of([f for f in self._here.of(asked) if not f.passed], asked, asked.room // 5)


def open_failures(events: Sequence[RecentEvent], uid: str, root: str = "") -> list[Failure]:
    """Return what failed in one session, is worth telling and was not seen to pass."""
    walk = FailureWalk(root)
    walk.take(uid, events)
    return [failure for failure in walk.failures() if not failure.passed and failure.is_worth_telling]


class FailureWalk:
    """Follows calls, results and edits in order. Give it session after session.

    What fails is open until the same passes, or a check that covers it. Where it may have passed, and nobody can say
    (another folder, the end of a pipe), it is neither open nor fixed any more.
    """

    def __init__(self, root: str = "") -> None:
        """root: the repository's top, where a command runs that changes to no other folder."""
        self._root = root
        self._open: dict[tuple[str, str], Failure] = {}
        self._closed: list[Failure] = []

    def take(self, uid: str, events: Iterable[RecentEvent]) -> None:
        """Take a session's events, in order of seq. While nothing is open, only what failed is looked at."""
        calls: dict[str, ToolCall] = {}
        waiting: list[RecentEvent] = []
        for event in events:
            if event.kind == "tool_call":
                waiting.append(event)
                if self._open:
                    self._edit_by(event)
            elif event.kind == "file_edit":
                if self._open:
                    self._edit_by(event)
            elif event.is_failed or self._open:
                for call in waiting:
                    if isinstance(call.payload, ToolCall):
                        calls[call.payload.call_id] = call.payload
                waiting.clear()
                self._end(calls, event, uid)

    def failures(self) -> list[Failure]:
        """Return all, in order of when they failed last."""
        return sorted((*self._closed, *self._open.values()), key=lambda f: (f.ts or 0, f.citation))

    def _edit_by(self, event: RecentEvent) -> None:
        payload = event.payload
        if isinstance(payload, FileEdit):
            paths: tuple[str, ...] = (payload.path,) if payload.operation != "checkpoint" and payload.path else ()
        elif isinstance(payload, ToolCall) and payload.canonical == "edit":
            paths = paths_in(payload.arguments)
        else:
            return
        for failure in self._open.values():
            failure.edited += [path for path in paths if path not in failure.edited]

    def _end(self, calls: dict[str, ToolCall], event: RecentEvent, uid: str) -> None:
        result = event.payload
        call = calls.pop(result.call_id, None) if isinstance(result, ToolResult) and result.call_id else None
        command = command_of(call) if call is not None else None
        if not isinstance(result, ToolResult) or command is None:
            return
        citation = f"{uid}#{event.seq}"
        folder = "" if command.folder in (self._root, ".") else command.folder.removeprefix(f"{self._root}/")
        if not event.is_failed:
            # Of a result that says nothing of how it ended, nothing is known either.
            if result.ok or result.exit_code == 0:
                self._pass(command, folder, result.text, citation)
            return
        if _is_refused(result.text[:400] or event.summary):
            return
        reason = _reason(result.text) or (event.summary if re.search(_CAUSE, event.summary, re.IGNORECASE) else "")
        before = self._open.get((folder, command.key))
        count = before.count + 1 if before is not None else 1
        edited, ran = (before.edited, before.ran) if before is not None else ([], [])
        self._open[folder, command.key] = Failure(command, reason, event.ts, citation, count, edited, ran)

    def _pass(self, command: Command, folder: str, said: str, citation: str) -> None:
        """Close what a command that ended well shows to pass; note it for the others if it changed something."""
        for where, failure in list(self._open.items()):
            if not command.covers(failure.command):
                if command.is_change and command.shown not in failure.ran:
                    failure.ran.append(command.shown)
            elif where[0] == folder or not where[0] or not folder:
                del self._open[where]
                if where[0] == folder and (command.is_alone or _says_passed(said)):
                    failure.passed = citation
                    self._closed.append(failure)


def _says_passed(text: str) -> bool:
    """Tell whether an output says that all went well, where the exit code is that of another command."""
    return re.search(_PASSED, text, re.IGNORECASE) is not None and re.search(_NOT_PASSED, text, re.IGNORECASE) is None


def _is_refused(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _REFUSING) and re.search(_REFUSED, text, re.IGNORECASE) is not None


def _reason(text: str) -> str:
    """Return the line that tells most: the last that names a cause, else the last that speaks of failing, else the
    last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for telling in (_CAUSE, _COUNT):
        found = next((line for line in reversed(lines) if re.search(telling, line, re.IGNORECASE)), "")
        if found:
            return one_line(_without_downloads(found), REASON_CHARS)
    return one_line(_without_downloads(lines[-1]), REASON_CHARS) if lines else ""


def _without_downloads(line: str) -> str:
    return re.sub(_DOWNLOADED, _NOT_QUOTED, line, flags=re.IGNORECASE) if "|" in line else line


def lines_of(failures: Sequence[Failure], asked: Asked, shown: int) -> Found:
    """Return the newest `shown`, or one more, as lines; which one is the first changes in steps only."""
    shown, root = max(1, shown), asked.folder.path if asked.folder is not None else ""
    first = max(0, len(failures) - shown) // _STEP * _STEP
    chosen = failures[first:]
    lines = [_line(f, root, 0.5 + 0.4 * place / len(chosen)) for place, f in enumerate(chosen, 1)]
    return Found(lines, first)


def _line(failure: Failure, root: str, worth: float) -> Candidate:
    day = day_of(failure.ts) if failure.ts is not None else "undated"
    times = f" {plural(failure.count, 'time')}" if failure.count > 1 else ""
    what = f"{day} `{one_line(failure.command.shown, COMMAND_CHARS)}` failed{times}"
    what += f": “{failure.reason}”" if failure.reason else ""
    if not failure.passed:
        return Candidate(what, failure.citation, failure.ts, worth)
    names = [shortest(path, root) for path in failure.edited]
    shown = ", ".join(names[-FILES:]) + (f" and {len(names) - FILES} more" if len(names) > FILES else "")
    done = [f"editing {shown}"] if names else []
    done += [f"`{one_line(failure.ran[-1], COMMAND_CHARS)}`"] if failure.ran else []
    after = f"it passed after {' and '.join(done)}"
    return Candidate(f"{what}; {after}", failure.passed, failure.ts, worth, tuple(names[-FILES:]))


def shortest(path: str, root: str) -> str:
    """Return a path as seen from the repository's top."""
    return path[len(root) + 1 :] if root and path.startswith((root + "/", root + "\\")) else path
