"""What people may write as the name of a file, and how options are named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from recollect.cli.main import group
from tests.cli.conftest import Outcome
from tests.cli.test_list_verbs import commands


@pytest.mark.parametrize(
    "verb", ["parse", "replay", "verify", "redact", "watch", "import", "backup", "restore", "docs add"]
)
def test_an_empty_name_is_not_the_working_directory(verb: str, tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "RECOLLECT_HOME": str(tmp_path / "memory")}
    command = [sys.executable, "-m", "recollect", *verb.split(), ""]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the file name is empty" in done.stderr
    assert not (tmp_path / "memory").exists()


def command_of(words: tuple[str, ...]) -> click.Command:
    command: click.Command = group
    for word in words:
        found = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        assert found is not None
        command = found
    return command


def test_what_is_required_is_missing_unless_it_is_given() -> None:
    for words in commands():
        command = command_of(words)
        for param in command.params:
            if param.required:
                assert param.value_is_missing(param.get_default(click.Context(command))), (words, param.name)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
@pytest.mark.parametrize("given", ["", " "])
def test_an_option_that_is_given_says_something(words: tuple[str, ...], given: str) -> None:
    command = command_of(words)
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden or words == ("hook",):
            continue
        if isinstance(option.type, click.types.StringParamType) or (isinstance(option.type, click.Path) and not given):
            with pytest.raises(click.UsageError, match=r"is empty|is not a time"):
                command.make_context(words[-1], [option.opts[-1], given, "x", "x", "x"])


def test_a_missing_option_is_told_in_one_line(recollect: Callable[..., Outcome]) -> None:
    done = recollect("team", "import", "x")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "recollect: missing option '--level'. Choose from: figures, distilled, full",
    )  # fmt: skip


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_a_span_is_named_alike_everywhere(words: tuple[str, ...]) -> None:
    """`--since` and `--after`, `--until` and `--before` name the same: whoever knows one can use it anywhere."""
    command = command_of(words)
    names = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    assert ("--since" in names) == ("--after" in names)
    if words[0] != "facts":  # there it says until when something holds
        assert ("--until" in names) == ("--before" in names)


def test_what_is_forgotten_until_a_day_includes_the_day_as_everywhere() -> None:
    forget = group.get_command(click.Context(group), "forget")
    assert forget is not None
    before, until = (
        forget.make_context("forget", [name, "2026-11-20"]).params["before"] for name in ("--before", "--until")
    )
    assert until - before == 24 * 60 * 60 * 1_000_000


def test_what_was_learned_and_decided_is_listed_of_a_time(filled: Path, recollect: Callable[..., Outcome]) -> None:
    def count(*words: str) -> int:
        found = recollect(*words, "--json").data
        return len(
            next(rows for name in ("learnings", "actions", "decisions") if (rows := found.get(name)) is not None)
        )

    for command in (("decisions",), ("learnings", "list"), ("actions", "list")):
        limited = (*command, "--limit", "1000")
        whole = count(*limited)
        parts = [count(*limited, "--before", day) + count(*limited, "--since", day) for day in ("today", "1970-01-02")]
        assert parts == [whole, whole], command
