"""Options that several verbs share, so that they have the same name everywhere; and opening the memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import click

from recollect.clock import now_us
from recollect.late import load_lightly
from recollect.local_time import LOCAL
from recollect.model.time import TIME_FORMS, parse_time
from recollect.visible import safe_line

if TYPE_CHECKING:
    from recollect.client import Request
    from recollect.memory import Memory

T = TypeVar("T")
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


def _filled(ctx: click.Context, param: click.Parameter, value: T) -> T:
    """Refuse an option that is given and says nothing: an unset variable of a shell must not stand for everything."""
    is_given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
    if is_given and any(str(one).isspace() or one == "" for one in (value if isinstance(value, tuple) else (value,))):
        raise click.BadParameter("it is empty", ctx=ctx, param=param)
    return value


def flag(name: str, text: str, *, key: str = "") -> Callable[[Command], Command]:
    """Return a switch. key: its parameter, where that is not called as the switch is; below likewise."""
    return _option(name, key, is_flag=True, help=text)


def text_option(
    name: str, metavar: str, text: str, *, key: str = "", default: str | None = "", **settings: Any
) -> Callable[[Command], Command]:
    """Return an option with any text but blanks. settings: of `click.option`."""
    return _option(name, key, metavar=metavar, default=default, help=text, **{"callback": _filled, **settings})


def path_option(name: str, metavar: str, text: str, *, key: str = "", **kind: Any) -> Callable[[Command], Command]:
    """Return an option with a path. kind: as `click.Path` takes it."""
    return text_option(name, metavar, text, key=key, default=None, type=NamedPath(path_type=Path, **kind))


def many_option(name: str, metavar: str, text: str, *, key: str = "") -> Callable[[Command], Command]:
    """Return an option with any text but blanks that may be repeated."""
    return _option(name, key, metavar=metavar, multiple=True, help=text, callback=_filled)


def choice_option(
    name: str, choices: Sequence[str], text: str, *, key: str = "", default: Any = None, many: bool = False
) -> Callable[[Command], Command]:
    """Return an option with one of several words. many: it may be repeated."""
    is_shown = default is not None
    return _option(
        name, key, type=click.Choice(choices), default=default, show_default=is_shown, multiple=many, help=text
    )


def number_option(
    name: str, text: str, *, key: str = "", least: int, most: int | None = None, metavar: str = "N",
    default: int | None = None, is_shown: bool = False,
) -> Callable[[Command], Command]:  # fmt: skip
    """Return an option with a whole number. is_shown: the help says its default."""
    kind = click.IntRange(least, most)
    return _option(name, key, type=kind, metavar=metavar, default=default, show_default=is_shown, help=text)


def port_option(text: str, *, default: int | None = None, is_shown: bool = False) -> Callable[[Command], Command]:
    """Return the option `--port`."""
    return number_option("--port", text, least=0, most=65535, default=default, is_shown=is_shown)


def _option(name: str, key: str, **settings: Any) -> Callable[[Command], Command]:
    if settings.get("required"):
        settings.pop("default", None)  # None would count as given
    return click.option(name, *([key] if key else []), **settings)


json_option = flag("--json", "Print JSON.", key="as_json")
as_option = text_option(
    "--as", "NAME", "The agent that wrote it, if the content does not show it.", key="agent", default=None
)
sink_option = text_option(
    "--sink",
    "ndjson:FILE|sqlite:FILE",
    "Write to this file instead of standard output; nothing is written twice or in part.",
    default=None,
)
no_sync_option = flag("--no-sync", "Do not ingest changes before answering.")
asks_team_option = flag("--team", "Ask your team's server about what its members share.", key="is_team")
agent_option = many_option("--agent", "NAME", "Only this agent (repeatable).", key="agents")
repo_option = many_option("--repo", "NAME", "Only repositories whose name contains this (repeatable).", key="repos")


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


class SessionScope(TimeRange):
    """What `scope_options` gives: which sessions are meant."""

    agents: tuple[str, ...]
    repos: tuple[str, ...]


def scope_options(command: Command) -> Command:
    """Add `--agent`, `--repo` and those of `range_options`."""
    return agent_option(repo_option(range_options(command)))


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
    is_shown = default is not None
    return number_option("--limit", f"Maximum number of {what}.", least=1, default=default, is_shown=is_shown)


def ask(
    request: Request, kind: type[T], *, here: Callable[[Memory], T] | None = None,
    tell: Callable[[bytes], None] = lambda _line: None,
) -> T:  # fmt: skip
    """Return the daemon's answer to a request; without one, what this process reads: the same, only later.

    here: does that instead. tell: takes what the daemon says before. A daemon that is at work and does not answer is
    told of on stderr: it may know what the disk does not have yet.
    """
    from recollect.client import ask_daemon

    told = ask_daemon(request, kind, tell=tell)
    if told.value is not None:
        return told.value
    if told.note:
        sys.stderr.write(f"recollect: {safe_line(told.note)}\n")
    with open_memory() as memory:
        if here is not None:
            return here(memory)
        from recollect.serve.requests import answer

        return cast(T, answer(memory, request))


def open_memory(home: Path | None = None) -> Memory:
    """Open the user's memory: of `home`, `RECOLLECT_HOME`, else the platform's data directory. Close it (`with`)."""
    load_lightly("zstandard")
    from recollect.memory import Memory

    return Memory.open(home, zone=LOCAL)
