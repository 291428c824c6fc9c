"""Commands and tool calls as what they stand for: the same test run twice is the same, whatever it is piped into."""

from __future__ import annotations

import re

import msgspec

from recollect.model.payloads import ToolCall

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
_NARROWING = (
    "-k",
    "-m",
    "-t",
    "-run",
    "--run",
    "--filter",
    "--grep",
    "--only",
    "--lf",
    "--last-failed",
    "--ff",
    "--deselect",
    "--ignore",
    "--exclude",
    "--skip",
    "--co",
    "--collect-only",
    "--testNamePattern",
    "-e",
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


class Command(msgspec.Struct, frozen=True):
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
        """Tell whether it changes what is there: installs, generates, checks out."""
        return not _CHANGES.isdisjoint(self.key.split())

    def covers(self, other: Command) -> bool:
        """Tell whether this one cannot pass while the other fails: the same, or the same check of at least as much."""
        if self.key == other.key:
            return True
        program, target, asked, narrowed = _check(self.key)
        others_program, others_target, others_asked, others_narrowed = _check(other.key)
        if not program or (program, target) != (others_program, others_target) or narrowed - others_narrowed:
            return False
        return not asked or (bool(others_asked) and all(any(_is_in(o, a) for a in asked) for o in others_asked))


def command_of(call: ToolCall) -> Command | None:
    """Return what a call runs; None for one that only looks at something, edits, asks, or says nothing."""
    if call.canonical == "shell":
        return _shell(_text(call.arguments))
    if call.canonical in ("mcp", "other") and call.name:
        arguments = msgspec.json.encode(call.arguments, order="deterministic").decode("utf-8", "replace")
        return Command(f"{call.name} {arguments}"[:MAX_CHARS], call.name, is_check=False)
    return None


def _check(key: str) -> tuple[str, str, list[str], set[str]]:
    """Return the program of a single check, its target, what it is asked to check, and what leaves out a part of that.

    "" for what is no single check.
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
    """Tell whether what a check is asked for is a part of what another one is."""
    top = whole.removesuffix("...").removesuffix("/").removeprefix("./")
    return (
        not top
        or top == "."
        or asked.removeprefix("./").rstrip("/") == top
        or (asked.removeprefix("./").startswith((f"{top}/", f"{top}::")))
    )


def _shell(text: str) -> Command | None:
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
    return Command(
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
