"""Test runs, recognised by command and final output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import msgspec

from recollect.insights.commands import Simple
from recollect.insights.error_lines import looked_at
from recollect.insights.language.tables import PARSED
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.signals.calls import Tried, text_of
from recollect.late import PATTERNS, late_pattern, shipped
from recollect.model.insights.signals import TestRun


class Framework(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """commands: beginnings of the words of a simple command (wrappers such as `uv run`, `npx` or `python -m` are taken
    off before; a word that ends in "*" is a beginning, one that begins with it stands anywhere). summaries: regular
    expressions of summary lines with the named groups passed, failed, errors, skipped and total; matches are summed
    where `is_summed`, else the last counts. stem: pieces of text without any of which no summary matches. line_stem:
    pieces without any of which a line gives no count, where the summaries are dear to try at every place of an output;
    none: not known. lines: result lines to be counted where no total is printed. failing, passing: what is printed
    where words tell it; failing_stem: pieces without any of which `failing` matches in no line; none: not known.
    marks: what tells the framework by itself. not_running: options with which it only lists or builds."""

    name: str
    commands: tuple[str, ...]
    summaries: tuple[str, ...] = ()
    stem: tuple[str, ...] = ()
    line_stem: tuple[str, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()
    failing: str = ""
    failing_stem: tuple[str, ...] = ()
    passing: str = ""
    marks: str = ""
    not_running: tuple[str, ...] = ()
    is_summed: bool = False


@cache
def frameworks() -> tuple[Framework, ...]:
    """Return what is known, read when the first command is met that may run tests."""
    written = shipped("recollect.insights.signals", "frameworks.toml").decode()
    return msgspec.convert(PARSED.table_of(written)["frameworks"], tuple[Framework, ...])


@cache
def commands_by_program() -> dict[str, list[tuple[Framework, tuple[str, ...]]]]:
    """Return the words of all commands with their frameworks, by the first word."""
    found: dict[str, list[tuple[Framework, tuple[str, ...]]]] = {}
    for framework in frameworks():
        for command in framework.commands:
            words = tuple(command.split())
            found.setdefault(words[0], []).append((framework, words))
    return found


@cache
def commands_by_beginning() -> list[tuple[str, list[tuple[Framework, tuple[str, ...]]]]]:
    """Return those of which only the beginning of the first word is told, by that."""
    return [(first[:-1], more) for first, more in commands_by_program().items() if first[-1] == "*"]


@cache
def summaries_of(framework: Framework) -> tuple[re.Pattern[str], ...]:
    """Return the compiled summaries of a framework."""
    return tuple(PATTERNS.compile(pattern, re.MULTILINE) for pattern in framework.summaries)


COMMAND_CHARS = 200
_COUNTS = ("passed", "failed", "errors", "skipped", "total")
_HINTS = tuple(
    "test spec junit check tox nox jest mocha prove bats phpunit pest busted ginkgo cypress playwright ava verify"
    " lein borp".split()
)
_HINT = late_pattern("|".join(_HINTS).replace("ava", r"ava\b"), re.IGNORECASE)
"""What every command that runs tests has in it somewhere; all others are left alone."""
_TOOLS = frozenset(("runtests", "run_tests", "test_runner"))
_ONLY_ASKS = ("--help", "-h", "--version")
_SUMMARY_CHARS = 8192
_NOT_STARTED = (126, 127)
_CUTS = frozenset(
    "tail head grep egrep rg awk sed cut less more wc sort uniq jq select-object select-string findstr".split()
)
_TEST_TASKS = late_pattern(
    r"(?:[\w.:/@-]{0,60}[:_./-])?(?:tests?|spec|specs|e2e|unit|pytest|vitest|jest)(?:[:_./-][\w.:/-]{0,60})?",
    re.IGNORECASE,
)
"""Names of tasks and scripts that run tests, by whatever framework."""
_TASK_RUNNERS = frozenset(
    "npm yarn pnpm make gmake mise just task rake invoke inv hatch pdm poe nx turbo lerna rush moon composer"
    " bun deno dotenv ant scons".split()
)
"""Programs that run a task by its name."""
_WITH_TARGETS = frozenset("make gmake just task rake ant scons nx turbo moon".split())
"""Those of them that take several."""
_SCRIPT_RUNNERS = frozenset("bash sh zsh python python3 node pwsh powershell ruby perl php".split())


def run_of(session: SessionEvents, one: Tried) -> TestRun | None:
    """Return the test run that a call was, None where it was none, was not allowed, or never came to run."""
    call = one.call
    if call.result is None or one.ending in ("denied", "interrupted"):
        return None
    is_tool = call.call.name.lower() in _TOOLS
    if not is_tool and (call.call.canonical != "shell" or not _may_test(one.exact)):
        return None
    ran = None if is_tool else ran_by(one.commands)
    if not is_tool and ran is None:
        return None
    exit_code = getattr(call.result.payload, "exit_code", None)
    if exit_code in _NOT_STARTED:
        return None
    framework, index, commands = ran or (None, 0, [])
    simple = commands[index] if commands else None
    behind = [c for c in commands[index:] if c.joint == "|"]
    is_cut = any(c.program.lower() in _CUTS for c in commands[index + 1 :][: len(behind)])
    printed = "" if simple is not None and simple.to_file else looked_at(text_of(session, call.result))
    framework, counts = _told(framework, printed, is_cut=is_cut)
    return TestRun.at(
        call.event,
        evidence_of(call.result, "test"),
        evidence_of(call.event, "command"),
        framework=framework.name if framework else "",
        command=" ".join(one.exact.split())[:COMMAND_CHARS],
        ok=_verdict(framework, printed, counts, one=one, is_last=_decides(commands, index)),
        passed=_passed(counts),
        failed=counts.get("failed"),
        errors=counts.get("errors"),
        skipped=counts.get("skipped"),
    )


def _may_test(command: str) -> bool:
    # Pieces are found in a tenth of the time of the expression; beyond ASCII it knows other cases of letters.
    if command.isascii():
        lowered = command.lower()
        if not any(map(lowered.__contains__, _HINTS)):
            return False
    return _HINT.search(command) is not None


Ran = tuple[Framework | None, int, Sequence[Simple]]


def ran_by(commands: Sequence[Simple]) -> Ran | None:
    """Return the framework that commands run (None: some), and which of them runs it; None if none runs tests."""
    for index, simple in enumerate(commands):
        if not simple.words or any(word in _ONLY_ASKS for word in simple.words):
            continue
        framework = framework_of(simple)
        if framework is not None:
            if any(word in framework.not_running for word in simple.words):
                continue
            return framework, index, commands
        if _is_generic(simple):
            return None, index, commands
    return None


def framework_of(simple: Simple) -> Framework | None:
    """Return the framework that a simple command starts by its words, None for none known."""
    words = (simple.program, *simple.words[1:])
    rows = commands_by_program().get(words[0], [])
    for begin, more in commands_by_beginning():
        if words[0].startswith(begin):
            rows = [*rows, *more]
    plain = tuple(word for word in words if not word.startswith("-"))
    for framework, pattern in rows:
        if _begins(words, pattern) or _begins(plain, pattern):
            return framework
    return None


def _begins(words: Sequence[str], pattern: Sequence[str]) -> bool:
    if len(words) < len(pattern):
        return False
    return all(_fits(word, part) for word, part in zip(words, pattern, strict=False))


def _fits(word: str, part: str) -> bool:
    if "*" not in part:
        return word == part
    bare = part.strip("*").lower()
    lowered = word.lower()
    return bare in lowered if part.startswith("*") else lowered.startswith(bare)


def _is_generic(simple: Simple) -> bool:
    """Return whether a command runs a task or script whose name suggests tests."""
    rest = [word for word in simple.words[1:] if not word.startswith("-") and word != "run"]
    if simple.program in _TASK_RUNNERS:
        targets = rest[:3] if simple.program in _WITH_TARGETS else rest[:1]
        return any(_TEST_TASKS.fullmatch(word) for word in targets)
    name = rest[0] if simple.program in _SCRIPT_RUNNERS and rest else simple.words[0]
    if simple.program in _SCRIPT_RUNNERS:
        if not rest or "-c" in simple.words or "-e" in simple.words:
            return False
    elif "/" not in name and not name.endswith((".sh", ".py", ".js", ".ps1", ".bat")):
        return False
    stem = name.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    return (
        re.fullmatch(r"(?:run[_-]?)?(?:all[_-]?)?tests?(?:[_-]\w{1,40})?|\w{1,40}[_-]tests?", stem, re.IGNORECASE)
        is not None
    )


def _told(framework: Framework | None, printed: str, *, is_cut: bool) -> tuple[Framework | None, dict[str, int]]:
    """Return the framework that an output is of, and the counts in its summary."""
    if not printed:
        return framework, {}
    # A task's own output says what it ran; a framework that is known by its command is not looked for elsewhere, unless
    # it only runs others. Then only the end is read: that is where the summary stands.
    if framework is not None:
        counts = counts_in(framework, printed, is_cut=is_cut)
        if counts or framework.summaries:
            return framework, counts
    end = printed[-_SUMMARY_CHARS:]
    marked = next((f for f in frameworks() if f.marks and re.search(f.marks, end, re.MULTILINE)), None)
    if marked is not None:
        return marked, counts_in(marked, printed, is_cut=is_cut)
    for candidate in frameworks():
        counts = counts_in(candidate, end, is_cut=is_cut)
        if counts:
            return candidate, counts
    return framework, {}


def counts_in(framework: Framework, printed: str, *, is_cut: bool = False) -> dict[str, int]:
    """Return the counts that a framework printed, by name; empty if it printed none.

    is_cut: something filters the framework's output, so that lines cannot be counted.
    """
    counts: dict[str, int] = {}
    if any(stem in printed for stem in framework.stem):
        summed_up = _lines_with(framework.line_stem, printed) if framework.line_stem else printed
        for pattern in summaries_of(framework):
            of_pattern: dict[str, int] = {}
            for match in pattern.finditer(summed_up):
                for name, value in match.groupdict().items():
                    if value is not None and len(value) < 10:
                        before = of_pattern.get(name, 0) if framework.is_summed else 0
                        of_pattern[name] = before + int(value)
            for name, number in of_pattern.items():
                counts.setdefault(name, number)
    if not counts and framework.lines and not is_cut:
        for name, line in framework.lines:
            number = len(re.findall(line, printed, re.MULTILINE))
            if number:
                counts[name] = number
    return counts


def _lines_with(pieces: Sequence[str], text: str) -> str:
    return "\n".join(line for line in text.split("\n") if any(piece in line for piece in pieces))


def says_failed(framework: Framework, printed: str) -> bool:
    """Return whether an output says in words that tests failed."""
    if not framework.failing or (framework.failing_stem and not any(s in printed for s in framework.failing_stem)):
        return False
    told = _lines_with(framework.failing_stem, printed) if framework.failing_stem else printed
    return re.search(framework.failing, told, re.MULTILINE) is not None


def _passed(counts: dict[str, int]) -> int | None:
    if "passed" in counts or "total" not in counts:
        return counts.get("passed")
    rest = counts["total"] - sum(counts.get(name, 0) for name in ("failed", "errors", "skipped"))
    return rest if rest >= 0 else None


def _verdict(
    framework: Framework | None, printed: str, counts: dict[str, int], *, one: Tried, is_last: bool
) -> bool | None:
    """Return whether the tests passed: by counts, by words, by the exit code; None if unknown."""
    if counts.get("failed") or counts.get("errors"):
        return False
    if framework is not None and says_failed(framework, printed):
        return False
    if one.ending in ("failed", "expected"):
        return False if is_last or not counts else None
    if counts.get("passed") or counts.get("total"):
        return True
    if framework is not None and framework.passing and re.search(framework.passing, printed, re.MULTILINE):
        return True
    return True if one.ending == "ok" and is_last else None


def _decides(commands: Sequence[Simple], index: int) -> bool:
    """Return whether the exit code of a command line is that of one of its commands."""
    behind = commands[index:]
    return not behind or (behind[0].joint in ("", "&&") and all(c.joint in ("", "&&") for c in behind))
