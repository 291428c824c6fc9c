"""The entry point: finds the verb, runs it, and turns any failure into one line and an exit code.

Exit codes: 0 ok, 1 nothing found, 2 the request cannot be, 3 failed, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from recollect import __version__
from recollect.cli.failures import describe_usage, report_bug, report_error
from recollect.errors import RecollectError, UsageError
from recollect.verbs import GROUPS, VERBS, function_name

INTERRUPTED = 130
EPILOG = """\b
Every command has --json. Exit codes: 0 ok, 1 nothing found, 2 usage, 3 failed.
Start with: recollect up --once"""


class VerbGroup(click.Group):
    """A click group that imports a verb's module when the verb is used, and lists verbs in their groups."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        return [verb.name for verb in VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb's command, loaded now."""
        verb = next((verb for verb in VERBS if verb.name == cmd_name), None)
        if verb is None:
            return None
        module = importlib.import_module(f"recollect.cli.commands.{verb.module}")
        command: click.Command = getattr(module, function_name(cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section of verbs per group."""
        for group in GROUPS:
            with formatter.section(group):
                formatter.write_dl(
                    [(f"{verb.name:<8}", verb.line) for verb in VERBS if verb.group == group], col_max=12
                )


@click.group(
    cls=VerbGroup,
    name="recollect",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="recollect", message="%(prog)s %(version)s")
@click.pass_context
def group(ctx: click.Context) -> None:
    """The memory of coding agents: reads their transcripts, keeps every byte, finds anything."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(argv: Sequence[str]) -> int:
    """Run one command line (without the program's name) and return the exit code. Never raises, except SystemExit."""
    try:
        code = _invoke(argv)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost frame
        return told(error, as_json="--json" in argv)


def told(error: BaseException, *, as_json: bool) -> int:
    """Tell what ended a command and return its exit code. Raises what is no error, such as SystemExit."""
    try:
        raise error
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as wrong:
        message, hint = describe_usage(wrong)
        return report_error(UsageError(message, hint=hint), as_json=as_json)
    except RecollectError as ours:
        return report_error(ours, as_json=as_json)
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("recollect: interrupted; what is stored stays\n")
        return INTERRUPTED
    except Exception as bug:  # noqa: BLE001 - the outermost frame: a bug of ours becomes one line and a log
        return report_bug(bug, as_json=as_json)


def _invoke(argv: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character must not stop the answer.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with group.make_context("recollect", list(argv)) as ctx:
        code = group.invoke(ctx)
    return code if isinstance(code, int) else 0
