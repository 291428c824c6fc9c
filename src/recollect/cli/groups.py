"""Command groups such as `recollect facts`, with a subcommand for each action.

A noun without a subcommand runs its default. Options may stand before or after the name of the subcommand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from recollect.errors import UnknownName, UsageError

NEAR, NEAR_SHORT = 0.75, 0.65
"""How alike (`difflib`) a word and a subcommand are that is taken for a typing mistake; a subcommand of three letters
needs less. `adn` is near `add`, `relpace` near `replace`; `limit` is not near `list`, nor `release` near `replace`."""


class Noun(click.Group):
    """A click group with a default subcommand, "" for none.

    replaced: old options of the noun and the subcommands that do their work now; they print a line on stderr.
    """

    def __init__(self, *, default: str = "", replaced: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(subcommand_metavar="[COMMAND] [ARGS]..." if default else None, **settings)
        self.default = default
        self.replaced = replaced or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order in which they are defined."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the subcommand, put its name first, and parse. Raises UsageError where no subcommand is meant."""
        # Completion asks what may come next, so nothing is chosen for it.
        return super().parse_args(ctx, args if ctx.resilient_parsing else self._name_first(ctx, args))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say what runs without a subcommand, and where the options are."""
        path = ctx.command_path
        with formatter.indentation():
            if self.default:
                formatter.write_paragraph()
                formatter.write_text(f"Without a command, `{path} {self.default}` runs.")
            formatter.write_paragraph()
            formatter.write_text(f"`{path} COMMAND --help` shows the options of a command.")

    def _name_first(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = self._first_word(args)
        before, word = args[:at], args[at] if at < len(args) and args[at] != "--" else ""
        if set(before).intersection(ctx.help_option_names):
            return ctx.help_option_names[:1]
        for old, name in self.replaced.items():
            if old in args and word in ("", self.default):
                click.echo(f"recollect: write `{ctx.command_path} {name}` instead of `{old}`", err=True)
                return [name, *(arg for arg in args if arg not in (old, word))]
        if word in self.commands:
            return [word, *before, *args[at + 1 :]]
        if self.default and self._has_unknown_option(before):  # the word behind it may well be its value
            return [self.default, *args]
        if word and (not self._default_takes_words or self._near(word)):
            raise self._unknown(ctx, word)
        if not self.default:
            raise UsageError(f"name a command: {', '.join(self._shown)}", hint=f"`{ctx.command_path} --help` says more")
        return [self.default, *args]

    def _first_word(self, args: list[str]) -> int:
        """Return the index of the first argument that is neither an option nor an option's value, or is `--`."""
        at = 0
        while at < len(args) and args[at] != "--" and args[at].startswith("-") and args[at] != "-":
            name, has_value, _ = args[at].partition("=")
            at += 1 if has_value or name not in self._valued else 2
        return min(at, len(args))

    def _has_unknown_option(self, args: list[str]) -> bool:
        options = (p for command in self.commands.values() for p in command.params if isinstance(p, click.Option))
        known = {name for option in options for name in (*option.opts, *option.secondary_opts)}
        return any(arg.startswith("--") and arg.partition("=")[0] not in known for arg in args)

    @property
    def _valued(self) -> set[str]:
        """The options of all subcommands that are followed by a value."""
        options = [p for command in self.commands.values() for p in command.params if isinstance(p, click.Option)]
        return {name for option in options if not option.is_flag and not option.count for name in option.opts}

    @property
    def _shown(self) -> list[str]:
        return [name for name, command in self.commands.items() if not command.hidden]

    @property
    def _default_takes_words(self) -> bool:
        default = self.commands.get(self.default)
        return default is not None and any(isinstance(param, click.Argument) for param in default.params)

    def _near(self, word: str) -> tuple[str, ...]:
        if word.split() != [word]:  # quoted words are words of a query
            return ()
        from difflib import get_close_matches

        names = [name for name in self._shown if name[0] == word[0]]
        short = [name for name in names if len(name) <= 3]
        return tuple(get_close_matches(word, short, 1, NEAR_SHORT) or get_close_matches(word, names, 1, NEAR))

    def _unknown(self, ctx: click.Context, word: str) -> UnknownName:
        path = ctx.command_path
        hint = f"`{path} --help` lists the commands"
        if self._default_takes_words:
            hint = f"to search for the word, run: {path} {self.default} {word}"
        return UnknownName(f"`{path}` command", word, nearest=self._near(word), hint=hint)


def noun(default: str = "", **settings: Any) -> Callable[[Callable[..., Any]], Noun]:
    """Return the decorator that makes a noun of a function; see `Noun`. The function's docstring is the help."""
    return click.group(cls=Noun, default=default, **settings)


def replaced_option(name: str, *, instead: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a hidden flag without effect that older releases took. instead: what to write now."""

    def say(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"recollect: {name} has no effect here; {instead}", err=True)

    return click.option(name, is_flag=True, hidden=True, expose_value=False, callback=say)
