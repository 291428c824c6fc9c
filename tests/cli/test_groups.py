"""Nouns: subcommands, their defaults, typing mistakes, and old spellings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from recollect.cli.groups import Noun
from recollect.cli.main import group
from recollect.verbs import VERBS
from tests.cli.conftest import Outcome

Run = Callable[..., Outcome]
COMMANDS = {verb.name: group.get_command(click.Context(group), verb.name) for verb in VERBS}
NOUNS = {name: command for name, command in COMMANDS.items() if isinstance(command, Noun)}
SUBCOMMANDS = [(noun, name) for noun, command in NOUNS.items() for name in command.commands]


def options(command: click.Command) -> Iterator[click.Option]:
    for param in command.params:
        if isinstance(param, click.Option):
            yield param


def test_a_mistyped_subcommand_is_an_error_that_names_the_nearest(recollect: Run) -> None:
    done = recollect("facts", "ad", "shop", "runs", "x")
    assert done.code == 2
    assert "did you mean add?" in done.err
    assert "recollect facts list ad" in done.err
    assert recollect("facts", "--json").data["total"] == 0


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("actions", "--nonsense", "2026-11-21"), "no such option '--nonsense'\n"),
        (("context", "--repo", "lantern"), "no such option '--repo'\n"),
        (("learnings", "--limt", "3"), "no such option '--limt'; did you mean --limit?\n"),
        (("serch", "webhook"), "no such command 'serch'; did you mean search?\n"),
        (("sessions", "--sinse", "3d"), "no such option '--sinse'; did you mean --since?\n"),
    ],
)
def test_an_unknown_option_is_what_is_wrong_not_the_value_behind_it(
    recollect: Run, argv: tuple[str, ...], said: str
) -> None:
    done = recollect(*argv)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"recollect: {said}hint: ")


@pytest.mark.parametrize(
    "typed", ["adn", "addd", "relpace", "retarct", "contradiction", "sede", "exprot", "mean", "lst"]
)
def test_common_mistakes_are_not_taken_for_a_query(recollect: Run, typed: str) -> None:
    assert recollect("facts", typed, "shop", "runs", "x").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("sqlite",),
        ("limit",),
        ("release",),
        ("import",),
        ("shop-api", "postgres"),
        ("list", "ad"),
        ("--", "add"),
        ("two words",),
        ("add ",),
    ],
)
def test_other_words_are_searched(recollect: Run, words: tuple[str, ...]) -> None:
    assert recollect("facts", *words).code == 1


def test_where_no_words_are_searched_an_unknown_word_is_an_error(recollect: Run) -> None:
    assert "did you mean write?" in recollect("diary", "wirte", "text").err
    assert recollect("diary", "palimpsest").code == 2


@pytest.mark.parametrize("words", [("facts", "add", "--help"), ("facts", "--help"), ("facts", "--repo", "x", "--help")])
def test_help_needs_nothing_else(recollect: Run, words: tuple[str, ...]) -> None:
    assert recollect(*words[:-1], "-h").out == recollect(*words).out != ""


def test_the_help_of_a_subcommand_shows_what_it_accepts_and_no_more(recollect: Run) -> None:
    shown = recollect("facts", "add", "--help").out
    assert "SUBJECT PREDICATE OBJECT" in shown
    assert "--from" in shown
    assert "--instead-of" not in shown
    assert "--history" not in shown


def test_an_option_of_another_subcommand_is_refused(recollect: Run) -> None:
    done = recollect("facts", "retract", "f1", "--instead-of", "x")
    assert (done.code, "no such option '--instead-of'" in done.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "add", "shop", "runs", "x", "--repo", "api"),
        ("--repo", "api", "add", "--json", "shop", "runs", "x"),
        ("add", "--repo=api", "shop", "runs", "x", "--json"),
        ("--repo=api", "add", "shop", "runs", "x", "--json"),
    ],
)
def test_options_may_stand_before_and_after_the_subcommand(recollect: Run, words: tuple[str, ...]) -> None:
    assert recollect("facts", *words).data["fact"]["repo"] == "api"


def test_the_value_of_an_option_is_not_taken_for_a_subcommand(recollect: Run) -> None:
    recollect("facts", "add", "add", "runs", "x")
    assert recollect("facts", "--subject", "add", "--json").data["total"] == 1


def test_a_noun_without_a_default_names_its_subcommands(recollect: Run) -> None:
    done = recollect("keys")
    assert (done.code, "status, rotate, move" in done.err) == (2, True)
    assert recollect("keys", "--json").code == 2


def test_an_old_spelling_works_and_says_what_to_write_now(recollect: Run) -> None:
    new, old = recollect("context", "log", "--limit", "3"), recollect("context", "--shown", "--limit", "3")
    assert (new.code, new.out) == (old.code, old.out)
    assert (new.err, old.err) == ("", "recollect: write `recollect context log` instead of `--shown`\n")
    assert recollect("context", "show", "--shown", "--json").data == {"blocks": []}


def test_an_old_flag_without_effect_is_accepted(recollect: Run) -> None:
    new, old = recollect("stats", "--json"), recollect("stats", "--no-sync", "--json")
    assert (new.code, new.data.keys()) == (old.code, old.data.keys())
    assert old.err == "recollect: --no-sync has no effect here; leave it out\n"


def test_completion_offers_the_subcommands() -> None:
    from click.shell_completion import ShellComplete

    offered = ShellComplete(group, {}, "recollect", "_X").get_completions(["facts"], "re")
    assert [item.value for item in offered] == ["replace", "retract"]


@pytest.mark.parametrize(("noun", "name"), SUBCOMMANDS)
def test_every_subcommand_has_a_line_of_help_an_example_and_json(noun: str, name: str) -> None:
    command = NOUNS[noun].commands[name]
    assert (command.help or "").splitlines()[0].endswith(".")
    assert f"recollect {noun}" in (command.help or "")
    assert "--json" in [name for option in options(command) for name in option.opts]


@pytest.mark.parametrize("noun", NOUNS)
def test_an_option_takes_a_value_in_every_subcommand_or_in_none(noun: str) -> None:
    forms: dict[str, set[bool]] = {}
    for command in NOUNS[noun].commands.values():
        for option in options(command):
            for name in option.opts:
                forms.setdefault(name, set()).add(option.is_flag)
    assert {name for name, found in forms.items() if len(found) > 1} == set()


def test_nobody_else_parses_subcommands_from_words(repository: Path) -> None:
    folder = repository / "src/recollect/cli/commands"
    taking = [p.stem for p in folder.glob("*.py") if 'argument("action"' in p.read_text("utf-8")]
    assert taking == []
