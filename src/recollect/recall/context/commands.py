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
_KEYS = ("command", "cmd", "commands", "script", "CommandLine", "command_line", "code", "input")


class Command(msgspec.Struct, frozen=True):
    """A call that can be run again. key: the same for the same call. shown: for people. is_check: a test, a build …"""

    key: str
    shown: str
    is_check: bool


def command_of(call: ToolCall) -> Command | None:
    """Return what a call runs; None for one that only looks at something, edits, asks, or says nothing."""
    if call.canonical == "shell":
        return _shell(_text(call.arguments))
    if call.canonical in ("mcp", "other") and call.name:
        arguments = msgspec.json.encode(call.arguments, order="deterministic").decode("utf-8", "replace")
        return Command(f"{call.name} {arguments}"[:MAX_CHARS], call.name, is_check=False)
    return None


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
    return Command(key, key, is_check=not _CHECKS.isdisjoint(key.translate(_BOUNDS).split()))


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
