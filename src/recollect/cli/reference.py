"""The page docs/reference/commands.md, made from the program itself, so that it is never out of date (`make docs`)."""

from __future__ import annotations

import inspect

import click

from recollect.cli.groups import Noun
from recollect.cli.main import group
from recollect.verbs import GROUPS, VERBS

_CLI_HEAD = """\
# The command line

<!-- Written by `make docs` from the code; don't edit. -->

`recollect VERB`, in these groups: {groups}. `recollect VERB --help` shows the same as this page.

- **`--json`** prints the result as JSON on stdout, the same value that the text is made of. Times are UTC
  microseconds, names are snake_case. `recollect schema NAME` gives the JSON Schema. Every field of the schema is there,
  also where it is empty or at its default. A verb that lists gives an object with a named list, such as
  `{{"agents": [...]}}`. On a terminal the JSON is indented, else one line.
- **Exit codes**: 0 ok · 1 nothing found · 2 the request cannot be · 3 failed · 130 interrupted (Ctrl-C).
- **Errors** are one line on stderr, `recollect: …`, and where something can be done a second, `hint: …`. With `--json`
  stdout carries `{{"error": {{"code", "message", "hint", "retryable"}}}}` instead and stderr stays empty.
- **Text** shows local time; colours and the progress bar appear on a terminal only (`NO_COLOR` is honoured). Control
  characters in transcripts are made visible and can do nothing to the terminal.
- **`RECOLLECT_HOME`** puts data and configuration into one folder; see [configuration](configuration.md).
- **Subcommands**: options may stand before or after the name of a subcommand. `recollect facts WORD` and
  `recollect decisions WORD` search for the word. A word that looks like a mistyped subcommand is an error; write
  `recollect facts list WORD` to search for it.
- **Times** in options: `2026-08-01`, `2026-08-01T09:00` (local, or with an offset), `today`, `yesterday`, `30min`,
  `12h`, `3d`, `2w`.
"""


def cli_reference() -> str:
    """Return docs/reference/commands.md."""
    parts = [_CLI_HEAD.format(groups=", ".join(GROUPS))]
    with click.Context(group, info_name="recollect") as ctx:
        for name in GROUPS:
            parts.append(f"## {name}\n")
            parts += [
                _section(ctx, verb.name, group.get_command(ctx, verb.name)) for verb in VERBS if verb.group == name
            ]
    return "\n".join(parts)


def _section(parent: click.Context, name: str, command: click.Command | None, *, heading: str = "###") -> str:
    """Return the text about a command and, where it has them, about its subcommands."""
    if command is None:
        raise LookupError(name)
    text, examples = _split_help(command.help or "")
    with click.Context(command, parent=parent, info_name=name) as ctx:
        lines = [f"{heading} {ctx.command_path.removeprefix('recollect ')}\n", text, "", "```"]
        lines += [" ".join((ctx.command_path, *command.collect_usage_pieces(ctx))), "", *examples, "```", ""]
        if isinstance(command, Noun):
            default = f"Without a command, `{ctx.command_path} {command.default}` runs.\n" if command.default else ""
            below = [
                _section(ctx, own, command.commands[own], heading=f"{heading}#") for own in command.list_commands(ctx)
            ]
            return "\n".join((*lines, *filter(None, [default]), *below))
        options = [param for param in command.params if isinstance(param, click.Option)]
        rows = [record for option in options if (record := option.get_help_record(ctx)) is not None]
    table = [f"| `{left.replace('|', chr(92) + '|')}` | {right} |" for left, right in rows]
    return "\n".join((*lines, "| option | |", "|---|---|", *table, ""))


def _split_help(text: str) -> tuple[str, list[str]]:
    """Return (prose, example lines) of a command's help; click marks the block of examples with a lone `\\b`."""
    prose, _, block = inspect.cleandoc(text).partition("\b\n")
    return prose.strip(), [line.strip() for line in block.splitlines()[1:] if line.strip()]
