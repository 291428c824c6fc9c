"""Learns from a session's shell commands: what works, and what fixed a failure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from recollect.insights.commands import Simple, simple_commands
from recollect.insights.error_lines import telling_line
from recollect.insights.learnings.extraction.candidates import Draft, Place, evidence_of
from recollect.insights.learnings.extraction.observed import Ending, Observed
from recollect.insights.learnings.extraction.places import below, root_of
from recollect.insights.learnings.extraction.purposes import HINT, SAID, Purpose, Purposeful, is_preparing, purposeful
from recollect.insights.learnings.identity import bounded
from recollect.insights.signals.calls import Ending as CallEnding
from recollect.insights.signals.calls import Tried, is_denial, is_interruption
from recollect.insights.signals.calls import is_expected as is_expected_exit
from recollect.insights.signals.runs import run_of
from recollect.insights.stream import Call, SessionEvents
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.own import is_own_command
from recollect.model.payloads import FileEdit, Json, Lifecycle, SessionStart, ToolCall, ToolResult

_KEYS: Final = ("command", "cmd", "commands", "script", "CommandLine", "command_line")
_LEFT_OUT: Final = 2_048
"""Characters from which light events leave a string out; commands so long are scripts, and never read."""
_READ: Final = 1_000
"""Characters of a command in which a purpose is looked for first."""
_BETWEEN: Final = 200
"""Events between a failure and the success after it, at most: what fixed it stands close before it."""
_MOST_PATHS: Final = 2
"""Edited files of a fix, at most: of more, nobody can say which one it was."""
_LINE: Final = 140
"""Characters of the error that are quoted."""
_LOOKING: Final = frozenset(
    "ls cat head tail less more bat grep egrep fgrep rg ag find fd tree stat file wc which whereis type pwd ps df"
    " du date env printenv"
    " id whoami uname man jq sort uniq cut diff cmp ping sed awk test [ command".split()
)
_CHANGING_GIT: Final = frozenset(
    "checkout switch restore reset stash pull merge rebase submodule lfs config init".split()
)
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


class Run(NamedTuple):
    """A command with a purpose that was run. position: of its call among the session's events."""

    of: Purposeful
    ending: Ending
    call: Event
    result: Event
    position: int
    command: str

    @property
    def key(self) -> tuple[str, str]:
        """What is the same command: its canonical form and where it runs."""
        return self.of.text, self.of.folder


class Shell(NamedTuple):
    """A shell call that came back. cwd: where the agent was, "" where nobody says."""

    call: Event
    result: Event
    position: int
    command: str
    cwd: str


def _is_stopped(text: str) -> bool:
    """Return whether a failed result says that a person denied or stopped the call."""
    return is_denial(text) or is_interruption(text)


def _tests_passed(call: Event, result: Event, command: str, commands: Sequence[Simple]) -> bool | None:
    """Return whether a command that ran tests says that they passed, None where it ran none or does not say."""
    payload = result.payload
    if not isinstance(call.payload, ToolCall):
        return None
    ok, exit_code = getattr(payload, "ok", None), getattr(payload, "exit_code", None)
    ending: CallEnding = "failed" if ok is False or exit_code else "ok" if ok is True or exit_code == 0 else "unsaid"
    tried = Tried(Call(call, call.payload, result), ending, "", command, "", commands)
    run = run_of(SessionEvents((call, result)), tried)
    return None if run is None else run.ok


class Attempts:
    """The shell commands of one session, read once for all that learn from them."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._parsed: dict[str, Sequence[Simple]] = {}
        self.root = root_of(observed)

    @cached_property
    def shells(self) -> list[Shell]:
        """The shell calls that came back, in order; none that asks the memory or is denied."""
        calls: dict[str, Shell] = {}
        found: list[Shell] = []
        cwd = self.root
        for position, event in enumerate(self._observed.events):
            payload = event.payload
            if isinstance(payload, ToolCall) and payload.canonical == "shell":
                command = command_in(payload.arguments)
                if payload.call_id and 0 < len(command) < _LEFT_OUT:
                    calls[payload.call_id] = Shell(event, event, position, command, cwd)
            elif isinstance(payload, ToolResult):
                shell = calls.pop(payload.call_id, None) if payload.call_id else None
                if shell is not None and not is_own_command(shell.command):
                    found.append(shell._replace(result=event))
            elif isinstance(payload, Lifecycle | SessionStart) and payload.cwd:
                cwd = payload.cwd
        return sorted(found, key=lambda shell: shell.position)

    def parsed(self, shell: Shell) -> Sequence[Simple]:
        """Return the simple commands of a call."""
        if shell.command not in self._parsed:
            self._parsed[shell.command] = simple_commands(shell.command)
        return self._parsed[shell.command]

    @cached_property
    def runs(self) -> list[Run]:
        """The commands with a purpose, in order."""
        found = []
        for shell in self.shells:
            if not HINT.search(shell.command, 0, _READ) or _is_in_background(shell):
                continue
            commands = self.parsed(shell)
            for of in purposeful(commands):
                ending = self._ending(shell, commands, of)
                folder = below(_joined(shell.cwd, of.folder), self.root)
                if folder is not None:
                    found.append(
                        Run(of._replace(folder=folder), ending, shell.call, shell.result, shell.position, shell.command)
                    )
        return found

    def _ending(self, shell: Shell, commands: Sequence[Simple], of: Purposeful) -> Ending:
        """Return how one command of a line ended, where the line's end tells."""
        result = shell.result.payload
        if not isinstance(result, ToolResult):
            return "unknown"
        behind = commands[of.at :]
        if of.purpose == "test" and any(simple.joint not in ("", "&&") for simple in behind):
            passed = self._tests_passed(shell, commands)
            return "unknown" if passed is None else "passed" if passed else "failed"
        if any(simple.joint not in ("", "&&") for simple in behind):
            return "unknown"
        if result.ok is True or result.exit_code == 0:
            if result.exit_code:
                return "unknown"
            said = self._tests_passed(shell, commands) if of.purpose == "test" else None
            return "failed" if said is False else "passed"
        if result.ok is None and result.exit_code is None:
            return "unknown"
        is_alone = all(is_preparing(simple) for place, simple in enumerate(commands) if place != of.at)
        if not is_alone:
            return "unknown"
        is_expected = is_expected_exit(commands, result.exit_code)
        is_stopped = is_expected or _is_stopped(self.output(shell.result))
        return "unknown" if is_stopped or result.exit_code in (126, 130, 137, 143) else "failed"

    def _tests_passed(self, shell: Shell, commands: Sequence[Simple]) -> bool | None:
        payload = shell.result.payload
        is_light = isinstance(payload, ToolResult) and not payload.text
        result = self._observed.load(shell.result) if is_light else shell.result
        return _tests_passed(shell.call, result, shell.command, commands)

    def output(self, event: Event) -> str:
        """Return the whole output of a result."""
        payload = event.payload
        if isinstance(payload, ToolResult) and not payload.text:
            payload = self._observed.load(event).payload
        return payload.text if isinstance(payload, ToolResult) else ""

    def works(self) -> Iterator[Draft]:
        """Yield, for each purpose and folder, the command that passed most often, and others that passed twice."""
        passed = Counter((run.of.purpose, run.of.folder, run.of.text) for run in self.runs if run.ending == "passed")
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
        turns = {run.call.turn_index for run in runs}
        features = {f"{purpose} passed": 0.35 if purpose in ("install", "run") else 0.45}
        if len(runs) > 1:
            features["passed again"] = min(0.2, 0.05 * (len(runs) - 1))
        if len(turns) > 2:
            features["in several turns"] = 0.1
        first = runs[0]
        if any(
            r.of.purpose == purpose and r.ending == "failed" and r.key != first.key and r.position < first.position
            for r in self.runs
        ):
            features["after another failed"] = 0.15
        where = f" in `{folder}`" if folder else ""
        evidence = [evidence_of(run.call, "assistant", run.command) for run in runs[:4]]
        place = Place("path", folder) if folder else Place("repo")
        return Draft("pattern", f"{SAID[purpose]} `{text}`{where}.", place, "assistant", evidence, features)

    def repairs(self) -> Iterator[Draft]:
        """Yield what made a command that failed pass: each error once, by the last failure before the success."""
        last: dict[tuple[str, str], Run] = {}
        for run in self.runs:
            if run.ending == "failed":
                last[run.key] = run
            elif run.ending == "passed":
                failed = last.pop(run.key, None)
                if failed is not None and run.position - failed.position <= _BETWEEN:
                    draft = self._repaired(failed, run)
                elif failed is None:
                    draft = self._otherwise(run, last)
                else:
                    draft = None
                if draft is not None:
                    yield draft

    def _repaired(self, failed: Run, passed: Run) -> Draft | None:
        change = self._last_changes(failed, passed)
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
            if r.of.purpose == passed.of.purpose and passed.position - r.position <= _BETWEEN // 4
        ]
        if not before or passed.of.purpose in ("install", "run"):
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
        line = bounded(telling_line(self.output(failed.result)).replace("`", "'").replace('"', "'"), _LINE)
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
            evidence_of(failed.result, "tool", line),
            *(evidence_of(event, "assistant", _gist(event)) for event in between[-3:]),
            evidence_of(passed.call, "assistant", passed.command),
        ]
        place = Place("path", failed.of.folder) if failed.of.folder else Place("repo")
        return Draft("pattern", text, place, "assistant", evidence, features, quoted=line)

    def _last_changes(self, failed: Run, passed: Run) -> tuple[str, list[Event], float] | None:
        """Return what changed between a failure and a success, its events, and how much it tells."""
        edits: dict[str, Event] = {}
        lost = set()
        for event in self._observed.events[failed.position + 1 : passed.position + 1]:
            payload = event.payload
            if isinstance(payload, ToolResult) and payload.ok is False:
                lost.add(payload.call_id)
            elif isinstance(payload, FileEdit) and payload.operation != "checkpoint" and payload.call_id not in lost:
                written = payload.new_path or payload.path
                edits[below(written, self.root) or written.replace("\\", "/").rpartition("/")[2]] = event
        commands = [s for s in self.shells if failed.position < s.position < passed.position and self._changes(s)]
        if commands and not edits:
            shown = bounded(commands[-1].command, 90).replace("`", "'")
            return f"`{shown}`", [commands[-1].call], 0.6
        # Of a test that failed while the code was being written nothing is left to know; of a missing setting there is.
        is_settled = failed.of.purpose != "test" or all(_SETTINGS.search(path) for path in edits)
        if not commands and is_settled and 0 < len(edits) <= _MOST_PATHS:
            paths = " and ".join(f"`{path}`" for path in edits)
            return f"a change of {paths}", list(edits.values()), 0.45
        return None

    def _changes(self, shell: Shell) -> bool:
        """Return whether a call did something to the project other than reading, testing or building."""
        result = shell.result.payload
        if not isinstance(result, ToolResult) or result.ok is False or result.exit_code or len(shell.command) > 300:
            return False
        commands = self.parsed(shell)
        checks = {of.at for of in purposeful(commands) if of.purpose not in ("install", "format")}
        return any(
            index not in checks
            and (
                simple.words[1:2] and simple.words[1] in _CHANGING_GIT
                if simple.program == "git"
                else not is_preparing(simple)
            )
            and simple.program not in _LOOKING
            for index, simple in enumerate(commands)
        )


def command_in(arguments: Json) -> str:
    """Return the command in the arguments of a shell call, "" where it has none or it was left out."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict):
        return ""
    for key in _KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            words = [word for word in value if isinstance(word, str)]
            is_script = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")
            return words[-1] if is_script else " ".join(words)
    return ""


def _is_in_background(shell: Shell) -> bool:
    arguments = getattr(shell.call.payload, "arguments", None)
    is_asked = isinstance(arguments, dict) and arguments.get("run_in_background") is True
    return is_asked or shell.command.rstrip().endswith("&")


def _is_variant(failed: str, passed: str) -> bool:
    """Return whether two commands are forms of one: the same tool run by something else, or the project's own task."""
    a, b = failed.split(), passed.split()
    return a[-1] == b[-1] or bool(
        {*a} & {*b} - {"run", "-m", "python", "python3", "npm", "npx", "uv", "go", "cargo", "make"}
    )


def _gist(event: Event) -> str:
    payload = event.payload
    if isinstance(payload, FileEdit):
        return f"{payload.operation} {payload.new_path or payload.path}"
    return command_in(payload.arguments) if isinstance(payload, ToolCall) else ""


def _joined(cwd: str, folder: str) -> str:
    """Return where a command runs: in the folder that the line went to, seen from where the agent was."""
    plain = folder.replace("\\", "/")
    is_absolute = plain.startswith(("/", "~", "$")) or plain[1:2] == ":"
    return folder if is_absolute or not cwd else f"{cwd}/{folder}" if folder else cwd
