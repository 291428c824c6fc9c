"""Learns from a session's shell commands: what works, and what fixed a failure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Final, Literal, NamedTuple

from recollect.insights.commands import command_of
from recollect.insights.error_lines import telling_line
from recollect.insights.last_change import Change, changes_since, edits_in
from recollect.insights.learnings.extraction.candidates import Draft, Place, evidence_of
from recollect.insights.learnings.extraction.places import below
from recollect.insights.learnings.extraction.purposes import HINT, SAID, Purpose, Purposeful, is_preparing, purposeful
from recollect.insights.learnings.identity import bounded
from recollect.insights.session_events import SessionEvents
from recollect.insights.signals.calls import Tried, endings_of, text_of
from recollect.insights.signals.runs import run_of
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.own import is_own_command
from recollect.model.payloads import FileEdit, Lifecycle, Payload, SessionStart, ToolCall

_LONGEST: Final = 2_048
"""Characters from which a command is a script, and is not read."""
_READ: Final = 1_000
"""Characters of a command in which a purpose is looked for first."""
_BETWEEN: Final = 200
"""Events between a failure and the success after it, at most: what fixed it stands close before it."""
_MOST_PATHS: Final = 2
"""Edited files of a fix, at most: of more, nobody can say which one it was."""
_LINE: Final = 140
"""Characters of the error that are quoted."""
_LONGEST_FIX: Final = 300
"""Characters of a command that is a fix."""
_SETTINGS: Final = late_pattern(
    r"(?:^|/)(?:package\.json|pyproject\.toml|setup\.(?:py|cfg)|tsconfig[\w.]*\.json|conftest\.py|(?:gnu)?makefile"
    r"|justfile|dockerfile"
    r"|docker-compose[\w.]*|go\.mod|cargo\.toml|\.env[\w.]*|[\w.-]+\.config\.[cm]?[jt]s|\.?[\w-]+rc(?:\.\w+)?"
    r"|[\w-]+\.(?:toml|ini|cfg|ya?ml))$",
    re.IGNORECASE,
)
"""Files that settle how something runs."""
_UNAVAILABLE: Final = late_pattern(
    r"not found|no task|no module named|cannot find|can't find|missing script|unknown (?:command|task|script|option"
    r"|argument|flag)|no such (?:file|command|option)"
    r"|unrecogni[sz]ed|not recogni[sz]ed|permission denied|not installed|externally-managed|no rule to make|not"
    r" executable|no tests? (?:found|ran|collected)",
    re.IGNORECASE,
)
"""What an error says where another form of the command is the answer."""
_MISTAKEN: Final = late_pattern(
    r"directory not found|no such file or directory: ?['\"]?[\w./-]*/?tests?[\w./-]*", re.IGNORECASE
)
_UNFINISHED: Final = late_pattern(
    r"undefined|undeclared|not defined|unresolved|unused|imported and not used|declared (?:and|but) (?:not used"
    r"|never)|cannot use|not enough arguments|too many arguments"
    r"|syntax error|syntaxerror|expected|missing return|cannot find name|has no (?:member|attribute|field)|does not"
    r" exist on type",
    re.IGNORECASE,
)
"""Errors of code that is being written: once it is, they teach nothing."""
_NOT_TELLING: Final = late_pattern(
    r"(?:\W*build failed.*)|(?:exit (?:code|status)|error)?:? ?\d*|FAIL|FAILED|error|make: .*|ELIFECYCLE.*",
    re.IGNORECASE,
)


Ending = Literal["passed", "failed", "unknown"]
"""How a command ended; unknown: nobody says, a person stopped it, or its exit is not that of this command."""
_ENDED_BY_OTHERS: Final = (126, 130, 137, 143)
"""Exit codes of what never ran, or was stopped by a signal."""


class Shell(NamedTuple):
    """A shell call that came back. position: of it among the session's events. cwd: where the agent was, "" where
    nobody says."""

    one: Tried
    position: int
    cwd: str

    @property
    def call(self) -> Event:
        """Its event."""
        return self.one.call.event

    @property
    def result(self) -> Event:
        """The event of its result."""
        return self.one.call.result or self.one.call.event


class Run(NamedTuple):
    """A command with a purpose that was run."""

    of: Purposeful
    ending: Ending
    shell: Shell

    @property
    def key(self) -> tuple[str, str]:
        """What is the same command: its canonical form and where it runs."""
        return self.of.text, self.of.folder


class Attempts:
    """The shell commands of one session, read once for all that learn from them."""

    def __init__(self, session: SessionEvents, root: str) -> None:
        """root: where the repository is, see `places.root_of`."""
        self.session = session
        self.root = root
        self._tried = session.once(endings_of)

    @cached_property
    def shells(self) -> list[Shell]:
        """The shell calls that came back, in order; none that asks the memory."""
        found: list[Shell] = []
        cwd = self.root
        for position, event in enumerate(self.session.events):
            payload = event.payload
            if isinstance(payload, Lifecycle | SessionStart):
                cwd = payload.cwd or cwd
            elif isinstance(payload, ToolCall) and payload.canonical == "shell":
                one = self._tried.get(payload.call_id)
                is_read = one is not None and one.call.event is event and one.call.result is not None
                if one is not None and is_read and 0 < len(one.exact) < _LONGEST and not is_own_command(one.exact):
                    found.append(Shell(one, position, cwd))
        return found

    @cached_property
    def runs(self) -> list[Run]:
        """The commands with a purpose, in order."""
        found = []
        for shell in self.shells:
            if not HINT.search(shell.one.exact, 0, _READ) or _is_in_background(shell):
                continue
            for of in purposeful(shell.one.commands):
                folder = below(_joined(shell.cwd, of.folder), self.root)
                if folder is not None:
                    found.append(Run(of._replace(folder=folder), self._ending(shell.one, of), shell))
        return found

    def _ending(self, one: Tried, of: Purposeful) -> Ending:
        """Return how one command of a line ended, where the line's end tells."""
        run = run_of(self.session, one) if of.purpose == "test" else None
        if any(simple.joint not in ("", "&&") for simple in one.commands[of.at :]):
            return "unknown" if run is None or run.ok is None else "passed" if run.ok else "failed"
        if one.ending == "ok":
            return "failed" if run is not None and run.ok is False else "passed"
        is_alone = all(is_preparing(simple) for place, simple in enumerate(one.commands) if place != of.at)
        exit_code = getattr(one.call.result and one.call.result.payload, "exit_code", None)
        return "failed" if one.ending == "failed" and is_alone and exit_code not in _ENDED_BY_OTHERS else "unknown"

    def output(self, event: Event) -> str:
        """Return the whole output of a result."""
        return text_of(self.session, event)

    def works(self) -> Iterator[Draft]:
        """Yield, for each purpose and folder, the command that passed most often, and others that passed twice."""
        told = (run for run in self.runs if run.ending == "passed" and run.of.purpose in SAID)
        passed = Counter((run.of.purpose, run.of.folder, run.of.text) for run in told)
        best: dict[tuple[Purpose, str], str] = {}
        for (purpose, folder, text), _ in passed.most_common():
            best.setdefault((purpose, folder), text)
        for (purpose, folder, text), count in passed.items():
            is_elsewhere = folder and passed[purpose, "", text]  # what passes at the top passes below it
            if is_elsewhere or (best[purpose, folder] != text and count < 2):
                continue
            runs = [run for run in self.runs if (run.of.purpose, *run.key) == (purpose, text, folder)]
            yield self._worked(purpose, [run for run in runs if run.ending == "passed"], text, folder)

    def _worked(self, purpose: Purpose, runs: Sequence[Run], text: str, folder: str) -> Draft:
        turns = {run.shell.call.turn_index for run in runs}
        features = {f"{purpose} passed": 0.35 if purpose in ("install", "run") else 0.45}
        if len(runs) > 1:
            features["passed again"] = min(0.2, 0.05 * (len(runs) - 1))
        if len(turns) > 2:
            features["in several turns"] = 0.1
        first = runs[0]
        if any(
            r.of.purpose == purpose
            and r.ending == "failed"
            and r.key != first.key
            and r.shell.position < first.shell.position
            for r in self.runs
        ):
            features["after another failed"] = 0.15
        where = f" in `{folder}`" if folder else ""
        evidence = [evidence_of(run.shell.call, "assistant", run.shell.one.exact) for run in runs[:4]]
        place = Place("path", folder) if folder else Place("repo")
        return Draft("pattern", f"{SAID[purpose]} `{text}`{where}.", place, "assistant", evidence, features)

    def repairs(self) -> Iterator[Draft]:
        """Yield what made a command that failed pass: each error once, by the last failure before the success."""
        last: dict[tuple[str, str], Run] = {}
        first: dict[tuple[str, str], Run] = {}
        for run in self.runs:
            if run.ending == "failed":
                last[run.key] = run
                first.setdefault(run.key, run)
            elif run.ending == "passed":
                failed = last.pop(run.key, None)
                began = first.pop(run.key, run)
                if failed is not None and run.shell.position - failed.shell.position <= _BETWEEN:
                    draft = self._repaired(began, failed, run)
                elif failed is None:
                    draft = self._otherwise(run, last)
                else:
                    draft = None
                if draft is not None:
                    yield draft

    def _repaired(self, began: Run, failed: Run, passed: Run) -> Draft | None:
        change = self._last_change(began, failed, passed)
        if change is None:
            return None
        what, evidence, weight = change
        features = {f"{failed.of.purpose} failed, then passed": weight}
        return self._fix(failed, passed, f"It passed after {what}.", evidence, features)

    def _otherwise(self, passed: Run, last: dict[tuple[str, str], Run]) -> Draft | None:
        """Return that another form of a command works than the one that failed shortly before."""
        before = [
            r
            for r in last.values()
            if r.of.purpose == passed.of.purpose and passed.shell.position - r.shell.position <= _BETWEEN // 4
        ]
        if not before or passed.of.purpose in ("install", "run", "deploy"):
            return None
        failed = before[-1]
        del last[failed.key]
        if failed.of.folder != passed.of.folder and failed.of.text == passed.of.text:
            words = f"It works in `{passed.of.folder or '.'}`."
        elif _is_variant(failed.of.text, passed.of.text):
            words = f"`{passed.of.text}` works."
        else:
            return None
        return self._fix(failed, passed, words, [], {"another form passed": 0.55})

    def _fix(
        self, failed: Run, passed: Run, words: str, between: Sequence[Event], features: dict[str, float]
    ) -> Draft | None:
        line = bounded(telling_line(self.output(failed.shell.result)).replace("`", "'").replace('"', "'"), _LINE)
        if len(line) < 8 or _NOT_TELLING.fullmatch(line):
            return None
        is_other_form = "another form passed" in features
        if is_other_form and (not _UNAVAILABLE.search(line) or _MISTAKEN.search(line)):
            return None
        if not is_other_form and failed.of.purpose != "lint" and _UNFINISHED.search(line) and "a change of" in words:
            return None
        where = f" in `{failed.of.folder}`" if failed.of.folder else ""
        text = f'`{failed.of.text}`{where} failed: "{line}". {words}'
        evidence = [
            evidence_of(failed.shell.result, "tool", line),
            *(evidence_of(event, "assistant", self._gist(event)) for event in between[-3:]),
            evidence_of(passed.shell.call, "assistant", passed.shell.one.exact),
        ]
        place = Place("path", failed.of.folder) if failed.of.folder else Place("repo")
        return Draft("pattern", text, place, "assistant", evidence, features, quoted=line)

    def _last_change(self, began: Run, failed: Run, passed: Run) -> tuple[str, list[Event], float] | None:
        """Return what changed last between a failure and a success, its event, and how much it tells; nothing where
        another change may have been the fix. began: the first failure in a row."""
        first, last = began.shell.position + 1, passed.shell.position
        found: list[Change] = []
        for at, event in enumerate(self.session.events[first:last], first):
            one = self._tried.get(getattr(event.payload, "call_id", ""))
            if one is None or one.ending not in ("failed", "denied", "interrupted"):
                found += edits_in(at, event.payload, partial(self._whole, event))
        found += [
            Change(s.position, "command", s.one.exact)
            for s in self.shells
            if first <= s.position < last and s.one.ending in ("ok", "unsaid")
        ]
        changes = changes_since(sorted(found, key=lambda change: change.place), failed.shell.position)
        if not changes:
            return None
        of, event = changes[-1], self.session.events[changes[-1].place]
        if all(change.how == "command" for change in changes):
            shown = bounded(of.what, 90).replace("`", "'")
            return (f"`{shown}`", [event], 0.6) if len(of.what) <= _LONGEST_FIX else None
        paths = {below(c.what, self.root) or c.what.replace("\\", "/").rpartition("/")[2]: c.how for c in changes}
        # Of a test that failed while the code was being written nothing is left to know; of a missing setting there is.
        is_settled = failed.of.purpose != "test" or all(_SETTINGS.search(path) for path in paths)
        is_edit = isinstance(event.payload, FileEdit) and "command" not in paths.values()
        if is_settled and is_edit and len(paths) <= _MOST_PATHS:
            return f"a change of `{list(paths)[-1]}`", [event], 0.45
        return None

    def _whole(self, event: Event) -> Payload:
        return self.session.whole(event).payload

    def _gist(self, event: Event) -> str:
        payload = event.payload
        if isinstance(payload, FileEdit):
            return f"{payload.operation} {payload.new_path or payload.path}"
        return command_of(self.session, event)


def _is_in_background(shell: Shell) -> bool:
    arguments = getattr(shell.call.payload, "arguments", None)
    is_asked = isinstance(arguments, dict) and arguments.get("run_in_background") is True
    return is_asked or shell.one.exact.rstrip().endswith("&")


def _is_variant(failed: str, passed: str) -> bool:
    """Return whether two commands are forms of one: the same tool run by something else, or the project's own task."""
    a, b = failed.split(), passed.split()
    return a[-1] == b[-1] or bool(
        {*a} & {*b} - {"run", "-m", "python", "python3", "npm", "npx", "uv", "go", "cargo", "make"}
    )


def _joined(cwd: str, folder: str) -> str:
    """Return where a command runs: in the folder that the line went to, seen from where the agent was."""
    plain = folder.replace("\\", "/")
    is_absolute = plain.startswith(("/", "~", "$")) or plain[1:2] == ":"
    return folder if is_absolute or not cwd else f"{cwd}/{folder}" if folder else cwd
