"""What belongs to a group of edits: commands, test runs, commits, and the result."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from recollect.insights.commands import Simple, simple_commands
from recollect.insights.episodes.edits import Commit, ShellCall, Timeline
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.model.insights.nodes import CommandRef, RunOfTests
from recollect.model.insights.signals import Signal, TestRun
from recollect.model.payloads import ToolResult
from recollect.model.text import one_line

MAX_COMMANDS = 100
"""Commands and test runs that one episode keeps, the first ones."""
COMMAND_CHARS = 200
_LOOKS = frozenset(
    """ls cat head tail less more wc pwd cd echo printf grep egrep rg ag find fd tree stat file which type du df env ps
    date whoami sleep true jq awk sort uniq cut diff bat man sed""".split()
)
"""Programs that only look (`sed` without -i prints); a call of nothing else belongs to no episode."""
_GIT_LOOKS = frozenset(("status", "diff", "log", "show", "branch", "blame", "ls-files", "rev-parse", "remote", "grep"))
_ANY: frozenset[str] = frozenset()
_SCRIPTS = frozenset(("build", "lint", "typecheck", "type-check", "check", "compile", "tsc"))
_CHECKS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        """make gmake tsc mypy ruff eslint pyright flake8 pylint golangci-lint cmake ninja bazel gradle gradlew mvn mvnw
        pre-commit xcodebuild msbuild webpack vite rustc gcc g++ clang javac shellcheck hadolint vue-tsc
        biome""".split(),
        _ANY,
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _SCRIPTS),
    "cargo": frozenset(("build", "check", "clippy")),
    "go": frozenset(("build", "vet")),
    "dotnet": frozenset(("build", "publish")),
    "swift": frozenset(("build",)),
}  # fmt: skip
"""Builds, linters and type checkers: the program, and the words one of which says so (none: always)."""


class Outcome(NamedTuple):
    """How a group of edits came out, and why."""

    outcome: Literal["success", "fail", "unknown"]
    reasons: tuple[str, ...]


class _Ran(NamedTuple):
    """A shell call with what it ran."""

    shell: ShellCall
    steps: Sequence[Simple]

    def looks_only(self) -> bool:
        """Say whether nothing in it does more than look."""
        return all(
            step.program in _LOOKS or (step.program == "git" and any(w in _GIT_LOOKS for w in step.words[1:3]))
            for step in self.steps
        )

    def checked(self) -> str:
        """Return the build, linter or type checker that it ran, "" for none."""
        for step in self.steps:
            verbs = _CHECKS.get(step.program)
            if verbs is not None and (not verbs or any(word in verbs for word in step.words[1:4])):
                return step.program
        return ""


class Activity:
    """The shell calls, test runs and commits of a session, looked up by range of places (half-open)."""

    def __init__(
        self, session: SessionEvents, timeline: Timeline, signals: Sequence[Signal], commits: Sequence[Commit]
    ) -> None:
        self._commits = [(commit.position, commit.hash) for commit in commits]
        places = session.positions
        self._tests: list[tuple[int, TestRun]] = []
        tested: set[int] = set()
        for signal in signals:
            if isinstance(signal, TestRun):
                at = [places[e.event_id, e.part] for e in signal.evidence if (e.event_id, e.part) in places]
                if at:
                    self._tests.append((at[0], signal))
                    tested.update(at)
        self._tests.sort(key=lambda test: test[0])
        self._shell = [
            (shell.position, shell)
            for shell in timeline.shell
            if shell.position not in tested and shell.result_position not in tested
        ]
        self._shell.sort(key=lambda item: item[0])
        self._steps: dict[int, _Ran] = {}

    def commits(self, start: int, end: int) -> tuple[str, ...]:
        """Return the commits made in a range, each once."""
        found = self._commits[_at(self._commits, start) : _at(self._commits, end)]
        return tuple(dict.fromkeys(made for _, made in found))

    def tests(self, start: int, end: int) -> tuple[RunOfTests, ...]:
        """Return the test runs in a range, at most `MAX_COMMANDS`."""
        found = self._tests[_at(self._tests, start) : _at(self._tests, end)]
        return tuple(
            RunOfTests(t.framework, msgspec.structs.replace(t.evidence[0], role="test"), t.ok, t.passed, t.failed)
            for _, t in found[:MAX_COMMANDS]
        )

    def commands(self, start: int, end: int) -> tuple[CommandRef, ...]:
        """Return the commands in a range that did more than look and ran no tests, at most `MAX_COMMANDS`."""
        found: list[CommandRef] = []
        for ran in self._ran(start, end):
            if ran.steps and not ran.looks_only():
                call = ran.shell.call
                result = call.result.payload if call.result else None
                code = result.exit_code if isinstance(result, ToolResult) else None
                first = one_line(ran.shell.command.lstrip().partition("\n")[0], COMMAND_CHARS)
                found.append(CommandRef(first, evidence_of(call.event, "command"), ran.shell.ok, code))
            if len(found) >= MAX_COMMANDS:
                break
        return tuple(found)

    def outcome(self, last_edit: int, end: int) -> Outcome:
        """Return how edits came out: by the last test run, build or check that ran after the last of them.

        A script that edits and then tests counts. Tests go before builds: a build that passes proves less.
        """
        tests = [t for _, t in self._tests[_at(self._tests, last_edit) : _at(self._tests, end)] if t.ok is not None]
        if tests:
            last = tests[-1]
            state = "passed" if last.ok else "failed"
            return Outcome("success" if last.ok else "fail", (f"tests {state} after the last edit: {_name(last)}",))
        checks = [
            (name, ran.shell.ok)
            for ran in self._ran(last_edit, end)
            if ran.shell.ok is not None and (name := ran.checked())
        ]
        if checks:
            name, ok = checks[-1]
            return Outcome("success" if ok else "fail", (f"{name} {'passed' if ok else 'failed'} after the last edit",))
        return Outcome("unknown", ("no test, build or check that tells ran after the last edit",))

    def _ran(self, start: int, end: int) -> Iterator[_Ran]:
        for position, shell in self._shell[_at(self._shell, start) : _at(self._shell, end)]:
            if position not in self._steps:
                self._steps[position] = _Ran(shell, simple_commands(shell.command))
            yield self._steps[position]


def _at(items: Sequence[tuple[int, object]], position: int) -> int:
    return bisect_left(items, position, key=lambda item: item[0])


def _name(test: TestRun) -> str:
    return test.framework or one_line(test.command, 80) or "tests"
