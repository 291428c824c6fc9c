"""Normalises failed commands and calls, so that the same test counts once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.text import one_line
from recollect.model.time import day_of
from recollect.recall.context.learnings import LearnedHere
from recollect.recall.context.lines import SESSIONS, ContextLine, ContextRequest, SourceLines, window
from recollect.store.context_rows import RecentEvent
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.insights.last_change import Change

MAX_CHARS = 400
# Texts, compiled by `re` when they are first used: a hook has no time for patterns that it does not meet.
_SEPARATORS = r"\s*(?:&&|\|\||;|\n)\s*"
_REDIRECTION = r"\s*(?:\d?>&\d|&?>{1,2}\s*\S+|2>\s*\S+|<\s*/dev/null)"
_VARIABLE = r"^(?:\w+=\S*\s+)+(?=\S)"
_RUNNER = r"^(?:(?:sudo|time|nohup|command|exec)\s+|(?:timeout|nice)\s+(?:-\S+\s+)*(?:\d\S*\s+)?)+"
_RUNNERS = ("sudo", "time", "nohup", "command", "exec", "nice")
_LOOKS = frozenset(
    (
        "cd ls cat head tail less more grep egrep rg ag find fd which type command test [ stat file wc diff cmp sed "
        "awk echo printf true false export set source . pwd date sleep kill pkill pgrep ps mkdir rm cp mv "
        "touch curl wget"
    ).split()
)
"""Programs that look at something or move it: that they end with an error is an answer, not a failure."""
_CHECKS = frozenset(
    (
        "test tests pytest tox nox jest vitest mocha rspec phpunit ctest make ninja cmake build compile lint mypy "
        "pyright ruff flake8 pylint eslint tsc clippy check cargo gradle gradlew mvn bazel go dotnet msbuild "
        "xcodebuild swift migrate deploy terraform docker npm pnpm yarn install"
    ).split()
)
_BOUNDS = str.maketrans({**dict.fromkeys(":._-", " "), "/": "/ "})
"""What ends a word. A slash only begins one: `tests/` is a folder."""
_TARGETED = frozenset(
    (
        "make ninja cmake cargo gradle gradlew mvn bazel go dotnet msbuild xcodebuild swift terraform docker npm pnpm "
        "yarn tox nox"
    ).split()
)
"""Programs whose first word says what they do."""
_NARROWING = frozenset(
    (
        "-k -m -t -run --run --filter --grep --only --lf --last-failed --ff "
        "--deselect --ignore --exclude --skip --co --collect-only --testNamePattern -e"
    ).split()
)
"""Options that leave out a part of what is checked."""
_CHANGES = frozenset(
    (
        "install sync add migrate upgrade update generate codegen init restore chmod chown link ci format fmt "
        "fix --fix --write checkout switch reset pull submodule stash apply up uninstall remove"
    ).split()
)
"""Words of commands that change what is there."""
_CHANGED_FOLDER = r"(?:^|&&|;|\n)\s*cd\s+(\"[^\"]+\"|'[^']+'|[^\s;&|]+)"
_JOINTS = r"\||;|\n"
_KEYS = ("command", "cmd", "commands", "script", "CommandLine", "command_line", "code", "input")


class ToolCommand(msgspec.Struct, frozen=True):
    """A call that can be run again.

    key: the same for the same call. shown: for people. is_check: a test, a build … folder: where it changes to first,
    "" where it stays. is_alone: how the call ended is how the command ended; not so in a pipe or a list.
    """

    key: str
    shown: str
    is_check: bool
    folder: str = ""
    is_alone: bool = True

    @property
    def is_change(self) -> bool:
        """Return whether it changes something: installs, generates, checks out."""
        return not _CHANGES.isdisjoint(self.key.split())

    def covers(self, other: ToolCommand) -> bool:
        """Return whether this one cannot pass while the other fails: the same, or the same check of at least as
        much.
        """
        if self.key == other.key:
            return True
        program, target, asked, narrowed = _check(self.key)
        others_program, others_target, others_asked, others_narrowed = _check(other.key)
        if not program or (program, target) != (others_program, others_target) or narrowed - others_narrowed:
            return False
        return not asked or (bool(others_asked) and all(any(_is_in(o, a) for a in asked) for o in others_asked))

    def stands_in_for(self, other: ToolCommand) -> bool:
        """Return whether this one does the same with another package manager."""
        from recollect.insights.language.tools import does_same

        return does_same(self.key.casefold().split(), other.key.casefold().split())


def command_of(call: ToolCall) -> ToolCommand | None:
    """Return what a call runs; None for one that only looks at something, edits, asks, or says nothing."""
    if call.canonical == "shell":
        return _shell(_text(call.arguments))
    if call.canonical in ("mcp", "other") and call.name:
        arguments = msgspec.json.encode(call.arguments, order="deterministic").decode("utf-8", "replace")
        return ToolCommand(f"{call.name} {arguments}"[:MAX_CHARS], call.name, is_check=False)
    return None


def _check(key: str) -> tuple[str, str, list[str], set[str]]:
    """Return the program of a single check, its target, its selection, and its exclusions.

    "" for anything that is not a single check.
    """
    words = [] if " && " in key else key.split()
    start = next((at for at, word in enumerate(words) if word.rpartition("/")[2] in _CHECKS), len(words))
    if start == len(words):
        return "", "", [], set()
    program = words[start].rpartition("/")[2]
    asked = [word for word in words[start + 1 :] if not word.startswith("-")]
    narrowed = {word for word in words[start + 1 :] if word.partition("=")[0] in _NARROWING}
    target = ""
    if program in _TARGETED:
        asked = asked[asked[:1] == ["run"] :]
        target, asked = "".join(asked[:1]), asked[1:]
    return program, target, asked, narrowed


def _is_in(asked: str, whole: str) -> bool:
    """Return whether one check's selection is a part of another's."""
    top = whole.removesuffix("...").removesuffix("/").removeprefix("./")
    return (
        not top
        or top == "."
        or asked.removeprefix("./").rstrip("/") == top
        or (asked.removeprefix("./").startswith((f"{top}/", f"{top}::")))
    )


def _shell(text: str) -> ToolCommand | None:
    steps = []
    for step in re.split(_SEPARATORS, text[: 4 * MAX_CHARS].strip()):
        first = _bare(step.split("|", 1)[0])
        program = first.split(" ", 1)[0].rpartition("/")[2]
        if program and not program.startswith("#") and program not in _LOOKS:
            steps.append(" ".join(first.split()))
    if not steps:
        return None
    key = " && ".join(steps)[:MAX_CHARS]
    folders = re.findall(_CHANGED_FOLDER, text[:MAX_CHARS]) if "cd " in text else []
    return ToolCommand(
        key,
        key,
        is_check=not _CHECKS.isdisjoint(key.translate(_BOUNDS).split()),
        folder=folders[-1].strip("\"'").rstrip("/") if folders else "",
        is_alone=re.search(_JOINTS, text.strip()) is None,
    )


def _bare(step: str) -> str:
    """Return a step without redirections, variables that are set, and programs that run another."""
    if ">" in step or "<" in step:
        step = re.sub(_REDIRECTION, "", step)
    step = step.strip()
    if "=" in step:
        step = re.sub(_VARIABLE, "", step)
    return re.sub(_RUNNER, "", step) if step.startswith(_RUNNERS) else step


def _text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    value = next((arguments[key] for key in _KEYS if arguments.get(key)), "") if isinstance(arguments, dict) else ""
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        is_script = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")
        return words[-1] if is_script else " ".join(words)
    return value if isinstance(value, str) else ""


EVENTS = 300
"""Events looked at in each session, the newest calls, results and edits."""
COMMAND_CHARS = 90
REASON_CHARS = 110
_STEP = 2
_KINDS = ("tool_call", "tool_result", "file_edit")
# Texts, as those of `commands`.
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


class FailedCall(msgspec.Struct):
    """A failure, once or several times, and what followed. Times in UTC microseconds."""

    command: ToolCommand
    reason: str
    ts: int | None
    citation: str
    count: int = 1
    first: int = 0
    last: int = 0
    """Places of the first and the last failure among the changes of a walk."""
    edited: str = ""
    ran: str = ""
    """The file that was edited, or the command that was run, and made it pass."""
    passed: str = ""
    """Citation of the run that passed."""

    @property
    def is_worth_telling(self) -> bool:
        """Whether it is shown: fixed ones, repeated ones, and otherwise only tests, builds and the like."""
        if self.passed:
            return bool(self.edited or self.ran)
        return self.count > 1 or self.command.is_check


class FailuresHere:
    """What failed in the folder's newest root sessions, but the present one; looked for once for a block.

    What the learnings tell of the same command is not told again, nor told otherwise; nor what a person retired.
    """

    def __init__(self, learned: LearnedHere) -> None:
        self._learned = learned
        self._found: list[FailedCall] | None = None

    def of(self, asked: ContextRequest) -> list[FailedCall]:
        """Return the failures worth telling, in order of time."""
        if self._found is None:
            uids = [session.session_uid for session in window(*asked.sessions, SESSIONS)]
            failing = asked.reader.has_failures(uids)
            first = next((place for place, uid in enumerate(uids) if uid in failing), len(uids))
            walk = FailureWalk(asked.folder.path if asked.folder is not None else "")
            for uid in uids[first:]:  # what failed in one session may pass in a later one
                walk.take(uid, asked.reader.events(uid, _KINDS, limit=EVENTS))
            worth = [f for f in walk.failures() if f.is_worth_telling and not self._is_settled(f, asked)]
            retired = asked.reader.retired_evidence(uids) if worth else ()
            self._found = [f for f in worth if f.citation not in retired]
        return self._found

    def _is_settled(self, failure: FailedCall, asked: ContextRequest) -> bool:
        """Return whether a learning already says what fixed a command, or a person ruled out the one that failed."""
        if not failure.passed and self._learned.is_ruled_out(failure.command.key, asked):
            return True
        named = f"`{failure.command.shown}`"
        return any(
            text.startswith(named) and (failure.ts is None or ts >= failure.ts)
            for text, ts in self._learned.repairs(asked)
        )


class Fixed:
    """Failures that were fixed, oldest first."""

    heading = "Failed here before, and what made it pass:"

    def __init__(self, here: FailuresHere) -> None:
        self._here = here

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return the newest failures of the folder's sessions that were fixed."""
        return lines_of([f for f in self._here.of(asked) if f.passed], asked, asked.room // 5)


class Unfixed:
    """Failures that nobody fixed, oldest first."""

    heading = "Failed here, and not seen to pass since:"

    def __init__(self, here: FailuresHere) -> None:
        self._here = here

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return the newest failures of the folder's sessions that were never seen to pass."""
        return lines_of([f for f in self._here.of(asked) if not f.passed], asked, asked.room // 5)


def open_failures(events: Sequence[RecentEvent], uid: str, root: str = "") -> list[FailedCall]:
    """Return what failed in one session, is worth telling and was not seen to pass."""
    walk = FailureWalk(root)
    walk.take(uid, events)
    return [failure for failure in walk.failures() if not failure.passed and failure.is_worth_telling]


class FailureWalk:
    """Follows calls, results and edits in order. Give it session after session.

    What fails is open until the same passes, a check that covers it, or the same done with another tool. Where it may
    have passed, and nobody can say (another folder, the end of a pipe), it is neither open nor fixed any more.
    """

    def __init__(self, root: str = "") -> None:
        """root: the repository's top, where a command runs that changes to no other folder."""
        self._root = root
        self._open: dict[tuple[str, str], FailedCall] = {}
        self._closed: list[FailedCall] = []
        self._changes: list[Change] = []
        self._place = 0

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

    def failures(self) -> list[FailedCall]:
        """Return all, in order of when they failed last."""
        return sorted((*self._closed, *self._open.values()), key=lambda f: (f.ts or 0, f.citation))

    def _edit_by(self, event: RecentEvent) -> None:
        from recollect.insights.last_change import edits_in  # only where something failed

        self._place += 1
        self._changes += edits_in(self._place, event.payload, partial(getattr, event, "payload"))

    def _end(self, calls: dict[str, ToolCall], event: RecentEvent, uid: str) -> None:
        result = event.payload
        call = calls.pop(result.call_id, None) if isinstance(result, ToolResult) and result.call_id else None
        if not isinstance(result, ToolResult) or call is None:
            return
        self._place += 1
        command = command_of(call)
        citation = f"{uid}#{event.seq}"
        if event.is_failed:
            self._changes = [change for change in self._changes if change.call_id != result.call_id]
            if command is not None:
                self._fail(command, event, result.text, citation)
            return
        # Of a result that says nothing of how it ended, nothing is known either.
        if command is not None and (result.ok or result.exit_code == 0):
            self._pass(command, result.text, citation)
        if call.canonical == "shell" and self._open:
            from recollect.insights.last_change import Change

            self._changes.append(Change(self._place, "command", _text(call.arguments)))

    def _where(self, command: ToolCommand) -> str:
        return "" if command.folder in (self._root, ".") else command.folder.removeprefix(f"{self._root}/")

    def _fail(self, command: ToolCommand, event: RecentEvent, said: str, citation: str) -> None:
        if _is_refused(said[:400] or event.summary):
            return
        reason = _reason(said) or _reason(event.summary)
        where = self._where(command), command.key
        before = self._open.get(where)
        count, first = (before.count + 1, before.first) if before is not None else (1, self._place)
        self._open[where] = FailedCall(command, reason, event.ts, citation, count, first, self._place)

    def _pass(self, command: ToolCommand, said: str, citation: str) -> None:
        """Close what a command that ended well shows to pass."""
        folder = self._where(command)
        for where, failure in list(self._open.items()):
            is_covered = command.covers(failure.command)
            if (is_covered or command.stands_in_for(failure.command)) and (
                where[0] == folder or not where[0] or not folder
            ):
                del self._open[where]
                if is_covered and where[0] == folder and (command.is_alone or _says_passed(said)):
                    failure.passed = citation
                    self._fix(failure)
                    self._closed.append(failure)

    def _fix(self, failure: FailedCall) -> None:
        from recollect.insights.last_change import changes_since

        since = changes_since((c for c in self._changes if c.place > failure.first), failure.last)
        if since:
            failure.edited, failure.ran = (since[-1].what, "") if since[-1].how == "edit" else ("", since[-1].what)


def _says_passed(text: str) -> bool:
    """Return whether an output says that all went well, when the exit code is another command's."""
    return re.search(_PASSED, text, re.IGNORECASE) is not None and re.search(_NOT_PASSED, text, re.IGNORECASE) is None


def _is_refused(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _REFUSING) and re.search(_REFUSED, text, re.IGNORECASE) is not None


def _reason(text: str) -> str:
    """Return the line that says what went wrong, as a retrospective shows it; "" for none."""
    from recollect.insights.error_lines import telling_line  # only where something failed

    return one_line(_without_downloads(telling_line(text)), REASON_CHARS)


def _without_downloads(line: str) -> str:
    return re.sub(_DOWNLOADED, _NOT_QUOTED, line, flags=re.IGNORECASE) if "|" in line else line


def lines_of(failures: Sequence[FailedCall], asked: ContextRequest, shown: int) -> SourceLines:
    """Return the newest `shown`, or one more, as lines; which one is the first changes in steps only."""
    shown, root = max(1, shown), asked.folder.path if asked.folder is not None else ""
    first = max(0, len(failures) - shown) // _STEP * _STEP
    chosen = failures[first:]
    lines = [_line(f, root, 0.5 + 0.4 * place / len(chosen)) for place, f in enumerate(chosen, 1)]
    return SourceLines(lines, first)


def _line(failure: FailedCall, root: str, worth: float) -> ContextLine:
    day = day_of(failure.ts) if failure.ts is not None else "undated"
    times = f" {plural(failure.count, 'time')}" if failure.count > 1 else ""
    what = f"{day} `{one_line(failure.command.shown, COMMAND_CHARS)}` failed{times}"
    what += f": “{failure.reason}”" if failure.reason else ""
    if not failure.passed:
        return ContextLine(what, failure.citation, failure.ts, worth)
    name = shortest(failure.edited, root)
    done = f"editing {name}" if name else f"`{one_line(failure.ran, COMMAND_CHARS)}`"
    names = (name,) if name else ()
    return ContextLine(f"{what}; it passed after {done}", failure.passed, failure.ts, worth, names)


def shortest(path: str, root: str) -> str:
    """Return a path as seen from the repository's top."""
    return path[len(root) + 1 :] if root and path.startswith((root + "/", root + "\\")) else path
