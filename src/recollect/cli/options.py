"""Options that several verbs share, so that they have the same name everywhere; and opening the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from recollect.clock import now_us
from recollect.late import load_lightly
from recollect.local_time import LOCAL
from recollect.model.time import TIME_FORMS, parse_time

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.memory import Memory

Command = TypeVar("Command", bound=Callable[..., Any])


class NamedPath(click.Path):
    """A path that is not empty: an unset variable of a shell must not stand for the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType.convert`."""
        if value == "":
            self.fail("the file name is empty", param, ctx)
        return super().convert(value, param, ctx)


def _when(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return what an option's text means in UTC microseconds, as `model.time` says. Fails with the accepted forms."""
    if value is None:
        return None
    period = parse_time(value, now_us(), LOCAL)
    if period is None:
        raise click.BadParameter(f"{value!r} is not a time; write one of {TIME_FORMS}", ctx=ctx, param=param)
    return period.until_us if param.name == "until" else period.start_us


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
as_option = click.option(
    "--as", "agent", metavar="NAME", help="The agent that wrote it, if the content does not show it."
)
sink_option = click.option(
    "--sink",
    metavar="ndjson:FILE|sqlite:FILE",
    help="Write to this file instead of standard output; nothing is written twice or in part.",
)
no_sync_option = click.option("--no-sync", is_flag=True, help="Do not ingest changes before answering.")
asks_team_option = click.option(
    "--team", "is_team", is_flag=True, help="Ask your team's server about what its members share."
)
agent_option = click.option("--agent", "agents", multiple=True, metavar="NAME", help="Only this agent (repeatable).")
repo_option = click.option(
    "--repo", "repos", multiple=True, metavar="NAME", help="Only repositories whose name contains this (repeatable)."
)


class TimeRange(TypedDict):
    """What `range_options` gives: UTC microseconds, from `after` on and before `before`."""

    after: int | None
    before: int | None


def range_options(command: Command) -> Command:
    """Add `--after` (`--since`), `--before` and `--until`."""
    until = "Only up to and including this time."
    command = _end_options("before", "Only before this time.", until)(command)
    text = f"Only from this time on: {TIME_FORMS}."
    return click.option("--after", "--since", metavar="WHEN", callback=_when, help=text)(command)


def span_options(default: str) -> Callable[[Command], Command]:
    """Return what adds `--since` (`--after`), `--until` and `--before` of a report."""

    def add(command: Command) -> Command:
        until = "End of the period, including this time.  [default: now]"
        command = _end_options("until", "End of the period, excluding this time.", until)(command)
        return when_option("--since", "Start of the period.", default=default, also="--after")(command)

    return add


def _end_options(wanted: str, before: str, until: str) -> Callable[[Command], Command]:
    """Return what adds `--before` and `--until`, which both give the parameter `wanted`: one that is not both."""

    def other(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        found = _when(ctx, param, value)
        if found is not None and ctx.params.get(wanted) is not None:
            raise click.UsageError("use --before or --until, not both", ctx=ctx)
        if found is not None:
            ctx.params[wanted] = found

    def add(command: Command) -> Command:
        for name, text in (("until", until), ("before", before)):
            # The wanted one is read first: what the other one gives must not be written over.
            is_wanted = name == wanted
            command = click.option(
                f"--{name}", metavar="WHEN", callback=_when if is_wanted else other, expose_value=is_wanted,
                is_eager=is_wanted, help=text,
            )(command)  # fmt: skip
        return command

    return add


def when_option(name: str, text: str, *, default: str | None = None, also: str = "") -> Callable[[Command], Command]:
    """Return an option that takes a time: the start of a period, of `--until` its end. also: another name of it."""
    return click.option(
        *filter(None, (name, also)),
        metavar="WHEN",
        callback=_when,
        default=default,
        show_default=default is not None,
        help=text,
    )


def limit_option(default: int | None, what: str) -> Callable[[Command], Command]:
    """Return the option `--limit`; `what` is counted."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=default is not None,
        metavar="N",
        help=f"Maximum number of {what}.",
    )


def open_memory(home: Path | None = None) -> Memory:
    """Open the user's memory: of `home`, `RECOLLECT_HOME`, else the platform's data directory. Close it (`with`)."""
    load_lightly("zstandard")
    from recollect.memory import Memory

    return Memory.open(home, zone=LOCAL)
