"""Generates docs/reference/commands.md from the program (`make docs`)."""

from __future__ import annotations

import inspect

import click

from recollect.cli.groups import Noun
from recollect.cli.main import group
from recollect.verbs import GROUPS, VERBS

_CLI_HEAD = """\
# The command line

<!-- Written by `make docs` from the code; don't edit. -->

This page lists every command with its options, as `recollect VERB --help` shows them. The groups are {groups}.

```sh
recollect search 'flaky test'            # text for people
recollect search 'flaky test' --json     # the same value for programs
recollect schema search                  # the JSON Schema of that value
```

- **JSON**: with `--json`, a command prints its result as JSON on stdout. Times are UTC microseconds, and names are in
  snake_case. Every field of the schema is present, even if it is empty or has its default. A list is a named field of
  an object, such as `{{"agents": [...]}}`. The JSON is indented on a terminal, and is one line elsewhere.
- **Exit codes**: 0 ok · 1 nothing found · 2 wrong usage · 3 failed · 130 interrupted (Ctrl-C).
- **Errors** are a line `recollect: …` on stderr, often followed by a line `hint: …`. With `--json`, stderr stays empty
  and stdout has `{{"error": {{"code", "message", "hint", "retryable"}}}}`.
- **Text** shows local times. Colours and the progress bar appear only on a terminal (`NO_COLOR` switches colours off).
  Control characters in transcripts are made visible, so they cannot affect the terminal.
- **`RECOLLECT_HOME`** is the folder for the memory and its configuration; see [configuration](configuration.md).
- **Subcommands**: you can write options before or after the name of a subcommand. `recollect facts WORD` and
  `recollect decisions WORD` search for the word. A word that looks like a mistyped subcommand is an error. To search
  for such a word, write `recollect facts list WORD`.
- **Times** in options: `2026-08-01`, `2026-08-01T09:00` (local, or with an offset), `today`, `yesterday`, `30min`,
  `12h`, `3d`, `2w`. The [query language](query-language.md#times) lists all forms.
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
