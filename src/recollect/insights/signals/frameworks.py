"""Recognises test frameworks, which `frameworks.toml` describes, by command and final output."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from recollect.insights.language.tables import PARSED
from recollect.late import PATTERNS, shipped


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
